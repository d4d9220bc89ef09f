#!/usr/bin/env python3
"""Compares the analytic model with single operators that were measured for this project.

    scripts/published/score_labels.py [--least US]

Reads operators_*.csv.gz below datasets/labels, writes the rows whose operands are
contiguous and whose kinds stand below as graphs of one operator, and has `foretell
time-operators` predict their GPU times. Prints a Markdown table per kind, precision and
device: rows, median and mean absolute error and the signed median, in percent. Rows
shorter than --least (50 microseconds) say how fast the processor calls, as do those whose
call takes it nine tenths of their time or longer, and are left out.
Convolutions take TF32, FP32 products do not, as they were measured.
"""

import argparse
import collections
import csv
import gzip
import io
import json
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
from operator_text import graph, shape  # noqa: E402

TORCH = "2.11"  # Of all of these rows.
HOST_BOUND = 0.9  # Of the time of a row.
LABELS = ROOT / "datasets" / "labels"
DTYPES = {"fp32": "f32", "bf16": "bf16", "fp16": "f16"}
POINTWISE = ("gelu", "relu", "silu", "sigmoid", "hardswish", "tanh", "hardsigmoid",
             "leaky_relu")


class Row:
    """A measured operator: its tensors' extents and its other arguments."""

    def __init__(self, fields):
        self.name, _, self.overload = fields["op"].partition(".")
        self.device, self.us = fields["device"], float(fields["latency_us"])
        self.host_us = float(fields["host_us"])
        self.dtype = DTYPES[fields["precision"]]
        self.arguments = json.loads(fields["args"]) + [None] * 9
        self.tensors = [argument.get("t") if isinstance(argument, dict) else None
                        for argument in self.arguments]
        self.is_contiguous = not any(isinstance(argument, dict) and argument.get("s")
                                     for argument in self.arguments)

    def text(self, result, attributes="", roles=("input", "weight", "weight")):
        operands = [(role, shape(*tensor)) for role, tensor
                    in zip(roles, self.tensors) if tensor]
        return graph(self.name, operands, shape(*result), attributes, self.dtype)


def convolution(row):
    image, weight = row.tensors[:2]
    stride, padding, dilation, groups = (
        given or default for given, default
        in zip(row.arguments[3:7], ([1, 1], [0, 0], [1, 1], 1)))
    if isinstance(padding, str):
        return None
    extents = [(image[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1)
               // stride[i] + 1 for i in (0, 1)]
    kind = ("depthwise" if groups == image[1] > 1 else "grouped" if groups > 1 else
            "1 x 1" if weight[2:] == [1, 1] else "dense")
    attributes = (f"stride={shape(*stride)}, padding={shape(*padding)}, "
                  f"dilation={shape(*dilation)}, groups={groups}")
    return f"convolution, {kind}", row.text([image[0], weight[0], *extents], attributes)


def norm(row):
    image = row.tensors[0]
    if row.name == "layer_norm":
        width = shape(*row.arguments[1])
        row.tensors = [image, *row.tensors[2:4]]
        return "layer norm", row.text(image, f"normalized_shape={width}")
    row.tensors = [image] + [[image[1]]] * 4
    roles = ("input", "weight", "weight", "buffer", "buffer")
    return "batch norm", row.text(image, "training=false", roles)


def product(row):
    left, right = row.tensors[:2]
    if row.name == "linear":
        return "linear layer", row.text([*left[:-1], right[0]])
    if len(left) != len(right) or left[:-2] != right[:-2] or len(left) < 2:
        return None
    row.tensors = [left, right]
    return "product", row.text([*left[:-1], right[-1]], roles=("input", "input"))


def written(row):
    """The kind of the row and its graph; None for what is not compared."""
    if not row.is_contiguous or row.tensors[0] is None:
        return None
    if row.host_us >= HOST_BOUND * row.us:
        return None
    if row.name == "conv2d":
        return convolution(row)
    if row.name in ("layer_norm", "batch_norm"):
        return norm(row)
    if row.name in ("linear", "matmul"):
        return product(row)
    if row.name in POINTWISE:
        return "element-wise", row.text(row.tensors[0])
    if row.name in ("add", "mul") and row.tensors[0] == row.tensors[1]:
        return "element-wise", row.text(row.tensors[0], roles=("input", "input"))
    if row.name == "softmax":
        return "softmax", row.text(row.tensors[0], f"dim={row.arguments[1]}")
    return None


def predicted_us(device, is_tf32, graphs):
    with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
        file.writelines(graphs)
        file.flush()
        return foretell.run_json("time-operators", file.name, "--device", device,
                                 "--torch", TORCH,
                                 *([] if is_tf32 else ["--no-tf32"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=50)
    least = parser.parse_args().least
    runs = collections.defaultdict(list)
    for path in sorted(LABELS.glob("*/operators_*.csv.gz")):
        with gzip.open(path) as packed:
            for fields in csv.DictReader(io.TextIOWrapper(packed)):
                if fields["status"] != "ok" or float(fields["latency_us"]) < least:
                    continue
                row = Row(fields)
                kind_and_graph = written(row)
                if kind_and_graph:
                    is_tf32 = row.name == "conv2d"
                    runs[path.parent.name, is_tf32].append((row, *kind_and_graph))
    errors = collections.defaultdict(list)
    for (device, is_tf32), rows in runs.items():
        times = predicted_us(device, is_tf32, [text for _, _, text in rows])
        for (row, kind, _), us in zip(rows, times):
            errors[kind, row.dtype, device].append(100 * (us / row.us - 1))
    print("| operator | device | rows | median | mean | signed |\n|---|---|---|---|---|---|")
    for (kind, dtype, device), values in sorted(errors.items()):
        sizes = list(map(abs, values))
        print(f"| {kind} {dtype} | {device} | {len(values)} "
              f"| {statistics.median(sizes):.1f} | {statistics.fmean(sizes):.1f} "
              f"| {statistics.median(values):+.1f} |")


if __name__ == "__main__":
    foretell.main(main)
