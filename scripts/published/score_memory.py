#!/usr/bin/env python3
"""Compares predicted memory with published runs of which no file is at hand.

    scripts/published/score_memory.py [--source WORD] [--every N] [--runs]
                                      [--method METHOD]

Reads tables of ../shared beside the repository: transformers' documentation (memory that
torch allocated, eager and fused attention), imagenet-energy-2022 (inference of images),
xMem's language models, GPUMemNet's generated networks and MMSegmentation's zoo
(training). The networks are the zoo's, or are written in PyTorch and exported without weights. Prints in Markdown, in
percent, rows, median and mean absolute error, the signed median, and the share of rows
above the upper end of the interval, where the measured memory has a context or comes
without one. Of the generated convolutional networks every N-th row is taken (default
60), of the generated transformers every fourth. `--source` keeps sources whose name has
the word, `--runs` prints each run. By the analytic model, or as `--method` says. Needs
torch.
"""

import argparse
import collections
import itertools
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched
import foretell
import memory_runs
import published


def runs_of(options):
    for source in memory_runs.SOURCES:
        step = (options.every if source is memory_runs.cnn_runs
                else memory_runs.STEPS.get(source, 1))
        found = (run for run in source() if options.source in run.source)
        yield from itertools.islice(found, 0, None, step)


class Predictor:
    """Predicts runs; exports each network once."""

    def __init__(self, folder, runs, method="analytic"):
        self.folder, self.paths = pathlib.Path(folder), {}
        self.method = method
        self.results = batched.Results(map(self.asked, runs))

    def path_of(self, run):
        """A zoo: name, or where the run's network is or will be written."""
        if not run.network:
            return run.model
        return self.paths.setdefault(
            run.network, self.folder / f"network{len(self.paths)}.pt")

    def asked(self, run):
        return self.path_of(run), (*run.flags, "--method", self.method), run.batch

    def result(self, run):
        if run.network and not self.path_of(run).exists():
            memory_runs.export_network(run.network, self.path_of(run))
        return self.results.of(*self.asked(run))


BYTES = {"f16": 2, "f32": 4, "i64": 8}


def result_mib(result):
    """What the pass returns."""
    return sum(BYTES[one["dtype"]] * math.prod(one["shape"])
               for one in result["outputs"]) / 2**20


def compared(run, result):
    """MiB to compare with the run's, and the upper end, None without one."""
    memory = result["memory"]
    if run.kind == memory_runs.ALLOCATED:
        kept = result_mib(result) if run.keeps_result else 0
        buckets = memory["parameters_mib"] if run.has_buckets else 0
        return memory["allocated_mib"] + kept + buckets, None
    held = memory["on_device_mib"] or memory["total_mib"]
    left_out = (memory["context_mib"] if run.kind == memory_runs.BEYOND_CONTEXT
                else 0)
    return held - left_out, memory["interval_mib"][1] - left_out


def print_table(groups):
    print("\n| memory by source | rows | median | mean | signed | above |\n"
          "|---|---|---|---|---|---|")
    for source, rows in groups.items():
        errors = [error for error, _ in rows]
        above = [flag for _, flag in rows if flag is not None]
        share = f"{100 * statistics.fmean(above):.0f}" if above else "–"
        print(f"| {source} | {len(rows)} | {published.error_cells(errors)} | "
              f"{share} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", default="", help="a word of the source's name")
    parser.add_argument(
        "--every", type=int, default=memory_runs.STEPS[memory_runs.cnn_runs],
        help="take every N-th of the generated convolutional networks")
    parser.add_argument("--runs", action="store_true", help="print each run")
    parser.add_argument("--method", default="analytic", help="of `predict`")
    options = parser.parse_args()
    published.need(memory_runs.HF_DOCS, memory_runs.CNNS)
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        runs = list(runs_of(options))
        predictor = Predictor(folder, runs, options.method)
        for run in runs:
            result = predictor.result(run)
            memory = result["memory"]
            predicted, high = compared(run, result)
            groups[run.source].append(
                (predicted / run.measured_mib - 1,
                 None if high is None else run.measured_mib > high))
            if options.runs:
                print(f"{run.source}, {run.name}, batch {run.batch} "
                      f"{' '.join(run.flags)}: {predicted:.0f} MiB, measured "
                      f"{run.measured_mib:.0f}, standing "
                      f"{memory['parameters_mib'] + memory['optimizer_mib']:.0f}, "
                      f"reserved {memory['reserved_mib']:.0f}")
    print_table(groups)


if __name__ == "__main__":
    foretell.main(main)
