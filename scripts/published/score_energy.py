#!/usr/bin/env python3
"""Compares predicted energy and power with published whole runs.

    scripts/published/score_energy.py [--rows] [--source WORD]

Reads published tables from ../shared beside the repository and prints in Markdown,
per source and device, clean rows apart: rows, and of time, power and energy the median
and mean absolute error and the signed median, in percent. Then the same for energy as a
ratio: to the run without a power limit, or to the first network of a source. At last
what share of the clean rows lies within the interval of energy. No constant was fitted
to these rows but the power of waiting (docs/energy.md). `--rows` prints every row,
`--source` keeps groups whose name has the word. All by the analytic model.
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched
import energy_runs
import foretell
import published

QUANTITIES = ("latency_ms", "power_w", "energy_j")


def asked(flags):
    """The model, its flags but the batch, and the batch."""
    at = flags.index("--batch")
    return (flags[0], (*map(str, flags[1:at] + flags[at + 2:]), "--method",
                       "analytic"), flags[at + 1])


def figures_of(parts):
    """Time, power, energy and the interval of energy, of steps that each run so often:
    pairs of a result and how often."""
    def total(figure):
        return sum(times * figure(result) for result, times in parts)

    ms = total(lambda result: result["latency"]["ms"])
    energy_j = total(lambda result: result["energy"]["j"])
    return {"latency_ms": ms, "power_w": energy_j / ms * 1e3, "energy_j": energy_j,
            "gpu_ms": total(lambda result: result["latency"]["gpu_ms"]),
            "dispatch_ms": total(lambda result: result["latency"]["dispatch_ms"]),
            "host_factor": parts[0][0]["latency"]["host_factor"],
            **{name: [total(lambda result, end=end: result[key][name][end])
                      for end in (0, 1)]
               for key, name in (("latency", "interval_ms"),
                                 ("energy", "interval_j"))}}


def parts_of(run):
    """Pairs of what is asked and how often it runs."""
    yield asked(run.flags), run.times
    if run.then:
        yield asked(run.then), 1


def predictions_of(runs):
    """Pairs of a run and what is predicted for all of its steps."""
    results = batched.Results(part for run in runs for part, _ in parts_of(run))
    for run in runs:
        yield run, figures_of([(results.of(*part), times)
                               for part, times in parts_of(run)])


def error_cells(errors):
    return published.error_cells(errors, " / ")


def groups_of(pairs):
    groups = collections.defaultdict(list)
    for run, figures in pairs:
        groups[run.group, run.unclean].append((run, figures))
    return sorted(groups.items())


def errors_of(pairs, quantity):
    return [figures[quantity] / getattr(run, quantity) - 1
            for run, figures in pairs if getattr(run, quantity)]


def print_absolute(pairs):
    print("| source | rows | time | power | energy | clean |\n"
          "|---|---|---|---|---|---|")
    for (group, unclean), members in groups_of(pairs):
        cells = " | ".join(error_cells(errors_of(members, quantity))
                           for quantity in QUANTITIES)
        print(f"| {group} | {len(members)} | {cells} | {unclean or 'yes'} |")


def print_ratios(pairs):
    """Energy and time against those of the run that a row is compared with."""
    references = {run.name: (run, figures) for run, figures in pairs if run.name}
    groups = collections.defaultdict(lambda: ([], []))
    for run, figures in pairs:
        if run.reference not in references:
            continue
        other, of_other = references[run.reference]
        for errors, quantity in zip(groups[run.group],
                                    ("latency_ms", "energy_j")):
            if not getattr(run, quantity):
                continue
            measured = getattr(run, quantity) / getattr(other, quantity)
            errors.append(figures[quantity] / of_other[quantity] / measured - 1)
    print("\n| ratio to the same run without a limit, or to ResNet-50 | rows | time "
          "| energy |\n|---|---|---|---|")
    for group, (times, energies) in sorted(groups.items()):
        print(f"| {group} | {len(energies)} | {error_cells(times)} | "
              f"{error_cells(energies)} |")


def print_interval(pairs):
    inside = collections.defaultdict(list)
    for run, figures in pairs:
        if run.energy_j and not run.unclean:
            low, high = figures["interval_j"]
            inside[run.group].append(low <= run.energy_j <= high)
    print("\n| energy of clean rows | rows | inside the interval % |\n|---|---|---|")
    for group, flags in sorted(inside.items()):
        print(f"| {group} | {len(flags)} | {100 * statistics.fmean(flags):.0f} |")


def print_rows(pairs):
    print("\n| run | predicted / published ms | W | J |\n|---|---|---|---|")
    for run, figures in pairs:
        cells = " | ".join(
            f"{figures[quantity]:.5g} / {getattr(run, quantity) or float('nan'):.5g}"
            for quantity in QUANTITIES)
        print(f"| {' '.join(map(str, run.flags))} | {cells} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--source", default="", help="a word of the group's name")
    options = parser.parse_args()
    published.need(published.TABLES)
    runs = [run for source in energy_runs.SOURCES for run in source()
            if options.source in run.group]
    pairs = list(predictions_of(runs))
    print_absolute(pairs)
    print_ratios(pairs)
    print_interval(pairs)
    if options.rows:
        print_rows(pairs)


if __name__ == "__main__":
    foretell.main(main)
