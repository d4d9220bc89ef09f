#!/usr/bin/env python3
"""KernelBench's problems under torch.compile against what was published.

    scripts/published/score_compiled_kernelbench.py [--device NAME...] [--least MS]
        [--by-problem]

Eager and compiled latency of single operators, chains and networks in FP32, PyTorch
2.5 and 2.9, in every mode of torch.compile, by scripts/lib/kernelbench.py. Hosts differ: for
every published table one factor of the CPU's time is taken from its host-bound eager
rows, and both predictions use it. Prints for each table, mode and level what
score_compiled.py prints; with --least only of problems that take as long in eager mode.
Nothing else is fitted here.

A third of the problems was kept back by those who gave the files.
"""

import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compiled_scores  # noqa: E402
import foretell  # noqa: E402
import host_factor  # noqa: E402
import kernelbench  # noqa: E402
import published  # noqa: E402
from kernelbench import EAGER  # noqa: E402

DEVICES = kernelbench.DEVICES | kernelbench.L40S


def predicted(told, device, modes, eager_truths):
    """By mode, on the host that the eager rows show; and its factor."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        eager = {factor: told.latencies(device, "--host", host) for factor, host
                 in host_factor.write_hosts(folder).items()}
        host, factor = compiled_scores.fitted_host(folder, eager, eager_truths)
        return {mode: told.latencies(device, "--host", host, "--runtime",
                                     compiled_scores.runtime_of(mode))
                for mode in modes}, factor


def pairs_of(told, truths, mode, least):
    """By level and problem."""
    return {key: compiled_scores.Pair((told[EAGER][key], told[mode][key]),
                                      (truths[EAGER][key], compiled))
            for key, compiled in truths[mode].items()
            if truths[EAGER].get(key, 0) >= least and truths[EAGER].get(key) and
            key in told[EAGER] and key in told[mode]}


def print_by_problem(pairs):
    for key, pair in sorted(pairs.items(), key=lambda item: item[1].errors()[1]):
        ratios = " ".join(f"{1 + error:.2f}" for error in pair.errors())
        print(f"  {' '.join(key)}: {ratios} {pair.truth}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", nargs="+", default=sorted(DEVICES.values()))
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--by-problem", action="store_true")
    options = parser.parse_args()
    published.need(kernelbench.EXPORTS, kernelbench.LATENCIES)
    print(compiled_scores.head("table", "mode", "level"))
    with kernelbench.exports() as folder:
        told_of = kernelbench.predictions(folder)
        for table, truths in kernelbench.tables(DEVICES).items():
            if table.device not in options.device or len(truths) == 1:
                continue
            told, factor = predicted(told_of[table.setup], table.device, truths,
                                     truths[EAGER])
            for mode in sorted(truths.keys() - {EAGER}):
                pairs = pairs_of(told, truths, mode, options.least)
                for level in sorted({key[0] for key in pairs}):
                    print(compiled_scores.line(
                        f"{table.device} {table.commit} (host × {factor:.2f})", mode, level,
                        pairs=[pair for key, pair in pairs.items()
                               if key[0] == level]))
                if options.by_problem:
                    print_by_problem(pairs)


if __name__ == "__main__":
    foretell.main(main)
