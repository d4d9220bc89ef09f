#!/usr/bin/env python3
"""Compares inference memory per image with WTF-Benchmark's on an A100.

    scripts/published/score_wtf.py

Reads more/e2e_wtf_benchmark_a100.csv.gz from ../shared beside the repository:
torch.cuda.max_memory_allocated of a forward pass under no_grad, measured after training
in the same process, so that only its growth with the batch says something of inference.
Prints in Markdown the MiB that an image adds between batches of 32 and 128, published
and predicted, input left out as it was measured, for the networks that the zoo has.
"""

import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published

ROWS = published.TABLES / "more" / "e2e_wtf_benchmark_a100.csv.gz"
FEW, MANY = 32, 128
# WTF-Benchmark's networks as the zoo names them; "deit_small" differs from ViT-S by a
# factor per channel.
NETWORKS = {"ViT-Ti/16": "vit_tiny_patch16_224",
            "ViT-S/16": "vit_small_patch16_224",
            "ViT-B/16": "vit_base_patch16_224",
            "deit_small_patch16_LS": "vit_small_patch16_224",
            "mixer_s16": "mixer_s16_224",
            "resnet50": "resnet50",
            "swin_tiny_patch4_window7": "swin_tiny_patch4_window7_224",
            "swin_small_patch4_window7": "swin_small_patch4_window7_224"}


def published_slopes():
    """MiB per image by network and image size, the mean over its runs."""
    runs = collections.defaultdict(dict)
    for row in published.rows(ROWS):
        if row["mode"] == "inference" and row["memory_mb"] and (
                row["model"] in NETWORKS):
            size = row["input_shape"].split("x")[-1]
            run = runs[row["model"], size, row["run_id"]]
            run[int(row["batch"])] = float(row["memory_mb"])
    slopes = collections.defaultdict(list)
    for (model, size, _), run in runs.items():
        if FEW in run and MANY in run:
            slopes[model, size].append((run[MANY] - run[FEW]) / (MANY - FEW))
    return {key: statistics.fmean(values) for key, values in slopes.items()}


def predicted_slope(model, size):
    """The same, by the analytic model; attention was not fused then."""
    mib = []
    for batch in (FEW, MANY):
        memory = foretell.run_json(
            "predict", f"zoo:{NETWORKS[model]}?image_size={size}", "--batch",
            batch, "--device", "a100-sxm4-40gb", "--torch", "1.13", "--json",
        )["results"][0]["memory"]
        mib.append(memory["allocated_mib"] - memory["inputs_mib"])
    return (mib[1] - mib[0]) / (MANY - FEW)


def main():
    published.need(ROWS)
    print("| network | image | published | predicted | error |\n"
          "|---|---|---|---|---|")
    errors = []
    for (model, size), truth in sorted(published_slopes().items()):
        mib = predicted_slope(model, size)
        errors.append(100 * (mib / truth - 1))
        print(f"| {model} | {size} | {truth:.2f} | {mib:.2f} | "
              f"{errors[-1]:+.1f} % |")
    sizes = [abs(error) for error in errors]
    print(f"\n{len(errors)} networks: median {statistics.median(sizes):.1f} %, "
          f"mean {statistics.fmean(sizes):.1f} %")


if __name__ == "__main__":
    foretell.main(main)
