#!/usr/bin/env python3
"""Says how wide the interval of memory has to be, by sources left out.

    scripts/published/score_interval.py [--every N]

Takes published memory of whole processes from the sources of score_a100.py,
score_xmem.py, compare_training_memory.py and score_memory.py (of the generated convolutional networks every N-th,
default 60, of the generated transformers every fourth). A row's excess is what was
measured beyond the estimate and the context's doubt, over the moving memory: what is
reserved beside parameters and buffers. Prints in Markdown, per mode and source, the
quantile of the excess of the mode's other sources, each weighing the same, and the
percentage of the source's rows beyond the bound that it gives; then the bound that all
sources give, which src/memory/simulate_memory.cc has rounded up, and the rows beyond.
Runs with cudnn.benchmark are left out. Needs torch.
"""

import argparse
import bisect
import collections
import itertools
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compare_training_memory as timm
import foretell
import host_factor
import memory_runs
import published
import score_a100
import score_memory
import score_xmem

CONTEXT_DOUBT_MIB = 150  # Of every environment in data/environments.json.
# Shares of rows that the bounds are meant to hold.
ABOVE = {"inference": 0.99, "training": 0.99}
BELOW = {"inference": 0.95, "training": 0.95}


def moving_mib(memory):
    return max(1, memory["reserved_mib"] - memory["parameters_mib"] -
               memory["buffers_mib"])


def excesses(measured, predicted, memory, has_context=True):
    """Above and below the estimate, in shares of the moving memory."""
    doubt = CONTEXT_DOUBT_MIB if has_context else 0
    difference, moving = measured - predicted, moving_mib(memory)
    return (difference - doubt) / moving, (-difference - doubt) / moving


def slice_rows(folder):
    """migperf's, whose slices' memory has a context."""
    rows = [row for row in published.rows(score_a100.RUNS)
            if row["memory_mib"] and row["source"] not in score_a100.ALLOCATED]
    hosts = host_factor.write_hosts(folder)
    with published.unpacked(score_a100.TRACES, "*.pt") as traces:
        predictions = score_a100.Predictions(traces, hosts, rows)
        for row in rows:
            result = predictions.of(row, 1.0)
            yield (f"{row['source']}, {row['mode']}, {row['device']}",
                   excesses(float(row["memory_mib"]),
                            score_a100.memory_of(result, row)[0], result["memory"]))


def xmem_rows():
    """Convolutional networks; a bare context is not in what was measured."""
    for row in score_xmem.image_rows():
        if row["status"] == "ok":
            memory = score_xmem.predict(row, ())
            yield "xmem, training, images", excesses(
                float(row["measured_mib"]), score_xmem.segments_mib(memory), memory,
                has_context=False)


def timm_rows():
    """Networks of timm; a third of the rows decided the sizes of workspaces."""
    batches = (8, 64)
    results = timm.predict_all(batches, timm.Options())
    for key, measured in timm.read_labels(batches).items():
        if key in results:
            memory = results[key]["memory"]
            yield "gpumemnet, training, timm", excesses(
                measured, memory["total_mib"], memory)


def other_rows(folder, every):
    steps = {memory_runs.xmem_runs: 1, **memory_runs.STEPS,
             memory_runs.cnn_runs: every}
    runs = [run for source, step in steps.items()
            for run in itertools.islice(source(), 0, None, step)]
    predictor = score_memory.Predictor(folder, runs)
    for run in runs:
        result = predictor.result(run)
        has_context = run.kind == memory_runs.DEVICE
        source = run.source if has_context else "xmem, training, text"
        yield source, excesses(run.measured_mib,
                               score_memory.compared(run, result)[0],
                               result["memory"], has_context)


def quantile(groups, share):
    """Of all values, each group weighing the same."""
    values = sorted((value, 1 / len(group)) for group in groups for value in group)
    sums = list(itertools.accumulate(weight for _, weight in values))
    return values[min(len(values) - 1, bisect.bisect_left(sums, share * sums[-1]))][0]


def bound_of(groups, end, share, without=""):
    """The quantile of one end's excess over all sources but one."""
    return quantile([[row[end] for row in rows] for name, rows in groups.items()
                     if name != without], share)


def print_mode(mode, groups):
    print(f"\n| {mode}: source left out | rows | share above, of the others | rows "
          "above % | by all | share below, of the others | rows below % | by all |\n"
          "|---|---|---|---|---|---|---|---|")
    shares = ABOVE[mode], BELOW[mode]
    bounds = [bound_of(groups, end, share) for end, share in enumerate(shares)]
    for source, rows in sorted(groups.items()):
        cells = []
        for end, share in enumerate(shares):
            bound = bound_of(groups, end, share, source)
            cells.append(f"{bound:.2f}")
            for one in (bound, bounds[end]):
                beyond = statistics.fmean(row[end] > one for row in rows)
                cells.append(f"{100 * beyond:.1f}")
        print(f"| {source} | {len(rows)} | {' | '.join(cells)} |")
    print(f"\n{mode}, all sources: {bounds[0]:.3f} above, {bounds[1]:.3f} below")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--every", type=int, default=memory_runs.STEPS[memory_runs.cnn_runs],
        help="take every N-th of the generated convolutional networks")
    options = parser.parse_args()
    published.need(score_a100.RUNS, score_a100.TRACES, score_xmem.ROWS,
                   published.TRAINING_TRACES, published.TRAINING_MEMORY)
    modes = {mode: collections.defaultdict(list) for mode in ABOVE}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for source, row in itertools.chain(slice_rows(folder), xmem_rows(), timm_rows(),
                                           other_rows(folder, options.every)):
            modes[source.split(", ")[1]][source].append(row)
    for mode, groups in modes.items():
        print_mode(mode, groups)


if __name__ == "__main__":
    foretell.main(main)
