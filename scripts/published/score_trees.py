#!/usr/bin/env python3
"""Judges gradient-boosted trees on a label set: the plain baseline of docs/accuracy.md.

    scripts/published/score_trees.py latency_ms|memory_mib --dataset d.sqlite

Needs scikit-learn. The trees see what one can read off a network without looking at
its operators: logarithms of batch, parameters, MACs, activations (elements that
convolutions and matrix products return) and image size, and the device and its
environment as categories. They learn the logarithm of the label under absolute error;
8 folds leave whole families or whole networks out. The dataset is made by
scripts/published/make_label_set.py. Prints median / mean of the absolute percentage error.
"""

import argparse
import pathlib
import sys
import tempfile

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

FOLDS = 8
# Columns of the node features, docs/features.md.
IS_CONVOLUTION, IS_PRODUCT, PHASE, OUTPUT_BYTES, ELEMENT_BYTES = 0, 1, 13, 28, 30


def activations(folder):
    """Elements that forward convolutions and products return, by point."""
    found = {}
    for path in sorted(folder.glob("graphs-*.npz")):
        arrays = numpy.load(path)
        x, ends = arrays["x"].astype(numpy.float64), arrays["node_offsets"]
        wanted = (x[:, [IS_CONVOLUTION, IS_PRODUCT]].any(1)) & (x[:, PHASE] == 0)
        elements = wanted * ((2 ** (36 * x[:, OUTPUT_BYTES]) - 1)
                             / numpy.maximum(8 * x[:, ELEMENT_BYTES], 1))
        for point, first, last in zip(arrays["point"], ends, ends[1:]):
            found[int(point)] = elements[first:last].sum()
    return found


def read(folder, target):
    """Features, logarithms of labels, families and networks."""
    returned = activations(folder)
    points = {int(row["point"]): row
              for row in published.rows(folder / "points.csv")}
    features, labels, families, networks, settings = [], [], [], [], []
    for row in published.rows(folder / "labels.csv"):
        number = int(row["point"])
        if not row[target] or row["status"] != "ok" or number not in returned:
            continue
        point = points[number]
        sizes = (point["batch"], point["parameters"], point["macs"],
                 returned[number], point["image_size"] or 1)
        setting = row["device"], row["environment"]
        if setting not in settings:
            settings.append(setting)
        features.append([*(numpy.log(max(float(size), 1)) for size in sizes),
                         settings.index(setting)])
        labels.append(numpy.log(float(row[target])))
        families.append(point["family"])
        networks.append(point["model"])
    return numpy.array(features), numpy.array(labels), families, networks


def judge(features, labels, groups):
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import GroupKFold
    errors = numpy.zeros(len(labels))
    for seen, held_out in GroupKFold(FOLDS).split(features, groups=groups):
        trees = HistGradientBoostingRegressor(
            loss="absolute_error", max_iter=400, learning_rate=0.1,
            categorical_features=[features.shape[1] - 1], random_state=0)
        trees.fit(features[seen], labels[seen])
        errors[held_out] = numpy.abs(
            numpy.exp(trees.predict(features[held_out]) - labels[held_out]) - 1)
    return f"{100 * numpy.median(errors):.2f} / {100 * errors.mean():.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", choices=("latency_ms", "memory_mib"))
    parser.add_argument("--dataset", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        foretell.run("dataset", "export", options.dataset, "--out", folder)
        features, labels, families, networks = read(pathlib.Path(folder),
                                                    options.target)
    print(f"{len(labels)} labels\n\n| | networks left out | families left out |\n"
          f"|---|---|---|\n| trees | {judge(features, labels, networks)} | "
          f"{judge(features, labels, families)} |")


if __name__ == "__main__":
    foretell.main(main)
