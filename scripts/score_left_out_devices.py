#!/usr/bin/env python3
"""Judges predictions of left-out devices, as they are and adapted.

    scripts/score_left_out_devices.py FOLDER

FOLDER is the --out of `foretell cross-validate --folds device`. A device that was
not learned from is often wrong by one factor, and by another one where networks
keep its product units busier; whoever has five measurements of the device can find
both. Prints, per device and per environment of it, the median / mean absolute
percentage error
- of the predictions;
- times one factor, the median ratio of five labels;
- times exp(a + b x), where x is the logarithm of MACs over predicted time, less
  its mean over the device: a and b by least squares on the logarithms of five
  labels, drawn to 0 (ridge) and robust (weights of a Cauchy distribution);
both of the same five labels, one from each fifth by x, over the labels that were
not drawn, as the mean of DRAWS draws with seed 0.
The last column is what the median ratio of all labels gives: no single factor does
better by much.
"""

import collections
import csv
import json
import math
import pathlib
import random
import statistics
import sys

LABELS, DRAWS = 5, 200
# Standard deviations of a, b and a label's logarithm. Chosen in view of the four
# GPUs of docs/learned.md, where halving or doubling any of them moves a median
# error by at most 1.0 points.
LEVEL_DEVIATION, SLOPE_DEVIATION, LABEL_DEVIATION = 0.15, 0.08, 0.08
ROBUST_STEPS = 10


def read(path):
    """Lists of (log of predicted / measured, x) by device and environment."""
    groups = collections.defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            predicted = float(row["prediction"])
            groups[row["device"], row["environment"]].append(
                (math.log(predicted / float(row["label"])),
                 math.log(max(int(row["macs"]), 1) / predicted)))
    return groups


def setting(environment, environments):
    """The values of an environment's JSON in which environments differ."""
    objects = [json.loads(text) for text in environments]
    keys = [key for key in sorted(set().union(*objects))
            if len({one.get(key) for one in objects}) > 1]
    return " ".join(str(json.loads(environment).get(key)) for key in keys)


def errors(logarithms):
    absolute = [100 * abs(math.exp(one) - 1) for one in logarithms]
    return statistics.median(absolute), statistics.fmean(absolute)


def shown(pair):
    return f"{pair[0]:.1f} / {pair[1]:.1f}"


def level_and_slope(points):
    """Ridge regression of y on 1 and x, reweighted."""
    weights = [1.0] * len(points)
    for _ in range(ROBUST_STEPS):
        one, x, xx, y, xy = (
            sum(weight * term(*point) for weight, point in zip(weights, points))
            / LABEL_DEVIATION**2
            for term in (lambda y, x: 1, lambda y, x: x, lambda y, x: x * x,
                         lambda y, x: y, lambda y, x: x * y))
        one += LEVEL_DEVIATION**-2
        xx += SLOPE_DEVIATION**-2
        determinant = one * xx - x * x
        level, slope = ((y * xx - x * xy) / determinant,
                        (one * xy - x * y) / determinant)
        weights = [1 / (1 + ((y - level - slope * x) / LABEL_DEVIATION) ** 2)
                   for y, x in points]
    return level, slope


def one_factor(drawn):
    return statistics.median(y for y, _ in drawn), 0.0


def adapted(points, fit, generator):
    """Errors on the other points once `fit` has seen one of each fifth by x."""
    ordered = sorted(points, key=lambda point: point[1])
    bounds = [len(ordered) * i // LABELS for i in range(LABELS + 1)]
    drawn = {generator.randrange(*pair) for pair in zip(bounds, bounds[1:])}
    level, slope = fit([ordered[i] for i in drawn])
    return errors([y - level - slope * x for i, (y, x) in enumerate(ordered)
                   if i not in drawn])


def mean_of_draws(points, fit):
    generator = random.Random(0)
    draws = [adapted(points, fit, generator) for _ in range(DRAWS)]
    return tuple(statistics.fmean(column) for column in zip(*draws))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    groups = read(pathlib.Path(sys.argv[1]) / "predictions.csv")
    environments = sorted({environment for _, environment in groups})
    print("| device | environment | labels | median / mean | one factor of five "
          "| two factors of five | one factor of all |\n|---|---|---|---|---|---|---|")
    for (device, environment), found in sorted(groups.items()):
        centre = statistics.fmean(x for _, x in found)
        points = [(y, x - centre) for y, x in found]
        best = statistics.median(y for y, _ in points)
        print(f"| {device} | {setting(environment, environments)} | {len(points)} "
              f"| {shown(errors([y for y, _ in points]))} "
              f"| {shown(mean_of_draws(points, one_factor))} "
              f"| {shown(mean_of_draws(points, level_and_slope))} "
              f"| {shown(errors([y - best for y, _ in points]))} |")
    everything = [y for found in groups.values() for y, _ in found]
    print(f"| all | | {len(everything)} | {shown(errors(everything))} | | | |")


if __name__ == "__main__":
    main()
