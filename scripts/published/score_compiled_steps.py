#!/usr/bin/env python3
"""Latency under torch.compile against steps on an H200.

    scripts/published/score_compiled_steps.py [--networks FOLDER] [--only REGEX]
        [--by-row]

The runs, exports and flags of score_compiled_memory.py: eager and compiled, inference
and training with AdamW, PyTorch 2.11. Other networks were compiled on the same
processors while these steps were timed, which can only add to a step that waits for the
host: of its twenty, the fastest counts. Prints for every mode of torch.compile and kind
of step

  GPU      the judge: steps that kernels fill, a step in a queue of many; and of all
           steps kernels, and generated ones, predicted for each counted (median)
  kernels  what score_compiled.py prints, of the time in kernels alone, with the gaps
           between them, which predictions include: to the profiler's sums GAP_US is
           added for each kernel
  steps    the same of whole steps

For the last, one factor of the CPU's time for each kind of step is taken from the eager
rows that wait for the host. Rows in which the kernels took longer than the fastest step,
since another process had the GPU, are left out. Nothing else is fitted here.
"""

import collections
import json
import pathlib
import statistics
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))
import compiled_scores  # noqa: E402
import foretell  # noqa: E402
import host_factor  # noqa: E402
import published  # noqa: E402
import score_compiled_memory as runs  # noqa: E402
from compiled_scores import EAGER  # noqa: E402

SHARED_GPU = 1.1  # Kernels may take this share of the fastest step.
FILLED = 0.85  # Share of a step in a queue that kernels take at least.
# From the end of a kernel in a queue to the start of the next: the median over these
# steps of inference that kernels fill, eager and compiled, of what a step in a queue
# takes in addition to its kernels, for each of them.
GAP_US = 1.1
# Where kernels take less than this share of the time to queue them, the step takes as
# many times as long as the host needs, at every factor of host_factor.
HOST_BOUND = min(host_factor.FACTORS)


def mode_of(row):
    return runs.mode_of(row["case"])


def step_of(row):
    """What an eager and a compiled row share."""
    return json.dumps({name: value for name, value in row["case"].items()
                       if name not in ("runtime", "compile_mode")}, sort_keys=True)


def forecast(row, folder, host=()):
    """Milliseconds of the step and of its kernels, kernels and generated ones; None
    where the network cannot be predicted."""
    try:
        step = foretell.run_json("report", runs.file_of(row["case"], folder),
                                 *runs.flags_of(row["case"]), *host, "--method",
                                 "analytic", "--batches", "none", "--json",
                                 accept=(foretell.DONE, foretell.DOES_NOT_FIT))
    except Exception as error:  # Whatever an export or a library raises.
        print(f"{row['id']}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    shown, latency = step["kernels"]["shown"], step["result"]["latency"]
    generated = sum(count for count, name in zip(shown["count"], shown["operator"])
                    if name.startswith("fused_"))
    return {"step_ms": latency["ms"], "gpu_ms": latency["gpu_ms"],
            "kernels": sum(shown["count"]) + step["kernels"]["rest"]["kernels"],
            "triton_kernels": generated}


def quiet_rows(only):
    """The measured rows whose GPU was their own, with the fastest step and the gaps."""
    return [row | {"step_ms": min(row["step_ms_all"]),
                   "spaced_ms": row["gpu_ms"] + GAP_US / 1000 * row["kernels"]}
            for row in runs.measured_rows(only)
            if row["gpu_ms"] <= SHARED_GPU * min(row["step_ms_all"])]


def fitted_host(rows, folder, work):
    """The `--host` file that the eager `rows` show, and its factor."""
    typical = host_factor.write_host(work, 1.0)
    told = {row["id"]: forecast(row, folder, ("--host", typical)) for row in rows
            if mode_of(row) == EAGER}
    bound = {name: one["step_ms"] for name, one in told.items()
             if one and one["gpu_ms"] < HOST_BOUND * one["step_ms"]}
    return compiled_scores.fitted_host(
        work, {factor: {name: factor * ms for name, ms in bound.items()}
               for factor in host_factor.FACTORS},
        {row["id"]: row["step_ms"] for row in rows if row["id"] in bound})


def forecasts(rows, folder, work, by_row):
    """(row, what is predicted) of those that can be, all of one kind of step."""
    host, factor = fitted_host(rows, folder, work)
    print(f"{rows[0]['case']['mode']}: host × {factor:.2f}")
    found = []
    for row in rows:
        told = forecast(row, folder, ("--host", host))
        if told is None:
            continue
        found.append((row, told))
        if by_row:
            print_row(row, told)
    return found


def print_row(row, told):
    case = row["case"]
    print(case["model"], case["mode"], case["precision"], case["batch"], mode_of(row),
          *(f"{what} {told[what]:.4g}/{row[what]:.4g}" for what in told), flush=True)


def groups_of(found):
    """By mode and kind of step, eager and compiled rows of one step, each with what is
    predicted."""
    eager = {step_of(row): (row, told) for row, told in found
             if mode_of(row) == EAGER}
    groups = collections.defaultdict(list)
    for row, told in found:
        if mode_of(row) != EAGER and step_of(row) in eager:
            groups[mode_of(row), row["case"]["mode"]].append(
                (eager[step_of(row)], (row, told)))
    return groups


def pair_of(eager, compiled, predicted, measured):
    return compiled_scores.Pair((eager[1][predicted], compiled[1][predicted]),
                                (eager[0][measured], compiled[0][measured]))


def ratio_cell(rows, what):
    ratios = [told[what] / row[what] for row, told in rows if row[what]]
    return f"{statistics.median(ratios):.2f}" if ratios else "–"


def print_filled(found):
    groups = collections.defaultdict(list)
    for row, told in found:
        groups[mode_of(row), row["case"]["mode"]].append((row, told))
    print("Steps that the GPU's kernels fill, in a queue:\n\n| mode | step | rows | "
          "GPU: median | mean | signed | all rows | kernels | generated |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for (mode, step), rows in sorted(groups.items()):
        errors = [told["gpu_ms"] / row["queued_ms"] - 1 for row, told in rows
                  if FILLED * row["queued_ms"] <= row["gpu_ms"]]
        cells = published.error_cells(errors) if errors else "– | – | –"
        print(f"| {mode} | {step} | {len(errors)} | {cells} | {len(rows)} | "
              f"{ratio_cell(rows, 'kernels')} | {ratio_cell(rows, 'triton_kernels')} |")


def print_pairs(groups, title, predicted, measured):
    print(f"\n{title}:\n\n{compiled_scores.head('mode', 'step')}")
    for (mode, step), rows in groups:
        print(compiled_scores.line(mode, step,
                                   pairs=[pair_of(*row, predicted, measured)
                                          for row in rows]))


def main():
    options = runs.parse(__doc__)
    found = []
    with (runs.exports_in(options.networks) as folder,
          tempfile.TemporaryDirectory() as hosts):
        rows = quiet_rows(options.only)
        for kind in ("inference", "training"):
            found += forecasts([row for row in rows if row["case"]["mode"] == kind],
                               folder, pathlib.Path(hosts), options.by_row)
    print_filled(found)
    groups = sorted(groups_of(found).items())
    print_pairs(groups, "Time in kernels, with the gaps between them", "gpu_ms",
                "spaced_ms")
    print_pairs(groups, "The fastest of the steps, on processors that were shared",
                "step_ms", "step_ms")


if __name__ == "__main__":
    foretell.main(main)
