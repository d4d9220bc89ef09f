#!/usr/bin/env python3
"""Compares the analytic model with backward operators that were measured for this project.

    scripts/published/score_gradients.py [--least US]

Reads the backward rows of kinds.jsonl.gz below datasets/labels that this script can write
as one operator: norms, softmaxes, poolings, interpolations and convolutions of contiguous
images. `foretell time-operators` predicts their GPU times. Prints a Markdown table per
kind and precision: rows, median and mean absolute error and the signed median in percent,
and the share within a factor of 1.35. Rows shorter than --least (20 microseconds) say how
long a launch takes, and are left out. Constants were fitted to these rows.
"""

import argparse
import collections
import gzip
import json
import math
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
from operator_text import shape  # noqa: E402

DEVICE = "h100-sxm5-80gb"
ROWS = ROOT / "datasets" / "labels" / DEVICE / "kinds.jsonl.gz"
DTYPES = {"fp32": "f32", "bf16": "bf16"}
NEAR = 1.35
RESIZED = {"nearest": ("nearest2d", 2), "nearest3d": ("nearest3d", 2),
           "bilinear": ("bilinear2d", 2), "bilinear_down": ("bilinear2d", 0.5),
           "bicubic": ("bicubic2d", 2), "trilinear": ("trilinear3d", 2)}


def spread(value, count):
    return list(value) if isinstance(value, list) else [value] * count


def call(operator, tensors, results, attributes=""):
    """`tensors`: (role, type) after one another; the gradient received comes first."""
    names = [f"%{i}" for i in range(len(tensors))]
    lines = [f"{name} = {role} {of}" for name, (role, of) in zip(names, tensors)]
    outputs = ", ".join(f"%d{i}" for i in range(len(results)))
    return "\n".join(["graph mode=training", *lines, "phase backward",
                      f"{outputs} = {operator}({', '.join(names)}) {{{attributes}}} : "
                      f"{', '.join(results)}", "output %d0\n"])


def norm(of, sizes, name, count):
    if name == "local_response_norm":
        return None
    if name in ("layer_norm", "rms_norm"):
        weight = sizes[-count:]
        operator = ("native_layer_norm_backward" if name == "layer_norm" else
                    "_fused_rms_norm_backward")
        results = [sizes, weight, *([weight] if name == "layer_norm" else [])]
        attributes = f"normalized_shape={shape(*weight)}"
    else:
        if name == "instance_norm":
            sizes = [1, sizes[0] * sizes[1], *sizes[2:]]
        weight = [sizes[1]]
        operator = f"native_{'group' if name == 'group_norm' else 'batch'}_norm_backward"
        results, attributes = [sizes, weight, weight], f"num_groups={count or 1}"
    return call(operator, [("input", of(sizes)), ("input", of(sizes)),
                           ("parameter", of(weight))],
                [of(result) for result in results], attributes)


def pool(of, sizes, name, **how):
    if name == "lp_pool2d" or spread(how.get("output_size", 0), 1) == [1]:
        return None
    count = len(sizes) - 2
    if "output_size" in how:
        pooled, attributes = spread(how["output_size"], count), ""
        operator = f"{'_' if 'avg' in name else ''}{name}_backward"
    else:
        window = spread(how["kernel_size"], count)
        stride = spread(how.get("stride", window), count)
        reach = [how.get("dilation", 1) * (k - 1) + 1 for k in window]
        pooled = [(n + 2 * how.get("padding", 0) - r) // s + 1
                  for n, r, s in zip(sizes[2:], reach, stride)]
        if count == 1:  # As images of one row.
            sizes, pooled = [*sizes[:2], 1, sizes[2]], [1, *pooled]
            window, stride = [1, *window], [1, *stride]
        dims = max(2, count)
        operator = (f"avg_pool{dims}d_backward" if name.startswith("avg") else
                    f"max_pool{dims}d_with_indices_backward")
        attributes = f"kernel_size={shape(*window)}, stride={shape(*stride)}"
    result = [*sizes[:2], *pooled]
    indices = [("input", f"i64{shape(*result)}")] if "max" in name else []
    return call(operator, [("input", of(result)), ("input", of(sizes)), *indices],
                [of(sizes)], attributes)


