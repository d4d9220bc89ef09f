#!/usr/bin/env python3
"""Judges predictions of left-out devices, as they are and adapted.

    scripts/published/score_left_out_devices.py PREDICTIONS

PREDICTIONS is the --out of `foretell cross-validate --folds device`, or the --csv of
`foretell evaluate --analytic`. A device that was not learned from is often wrong by
one factor, and by another one where networks keep its product units busier; whoever
has five measurements of the device can find both. Prints, per device and per
environment of it, the median / mean absolute percentage error
- of the predictions;
- times one factor, the median ratio of five labels;
- times exp(a + b x), where x is the logarithm of MACs over predicted time, less
  its mean over the device: `foretell adapt` finds a and b in the same way
  (src/correct/two_factors.h), and like it takes x between those of the five;
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
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

LABELS, DRAWS = 5, 200
# Share of the networks to draw from in the "known" columns. With any share from a
# third to a twentieth the medians of docs/accuracy.md differ by at most 0.2 points.
KNOWN = 0.25


# One label: y, the logarithm of predicted / measured time; x, that of MACs over
# predicted time less its mean over the device; strangeness, how far its network was
# mispredicted elsewhere.
Point = collections.namedtuple("Point", "y x model strangeness", defaults=(0,))
# Factors, and the range of x that they were fitted to.
Fit = collections.namedtuple("Fit", "level slope low high")


def of_device(environment):
    """An environment without the types of norms, which are of the network."""
    fields = json.loads(environment)
    return json.dumps({key: value for key, value in sorted(fields.items())
                       if not key.endswith("_norm")})


def read(path):
    """Points by device and environment."""
    groups = collections.defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row.get("target", "latency_ms") != "latency_ms":
                continue
            predicted = float(row["prediction"])
            groups[row["device"], of_device(row["environment"])].append(
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
    fits = level_and_slope(groups.values())
    for (key, points), fit in zip(groups.items(), fits):
        left[key] = {point.model: abs(residual(point, fit)) for point in points}

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


def residual(point, fit):
    return point.y - fit.level - fit.slope * min(max(point.x, fit.low), fit.high)


def level_and_slope(sets):
    """Both factors of each of the sets of points, as `foretell adapt` finds them."""
    sets = list(sets)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"sets": [[(point.y, point.x) for point in points]
                            for points in sets]}, file)
        file.flush()
        fits = foretell.run_json("fit-factors", file.name)
    return [Fit(*fit, min(point.x for point in points),
                max(point.x for point in points))
            for fit, points in zip(fits, sets)]


def one_factor(sets):
    return [Fit(statistics.median(point.y for point in points), 0, 0, 0)
            for points in sets]


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
    drawn = [[generator.choice(fifth) for fifth in fifths] for _ in range(DRAWS)]
    draws = [errors([residual(point, found) for point in points
                     if point not in five])
             for five, found in zip(drawn, fit(drawn))]
    return tuple(statistics.fmean(column) for column in zip(*draws))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = pathlib.Path(sys.argv[1])
    groups = read(path / "predictions.csv" if path.is_dir() else path)
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
    foretell.main(main)
