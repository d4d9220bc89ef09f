#!/usr/bin/env python3
"""Compares predictions with published runs of PyTorch on an A100.

    scripts/published/score_a100.py [--networks] [--source WORD] [--more]
                                    [--memory | --contexts] [--method METHOD]

Reads a100_runs.csv and the traces that compute its rows, with `--more` or where
`--source` names one also the sources of zoo_rows.py, whose networks are the zoo's,
from ../shared beside the repository, and prints in Markdown rows, median and mean absolute
error and the signed median, in percent: latency per source and mode, host-bound rows
apart, and per MIG slice, each with the typical host and with one host factor per
source; per source with the median factor of the other sources; the factors; then
memory, with the share of rows above the prediction's interval. Host-bound is a row that
a host of half the speed is predicted to make more than half as long again, on its
slice. A source's factor is the median of what its host-bound rows of other networks
say. `--contexts` prints instead what migperf's slices held beside the simulated
segments. `--networks` prints a row per network, `--memory` leaves latency out. By the
analytic model, unless `--method` says otherwise, Python as the host.
"""

import argparse
import collections
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched
import host_factor
import published
import zoo_rows

RUNS = published.TABLES / "a100_runs.csv"
TRACES = published.MODELS / "a100_traces.tar.xz"
# Versions of PyTorch that the sources name or whose container held.
TORCH = {"parvagpu": "1.11", "migperf": "1.12", "nvidia-dle": "1.13"}
# Environments whose CUDA context stands in what a source measured: migperf's products
# were FP32 on the card of 80 GB, TF32 on that of 40 GB.
ENVIRONMENT = {("migperf", "fp32"): "cuda11.6-eager",
               ("migperf", "tf32"): "cuda11-tf32"}
# Sources that publish torch.cuda.max_memory_allocated, without any context.
ALLOCATED = {"sam-fast", zoo_rows.STUDENT}
# MiB of a CUDA context per multiprocessor, as in data/environments.json.
MIB_PER_SM = 4.25
# Sources with a machine per device.
MACHINES = {"migperf"}
# What migperf's scripts train with (MIGProfiler, profiler/script/A100-*-train_test.py):
# text by AdamW, images by SGD with momentum.
OPTIMIZER = {"bert-base-multilingual-cased.train.pt": "adamw",
             "vit_b_16.train.pt": "momentum"}
# Its training steps hold no gradients in the forward pass and update lists of tensors, as
# PyTorch 2 does by default and 1.12, its version, does not: with the defaults of 1.12
# their memory is 9 % too high instead of 2.
LOOP = {"migperf": ("--set-to-none", "on", "--foreach", "on")}
PRECISION = {"autocast": ("--autocast", "--precision", "fp16")}
# What a row's latency_kind says that was timed beside a plain step.
RECORDED, COPIED = "no no_grad", "incl. host-to-device copy"
# Bytes per ms at which such an input came from pageable memory, by the rows of
# parvagpu's images themselves: the time that is the same on 1g and 7g, of rows of at
# least 32 images.
COPIED_BYTES_PER_MS = 8e6
BYTES_OF = {"f16": 2, "f32": 4, "i64": 8}
ZOO = "zoo:"


def torch_of(row):
    return row.get("torch") or TORCH.get(row["source"], "2.1")


def flags_of(row, method="analytic"):
    """What `predict` is told of a published run, but its batch: the first length of
    every input."""
    inputs = [] if row["trace"].startswith(ZOO) else [
        flag for one in row["inputs"].split(";")
        for flag in ("--input", re.sub(r"\[\d+", "[1", one))]
    precision = PRECISION.get(row["precision"],
                              ("--precision", row["precision"]))
    # The networks of the zoo were trained without an optimizer's step: SGD's is least.
    optimizer = (("--optimizer", OPTIMIZER.get(row["trace"], "sgd"))
                 if row["mode"] == "training"
                 and (row["trace"] in OPTIMIZER or row["trace"].startswith(ZOO))
                 else ())
    loop = LOOP.get(row["source"], ()) if row["mode"] == "training" else ()
    name = ENVIRONMENT.get((row["source"], row["precision"]))
    environment = ("--environment", name) if name else ()
    grad = ("--grad",) if RECORDED in row["latency_kind"] else ()
    return (*inputs, *precision, *optimizer, *loop, *environment, *grad,
            "--mode", row["mode"], "--device", row["device"],
            "--method", method, "--torch", torch_of(row))


