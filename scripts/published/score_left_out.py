#!/usr/bin/env python3
"""Judges one network over all measured latencies by what it did not learn from.

    scripts/published/score_left_out.py DATASET --out RUNS [--folds KIND...]
        [--variants NAME...] [--by source|device|family|bound] [--seed N]

DATASET is that of `make_label_set.py all-latency`. For each kind of fold (sources,
devices, generations of chips with all their cards and slices, families) `foretell
cross-validate` trains `step-kernels` without each part in turn; folds in RUNS are not
repeated. Prints, per source (--by: or device, family, or whether host or GPU decides),
the rows, and the median and mean absolute error and the signed median, in percent, of
the analytic model, of the network, and of the geometric mean of both.
Variants leave something out of the network: `lean` figures of the device and the second
stage, `edges` who reads what, `physics` all times of the cost model (`raw-kernels`),
`lean-physics` what both do.
"""

import argparse
import collections
import csv
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

STEP, RAW = ("--network", "step-kernels"), ("--network", "raw-kernels")
FULL = ("--device-features", "--epochs", "12")
LEAN = ("--heads", "0", "--epochs", "6")
VARIANTS = {
    "network": (*STEP, *FULL),
    "lean": (*STEP, *LEAN),
    "edges": (*STEP, *FULL, "--edges", "none"),
    "physics": (*RAW, *FULL),
    "lean-physics": (*RAW, *LEAN)}
FOLDS = {"source": 8, "device": 6, "generation": 5, "family": 4}
HOST_BOUND = 0.75
# Those of score_a100.py.
A100_SOURCES = {"hf-perf-docs", "inceptionnext", "migperf", "neusight", "nvidia-dle",
                "parvagpu", "sam-fast", "vmamba"}
# A row of predictions.csv, apart from what was predicted.
KEY = ("model", "batch", "device", "environment", "source", "label")


def samples(dataset):
    """Flags that choose every label, with the devices of its slices."""
    slices = sorted(dataset.with_suffix(".slices").glob("*.json"))
    return ("--dataset", dataset, "--device", "all", "--split", "none", "--threads", 1,
            *(("--device-file", *slices) if slices else ()))


def read(path):
    """Predictions by row."""
    with path.open(newline="") as file:
        return {tuple(row[name] for name in KEY): (float(row["prediction"]), row)
                for row in csv.DictReader(file)}


def analytic(options, host="python"):
    path = options.out / f"analytic-{host}.csv"
    if not path.exists():
        options.out.mkdir(parents=True, exist_ok=True)
        foretell.run("evaluate", *samples(options.dataset), "--analytic", "--host", host,
                     "--csv", path)
    return read(path)


def left_out(options, folds, variant):
    out = options.out / f"{variant}-{folds}-{options.seed}"
    if not (out / "predictions.csv").exists():
        foretell.run("cross-validate", *samples(options.dataset), *VARIANTS[variant],
                     "--source-balance", 0.5, "--targets", "latency",
                     "--folds", folds, "--k", FOLDS[folds],
                     "--seed", options.seed, "--out", out)
    return read(out / "predictions.csv")


def bounds(options, prior):
    """By row whether a host in C++, 2.8 times as fast, would make it much shorter."""
    if options.by != "bound":
        return {}
    return {key: "host" if fast < HOST_BOUND * prior[key][0] else "GPU"
            for key, (fast, _) in analytic(options, "cpp").items()}


def errors_by(options, predicted, prior):
    """By source or the like: errors of the prior, of the network and of their mean."""
    groups, bound = collections.defaultdict(list), bounds(options, prior)
    for key, (value, row) in predicted.items():
        label, base = float(row["label"]), prior[key][0]
        one = [forecast / label - 1 for forecast in
               (base, value, math.sqrt(base * value))]
        part = bound.get(key) or row[options.by]
        names = [part, "all"]
        if row["source"] in A100_SOURCES:
            names += ["all runs on A100s",
                      *([f"{part}, A100s"] if bound else [])]
        for name in names:
            groups[name].append(one)
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--folds", nargs="+", choices=FOLDS, default=list(FOLDS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["network"])
    parser.add_argument("--by", choices=("source", "device", "family", "bound"),
                        default="source")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    prior = analytic(options)
    for folds in options.folds:
        for variant in options.variants:
            groups = errors_by(options, left_out(options, folds, variant), prior)
            print(f"\n| {variant}, {folds} left out | rows | analytic: median | mean | "
                  "signed | learned: median | mean | signed | of both: median | mean | "
                  "signed |\n|---|---|---|---|---|---|---|---|---|---|---|")
            for name, errors in sorted(groups.items(), key=lambda one: one[0].startswith("all")):
                cells = " | ".join(published.error_cells(column)
                                   for column in zip(*errors))
                print(f"| {name} | {len(errors)} | {cells} |")


if __name__ == "__main__":
    foretell.main(main)
