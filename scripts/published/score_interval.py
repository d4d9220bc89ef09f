#!/usr/bin/env python3
"""Says how wide the interval of memory has to be, by sources left out.

    scripts/published/score_interval.py [--rows FILE] [--every N] [--networks FOLDER]
        [--answers FILE]

Takes published memory of whole processes with its environment named: the sources of
score_a100.py, score_xmem.py and score_memory.py, every N-th network (default 7) of
compare_training_memory.py, compare_finetuning.py (whose answers --answers keeps) and,
if FOLDER has their exports, the eager steps of score_compiled_memory.py. A row's excess
is what was measured beyond the estimate and the context's uncertainty, over the moving
memory: what is reserved apart from parameters and buffers. Prints in Markdown, for
inference, training, training of adapters and training on several GPUs, by source: the
rows; the shares above and below that the others of these sources give, 5 % beyond each, a
source weighing as the square root of its rows; the percentage of its rows that they hold,
and their median width; then the same by all sources, which src/memory/simulate_memory.cc
has. --rows keeps what was collected in FILE, and reads it if it is there. Runs with
cudnn.benchmark are left out. Needs torch.
"""

import argparse
import collections
import dataclasses
import itertools
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compare_finetuning
import compare_training_memory as timm
import compiled_scores
import finetuning_runs
import fit_intervals
import foretell
import host_factor
import memory_runs
import published
import score_a100
import score_compiled_memory
import score_memory
import score_xmem

CONTEXT_DOUBT_MIB = 80  # Of every environment in data/environments.json.
BEYOND = 0.05  # Of the rows, beyond either end.
TRAINING, ADAPTERS, SHARED = "training", "training of adapters", "on several GPUs"


@dataclasses.dataclass
class Row:
    """A process in MiB, as measured and predicted."""
    source: str
    regime: str
    measured: float
    predicted: float
    moving: float
    least: float  # Allocated; with the next 0 of what has no context.
    doubt: float

    def excess(self, sign):
        return (sign * (self.measured - self.predicted) - self.doubt) / self.moving

    def ends(self, above, below):
        low = self.predicted - self.doubt - below * self.moving
        return max(self.least, low), self.predicted + self.doubt + above * self.moving


def row_of(source, regime, measured, predicted, memory, has_context=True):
    moving = memory["reserved_mib"] - memory["parameters_mib"] - memory["buffers_mib"]
    return Row(source, regime, measured, predicted, max(1, moving),
               memory["allocated_mib"] if has_context else 0,
               CONTEXT_DOUBT_MIB if has_context else 0)


def slice_rows(folder):
    """migperf's, whose slices' memory has a context."""
    rows = [row for row in published.rows(score_a100.RUNS)
            if row["memory_mib"] and row["source"] not in score_a100.ALLOCATED]
    hosts = host_factor.write_hosts(folder)
    with published.unpacked(score_a100.TRACES, "*.pt") as traces:
        predictions = score_a100.Predictions(traces, hosts, rows)
        for row in rows:
            result = predictions.of(row, 1.0)
            yield row_of(f"{row['source']}, {row['device']}", row["mode"],
                         float(row["memory_mib"]),
                         score_a100.memory_of(result, row)[0], result["memory"])


def xmem_rows():
    """Convolutional networks; a bare context is not in what was measured."""
    for row in score_xmem.image_rows():
        if row["status"] == "ok":
            memory = score_xmem.predict(row, ())
            yield row_of("xmem, images", TRAINING, float(row["measured_mib"]),
                         score_xmem.segments_mib(memory), memory, has_context=False)


def timm_rows(every):
    """Networks of timm; a third of the rows decided the sizes of workspaces."""
    labels = timm.read_labels((8, 64))
    results = timm.predict_all((8, 64), timm.sampled(labels, every))
    for key, result in results.items():
        if key in labels:
            memory = result["memory"]
            yield row_of("gpumemnet, timm", TRAINING, labels[key],
                         memory["total_mib"], memory)


