#!/usr/bin/env python3
"""Judges predictions of left-out devices, as they are and adapted.

    scripts/published/score_left_out_devices.py FOLDER

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
not drawn, as the mean of DRAWS draws with seed 0. "Known" columns draw among the
better-known quarter of each fifth: networks that were predicted well, when those
were left out, on the other devices; no label of the device itself decides that.
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
# Share of the networks to draw from in the "known" columns. With any share from a
# third to a twentieth the medians of docs/accuracy.md differ by at most 0.2 points.
KNOWN = 0.25
# Standard deviations of a, b and a label's logarithm. Chosen in view of the four
# GPUs of docs/accuracy.md, where halving or doubling any of them moves a median
# error by at most 1.0 points.
LEVEL_DEVIATION, SLOPE_DEVIATION, LABEL_DEVIATION = 0.15, 0.08, 0.08
ROBUST_STEPS = 10


# One label: y, the logarithm of predicted / measured time; x, that of MACs over
# predicted time less its mean over the device; strangeness, how far its network was
# mispredicted elsewhere.
Point = collections.namedtuple("Point", "y x model strangeness", defaults=(0,))


def read(path):
    """Points by device and environment."""
    groups = collections.defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            predicted = float(row["prediction"])
            groups[row["device"], row["environment"]].append(
                Point(math.log(predicted / float(row["label"])),
                      math.log(max(int(row["macs"]), 1) / predicted),
                      row["model"]))
    for key, points in groups.items():
        centre = statistics.fmean(point.x for point in points)
        groups[key] = [point._replace(x=point.x - centre) for point in points]
    return with_strangeness(groups)


def with_strangeness(groups):
    """Fills in the mean |residual| of every network on the other devices, after
    two factors of all labels there; infinite for networks known from none."""
    left = {}
    for key, points in groups.items():
        fit = level_and_slope(points)
        left[key] = {point.model: abs(residual(point, *fit)) for point in points}

    def strangeness(model, device):
        elsewhere = [found[model] for (other, _), found in left.items()
                     if other != device and model in found]
        return statistics.fmean(elsewhere) if elsewhere else math.inf

    return {key: [point._replace(strangeness=strangeness(point.model, key[0]))
                  for point in points] for key, points in groups.items()}


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


def residual(point, level, slope):
    return point.y - level - slope * point.x


def level_and_slope(points):
    """Ridge regression of y on 1 and x, reweighted."""
    weights = [1.0] * len(points)
    for _ in range(ROBUST_STEPS):
        one, x, xx, y, xy = (
            sum(weight * term(point.y, point.x)
                for weight, point in zip(weights, points)) / LABEL_DEVIATION**2
            for term in (lambda y, x: 1, lambda y, x: x, lambda y, x: x * x,
                         lambda y, x: y, lambda y, x: x * y))
        one += LEVEL_DEVIATION**-2
        xx += SLOPE_DEVIATION**-2
        determinant = one * xx - x * x
        level, slope = ((y * xx - x * xy) / determinant,
                        (one * xy - x * y) / determinant)
        weights = [
            1 / (1 + (residual(point, level, slope) / LABEL_DEVIATION) ** 2)
            for point in points]
    return level, slope


def one_factor(drawn):
    return statistics.median(point.y for point in drawn), 0.0


def candidates(points, share):
    """The best-known `share` of each fifth by x, at least one of each."""
    ordered = sorted(points, key=lambda point: point.x)
    bounds = [len(ordered) * i // LABELS for i in range(LABELS + 1)]
    fifths = [sorted(ordered[first:last], key=lambda point: point.strangeness)
              for first, last in zip(bounds, bounds[1:])]
    return [fifth[:max(1, int(share * len(fifth)))] for fifth in fifths]


def mean_of_draws(points, fit, share=1):
    """Mean errors on the other points once `fit` has seen one of each fifth."""
    generator = random.Random(0)
    fifths = candidates(points, share)
    draws = []
    for _ in range(DRAWS):
        drawn = [generator.choice(fifth) for fifth in fifths]
        found = fit(drawn)
        draws.append(errors([residual(point, *found) for point in points
                             if point not in drawn]))
    return tuple(statistics.fmean(column) for column in zip(*draws))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    groups = read(pathlib.Path(sys.argv[1]) / "predictions.csv")
    environments = sorted({environment for _, environment in groups})
    fits = {"one factor of five": (one_factor, 1),
            "two factors of five": (level_and_slope, 1),
            "one of five known": (one_factor, KNOWN),
            "two of five known": (level_and_slope, KNOWN)}
    header = ["device", "environment", "labels", "median / mean", *fits,
              "one factor of all"]
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
    for (device, environment), points in sorted(groups.items()):
        best = statistics.median(point.y for point in points)
        cells = [device, setting(environment, environments), str(len(points)),
                 shown(errors([point.y for point in points])),
                 *(shown(mean_of_draws(points, *fit)) for fit in fits.values()),
                 shown(errors([point.y - best for point in points]))]
        print("| " + " | ".join(cells) + " |")
    everything = [point.y for points in groups.values() for point in points]
    print(f"| all | | {len(everything)} | {shown(errors(everything))} |"
          + " |" * (len(header) - 4))


if __name__ == "__main__":
    main()