def convolution(of, sizes, outputs, kernel, transposed=False, groups=1, **how):
    count = len(sizes) - 2
    window = spread(kernel, count)
    stride, padding, dilation, more = (
        spread(how.get(name, default), count) for name, default in
        (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0)))
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, window)]
    extents = zip(sizes[2:], stride, padding, reach, more)
    result = [(n - 1) * s - 2 * p + r + m if transposed else (n + 2 * p - r) // s + 1
              for n, s, p, r, m in extents]
    rows = (sizes[1], outputs) if transposed else (outputs, sizes[1])
    weight = [rows[0], rows[1] // groups, *window]
    attributes = (f"stride={shape(*stride)}, padding={shape(*padding)}, "
                  f"dilation={shape(*dilation)}, output_padding={shape(*more)}, "
                  f"transposed={str(transposed).lower()}, groups={groups}, "
                  "output_mask=[1, 1, 0]")
    return call("convolution_backward",
                [("input", of([sizes[0], outputs, *result])), ("input", of(sizes)),
                 ("parameter", of(weight))], [of(sizes), of(weight)], attributes)


def written(row):
    """The kind of the row and its graph; None for what is not compared."""
    op, how, sizes = row["op"], row["options"], row["shape"]
    name = how.get("name")

    def of(extents):
        return DTYPES[row["precision"]] + shape(*extents)
    if op == "any_convolution":
        return ("transposed convolution" if how.get("transposed") else
                "convolution"), convolution(of, sizes, **how)
    if op in ("norm", "pool"):
        kind = name.rstrip("123d").replace("_", " ")
        return kind, (norm if op == "norm" else pool)(of, sizes, **how)
    if op == "along" and name in ("softmax", "log_softmax"):
        return name.replace("_", " "), call(
            f"_{name}_backward_data", [("input", of(sizes))] * 2, [of(sizes)],
            f"dim={how['dim']}")
    if op == "move" and name in RESIZED:
        operator, factor = RESIZED[name]
        larger = [*sizes[:2], *(int(n * factor) for n in sizes[2:])]
        return "interpolation", call(f"upsample_{operator}_backward",
                                     [("input", of(larger))], [of(sizes)])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=20)
    least = parser.parse_args().least
    measured = []
    with gzip.open(ROWS, "rt") as file:
        for row in map(json.loads, file):
            if (row.get("pass") == "backward" and row["status"] == "ok" and
                    row["precision"] in DTYPES and row["layout"] == "contiguous" and
                    row["gpu_us"] >= least):
                kind, text = written(row) or (None, None)
                if text:
                    measured.append((f"{kind} | {row['precision']}", row["gpu_us"], text))
    with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
        file.writelines(text for _, _, text in measured)
        file.flush()
        times = foretell.run_json("time-operators", file.name, "--device", DEVICE,
                                  "--torch", "2.11")
    ratios = collections.defaultdict(list)
    for (kind, us, _), predicted in zip(measured, times):
        ratios[kind].append(predicted / us)
        ratios["all | at least 1 ms" if us >= 1000 else "all | shorter"].append(
            predicted / us)
    print("| backward operator | precision | rows | median | mean | signed | "
          "within ×1.35 |\n|---|---|---|---|---|---|---|")
    for kind, values in sorted(ratios.items()):
        errors = [100 * abs(ratio - 1) for ratio in values]
        near = statistics.fmean(abs(math.log(ratio)) <= math.log(NEAR)
                                for ratio in values)
        print(f"| {kind} | {len(values)} | {statistics.median(errors):.1f} "
              f"| {statistics.fmean(errors):.1f} "
              f"| {100 * (statistics.median(values) - 1):+.1f} | {100 * near:.0f} |")


if __name__ == "__main__":
    foretell.main(main)
