#!/usr/bin/env python3
"""Predictions of ONNX Runtime against what measure_onnxruntime.py measured.

    scripts/bench/compare_onnxruntime.py

Of datasets/labels/h100-sxm5-80gb: onnxruntime.jsonl.gz, and the networks of its rows
without their weights. Prints per row MiB of the arena after ten runs and of the process,
and milliseconds of a run on tensors that are on the device, each measured and predicted;
then the median and mean absolute error in percent, of the networks that constants were
fitted to and of those kept back (KEPT_BACK), and how long the CPU took for a node in each
row: six processes shared the machine. A row that foretell cannot predict is named below.
"""

import gzip
import json
import pathlib
import statistics
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

LABELS = foretell.ROOT / "datasets" / "labels" / "h100-sxm5-80gb"
# By name before they were looked at: those whose SHA-256 leaves 2 when divided by 3.
KEPT_BACK = {"gpt2", "mobilenetv3", "regnety_008", "swin_tiny"}
MIB = 2**20
QUANTITIES = ("arena", "process", "latency")


def measured_rows():
    with gzip.open(LABELS / "onnxruntime.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row.get("status") == "ok"]


def name_of(row):
    case = row["case"]
    return ".".join(filter(None, (case["network"], case["variant"])))


def measured(row):
    """Without what the inputs and results bound to the device take."""
    own = row["arena"][:row["arena"].index(["bound"])]
    arena = sum(line[2] for line in own if line[0] == "Cuda")
    return (arena / MIB, row["nvml"]["tenth"]["process"] / MIB, row["bound_ms"])


def predicted(path, row):
    result = foretell.run_json(
        "predict", path, "--device", "h100-sxm5-80gb", "--batch",
        row["case"]["batch"], "--runtime", "onnxruntime", "--json")["results"][0]
    memory = result["memory"]
    return memory["reserved_mib"], memory["total_mib"], result["latency"]["ms"]


def cpu_us(row):
    """Microseconds that the CPU took for a node, measured without waiting."""
    nodes = sum(sum(kinds.values()) for kinds in row["placed"].values())
    return 1000 * row["host_ms"] / nodes


def print_errors(pairs, label):
    for index, quantity in enumerate(QUANTITIES):
        errors = [100 * abs(there[index] / here[index] - 1) for here, there in pairs]
        print("| {} | {} | {} | {:.1f} | {:.1f} |".format(
            quantity, label, len(errors), statistics.median(errors),
            statistics.fmean(errors)))


def main():
    pairs, failures = {True: [], False: []}, []
    print("| network | batch | arena, MiB | predicted | process, MiB | predicted | "
          "latency, ms | predicted |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(LABELS / "onnxruntime_models.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        for row in sorted(measured_rows(), key=name_of):
            here = measured(row)
            try:
                there = predicted(pathlib.Path(folder) / f"{name_of(row)}.onnx", row)
            except foretell.Failure as failure:
                failures.append(str(failure).splitlines()[-1])
                continue
            kept = row["case"]["network"].split(".")[0] in KEPT_BACK
            pairs[kept].append((here, there))
            print("| {}{} | {} | {:.0f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} | {:.2f} |"
                  .format(name_of(row), " (kept back)" if kept else "",
                          row["case"]["batch"], here[0], there[0], here[1], there[1],
                          here[2], there[2]))
    print("\n| quantity | networks | rows | median | mean |\n|---|---|---|---|---|")
    print_errors(pairs[False], "fitted to")
    print_errors(pairs[True], "kept back")
    rows = sorted(measured_rows(), key=cpu_us)
    print("\nCPU, us per node: "
          + ", ".join(f"{name_of(row)} {cpu_us(row):.1f}" for row in rows))
    for failure in failures:
        print(f"\n{failure}")


if __name__ == "__main__":
    main()
