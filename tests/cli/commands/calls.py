"""Calls of the `foretell` program for the tests beside this file and those of
datasets and training, whose first two arguments are the program and the
repository."""

import json
import pathlib
import subprocess
import sys

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
ONNX = str(SOURCE / "examples" / "resnet18.onnx")
# Allows batches of 2 to 64.
BOUNDED = str(SOURCE / "tests/frontends/data/exported/conv_train.pt2")
SCRIPT = str(SOURCE / "examples" / "resnet18.pt")

OK, DOES_NOT_FIT, USAGE, MODEL_FAILED = 0, 1, 2, 3


def run(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True,
                          text=True, timeout=900, **options)


def predict_json(*arguments):
    return json.loads(run("predict", "--json", *arguments).stdout)