def profile_of(result, name):
    """What is said of a MIG profile."""
    return next(one for one in result["mig"]["profiles"]
                if one["profile"] == name)


def copy_ms(row):
    """Milliseconds of copying the inputs to the device, where that was timed."""
    if COPIED not in row["latency_kind"]:
        return 0
    total = 0
    for dtype, shape in re.findall(r"(\w+)\[([\d,]+)\]", row["inputs"]):
        size = BYTES_OF[dtype]
        for length in shape.split(","):
            size *= int(length)
        total += size
    return total / COPIED_BYTES_PER_MS


def latency_of(result, row):
    """Milliseconds on a slice, or on the whole device, as the row timed them."""
    ms = (profile_of(result, row["slice"])["latency_ms"] if row["slice"]
          else result["latency"]["ms"])
    return ms + copy_ms(row)


def memory_of(result, row):
    """MiB of what the source measured, and the upper end of their interval."""
    memory = result["memory"]
    if row["source"] in ALLOCATED:
        return memory["allocated_mib"], None
    if not row["slice"]:
        return memory["total_mib"], memory["interval_mib"][1]
    verdict = profile_of(result, row["slice"])
    return verdict["total_mib"], verdict["usable_mib"] - verdict["margin_mib"]


class Predictions:
    """Results for rows on hosts, by factor the file of each, or None for the host
    that the program expects; all batches of a run are predicted at once."""

    def __init__(self, traces, hosts, rows, method="analytic"):
        self.traces, self.hosts, self.method = traces, hosts, method
        self.results = batched.Results(self.asked(row, factor) for row in rows
                                       for factor in hosts)

    def of(self, row, factor):
        return self.results.of(*self.asked(row, factor))

    def asked(self, row, factor):
        trace = row["trace"]
        model = trace if trace.startswith(ZOO) else self.traces / trace
        host = self.hosts[factor]
        return model, (*flags_of(row, self.method),
                       *(("--host", host) if host else ())), row["batch"]


def host_of(row):
    """The machine that dispatched a row's operators."""
    if row["source"] in MACHINES:
        return f"{row['source']}, {row['device']}"
    return row["source"]


def latency_runs(rows, predictions):
    return [host_factor.Run(
        host=host_of(row), network=row["model"],
        latencies={factor: latency_of(predictions.of(row, factor), row)
                   for factor in host_factor.FACTORS},
        truth=float(row["latency_ms"]), row=row)
        for row in rows if row["latency_ms"]]


def print_latency(title, runs, factors, key):
    """A row per key: errors at factor 1, then at each run's own factor."""
    groups = collections.defaultdict(list)
    for run, factor in zip(runs, factors):
        plain = run.latencies[1.0] / run.truth - 1
        fitted = host_factor.latency_at(run.latencies, factor) / run.truth - 1
        groups[key(run)].append((plain, fitted))
    print(f"\n| {title} | rows | median | mean | signed | its host: median | mean "
          "| signed |\n|---|---|---|---|---|---|---|---|")
    for name in sorted(groups):
        plain, fitted = zip(*groups[name])
        print(f"| {name} | {len(plain)} | {published.error_cells(plain)} | "
              f"{published.error_cells(fitted)} |")


