#!/usr/bin/env python3
"""How long the fuzzers have run: processor time and inputs, by target.

    tests/fuzz/hours.py         sums up tests/fuzz/hours.csv
    tests/fuzz/hours.py FILE    sums up another, build/fuzz/hours.csv say

`scripts/fuzz` writes a row of build/fuzz/hours.csv for each run of a target; the
rows of tests/fuzz/hours.csv were copied from there.
"""

import collections
import csv
import pathlib
import sys

COMMITTED = pathlib.Path(__file__).absolute().with_suffix(".csv")


def sums(path):
    """target → [processor seconds, inputs], and both of all under `all`."""
    totals = collections.defaultdict(lambda: [0.0, 0])
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            for name in (row["target"], "all"):
                totals[name][0] += float(row["processor_s"])
                totals[name][1] += int(row["inputs"])
    return totals


def table(totals):
    """One line a target, in order of their names, `all` last."""
    names = sorted(totals, key=lambda name: (name == "all", name))
    lines = [f"{'target':<15}{'processor minutes':>18}{'inputs':>14}"]
    for name in names:
        seconds, inputs = totals[name]
        lines.append(f"{name:<15}{seconds / 60:>18.1f}{inputs:>14,}")
    return "\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    print(table(sums(sys.argv[1] if len(sys.argv) == 2 else COMMITTED)))
