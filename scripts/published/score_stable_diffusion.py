#!/usr/bin/env python3
"""Compares predictions of runtimes with published runs of Stable Diffusion 1.5.

    scripts/published/score_stable_diffusion.py

Of ../shared/data/runs2026/onnxruntime_stable_diffusion.csv (the README of ONNX Runtime's
models/stable_diffusion): seconds of a batch of pictures of 512 by 512 pixels in FP16, and
memory of the device. A picture is 50 steps of the U-Net on twice the batch, for guidance,
and the decoder of the VAE on the batch; the text encoder is left out. The T4 was locked at
990 MHz, which no flag says, so only its memory counts. ONNX Runtime and TensorRT have a
session for each network: predicted memory is the context once and the rest of both. The pipeline of diffusers that
ONNX Runtime 1.14 and 1.15 ran decodes picture by picture (OnnxStableDiffusionPipeline); the
later one asks for arenas of exact size (CudaSession.get_cuda_provider_options).
PyTorch has one allocator, so there it is the larger one and the other's weights.

Prints per row seconds and MiB, measured and predicted, then per engine median and mean
absolute error in percent. Nothing is fitted to these rows.
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

RUNS = published.TABLES / "runs2026" / "onnxruntime_stable_diffusion.csv"
UNET, DECODER = "zoo:sd15_unet", "zoo:sd_vae_decoder"
LOCKED = "T4 (clock locked 990 MHz)"
DEVICES = {"A100-SXM4-40GB": "a100-sxm4-40gb", "A100-PCIE-80GB": "a100-pcie-80gb",
           LOCKED: "t4"}


def decodes_one_by_one(row):
    return row["engine"] == "onnxruntime" and row["version"].startswith(("1.14", "1.15"))


def runtime_of(row):
    """Flags of the row's engine; none where foretell does not model it."""
    provider = row["provider"].lower()
    if row["engine"] == "onnxruntime" and provider == "cuda":
        arena = "" if decodes_one_by_one(row) else ",arena=exact"
        return ("--runtime", "onnxruntime,level=transformers" + arena)
    if row["engine"] == "tensorrt" and provider == "default":
        return ("--runtime", "tensorrt")
    if row["engine"] == "torch" and provider in ("default", "compile"):
        name = "eager" if provider == "default" else "compile"
        return ("--runtime", name, "--torch", "2.0")
    return None


def flags_of(row):
    return ("--device", DEVICES[row["device"]], "--precision", "fp16", *runtime_of(row))


def cases_of(row):
    batch = int(row["batch"])
    decoded = 1 if decodes_one_by_one(row) else batch
    return [(UNET, flags_of(row), 2 * batch), (DECODER, flags_of(row), decoded)]


def memory_mib(row, unet, decoder):
    sessions = (unet["total_mib"], decoder["total_mib"])
    if row["engine"] != "torch":
        return sum(sessions) - decoder["context_mib"]
    return max(sessions[0] + decoder["parameters_mib"],
               sessions[1] + unet["parameters_mib"])


def predicted(row, results):
    unet, decoder = (results.of(*case) for case in cases_of(row))
    decodings = int(row["batch"]) if decodes_one_by_one(row) else 1
    ms = (int(row["steps"]) * unet["latency"]["ms"]
          + decodings * decoder["latency"]["ms"])
    return ms / 1e3, memory_mib(row, unet["memory"], decoder["memory"])


def measured(row):
    """Seconds, and what nvidia-smi calls MB, which are MiB."""
    return float(row["latency_s"]), float(row["second_run_memory_mb"])


def print_errors(errors):
    print("\n| engine | rows | latency: median | mean | rows | memory: median | mean |\n"
          "|---|---|---|---|---|---|---|")
    for engine, some in errors.items():
        cells = []
        for one in (some["latency"], some["memory"]):
            cells.append(str(len(one)))
            cells += [f"{statistics.median(one):.1f}", f"{statistics.fmean(one):.1f}"]
        print(f"| {engine} | " + " | ".join(cells) + " |")


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    published.need(RUNS)
    rows = [row for row in published.rows(RUNS)
            if row["device"] in DEVICES and runtime_of(row)]
    results = batched.Results(case for row in rows for case in cases_of(row))
    errors = collections.defaultdict(lambda: collections.defaultdict(list))
    print("| GPU | engine | batch | s | predicted | MiB | predicted |\n"
          "|---|---|---|---|---|---|---|")
    for row in rows:
        here, there = measured(row), predicted(row, results)
        engine = f"{row['engine']} {row['provider'].lower()}"
        for index, quantity in enumerate(("latency", "memory")):
            if quantity == "memory" or row["device"] != LOCKED:
                errors[engine][quantity].append(abs(100 * (there[index] / here[index] - 1)))
        print(f"| {row['device']} | {engine} {row['version']} | {row['batch']} | "
              f"{here[0]:.2f} | {there[0]:.2f} | {here[1]:.0f} | {there[1]:.0f} |")
    print_errors(errors)


if __name__ == "__main__":
    foretell.main(main)
