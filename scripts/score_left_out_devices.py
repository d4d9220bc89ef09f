#!/usr/bin/env python3
"""Judges predictions of left-out devices, as they are and scaled.

    scripts/score_left_out_devices.py FOLDER

FOLDER is the --out of `foretell cross-validate --folds device`. A device that was
not learned from is often wrong by one factor; whoever has five measurements of it
can find that factor. Prints, per device, the median / mean absolute percentage
error of the predictions, and of those times the median ratio of five labels drawn
at random, over the labels that were not drawn (mean of 20 draws, seed 0). The last
column is what the median ratio of all its labels would give: no factor does better
by much.
"""

import collections
import csv
import pathlib
import random
import statistics
import sys

LABELS, DRAWS = 5, 20


def errors(ratios):
    """Median and mean of |predicted / measured - 1| in percent."""
    absolute = [100 * abs(ratio - 1) for ratio in ratios]
    return statistics.median(absolute), statistics.fmean(absolute)


def scaled(ratios, generator):
    draws = []
    for _ in range(DRAWS):
        order = generator.sample(range(len(ratios)), len(ratios))
        factor = statistics.median(ratios[i] for i in order[:LABELS])
        draws.append(errors([ratios[i] / factor for i in order[LABELS:]]))
    return tuple(statistics.fmean(column) for column in zip(*draws))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ratios = collections.defaultdict(list)
    path = pathlib.Path(sys.argv[1]) / "predictions.csv"
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            ratios[row["device"]].append(
                float(row["prediction"]) / float(row["label"]))
    generator = random.Random(0)
    print("| device | labels | median / mean | scaled by five | by all |\n"
          "|---|---|---|---|---|")
    for device, found in sorted(ratios.items()):
        plain, better = errors(found), scaled(found, generator)
        factor = statistics.median(found)
        best = errors([ratio / factor for ratio in found])
        print(f"| {device} | {len(found)} | {plain[0]:.1f} / {plain[1]:.1f} "
              f"| {better[0]:.1f} / {better[1]:.1f} "
              f"| {best[0]:.1f} / {best[1]:.1f} |")
    plain = errors([ratio for found in ratios.values() for ratio in found])
    print(f"| all | {sum(map(len, ratios.values()))} "
          f"| {plain[0]:.1f} / {plain[1]:.1f} | | |")


if __name__ == "__main__":
    main()
