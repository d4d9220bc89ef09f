#!/usr/bin/env python3
"""Compares predictions of ONNX Runtime with published runs of BGE base on an A100.

    scripts/published/score_onnxruntime.py

Of ../shared/data/runs2026/onnxruntime_tensorrt_bge_a100.csv (optimum-benchmark,
`examples/fast-mteb`): ONNX Runtime 1.15.1's CUDA provider on the file that optimum's O4
wrote, in FP16, which `--runtime onnxruntime,level=transformers --precision fp16` is, and
eager PyTorch 2.0 in FP32 beside it. BGE base is BERT base. Memory is NVML's of the device:
it includes PyTorch's context and, in a build for CUDA 11, every kernel of both libraries,
so what every row has more than the simulated arena is compared, apart from its median.

The latencies of ONNX Runtime hold copies of the result, float32, to the host, as those of
its TensorRT provider in the same table do: what both have more than predicted grows with
the result, at one rate. The rate is taken from the rows of TensorRT from batch 8 on, and
with it ONNX Runtime's rows are predicted again. Eager PyTorch leaves its results on the GPU.

Prints in Markdown, per runtime, rows and median and mean absolute error in percent of
latency, and for ONNX Runtime the arena of every row beside what the table leaves for it,
and milliseconds of the table, predicted, and predicted with that copy.
"""

import collections
import csv
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched  # noqa: E402
import published  # noqa: E402

RUNS = published.TABLES / "runs2026" / "onnxruntime_tensorrt_bge_a100.csv"
NETWORK = "zoo:bert_base"
COMMON = ("--device", "a100-sxm4-80gb")
CUDA, TENSORRT = "ONNX Runtime CUDA, optimum O4", "ONNX Runtime TensorRT"
FLAGS = {CUDA: ("--runtime", "onnxruntime,level=transformers", "--precision", "fp16"),
         TENSORRT: ("--runtime", "tensorrt", "--precision", "fp16"),
         "PyTorch eager": ("--torch", "2.0", "--precision", "fp32")}


WIDTH, FLOAT32 = 768, 4
# Below it, launches are as long as the copy.
SMALLEST_BATCH = 8


def result_mb(row):
    return int(row["batch"]) * int(row["seq_len"]) * WIDTH * FLOAT32 / 1e6


def copied_gb_per_s(rows, latencies):
    """Median rate at which results go to the host, of TensorRT's rows."""
    return statistics.median(
        result_mb(row) / (measured - predicted)
        for row, (predicted, measured) in zip(rows, latencies, strict=True)
        if row["runtime"] == TENSORRT and int(row["batch"]) >= SMALLEST_BATCH)


def flags_of(row):
    return (*COMMON, *FLAGS[row["runtime"]], "--seq-len", row["seq_len"])


def errors_in_percent(pairs):
    errors = [100 * abs(predicted / measured - 1) for predicted, measured in pairs]
    return statistics.median(errors), statistics.fmean(errors)


def main():
    published.need(RUNS)
    with RUNS.open() as file:
        rows = [row for row in csv.DictReader(file) if row["runtime"] in FLAGS]
    results = batched.Results((NETWORK, flags_of(row), row["batch"]) for row in rows)
    latencies, arenas = [], []
    for row in rows:
        result = results.of(NETWORK, flags_of(row), row["batch"])
        latencies.append((result["latency"]["ms"], float(row["latency_ms"])))
        if row["runtime"] == CUDA:
            arenas.append((row, result["memory"]["reserved_mib"],
                           float(row["memory_mib"])))
    print_latencies(rows, latencies)
    print_arenas(arenas)


def print_latencies(rows, latencies):
    rate = copied_gb_per_s(rows, latencies)
    pairs = collections.defaultdict(list)
    for row, (predicted, measured) in zip(rows, latencies, strict=True):
        pairs[row["runtime"]].append((predicted, measured))
        if row["runtime"] == CUDA:
            copied = predicted + result_mb(row) / rate
            pairs[f"{CUDA}, with the copy"].append((copied, measured))
    print("| runtime | rows | median | mean |\n|---|---|---|---|")
    for runtime, some in pairs.items():
        print("| {} | {} | {:.1f} | {:.1f} |".format(runtime, len(some),
                                                     *errors_in_percent(some)))
    print(f"\nresults are copied at {rate:.2f} GB/s\n")
    print("| batch | length | ms | predicted | with the copy |\n|---|---|---|---|---|")
    for row, (predicted, measured) in zip(rows, latencies, strict=True):
        if row["runtime"] == CUDA:
            print(f"| {row['batch']} | {row['seq_len']} | {measured:.4g} | "
                  f"{predicted:.4g} | {predicted + result_mb(row) / rate:.4g} |")


def print_arenas(arenas):
    outside = statistics.median(measured - arena for _, arena, measured in arenas)
    print(f"\nmemory outside of weights and arena: {outside:.0f} MiB\n")
    print("| batch | length | arena and weights, MiB | of the table |\n|---|---|---|---|")
    for row, arena, measured in arenas:
        print(f"| {row['batch']} | {row['seq_len']} | {arena:.0f} | "
              f"{measured - outside:.0f} |")
    print("\nerror of the sum in percent: median {:.1f}, mean {:.1f}".format(
        *errors_in_percent((arena + outside, measured) for _, arena, measured in arenas)))


if __name__ == "__main__":
    main()
