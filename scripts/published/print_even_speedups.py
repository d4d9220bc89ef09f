#!/usr/bin/env python3
"""How often measurements alone leave open on which side of 1 a speed-up lies.

    scripts/published/print_even_speedups.py

Of eager latency over that under torch.compile, for the rows of
score_compiled_kernelbench.py and score_compiled_steps.py. No prediction is made. Prints

  within noise  share of rows whose speed-up is no further from 1 than the latencies
                scatter: KernelBench states the standard deviation of 100 trials; of an
                H200's twenty steps, of which the fastest counts, the fifth is compared
                with it. The two of a pair add up
  disagree      by two tables of one GPU's kind and one set of sizes, the share of
                problems that are faster compiled in one and slower in the other: a
                prediction of both is wrong in half of these rows at least
"""

import collections
import itertools
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import kernelbench  # noqa: E402
import published  # noqa: E402
import score_compiled_memory as runs  # noqa: E402
import score_compiled_steps as steps  # noqa: E402
from compiled_scores import DEFAULT, EAGER  # noqa: E402

DEVICES = kernelbench.DEVICES | kernelbench.L40S
FIFTH = 4  # Its place among the sorted steps.


def kernelbench_scatter():
    """Standard deviations as shares of the latency, by table, mode and problem."""
    found = {}
    for row in published.rows(kernelbench.LATENCIES):
        if row["device"] in DEVICES and row["std_ms"]:
            mode = row["runtime"].removeprefix(kernelbench.COMPILE)
            found[DEVICES[row["device"]], row["commit"], mode, row["level"],
                  row["problem"].removesuffix(".py")] = (
                float(row["std_ms"]) / float(row["latency_ms"]))
    return found


def speedups(tables):
    """By table and problem."""
    return {table: {key: truths[EAGER][key] / compiled
                    for key, compiled in truths.get(DEFAULT, {}).items()
                    if truths[EAGER].get(key)} for table, truths in tables.items()}


def even_problems(faster, scatter):
    """By table and level, whether each speed-up is within the noise."""
    found = collections.defaultdict(list)
    for table, problems in faster.items():
        for key, speedup in problems.items():
            noise = sum(scatter.get((table.device, table.commit, mode, *key), 0)
                        for mode in (EAGER, DEFAULT))
            found[f"{table.device} {table.commit}", key[0]].append(
                abs(speedup - 1) <= noise)
    return found


def even_steps():
    """By kind of step, the same of the H200's."""
    pairs = collections.defaultdict(dict)
    for row in steps.quiet_rows(""):
        if steps.mode_of(row) in (EAGER, DEFAULT):
            pairs[steps.step_of(row)][steps.mode_of(row)] = row
    found = collections.defaultdict(list)
    for pair in pairs.values():
        if len(pair) < 2:
            continue
        fastest = {mode: min(row["step_ms_all"]) for mode, row in pair.items()}
        noise = sum(sorted(row["step_ms_all"])[FIFTH] / fastest[mode] - 1
                    for mode, row in pair.items())
        found[runs.DEVICE, pair[EAGER]["case"]["mode"]].append(
            abs(fastest[EAGER] / fastest[DEFAULT] - 1) <= noise)
    return found


def print_even(groups):
    print("| table | rows of | rows | within noise |\n|---|---|---|---|")
    for (table, level), even in sorted(groups.items()):
        print(f"| {table} | {level} | {len(even)} | {100 * statistics.fmean(even):.0f} |")


def kind_of(device):
    return device.split("-")[0]


def print_disagreements(faster):
    print("\n| tables | problems | disagree |\n|---|---|---|")
    for one, other in itertools.combinations(faster, 2):
        if one.sizes != other.sizes or kind_of(one.device) != kind_of(other.device):
            continue
        shared = faster[one].keys() & faster[other].keys()
        sides = [(faster[one][key] > 1) != (faster[other][key] > 1) for key in shared]
        if sides:
            print(f"| {one.device} {one.commit}, {other.device} {other.commit} | "
                  f"{len(sides)} | {100 * statistics.fmean(sides):.0f} |")


def main():
    published.need(kernelbench.LATENCIES)
    faster = speedups(kernelbench.tables(DEVICES))
    print_even(even_problems(faster, kernelbench_scatter()) | even_steps())
    print_disagreements(faster)


if __name__ == "__main__":
    foretell.main(main)
