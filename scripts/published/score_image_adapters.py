#!/usr/bin/env python3
"""Compares predicted with measured memory of fine-tuning an image generator.

    scripts/published/score_image_adapters.py TABLE [--device NAME]

TABLE is train_memory_peft_l40s.csv of ../shared/data/runs2026: FLUX.2 klein 4B in BF16 at
512 x 512, batch 2, with checkpoints, on an L40S (huggingface/peft 5d602fd,
method_comparison/image-gen). Its run.py holds more than the step: DINOv2-base in FP32,
and embeddings of 14 prompts and pictures made before; both are added to predictions.
Nothing is fitted to these rows.

Prints in Markdown each experiment that `--lora` or `--trainable` can express: reserved
memory in MiB and the error in percent; then median and mean of the absolute errors, and
what cannot be expressed.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

LAYERS = "targets=to_[qkv]|to_out.0|add_[qkv]_proj|to_add_out|linear_in|linear_out"
STEP = ("predict", "zoo:flux2_klein_4b?image_size=32", "--mode", "training",
        "--precision", "bf16", "--batch", "2", "--recompute", "auto")
# Of the experiments' adapter_config.json, beyond rank and targets.
KEYS = {"LORA": "", "VERA": "method=vera", "LOHA": "method=loha", "LOKR": "method=lokr",
        "OFT": "method=oft,block=32", "IA3": "method=ia3,feed" + LAYERS.replace(
            "targets", "forward")}
RANKED = ("LORA", "VERA", "LOHA", "LOKR")
# Bytes: parameters of DINOv2-base; tokens and widths of 14 prompts; of 14 latent images.
DINO = 86_580_480 * 4
PROMPTS = 14 * 512 * 7680 * 2
LATENTS = 14 * 128 * 32 * 32 * 2
HELD_MIB = (DINO + PROMPTS + LATENTS) / 2**20


def flags_of(row):
    """What the experiment trains; None if no flag expresses it."""
    method = row["peft_type"]
    if method == "full":
        return []
    if method == "LN_TUNING":
        return ["--trainable", "norm_q|norm_k"]
    if method not in KEYS:
        return None
    parts = [f"r={row['r']}"] * (method in RANKED) + [LAYERS, KEYS[method]]
    parts += ["dora"] * row["experiment"].startswith("dora")
    return ["--lora", ",".join(part for part in parts if part)]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--device", default="l40s")
    args = parser.parse_args()
    errors, left_out = [], set()
    print("| experiment | measured | predicted | error |\n|---|---|---|---|")
    for row in published.rows(args.table):
        if row["task"] != "image-gen" or row["status"] != "success":
            continue
        flags = flags_of(row)
        if flags is None:
            left_out.add(row["peft_type"])
            continue
        answer = foretell.run_json(*STEP, *flags, "--device", args.device, "--json")
        predicted = answer["results"][0]["memory"]["reserved_mib"] + HELD_MIB
        measured = float(row["reserved_max_mib"])
        errors.append(100 * (predicted / measured - 1))
        print(f"| {row['experiment']} | {measured:.0f} | {predicted:.0f} "
              f"| {errors[-1]:+.1f} |", flush=True)
    absolute = [abs(error) for error in errors]
    print(f"\n{len(errors)} experiments: median {statistics.median(absolute):.1f} %, mean "
          f"{statistics.mean(absolute):.1f} %; not expressed: "
          f"{', '.join(sorted(left_out))}")


if __name__ == "__main__":
    foretell.main(main)
