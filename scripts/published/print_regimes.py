#!/usr/bin/env python3
"""Prints what to expect of a prediction, by kind of run: README's table.

    scripts/published/print_regimes.py [--rows FILE] [--every N] [--networks FOLDER]
        [--answers FILE]

For each regime, in Markdown: rows and sources, the median and mean absolute error in
percent, the share of rows that the printed interval holds, and its median width (upper
over lower end). Times and energies are those of scripts/lib/interval_rows.py; memory is
what strangers reported (score_field_reports.py), the process of a training step of
every seventh image network (compare_training_memory.py) and fine-tuning of language models
(compare_finetuning.py, whose answers --answers keeps). An interval of nvidia-smi's
figure is judged alone, for allocated memory has none. Needs torch.
"""

import dataclasses
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compare_finetuning  # noqa: E402
import compare_training_memory  # noqa: E402
import finetuning_runs  # noqa: E402
import foretell  # noqa: E402
import interval_rows  # noqa: E402
import published  # noqa: E402
import score_field_reports  # noqa: E402

GPU_BOUND_MS = 1  # Of KernelBench: what one operator does to the GPU.


@dataclasses.dataclass
class Pair:
    """A figure as measured and as predicted; `ends` of its interval, or None."""
    source: str
    measured: float
    predicted: float
    ends: tuple | None


def is_network(row):
    return row.quantity == "latency" and not row.is_benchmark


TIMES = (
    ("image and text networks, the GPU decides, inference",
     lambda row: is_network(row) and not row.is_host_bound and not row.is_slice and
     row.mode == "inference"),
    ("small batches, which the host decides, before Hopper",
     lambda row: row.quantity == "latency" and row.is_host_bound and
     not row.is_slice and row.has_older_host),
    ("the same, Hopper and newer",
     lambda row: row.quantity == "latency" and row.is_host_bound and
     not row.has_older_host),
    ("training step",
     lambda row: is_network(row) and not row.is_host_bound and not row.is_slice and
     row.mode == "training"),
    ("MIG slice", lambda row: is_network(row) and row.is_slice),
    ("unusual operators, chains and networks (KernelBench), at least 1 ms",
     lambda row: row.is_benchmark and not row.is_operator and
     row.measured >= GPU_BOUND_MS),
)


def pair_of(row):
    return Pair(row.source, row.measured, row.predicted,
                (row.low, row.high) if row.high else None)


def reported(options):
    """Strangers' figures of memory, by kind."""
    folder = options.networks or pathlib.Path()
    rows = [row for row in published.rows(score_field_reports.REPORTS)
            if row["kind"] != score_field_reports.VERDICTS]
    pairs, _, _ = score_field_reports.run(rows, folder)
    for pair in pairs:
        yield pair.kind, Pair(pair.row["source"], pair.measured, pair.predicted,
                              pair.ends or None)


def finetuned(options):
    """Memory of the process and times of steps, on one GPU and on several."""
    published.need(published.FINETUNING)
    runs = list(finetuning_runs.runs(published.FINETUNING, finetuning_runs.Program()))
    compare_finetuning.ask(runs, compare_finetuning.Answers(options.answers))
    for run in (run for run in runs if run.words):
        found = compare_finetuning.predicted(run)
        memory, latency = run.answer["memory"], run.answer["latency"]
        ends = {compare_finetuning.PROCESS: memory["interval_mib"],
                compare_finetuning.STEP: latency["interval_ms"]}
        for figure in (figure for figure in found if figure in run.truth):
            yield (figure, run.gpus > 1), Pair(
                run.source, run.truth[figure], found[figure], ends.get(figure))


def trained(_):
    """Memory of training steps of every seventh image network."""
    published.need(published.TRAINING_TRACES, published.TRAINING_MEMORY)
    batches = [8, 64]
    labels = compare_training_memory.read_labels(batches)
    results = compare_training_memory.predict_all(
        batches, compare_training_memory.sampled(labels))
    for key, truth in labels.items():
        if key in results:
            memory = results[key]["memory"]
            yield Pair("gpumemnet", truth, memory["total_mib"], memory["interval_mib"])


def print_line(title, pairs):
    pairs = list(pairs)
    if not pairs:
        return
    errors = [100 * abs(pair.predicted / pair.measured - 1) for pair in pairs]
    judged = [pair for pair in pairs if pair.ends]
    held = width = "–"
    if judged:
        share = statistics.fmean(low <= pair.measured <= high for pair in judged
                                 for low, high in [pair.ends])
        held = f"{100 * share:.0f}"
        ratio = statistics.median(pair.ends[1] / pair.ends[0] for pair in judged)
        width = f"×{ratio:.2f}"
    sources = len({pair.source for pair in pairs})
    print(f"| {title} | {len(pairs)} | {sources} | {statistics.median(errors):.1f} | "
          f"{statistics.fmean(errors):.1f} | {held} | {width} |", flush=True)


def grouped(pairs):
    groups = {}
    for key, pair in pairs:
        groups.setdefault(key, []).append(pair)
    return groups


def main():
    options = interval_rows.options(__doc__)
    rows = interval_rows.kept(options)
    print("| figure of a run | rows | sources | median % | mean % | held % | width |\n"
          "|---|---|---|---|---|---|---|")
    for title, holds in TIMES:
        print_line(f"time: {title}", (pair_of(row) for row in rows if holds(row)))
    print_line("energy", (pair_of(row) for row in rows if row.quantity == "energy"))
    reports = grouped(reported(options))
    for kind, pairs in sorted(reports.items()):
        print_line(f"strangers: {kind}", pairs)
    print_line("memory: training step of an image network", trained(options))
    tuned = grouped(finetuned(options))
    for (figure, is_shared), pairs in sorted(tuned.items()):
        gpus = "several GPUs" if is_shared else "one GPU"
        print_line(f"fine-tuning, {gpus}: {figure}", pairs)


if __name__ == "__main__":
    foretell.main(main)
