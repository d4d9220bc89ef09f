#!/usr/bin/env python3
"""Compares the analytic model with operators of every kind, at awkward extents.

    scripts/published/score_kinds.py [--least US] [--kinds WORD] [--fine] [--csv FILE]

Reads kinds.jsonl.gz and drawn.jsonl.gz of the H100 and drawn.jsonl.gz of the H200 below
datasets/labels and has `foretell time-operators` predict the GPU time of the rows that
one operator runs (scripts/lib/kind_graphs.py). The H200's cases are others than the
H100's: constants were fitted to the H100's rows alone, and the H200's are kept back.
Prints a Markdown table per kind, pass and width of elements, TF32 off apart, or with
--fine per precision and layout: of either set the rows, the median of predicted over
measured, the median and mean absolute error in percent and the share within a factor of
2. Rows shorter than --least (20 microseconds) say how long a
launch takes, and are left out. --kinds keeps the kinds that contain WORD.
"""

import argparse
import collections
import csv
import math
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
import kind_graphs  # noqa: E402

LABELS = ROOT / "datasets" / "labels"
SETS = {"fitted": ("h100-sxm5-80gb", ("kinds", "drawn")),
        "kept back": ("h200-sxm-141gb", ("drawn",))}
TORCH = "2.11"
FAR = 2
HALVES = ("bf16", "fp16")
OFF = {"fp32_no_tf32": "TF32 off"}


def predict(device, rows, *flags):
    """(kind, predicted us, row) of what can be written; TF32 off where it was.

    With the flag --work, the time is a pair with what work the operator does."""
    found = []
    for off in (False, True):
        some = [(row, *text) for row in rows
                if (row["precision"] == "fp32_no_tf32") == off and
                (text := kind_graphs.written(row))]
        with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
            file.writelines(text for _, _, text in some)
            file.flush()
            times = foretell.run_json("time-operators", file.name, "--device", device,
                                      "--torch", TORCH, *flags,
                                      *(["--no-tf32"] if off else []))
        found += [(kind, us, row) for (row, kind, _), us in zip(some, times)]
    return found


def group(kind, row, fine):
    precision = row["precision"]
    if fine:
        return f"{kind} | {row['pass']} | {precision} {row['layout']}"
    return (f"{kind} | {row['pass']} | "
            f"{'16 bits' if precision in HALVES else OFF.get(precision, '32 bits')}")


def cells(ratios):
    if not ratios:
        return "0 | – | – | – | –"
    errors = [100 * abs(ratio - 1) for ratio in ratios]
    near = statistics.fmean(abs(math.log(ratio)) <= math.log(FAR) for ratio in ratios)
    return (f"{len(ratios)} | {statistics.median(ratios):.2f} | "
            f"{statistics.median(errors):.0f} | {statistics.fmean(errors):.0f} | "
            f"{100 * near:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--least", type=float, default=20)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    ratios = collections.defaultdict(lambda: collections.defaultdict(list))
    pairs = []
    for name, (device, files) in SETS.items():
        rows = [row for file in files for row in kind_graphs.measured(
            LABELS / device / f"{file}.jsonl.gz", options.least)]
        for kind, us, row in predict(device, rows):
            if options.kinds not in kind:
                continue
            for one in (group(kind, row, options.fine), f"all | {row['pass']} |"):
                ratios[one][name].append(us / row["gpu_us"])
            pairs.append((name, kind, row["pass"], row["precision"], row["layout"],
                          us, row["gpu_us"], row["shape"], row["options"]))
    print("| operator | pass | type | fitted: rows | ratio | median | mean | "
          "within ×2 | kept back: rows | ratio | median | mean | within ×2 |\n"
          f"|{'---|' * 13}")
    for key, of in sorted(ratios.items()):
        print(f"| {key} | {' | '.join(cells(of[name]) for name in SETS)} |")
    if options.csv:
        with options.csv.open("w", newline="") as file:
            csv.writer(file).writerows(pairs)


if __name__ == "__main__":
    foretell.main(main)
