#!/usr/bin/env python3
"""KernelBench's problems under torch.compile against what was published.

    scripts/published/score_compiled_kernelbench.py [--device NAME...] [--least MS]
        [--by-problem]

Eager and compiled latency of single operators, chains and networks in FP32, PyTorch
2.5, in every mode of torch.compile (the tables and exports of score_kernelbench.py).
Hosts differ: for every published table one factor of the CPU's time is taken from its
host-bound eager rows, and both predictions use it. Problems with a batch norm are left
out: KernelBench times them in training mode, the exports are in inference mode.
Prints for each table, mode and level what score_compiled.py prints; with --least only
of problems that take as long in eager mode. Nothing else is fitted here.

A third of the problems was kept back by those who gave the files.
"""

import argparse
import collections
import pathlib
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compiled_scores  # noqa: E402
import foretell  # noqa: E402
import host_factor  # noqa: E402
import published  # noqa: E402
import score_kernelbench  # noqa: E402
from compiled_scores import EAGER  # noqa: E402

DEVICES = {**score_kernelbench.DEVICES, "NVIDIA L40S": "l40s"}
COMPILE = "torch.compile inductor_"  # Before the mode, in the tables.


def measured(devices):
    """Milliseconds by level and problem, by mode, by device and commit."""
    tables = collections.defaultdict(lambda: collections.defaultdict(dict))
    for row in published.rows(score_kernelbench.LATENCIES):
        mode = row["runtime"].removeprefix(COMPILE)
        device = DEVICES.get(row["device"])
        if (device in devices and row["commit"] in score_kernelbench.SIZES and
                (mode == EAGER or mode != row["runtime"])):
            key = row["level"], row["problem"].removesuffix(".py")
            tables[device, row["commit"]][mode][key] = float(row["latency_ms"])
    return {source: modes for source, modes in tables.items() if len(modes) > 1}


def has_batch_norm(path):
    with zipfile.ZipFile(path) as file:
        model = next(name for name in file.namelist()
                     if name.endswith("models/model.json"))
        return b"aten.batch_norm" in file.read(model)


def latencies(device, files, *flags):
    """Predicted milliseconds by level and problem."""
    return {key[1:]: float(row["latency_ms"]) for key, row in
            score_kernelbench.predicted_rows(device, files, *flags).items()}


def predicted(device, files, modes, eager_truths):
    """By mode, on the host that the eager rows show; and its factor."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        told = {factor: latencies(device, files, "--host", host) for factor, host
                in host_factor.write_hosts(folder).items()}
        host, factor = compiled_scores.fitted_host(folder, told, eager_truths)
        return {mode: latencies(device, files, "--host", host, "--runtime",
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
    published.need(score_kernelbench.EXPORTS, score_kernelbench.LATENCIES)
    print(compiled_scores.head("table", "mode", "level"))
    with published.unpacked(score_kernelbench.EXPORTS, inside="v2507") as folder:
        files = [path for path in sorted(folder.rglob("*.pt2"))
                 if not has_batch_norm(path)]
        for (device, commit), truths in sorted(measured(options.device).items()):
            sizes = score_kernelbench.SIZES[commit]
            told, factor = predicted(
                device, [path for path in files if path.parent.name == sizes],
                truths, truths[EAGER])
            for mode in sorted(truths.keys() - {EAGER}):
                pairs = pairs_of(told, truths, mode, options.least)
                for level in sorted({key[0] for key in pairs}):
                    print(compiled_scores.line(
                        f"{device} {commit} (host × {factor:.2f})", mode, level,
                        pairs=[pair for key, pair in pairs.items()
                               if key[0] == level]))
                if options.by_problem:
                    print_by_problem(pairs)


if __name__ == "__main__":
    foretell.main(main)