def other_rows(folder):
    runs = [run for source, step in {memory_runs.xmem_runs: 1,
                                     **memory_runs.STEPS}.items()
            for run in itertools.islice(source(), 0, None, step)]
    predictor = score_memory.Predictor(folder, runs)
    for run in runs:
        result = predictor.result(run)
        has_context = run.kind == memory_runs.DEVICE
        yield row_of(run.source.replace("training, ", "") if has_context else
                     "xmem, text", TRAINING, run.measured_mib,
                     score_memory.compared(run, result)[0], result["memory"],
                     has_context)


def tuned_rows(answers):
    """Fine-tuning; one source has what was reserved alone."""
    runs = list(finetuning_runs.runs(published.FINETUNING, finetuning_runs.Program()))
    compare_finetuning.ask(runs, compare_finetuning.Answers(answers))
    for run in (run for run in runs if run.words):
        figure = finetuning_runs.PROCESS
        if figure not in run.truth:
            figure = finetuning_runs.RESERVED
        if figure not in run.truth:
            continue
        regime = TRAINING if run.method == "full" else ADAPTERS
        yield row_of(run.source, regime if run.gpus == 1 else SHARED,
                     run.truth[figure], compare_finetuning.predicted(run)[figure],
                     run.answer["memory"], figure == finetuning_runs.PROCESS)


def own_rows(folder):
    """Eager steps on an H200 whose exports are there."""
    for row in score_compiled_memory.measured_rows("eager"):
        case = row["case"]
        if score_compiled_memory.mode_of(case) != compiled_scores.EAGER:
            continue
        path = score_compiled_memory.path_of(case, folder)
        if path.exists():
            flags = score_compiled_memory.flags_of(case)
            (result,) = foretell.run_json("predict", path, *flags, "--json")["results"]
            yield row_of("own, H200", case["mode"],
                         score_compiled_memory.truth_of(row)["process"] / 2**20,
                         result["memory"]["total_mib"], result["memory"])


def collected(options):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        yield from slice_rows(folder)
        yield from xmem_rows()
        yield from timm_rows(options.every)
        yield from other_rows(folder)
    yield from tuned_rows(options.answers)
    if options.networks:
        yield from own_rows(options.networks)


def shares_of(groups):
    """Above and below, of sources' rows."""
    return [max(0, fit_intervals.quantile([[row.excess(sign) for row in rows]
                                           for rows in groups], 1 - BEYOND))
            for sign in (1, -1)]


def held_cells(rows, shares):
    """The percentage that the shares hold, and the median width."""
    ends = [row.ends(*shares) for row in rows]
    held = statistics.fmean(low <= row.measured <= high
                            for row, (low, high) in zip(rows, ends))
    width = statistics.median(high / low for low, high in ends)
    return f"{100 * held:.0f} | ×{width:.2f}"


def print_regime(regime, groups):
    print(f"\n| {regime}: source left out | rows | above, of the others | below | held "
          "% | width | held % by all | width |\n|---|---|---|---|---|---|---|---|")
    of_all = shares_of(groups.values())
    for source, rows in sorted(groups.items()):
        others = [members for name, members in groups.items() if name != source]
        if not others:
            break
        shares = shares_of(others)
        print(f"| {source} | {len(rows)} | {shares[0]:.2f} | {shares[1]:.2f} | "
              f"{held_cells(rows, shares)} | {held_cells(rows, of_all)} |")
    every = [row for rows in groups.values() for row in rows]
    print(f"| all | {len(every)} | {of_all[0]:.2f} | {of_all[1]:.2f} | – | – | "
          f"{held_cells(every, of_all)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=timm.EVERY)
    parser.add_argument("--networks", type=pathlib.Path)
    parser.add_argument("--answers", type=pathlib.Path)
    options = parser.parse_args()
    published.need(score_a100.RUNS, score_a100.TRACES, score_xmem.ROWS,
                   published.TRAINING_TRACES, published.TRAINING_MEMORY,
                   published.FINETUNING)
    regimes = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in published.kept(options.rows, Row, lambda: collected(options)):
        regimes[row.regime][row.source].append(row)
    for regime, groups in regimes.items():
        print_regime(regime, groups)


if __name__ == "__main__":
    foretell.main(main)
