#!/usr/bin/env python3
"""Analytic latency of KernelBench's problems against what was published.

    scripts/published/score_kernelbench.py [--device NAME...] [--host NAME]
        [--by-problem] [--csv FILE]

Single operators (level 1), chains of them (level 2) and networks (level 3) in FP32
by eager PyTorch 2.5 (`kernelbench_pt2.tar.xz`, `compile_kernelbench.csv.gz` of
../shared; KernelBench, MIT). The sizes of January 2025 and of July 2025 are two sets;
tables of commits whose sizes were not exported are left out. KernelBench never calls
eval(), so batch norms compute the statistics of the batch, which the exports do not: the
GPU time of that is added to steps that the GPU bounds. Prints, for each device, set and
level, the rows, those of at least 1 ms, and of these the median and mean absolute error
and the signed median in percent, and the share within a factor of 1.35; with
--by-problem a line for each problem, the worst last. --csv writes the pairs. Nothing is
fitted here.

A third of the problems was kept back by those who gave the files; these are the rest.
"""

import argparse
import collections
import csv
import math
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

EXPORTS = published.MODELS / "kernelbench_pt2.tar.xz"
LATENCIES = published.TABLES / "runs2026" / "compile_kernelbench.csv.gz"
# The devices of the tables that foretell has, by their names there.
DEVICES = {"NVIDIA A100-SXM4-40GB": "a100-sxm4-40gb",
           "NVIDIA A100-SXM4-80GB": "a100-sxm4-80gb",
           "NVIDIA H100 80GB HBM3": "h100-sxm5-80gb",
           "NVIDIA H100 PCIe": "h100-pcie-80gb"}
# Sizes of the exports by commit of the tables, as the tables' README has them.
SIZES = {"47f78d7f": "v2501", "a6dea99e": "v2501", "a147f37d": "v2501",
         "01cad80a": "v2501", "181539ee": "v2507"}
TORCH = ("--torch", "2.5")
GPU_BOUND_MS = 1
NEAR = 1.35
KNOWN_STATISTICS = re.compile(r"(= batch_norm\([^)]*\) \{)training=false")
US_PER_MS = 1000


def measured(devices=DEVICES):
    """Latency in ms by device, set of sizes, level and problem; `devices` maps the
    tables' names to foretell's."""
    return {(devices[row["device"]], SIZES[row["commit"]], row["level"],
             row["problem"].removesuffix(".py")): float(row["latency_ms"])
            for row in published.rows(LATENCIES)
            if row["runtime"] == "eager" and row["device"] in devices and
            row["commit"] in SIZES}


def problem_of(file):
    """Set of sizes, level and problem."""
    path = pathlib.Path(file)
    return (path.parent.name, *path.stem.split("__", 1))


def normed_graphs(files):
    """Text of the graph of each problem with batch norms of known statistics."""
    text = foretell.run("inspect", *files, *TORCH, "--format", "graph", "--sandbox",
                        "off", accept=(foretell.DONE, foretell.MODEL_FAILED))
    graphs = re.split(r"(?m)^(?=graph \")", text)
    return {problem_of(graph.split('"', 2)[1]): graph for graph in graphs
            if KNOWN_STATISTICS.search(graph)}


def gpu_us(graphs, device):
    with tempfile.NamedTemporaryFile("w", suffix=".graphs") as file:
        file.writelines(graphs)
        file.flush()
        return foretell.run_json("time-operators", file.name, "--device", device, *TORCH)


def statistics_ms(graphs, device):
    """What the statistics of the batch add to the GPU's time, by problem."""
    known = gpu_us(graphs.values(), device)
    computed = gpu_us((KNOWN_STATISTICS.sub(r"\1training=true", graph)
                       for graph in graphs.values()), device)
    return {problem: (more - less) / US_PER_MS
            for problem, more, less in zip(graphs, computed, known)}


def predicted_rows(device, files, *flags):
    """Rows of `predict --csv` with a latency by set of sizes, level and problem."""
    text = foretell.run("predict", *files, "--device", device, *TORCH, *flags,
                        "--method", "analytic", "--csv", "--sandbox", "off",
                        accept=(foretell.DONE, foretell.DOES_NOT_FIT,
                                foretell.MODEL_FAILED))
    return {problem_of(row["model"]): row
            for row in csv.DictReader(text.splitlines()) if row["latency_ms"]}


def line(pairs):
    large = [pair for pair in pairs if pair[1] >= GPU_BOUND_MS]
    errors = [forecast / truth - 1 for forecast, truth in large]
    near = [abs(math.log(forecast / truth)) <= math.log(NEAR)
            for forecast, truth in large]
    share = f"{100 * statistics.fmean(near):.0f}" if near else "–"
    return (f"{len(pairs)} | {len(large)} | {published.error_cells(errors)} | "
            f"{share}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", nargs="+", default=sorted(DEVICES.values()))
    parser.add_argument("--host", help="as foretell predict has it")
    parser.add_argument("--by-problem", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    published.need(EXPORTS, LATENCIES)
    truths = measured()
    pairs = {}
    with published.unpacked(EXPORTS, inside="v2507") as folder:
        files = sorted(map(str, folder.rglob("*.pt2")))
        graphs = normed_graphs(files)
        host = ("--host", options.host) if options.host else ()
        for device in options.device:
            more = statistics_ms(graphs, device)
            for key, row in predicted_rows(device, files, *host).items():
                truth = truths.get((device, *key))
                if truth:
                    added = more.get(key, 0) if row["latency_bound"] == "gpu" else 0
                    pairs[device, *key] = (float(row["latency_ms"]) + added, truth)
    groups = collections.defaultdict(list)
    for (device, sizes, level, _), pair in pairs.items():
        groups[device, sizes, level].append(pair)
    print("| device | sizes | level | rows | ≥ 1 ms | median | mean | signed | "
          "within ×1.35 |\n|---|---|---|---|---|---|---|---|---|")
    for key, group in sorted(groups.items()):
        print(f"| {' | '.join(key)} | {line(group)} |")
    if options.by_problem:
        print("\n| problem | predicted / measured | ms |\n|---|---|---|")
        ratios = sorted((abs(math.log(forecast / truth)), key, forecast, truth)
                        for key, (forecast, truth) in pairs.items()
                        if truth >= GPU_BOUND_MS)
        for _, key, forecast, truth in ratios:
            print(f"| {' '.join(key)} | {forecast / truth:.2f} | {truth:g} |")
    if options.csv:
        with options.csv.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("device", "sizes", "level", "problem", "predicted_ms",
                            "measured_ms"))
            table.writerows((*key, *pair) for key, pair in sorted(pairs.items()))


if __name__ == "__main__":
    foretell.main(main)
