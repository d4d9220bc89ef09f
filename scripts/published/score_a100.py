#!/usr/bin/env python3
"""Compares predictions with published runs of PyTorch on an A100.

    scripts/published/score_a100.py [--bound] [--networks] [--memory | --contexts]

Reads a100_runs.csv and the traces that compute its rows, from ../shared beside the
repository, and prints in Markdown, per source and mode: rows, median and mean
absolute error and the signed median, in percent; then the same per MIG slice. First for
latency, then for memory, with the share of rows above the prediction's interval.
`--contexts` prints instead what migperf's slices held beside the simulated segments.
`--bound` tells rows apart in which the GPU is predicted to wait for more than half of
the time, `--networks` prints a row per network, `--memory` leaves latency out. All by the
analytic model, Python as the host.
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
# Environments whose CUDA context stands in what a source measured: migperf's products
# were FP32 on the card of 80 GB, TF32 on that of 40 GB.
ENVIRONMENT = {("migperf", "fp32"): "cuda11.6-eager",
               ("migperf", "tf32"): "cuda11-tf32"}
# Sources that publish torch.cuda.max_memory_allocated, without any context.
ALLOCATED = {"sam-fast"}
# MiB of a CUDA context per multiprocessor, as in data/environments.json.
MIB_PER_SM = 4.25
# What migperf's scripts train with (MIGProfiler, profiler/script/A100-*-train_test.py):
# text by AdamW, images by SGD with momentum.
OPTIMIZER = {"bert-base-multilingual-cased.train.pt": "adamw",
             "vit_b_16.train.pt": "momentum"}
PRECISION = {"autocast": ("--autocast",)}


def flags_of(row):
    """What `predict` is told of a published run."""
    inputs = [flag for one in row["inputs"].split(";")
              for flag in ("--input", one)]
    precision = PRECISION.get(row["precision"],
                              ("--precision", row["precision"]))
    optimizer = (("--optimizer", OPTIMIZER[row["trace"]])
                 if row["trace"] in OPTIMIZER else ())
    name = ENVIRONMENT.get((row["source"], row["precision"]))
    environment = ("--environment", name) if name else ()
    return (*inputs, *precision, *optimizer, *environment, "--mode", row["mode"],
            "--device", row["device"], "--method", "analytic", "--torch",
            TORCH.get(row["source"], "2.1"))


def predict(traces, row):
    return foretell.run_json("predict", traces / row["trace"], *flags_of(row),
                             "--json")["results"][0]


def profile_of(result, name):
    """What is said of a MIG profile."""
    return next(one for one in result["mig"]["profiles"]
                if one["profile"] == name)


def latency_of(result, profile):
    """Milliseconds on a slice, or on the whole device."""
    if not profile:
        return result["latency"]["ms"]
    return profile_of(result, profile)["latency_ms"]


def memory_of(result, row):
    """MiB of what the source measured, and the upper end of their interval."""
    memory = result["memory"]
    if row["source"] in ALLOCATED:
        return memory["allocated_mib"], None
    if not row["slice"]:
        return memory["total_mib"], memory["interval_mib"][1]
    verdict = profile_of(result, row["slice"])
    return verdict["total_mib"], verdict["usable_mib"] - verdict["margin_mib"]


def is_host_bound(result):
    """Whether the GPU is predicted to wait for more than half of the time."""
    latency = result["latency"]
    return latency["overhead_ms"] > latency["ms"] / 2


def predictions_of(rows, traces):
    """Pairs of a row and what is predicted for it, each run predicted once."""
    known = {}
    for row in rows:
        key = (row["trace"], flags_of(row))
        if key not in known:
            known[key] = predict(traces, row)
        yield row, known[key]


def latency_errors(predictions):
    """Rows, their predicted latency over the published one less 1, and None."""
    for row, result in predictions:
        if not row["latency_ms"]:
            continue
        row["bound"] = "host" if is_host_bound(result) else "GPU"
        predicted = latency_of(result, row["slice"])
        yield row, predicted / float(row["latency_ms"]) - 1, None


def memory_errors(predictions):
    """The same for memory, with whether it was above the interval, if any."""
    for row, result in predictions:
        if not row["memory_mib"]:
            continue
        row["bound"] = ""
        published_mib = float(row["memory_mib"])
        predicted, high = memory_of(result, row)
        above = None if high is None else published_mib > high
        yield row, predicted / published_mib - 1, above


def share_of(flags):
    """Percent of rows above their interval; a dash where there is none."""
    if None in flags:
        return "–"
    return f"{100 * statistics.fmean(flags):.0f}"


def print_table(title, errors, key, with_interval=False):
    groups = collections.defaultdict(list)
    for row, error, above in errors:
        groups[key(row)].append((100 * error, above))
    last = " above |" if with_interval else ""
    print(f"\n| {title} | rows | median | mean | signed |{last}\n"
          f"|---|---|---|---|---|{'---|' * with_interval}")
    for name in sorted(groups):
        signed = [error for error, _ in groups[name]]
        sizes = [abs(error) for error in signed]
        share = (f" {share_of([above for _, above in groups[name]])} |"
                 if with_interval else "")
        print(f"| {name} | {len(signed)} | {statistics.median(sizes):.1f} | "
              f"{statistics.fmean(sizes):.1f} | {statistics.median(signed):+.1f} |"
              f"{share}")


def print_contexts(predictions):
    """What migperf's slices held beside the simulated segments and each SM's part."""
    groups = collections.defaultdict(list)
    for row, result in predictions:
        if row["source"] != "migperf" or row["mode"] != "inference":
            continue
        sms = profile_of(result, row["slice"])["sms"]
        rest = (float(row["memory_mib"]) - result["memory"]["reserved_mib"] -
                MIB_PER_SM * sms)
        key = f"{row['precision']}, {row['model']}"
        groups[key, row["slice"].split(".")[0]].append(rest)
    slices = sorted({one for _, one in groups})
    print(f"| network | {' | '.join(slices)} |\n|---|{'---|' * len(slices)}")
    for name in sorted({one for one, _ in groups}):
        cells = [f"{statistics.median(groups[name, one]):.0f}" for one in slices]
        print(f"| {name} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bound", action="store_true",
                        help="tell host-bound rows apart")
    parser.add_argument("--networks", action="store_true",
                        help="a row per network")
    parser.add_argument("--memory", action="store_true",
                        help="memory alone")
    parser.add_argument("--contexts", action="store_true",
                        help="only what the CUDA contexts of migperf's slices take")
    options = parser.parse_args()
    published.need(RUNS, TRACES)
    wanted = ("memory_mib" if options.memory or options.contexts else
              "latency_ms")
    rows = [row for row in published.rows(RUNS)
            if row[wanted] or row["memory_mib"]]
    with published.unpacked(TRACES, "*.pt") as traces:
        predictions = list(predictions_of(rows, traces))
    if options.contexts:
        return print_contexts([(row, result) for row, result in predictions
                               if row["memory_mib"]])

    def source(row):
        words = [row["source"], row["mode"], row["precision"]]
        if options.networks:
            words.append(row["model"])
        if options.bound and row["bound"]:
            words.append(row["bound"])
        return ", ".join(words)

    def print_quantity(quantity, errors, with_interval):
        print_table(f"{quantity} by source", errors, source, with_interval)
        print_table(f"{quantity} by slice",
                    [one for one in errors if one[0]["slice"]],
                    lambda row: f"{row['device']} {row['slice']}", with_interval)

    if not options.memory:
        print_quantity("latency", list(latency_errors(predictions)), False)
    print_quantity("memory", list(memory_errors(predictions)), True)


if __name__ == "__main__":
    main()
