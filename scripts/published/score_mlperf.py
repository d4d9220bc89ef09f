#!/usr/bin/env python3
"""Errors of predicted TensorRT engines on MLPerf Inference's ResNet-50, slices included.

    scripts/published/score_mlperf.py

Takes the closed submissions of ResNet-50 in INT8 on one GPU, or on slices of one, of
mlperf_inference_one_gpu.csv.gz. Nothing is fitted to them. SingleStream is one image,
MultiStream eight; of Offline, whose batch the table lacks, foretell's time of a batch of
256 per image is compared. Submissions at lowered power (MaxQ), behind Triton, with other
work on the other slices (HeteroMultiUse) and on cards of cars are left out, and so are
the other networks: BERT's submissions remove the padding of sentences whose lengths the
table lacks, and the zoo has none of the rest. Prints a table in Markdown: signed errors
are of the median row, in percent; above 0, foretell says more.
"""

import collections
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

ROWS = published.TABLES / "runs2026" / "mlperf_inference_one_gpu.csv.gz"
BATCHES = {"SingleStream": 1, "MultiStream": 8, "Offline": 256}
OTHER_RUNS = ("MaxQ", "Triton", "HeteroMultiUse")
DEVICES = {"A100-SXM-80GB": "a100-sxm4-80gb", "A100-PCIE-80GB": "a100-pcie-80gb",
           "A100-PCIE-40GB": "a100-pcie-40gb", "A30": "a30", "A2": "a2", "A10": "a10",
           "L4": "l4", "T4": "t4", "H100-SXM-80GB": "h100-sxm5-80gb",
           "H100-PCIE-80GB": "h100-pcie-80gb"}
PLACE = re.compile(r"NVIDIA (?P<gpu>[^ ]+)(?: \((?P<slices>\d)x(?P<profile>\S+) MIG\))?")


def place_of(row):
    """The device, the MIG profile ("" without) and how many slices work at once; None of
    a card that foretell does not know."""
    found = PLACE.fullmatch(row["accelerator"])
    device = DEVICES.get(found["gpu"].replace("_", "-").upper())
    return device and (device, found["profile"] or "", int(found["slices"] or 1))


def image_ms(row, slices):
    """Time of one image, or of the batch of a query."""
    if row["scenario"] != "Offline":
        return float(row["mean_latency_ms"])
    # A single slice is counted once, whatever the number of GPUs in the machine.
    parts = slices * int(row["accelerators"]) if slices > 1 else 1
    return 1000 * parts / float(row["samples_per_s"])


def measured():
    """Milliseconds by place and scenario."""
    groups = collections.defaultdict(list)
    for row in published.rows(ROWS):
        place = place_of(row)
        if (row["model"] != "resnet50" or row["scenario"] not in BATCHES or not place
                or any(word in row["system"] for word in OTHER_RUNS)):
            continue
        groups[place, row["scenario"]].append(image_ms(row, place[2]))
    return groups


def run_of(place, scenario):
    flags = ("--runtime", "tensorrt,int8", "--precision", "fp16", "--device", place[0])
    return "zoo:resnet50", flags, BATCHES[scenario]


def predicted_ms(result, profile, scenario):
    """As image_ms."""
    (ms,) = ([one["latency_ms"] for one in result["mig"]["profiles"]
              if one["profile"] == profile] if profile else [result["latency"]["ms"]])
    return ms / BATCHES[scenario] if scenario == "Offline" else ms


def name_of(device, profile, slices):
    return f"{device}, {slices} × {profile}" if profile else device


def main():
    published.need(ROWS)
    groups = measured()
    results = batched.Results(run_of(*key) for key in groups)
    print("| GPU | scenario | rows | ms | predicted | error |")
    print("|---|---|---|---|---|---|")
    sizes = collections.defaultdict(list)
    for (place, scenario), times in sorted(groups.items()):
        ms = statistics.median(times)
        ours = predicted_ms(results.of(*run_of(place, scenario)), place[1], scenario)
        error = 100 * (ours / ms - 1)
        sizes[bool(place[1])].append(abs(error))
        print(f"| {name_of(*place)} | {scenario} | {len(times)} | {ms:.3g} | "
              f"{ours:.3g} | {error:+.0f} |")
    for is_slice, name in ((False, "whole GPUs"), (True, "slices")):
        print(f"\n{name}: {len(sizes[is_slice])} rows of the table, median error "
              f"{statistics.median(sizes[is_slice]):.0f} %")


if __name__ == "__main__":
    foretell.main(main)