def print_factors(runs):
    print("\n| host | host-bound rows | factor | of rows, 10 % – 90 % |\n|---|---|---|---|")
    for host, group in host_factor.by_host(runs).items():
        own = sorted(host_factor.own_factor(run.latencies, run.truth) for run in group
                     if host_factor.is_host_bound(run.latencies))
        if own:
            ends = own[len(own) // 10], own[-1 - len(own) // 10]
            print(f"| {host} | {len(own)} | {host_factor.median_factor(group):.2f} | "
                  f"{ends[0]:.2f} – {ends[1]:.2f} |")


def print_left_out(runs, source):
    """A row per source: errors on a host as fast as those of the other sources."""
    others = host_factor.factors_of_others(runs)
    groups = collections.defaultdict(list)
    for run in runs:
        latency = host_factor.latency_at(run.latencies, others[run.host])
        groups[source(run.row), others[run.host]].append(latency / run.truth - 1)
    print("\n| latency, source left out | rows | factor of the others | median | mean "
          "| signed |\n|---|---|---|---|---|---|")
    for (name, factor), errors in sorted(groups.items()):
        print(f"| {name} | {len(errors)} | {factor:.2f} | "
              f"{published.error_cells(errors)} |")


def bound_of(run):
    return "host" if host_factor.is_host_bound(run.latencies) else "GPU"


def print_latencies(runs, source):
    factors = host_factor.factors_of(runs)
    print_latency("latency by source", runs, factors,
                  lambda run: f"{source(run.row)}, {bound_of(run)}")
    sliced = [(run, factor) for run, factor in zip(runs, factors) if run.row["slice"]]
    if sliced:
        print_latency("latency by slice", *zip(*sliced),
                      lambda run: f"{run.row['device']} {run.row['slice']}")
    print_latency("latency by bound", runs, factors, bound_of)
    print_latency("latency", runs, factors, lambda run: "every row")
    print_left_out(runs, source)
    print_factors(runs)


def memory_errors(rows, predictions):
    """Rows, predicted over published memory less 1, and whether the published was
    above the interval, if there is one."""
    for row in rows:
        if not row["memory_mib"]:
            continue
        published_mib = float(row["memory_mib"])
        predicted, high = memory_of(predictions.of(row, 1.0), row)
        above = None if high is None else published_mib > high
        yield row, predicted / published_mib - 1, above


def share_of(flags):
    """Percent of rows above their interval; a dash for rows without one."""
    if None in flags:
        return "–"
    return f"{100 * statistics.fmean(flags):.0f}"


def print_memory(title, errors, key):
    groups = collections.defaultdict(list)
    for row, error, above in errors:
        groups[key(row)].append((error, above))
    print(f"\n| {title} | rows | median | mean | signed | above |\n"
          "|---|---|---|---|---|---|")
    for name in sorted(groups):
        shares, flags = zip(*groups[name])
        print(f"| {name} | {len(shares)} | {published.error_cells(shares)} | "
              f"{share_of(flags)} |")


def print_contexts(rows, predictions):
    """What migperf's slices held next to the simulated segments and each SM's part."""
    groups = collections.defaultdict(list)
    for row in rows:
        if row["source"] != "migperf" or row["mode"] != "inference":
            continue
        result = predictions.of(row, 1.0)
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
    parser.add_argument("--networks", action="store_true",
                        help="a row per network")
    parser.add_argument("--memory", action="store_true",
                        help="memory alone")
    parser.add_argument("--source", default="", help="a word of the source's name")
    parser.add_argument("--more", action="store_true",
                        help="rows of networks of the zoo too")
    parser.add_argument("--contexts", action="store_true",
                        help="only what the CUDA contexts of migperf's slices take")
    parser.add_argument("--method", default="analytic", help="of `predict`")
    options = parser.parse_args()
    published.need(RUNS, TRACES)
    more = zoo_rows.rows() if options.more or options.source else ()
    rows = [row for row in [*published.rows(RUNS), *more]
            if options.source in row["source"]]

    def source(row):
        words = [row["source"], row["mode"], row["precision"]]
        return ", ".join(words + [row["model"]] * options.networks)

    with (published.unpacked(TRACES, "*.pt") as traces,
          tempfile.TemporaryDirectory() as folder):
        hosts = host_factor.write_hosts(pathlib.Path(folder))
        predictions = Predictions(traces, hosts, rows, options.method)
        if options.contexts:
            return print_contexts(
                [row for row in rows if row["memory_mib"]], predictions)
        if not options.memory:
            print_latencies(latency_runs(rows, predictions), source)
        errors = list(memory_errors(rows, predictions))
        if errors:
            print_memory("memory by source", errors, source)
            print_memory("memory by slice",
                         [one for one in errors if one[0]["slice"]],
                         lambda row: f"{row['device']} {row['slice']}")


if __name__ == "__main__":
    main()
