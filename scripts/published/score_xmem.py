#!/usr/bin/env python3
"""Compares predicted training memory with xMem's published measurements.

    scripts/published/score_xmem.py [--networks | --runs] [--flags FLAGS]

Reads more/training_memory_xmem.csv from ../shared beside the repository: torchvision's
networks on images of 86 x 86, trained with five optimizers on an RTX 3060 and an RTX
4060 (Shi et al., "xMem", Middleware 2025). What it measured is the device memory that
NVML shows less that of a process with a bare CUDA context; compared is what the process
holds on that device (on_device_mib) without its context. Prints in Markdown, in percent,
median and mean absolute error, the signed median, and the share of rows above the upper
end of the interval, beside those of the estimators that xMem's authors ran on the same
runs; then of the runs that ran out of memory, how many are said to fit. xMem's and
DNNMem's figures contain memory that was measured on the target GPU. `--networks` prints
a row per network, `--runs` one per run. `--flags` goes to `predict`, to try others.
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published

ROWS = published.TABLES / "more" / "training_memory_xmem.csv"
DEVICES = {"NVIDIA GeForce RTX 3060": "rtx-3060",
           "NVIDIA GeForce RTX 4060": "rtx-4060"}
# The networks as the zoo names them, where torchvision's default is not meant.
NETWORKS = {
    "MNASNet(alpha=1.0,num_classes=10)": "mnasnet1_0?classes=10&",
    "MobileNetV3(small,last_channel=1024,num_classes=10)":
        "mobilenet_v3_small?classes=10&",
    "MobileNetV3(large,last_channel=1280,num_classes=10)":
        "mobilenet_v3_large?classes=10&"}
ESTIMATORS = ("xmem", "dnnmem", "schedtune")


def image_rows():
    """Rows of torchvision's networks on the two cards."""
    return [row for row in published.rows(ROWS)
            if row["hub_name"].startswith("torchvision/")
            and row["device"] in DEVICES]


def predict(row, flags):
    name = row["hub_name"].removeprefix("torchvision/")
    return foretell.run_json(
        "predict", f"zoo:{NETWORKS.get(name, name + '?')}image_size=86",
        "--batch", row["batch"], "--mode", "training", "--optimizer",
        row["optimizer"].lower(), "--device", DEVICES[row["device"]],
        "--torch", "2.6", "--environment", "cuda12-lazy", "--json",
        *flags)["results"][0]["memory"]


def segments_mib(memory):
    """What the process holds on the device, without its context."""
    held = memory["on_device_mib"] or memory["total_mib"]
    return held - memory["context_mib"]


class Errors:
    """Relative errors of one estimator, and whether truth was above."""

    def __init__(self):
        self.signed, self.above = [], []

    def add(self, estimate, measured, high=None):
        if not estimate:
            return
        self.signed.append(estimate / measured - 1)
        if high is not None:
            self.above.append(100 * (measured > high))

    def cells(self):
        above = f"{statistics.fmean(self.above):.0f}" if self.above else "–"
        return f"{len(self.signed)} | {published.error_cells(self.signed)} | {above}"


def print_table(title, table):
    print(f"\n| {title} | rows | median | mean | signed | above |\n"
          "|---|---|---|---|---|---|")
    for name, errors in table.items():
        print(f"| {name} | {errors.cells()} |")


def score(rows, flags, prints_runs):
    """Errors by estimator, and those of foretell by network."""
    by_estimator = collections.defaultdict(Errors)
    by_network = collections.defaultdict(Errors)
    for row in rows:
        memory = predict(row, flags)
        measured, ours = float(row["measured_mib"]), segments_mib(memory)
        high = memory["interval_mib"][1] - memory["context_mib"]
        for errors in (by_estimator["foretell"], by_network[row["model"]]):
            errors.add(ours, measured, high)
        for name in ESTIMATORS:
            by_estimator[name].add(float(row[f"{name}_mib"] or 0), measured)
        if prints_runs:
            print(f"{row['model']} {row['batch']} {row['optimizer']} "
                  f"{DEVICES[row['device']]}: {ours:.0f}, measured "
                  f"{measured:.0f} ({100 * (ours / measured - 1):+.1f} %), "
                  f"allocated {memory['allocated_mib']:.0f}")
    return by_estimator, by_network


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", action="store_true",
                        help="a row per network")
    parser.add_argument("--runs", action="store_true", help="each run")
    parser.add_argument("--flags", default="", help="more flags of predict")
    options = parser.parse_args()
    published.need(ROWS)
    flags, rows = options.flags.split(), image_rows()
    finished = [row for row in rows if row["status"] == "ok"]
    by_estimator, by_network = score(finished, flags, options.runs)
    print_table("training memory, xMem's rows", by_estimator)
    if options.networks:
        print_table("by network", dict(sorted(by_network.items())))
    refused = [row for row in rows if row["status"] == "oom"]
    fitting = sum(predict(row, flags)["on_device_mib"] is not None
                  for row in refused)
    print(f"\n{len(refused)} runs ran out of memory; {fitting} of them are said to "
          "fit, cached segments given back")


if __name__ == "__main__":
    foretell.main(main)
