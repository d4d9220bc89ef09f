#!/usr/bin/env python3
"""Tables of tests/golden/compile, from the rows of kernel_oracle.py.

    { kernel_oracle.py training/* inference/*
      partition_oracle.py --budget 0.5 training/*; } | write_compile_golden.py FOLDER

Rows of partition_oracle.py have a budget, or modules that alone are compiled. A
row's file is MODE/NETWORK. Steps that could not be scheduled or divided are reported
and left out.
"""

import csv
import json
import pathlib
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    saved, only, counts = [], [], []
    for line in sys.stdin:
        row = json.loads(line)
        mode, network = row["file"].split("/", 1)
        if "error" in row:
            print(f"{network}, {mode}: {row['error']}", file=sys.stderr)
            continue
        if "only" in row:
            only.append([network, row["only"], row["bytes"]])
            continue
        if "budget" in row:
            saved.append([network, row["checkpoint"], f"{row['budget']:g}",
                          row["bytes"]])
            continue
        passes = {name: sum(kinds.values())
                  for name, kinds in row["kernels"].items()}
        counts.append([network, mode,
                       passes.get("forward", passes.get("inference")),
                       passes.get("backward", 0)])
    _write(folder / "saved_bytes.csv",
           ["network", "checkpoint", "budget", "bytes"], saved)
    _write(folder / "only_bytes.csv", ["network", "only", "bytes"], only)
    _write(folder / "kernel_counts.csv",
           ["network", "mode", "forward", "backward"], counts)


def _write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(sorted(rows))


if __name__ == "__main__":
    main()
