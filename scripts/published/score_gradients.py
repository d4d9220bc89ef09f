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
import math
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
import kind_graphs  # noqa: E402

DEVICE = "h100-sxm5-80gb"
ROWS = ROOT / "datasets" / "labels" / DEVICE / "kinds.jsonl.gz"
PRECISIONS = ("fp32", "bf16")
NEAR = 1.35


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=20)
    least = parser.parse_args().least
    measured = []
    for row in kind_graphs.measured(ROWS, least):
        if (row["pass"] == "backward" and row["precision"] in PRECISIONS and
                row["layout"] == "contiguous"):
            kind, text = kind_graphs.written(row) or (None, None)
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
