#!/usr/bin/env python3
"""Judges two predictors on the same labels, left out in the same folds.

    scripts/published/score_pairs.py --first NAME --second NAME SEED_FOLDER...

Each SEED_FOLDER is the --out of one `make_results.py latency --seed N`; NAME is a
folder in it ("pmgns-kernels-family"), with the predictions.csv of a
cross-validation. Prints a line per seed and one over all: the median / mean
absolute percentage error of both, and of the differences, row by row, of their
absolute errors (second less first, in points): the mean, in brackets the range that
holds it in 95 % of DRAWS draws of families with seed 0, and the share of rows where
the second is nearer. Rows of a family stand or fall together; drawn one by one they
would make any difference look certain.
"""

import argparse
import collections
import csv
import pathlib
import random
import statistics
import sys

DRAWS = 1000
OUTER = 0.025


def errors(path):
    """Absolute percentage errors and families by row."""
    found = {}
    with open(path / "predictions.csv", newline="") as file:
        for row in csv.DictReader(file):
            label = float(row["label"])
            key = (row["model"], row["batch"], row["device"], row["environment"])
            found[key] = (100 * abs(float(row["prediction"]) / label - 1),
                          row["family"])
    return found


def differences(first, second):
    """Second less first, by family."""
    if first.keys() != second.keys():
        sys.exit("the two were not judged on the same labels")
    by_family = collections.defaultdict(list)
    for key, (error, family) in first.items():
        by_family[family].append(second[key][0] - error)
    return by_family


def spread(by_family):
    """The range of the mean over draws of families."""
    generator = random.Random(0)
    groups = [(sum(group), len(group)) for group in by_family.values()]
    means = []
    for _ in range(DRAWS):
        drawn = generator.choices(groups, k=len(groups))
        means.append(sum(total for total, _ in drawn) /
                     sum(count for _, count in drawn))
    means.sort()
    return means[int(OUTER * DRAWS)], means[int((1 - OUTER) * DRAWS) - 1]


def cell(found):
    values = [error for error, _ in found.values()]
    return f"{statistics.median(values):.2f} / {statistics.fmean(values):.2f}"


def compared(by_family):
    rows = [one for group in by_family.values() for one in group]
    low, high = spread(by_family)
    nearer = 100 * sum(one < 0 for one in rows) / len(rows)
    return (f"{statistics.fmean(rows):+.2f} ({low:+.2f} to {high:+.2f}) | "
            f"{nearer:.0f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", required=True)
    parser.add_argument("--second", required=True)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    print(f"| | {options.first} | {options.second} | second less first | "
          "second nearer |\n|---|---|---|---|---|")
    pooled = collections.defaultdict(list)
    for folder in options.folders:
        first, second = (errors(folder / name)
                         for name in (options.first, options.second))
        by_family = differences(first, second)
        for family, group in by_family.items():
            pooled[family] += group
        print(f"| {folder.name} | {cell(first)} | {cell(second)} | "
              f"{compared(by_family)} |")
    print(f"| all | | | {compared(pooled)} |")


if __name__ == "__main__":
    main()
