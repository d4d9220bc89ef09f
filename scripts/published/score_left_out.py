#!/usr/bin/env python3
"""Judges one network over all measured latencies by what it did not learn from.

    scripts/published/score_left_out.py DATASET --out RUNS [--folds KIND...]
        [--variants NAME...] [--by source|device|mode] [--seed N]

DATASET is that of `make_label_set.py all-latency`. For each kind of fold (sources,
devices, families) `foretell cross-validate` trains `step-kernels` without each part in
turn; folds in RUNS are not repeated. Prints, per source, the rows and the median and mean
absolute error in percent of the analytic model, of the network, and of the geometric mean
of both. Variants leave something out of the network: `edges`, `physics` (kernels have no
amounts of the cost model, as an MLP of operators' features has), `device` (figures of the
device), or a source by its name: the network then never learns from it.
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

RECIPE = ("--network", "step-kernels", "--device-features", "--source-balance", "0.5",
          "--epochs", "16")
VARIANTS = {
    "network": RECIPE,
    "edges": (*RECIPE, "--edges", "none"),
    "device": tuple(word for word in RECIPE if word != "--device-features"),
    "physics": ("--network", "pmgns", "--device-features", "--hidden", "32",
                "--epochs", "8", "--learning-rate", "4e-3", "--schedule", "cosine",
                "--warmup", "0.5", "--batch-size", "16", "--huber-delta", "0.1",
                "--decoupled-weight-decay", "--weight-decay", "0.01", "--clip", "0.1")}
FOLDS = {"source": 8, "device": 6, "family": 4}
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


def analytic(options):
    path = options.out / "analytic.csv"
    if not path.exists():
        options.out.mkdir(parents=True, exist_ok=True)
        foretell.run("evaluate", *samples(options.dataset), "--analytic", "--csv", path)
    return read(path)


def left_out(options, folds, variant):
    out = options.out / f"{variant}-{folds}-{options.seed}"
    if not (out / "predictions.csv").exists():
        foretell.run("cross-validate", *samples(options.dataset), *VARIANTS[variant],
                     "--targets", "latency", "--folds", folds, "--k", FOLDS[folds],
                     "--seed", options.seed, "--out", out)
    return read(out / "predictions.csv")


def errors_by(options, predicted, prior):
    """By source or the like: errors of the prior, of the network and of their mean."""
    groups = collections.defaultdict(list)
    for key, (value, row) in predicted.items():
        label, base = float(row["label"]), prior[key][0]
        one = [forecast / label - 1 for forecast in
               (base, value, math.sqrt(base * value))]
        groups[row[options.by]].append(one)
        groups["all"].append(one)
    return groups


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--folds", nargs="+", choices=FOLDS, default=list(FOLDS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["network"])
    parser.add_argument("--by", choices=("source", "device", "family"),
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
            for name, errors in sorted(groups.items(), key=lambda one: one[0] == "all"):
                cells = " | ".join(published.error_cells(column)
                                   for column in zip(*errors))
                print(f"| {name} | {len(errors)} | {cells} |")


if __name__ == "__main__":
    foretell.main(main)
