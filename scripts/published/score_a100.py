#!/usr/bin/env python3
"""Compares predicted latencies with published ones of PyTorch on an A100.

    scripts/published/score_a100.py [--bound] [--networks]

Reads a100_runs.csv and the traces that compute its rows, from ../shared beside the
repository, and prints in Markdown, per source and mode: rows, median and mean
absolute error and the signed median, in percent; then the same per MIG slice.
`--bound` tells rows apart in which the GPU is predicted to wait for more than half of
the time, `--networks` prints a row per network. All by the analytic model, Python as the host.
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published

RUNS = published.TABLES / "a100_runs.csv"
TRACES = published.MODELS / "a100_traces.tar.xz"
# Versions of PyTorch that the sources name or whose container held.
TORCH = {"parvagpu": "1.11", "migperf": "1.12", "nvidia-dle": "1.13"}
PRECISION = {"autocast": ("--autocast",)}


def flags_of(row):
    """What `predict` is told of a published run."""
    inputs = [flag for one in row["inputs"].split(";")
              for flag in ("--input", one)]
    precision = PRECISION.get(row["precision"],
                              ("--precision", row["precision"]))
    return (*inputs, *precision, "--mode", row["mode"], "--device",
            row["device"], "--method", "analytic", "--torch",
            TORCH.get(row["source"], "2.1"))


def predict(traces, row):
    return foretell.run_json("predict", traces / row["trace"], *flags_of(row),
                             "--json")["results"][0]


def latency_of(result, profile):
    """Milliseconds on a slice, or on the whole device."""
    if not profile:
        return result["latency"]["ms"]
    return next(one["latency_ms"] for one in result["mig"]["profiles"]
                if one["profile"] == profile)


def is_host_bound(result):
    """Whether the GPU is predicted to wait for more than half of the time."""
    latency = result["latency"]
    return latency["overhead_ms"] > latency["ms"] / 2


def errors_of(rows, traces):
    """Pairs of a row and its predicted latency over the published one, less 1."""
    known = {}
    for row in rows:
        key = (row["trace"], flags_of(row))
        if key not in known:
            known[key] = predict(traces, row)
        result = known[key]
        row["bound"] = "host" if is_host_bound(result) else "GPU"
        yield row, (latency_of(result, row["slice"]) /
                    float(row["latency_ms"]) - 1)


def print_table(title, errors, key):
    groups = collections.defaultdict(list)
    for row, error in errors:
        groups[key(row)].append(100 * error)
    print(f"\n| {title} | rows | median | mean | signed |\n|---|---|---|---|---|")
    for name in sorted(groups):
        group = groups[name]
        sizes = [abs(error) for error in group]
        print(f"| {name} | {len(group)} | {statistics.median(sizes):.1f} | "
              f"{statistics.fmean(sizes):.1f} | {statistics.median(group):+.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bound", action="store_true",
                        help="tell host-bound rows apart")
    parser.add_argument("--networks", action="store_true",
                        help="a row per network")
    options = parser.parse_args()
    published.need(RUNS, TRACES)
    rows = [row for row in published.rows(RUNS) if row["latency_ms"]]
    with published.unpacked(TRACES, "*.pt") as traces:
        errors = list(errors_of(rows, traces))

    def source(row):
        words = [row["source"], row["mode"], row["precision"]]
        words += [row["model"]] * options.networks + [row["bound"]] * options.bound
        return ", ".join(words)

    print_table("source", errors, source)
    print_table("slice", [pair for pair in errors if pair[0]["slice"]],
                lambda row: f"{row['device']} {row['slice']}")


if __name__ == "__main__":
    main()
