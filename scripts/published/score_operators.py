#!/usr/bin/env python3
"""Compares the analytic model with published times of single operators.

    scripts/published/score_operators.py [--half odd|even|both] [--by size]
                                         [--table NAME]… [--least ROWS]

Writes every row as a graph of one operator, has `foretell time-operators` predict the
GPU time of all of them, and prints a Markdown table per kind of operator and device:
rows, median and mean absolute error and the signed median, in percent. Constants are
fitted to even rows of each table, so odd ones are what is printed by default.

Rows of NeuSight and DeepBench hold a call's own time beside the kernel's: rows below
five times the shortest of their operator and device are left out, and half of the
shortest is added to what is predicted for the others. `--by size` divides each kind by
how long it was measured to take.
"""

import argparse
import collections
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published
from published_operators import TABLES

# Rows shorter than this multiple of the shortest say how long a call takes.
CALLS = 5
SIZES_US = (30, 100, 300, 1000, 10000)


def predicted_us(rows):
    """Times of `rows` of one device, all with or all without TF32."""
    device = rows[0].device
    flags = ["--device", device]
    if not rows[0].tf32:
        flags.append("--no-tf32")
    with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
        file.writelines(row.graph for row in rows)
        file.flush()
        return foretell.run_json("time-operators", file.name, *flags)


def groups_of(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def operator_of(row):
    return row.table, row.operator, row.device


def without_calls(rows):
    """Rows of GPU-bound runs, and what a call adds to each of them."""
    for group in groups_of(rows, operator_of).values():
        shortest = min(row.us for row in group) if group[0].is_called else 0
        for row in group:
            if row.us >= CALLS * shortest:
                yield row, shortest / 2


def size_of(us):
    below = [size for size in SIZES_US if us >= size]
    return f"from {below[-1]} us" if below else f"below {SIZES_US[0]} us"


def half_of(rows, half):
    """Every second row of each operator and device, or all."""
    if half == "both":
        return rows
    first = int(half == "odd")
    return [row for group in groups_of(rows, operator_of).values()
            for row in group[first::2]]


def errors_of(rows):
    """Pairs of a row and its predicted time over the measured one less 1."""
    kept = list(without_calls(rows))
    for _, group in groups_of(
            kept, lambda pair: (pair[0].device, pair[0].tf32)).items():
        times = predicted_us([row for row, _ in group])
        for (row, call_us), us in zip(group, times):
            yield row, (us + call_us) / row.us - 1


def print_table(errors, by_size, least):
    groups = collections.defaultdict(list)
    for row, error in errors:
        kind = f"{row.kind}, {size_of(row.us)}" if by_size else row.kind
        groups[kind, row.device, row.table].append(error)
    print("| operator | device | source | rows | median | mean | signed |\n"
          "|---|---|---|---|---|---|---|")
    for (kind, device, table), group in sorted(groups.items()):
        if len(group) < least:
            continue
        print(f"| {kind} | {device} | {table} | {len(group)} | "
              f"{published.error_cells(group)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=["odd", "even", "both"], default="odd")
    parser.add_argument("--by", choices=["kind", "size"], default="kind")
    parser.add_argument("--table", action="append", choices=sorted(TABLES),
                        help="this table alone; repeatable")
    parser.add_argument("--least", type=int, default=10,
                        help="leave out kinds with fewer rows")
    options = parser.parse_args()
    rows = []
    for name in options.table or TABLES:
        published.need(*TABLES[name].files)
        rows += TABLES[name].rows()
    errors = errors_of(half_of(rows, options.half))
    print_table(errors, options.by == "size", options.least)


if __name__ == "__main__":
    foretell.main(main)
