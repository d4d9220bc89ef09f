#!/usr/bin/env python3
"""Analytic latency of KernelBench's problems against what was published.

    scripts/published/score_kernelbench.py [--device NAME...] [--host NAME]
        [--by-problem] [--csv FILE]

Eager PyTorch, by scripts/lib/kernelbench.py. Prints, for each table and level, the rows,
those of at least 1 ms, and of these the median and mean absolute error and the signed
median in percent, and the share within a factor of 1.35; with --by-problem a line for
each problem, the worst last. --csv writes the pairs. Nothing is fitted here.

A third of the problems was kept back by those who gave the files; these are the rest.
"""

import argparse
import collections
import csv
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import kernelbench  # noqa: E402
import published  # noqa: E402

GPU_BOUND_MS = 1
NEAR = 1.35


def line(pairs):
    large = [pair for pair in pairs if pair[1] >= GPU_BOUND_MS]
    errors = [forecast / truth - 1 for forecast, truth in large]
    near = [abs(math.log(forecast / truth)) <= math.log(NEAR)
            for forecast, truth in large]
    share = f"{100 * statistics.fmean(near):.0f}" if near else "–"
    return (f"{len(pairs)} | {len(large)} | {published.error_cells(errors)} | "
            f"{share}")


def pairs_of(devices, flags):
    """(predicted, measured) milliseconds by table, level and problem."""
    pairs = {}
    with kernelbench.exports() as folder:
        told = kernelbench.predictions(folder)
        for table, modes in kernelbench.tables().items():
            if table.device in devices:
                found = told[table.setup].latencies(table.device, *flags)
                pairs |= {(*table, *key): (found[key], truth) for key, truth
                          in modes[kernelbench.EAGER].items() if key in found}
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", nargs="+",
                        default=sorted(kernelbench.DEVICES.values()))
    parser.add_argument("--host", help="as foretell predict has it")
    parser.add_argument("--by-problem", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    published.need(kernelbench.EXPORTS, kernelbench.LATENCIES)
    pairs = pairs_of(options.device, ("--host", options.host) if options.host else ())
    groups = collections.defaultdict(list)
    for (device, commit, level, _), pair in pairs.items():
        groups[device, commit, level].append(pair)
    print("| device | commit | level | rows | ≥ 1 ms | median | mean | signed | "
          "within ×1.35 |\n|---|---|---|---|---|---|---|---|---|")
    for key, group in sorted(groups.items()):
        print(f"| {' | '.join(key)} | {line(group)} |")
    if options.by_problem:
        print("\n| problem | predicted / measured | ms |\n|---|---|---|")
        ratios = sorted((abs(math.log(forecast / truth)), key, forecast, truth)
                        for key, (forecast, truth) in pairs.items()
                        if truth >= GPU_BOUND_MS)
        for _, key, forecast, truth in ratios:
            print(f"| {' '.join(key)} | {forecast / truth:.2f} | {truth:g} |")
    if options.csv:
        with options.csv.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("device", "commit", "level", "problem", "predicted_ms",
                            "measured_ms"))
            table.writerows((*key, *pair) for key, pair in sorted(pairs.items()))


if __name__ == "__main__":
    foretell.main(main)
