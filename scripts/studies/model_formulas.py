#!/usr/bin/env python3
"""How near formulas of memory come: sweeps of the zoo by `foretell fit`.

    scripts/studies/model_formulas.py [--methods A,B] [--picture FILE.svg]

Fits formulas to 120 points of every sweep, judges them by 30 others, and prints the
errors in Markdown for docs/fit.md. The methods are by default those of `fit` but for
the search, which takes most of the time.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import foretell
from percent_bars import PercentBars

TRAINING = ("--mode", "training", "--optimizer")
IMAGES = "batch=1..128,resolution=64..256:32"
# Network, what is run, sweep, flags.
SWEEPS = (
    ("resnet18", "inference", "batch=1..256", ()),
    ("resnet18", "inference", IMAGES, ()),
    ("resnet18", "training", "batch=1..256", (*TRAINING, "adam")),
    ("resnet18", "training", IMAGES, (*TRAINING, "sgd")),
    ("resnet50", "training", "batch=1..128,resolution=96..320:32",
     (*TRAINING, "adam")),
    ("mobilenet_v2", "inference", IMAGES, ()),
    ("mobilenet_v2", "training", IMAGES, (*TRAINING, "sgd")),
    ("vgg11", "inference", IMAGES, ()),
    ("vgg11", "training", "batch=1..64,resolution=64..256:32",
     (*TRAINING, "adam")),
    ("densenet121", "training", "batch=1..64,resolution=64..224:32",
     (*TRAINING, "adam")),
    ("convnext_tiny", "training", "batch=1..128,resolution=96..256:32",
     (*TRAINING, "adamw", "--autocast", "--precision", "fp16")),
    ("unet", "inference", "batch=1..32,resolution=64..512:32", ()),
    ("unet", "training", "batch=1..32,resolution=64..512:32",
     (*TRAINING, "sgd")),
    ("unet3d", "training", "batch=1..8,resolution=32..128:8",
     (*TRAINING, "adam")),
    ("vit_base_patch16_224", "training", "batch=1..256",
     (*TRAINING, "adamw")),
    ("bert_base", "training", "batch=1..64,seq=32..512:32",
     (*TRAINING, "sgd")),
    ("gpt2", "training", "batch=1..32,seq=64..1024:64",
     (*TRAINING, "adamw", "--autocast", "--precision", "fp16")),
    ("mlp_medium", "training", "batch=1..2048", (*TRAINING, "sgd")),
)
METHODS = "piecewise,polynomial,linear"


def rows(methods):
    """Per sweep its words and the document of `fit`."""
    for i, (network, mode, sweep, flags) in enumerate(SWEEPS):
        if sys.stderr.isatty():
            print(f"{i}/{len(SWEEPS)} {network} {mode} {sweep}",
                  file=sys.stderr)
        yield (network, mode, sweep), foretell.run_json(
            "fit", f"zoo:{network}", "--target", "memory", "--sweep", sweep,
            "--method", methods, *flags, "--json")


def cells(document):
    """Of the first method: mean and largest error, how many are near
    and from which memory on; then the mean errors of the others."""
    first, *others = document["methods"]
    near = f"{first['within_1_percent']} of {document['held_out_rows']}"
    start = first["within_1_percent_from"]
    return (f"{100 * first['error']:.2f}", f"{100 * first['largest_error']:.1f}",
            near, "" if start is None else f"{start:.0f}",
            *(f"{100 * one['error']:.2f}" for one in others))


def plot(found, methods, picture):
    colours = ("#4269d0", "#6cc5b0", "#bbbbbb", "#d0a042")
    title = ", ".join(methods)
    bars = PercentBars(f"Mean error on held-out points: {title}", len(found),
                       low=0.01, left=190)
    for i, ((network, mode, sweep), document) in enumerate(found):
        y = bars.TOP + i * bars.STEP
        bars.text(10, y + 10, f"{network}, {mode}")
        bars.text(10, y + 24, ", ".join(
            axis.partition("=")[0] for axis in sweep.split(",")))
        for j, one in enumerate(document["methods"]):
            bars.bar(i, j, 100 * one["error"], colours[j], digits=2)
    bars.write(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--picture", help="SVG to draw the table in, too")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    print("| network | step | sweep | " + methods[0]
          + " | largest | within 1 % | all from MiB on | "
          + " | ".join(methods[1:]) + " |")
    print("|---" * (7 + len(methods) - 1) + "|")
    found = []
    for words, document in rows(arguments.methods):
        found.append((words, document))
        print("| " + " | ".join((*words, *cells(document))) + " |", flush=True)
    if arguments.picture:
        plot(found, methods, arguments.picture)


if __name__ == "__main__":
    foretell.main(main)
