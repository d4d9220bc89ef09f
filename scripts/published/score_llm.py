#!/usr/bin/env python3
"""Compares predictions for LLaMA-like decoders with published runs on an A100.

    scripts/published/score_llm.py [--every N] [--runs]

Reads tables of ../shared beside the repository and prints in Markdown, in percent,
how many rows there are, median and mean absolute error and the signed median: of
latency and memory of LLaMA-2 of 7 and 13 billion parameters (optimum-benchmark and
GPTQ's benchmark: prefill and decode in FP16; runs that differ by a library's version
are one row, their mean), `--runs` prints each; then of GPU times of products of LLaMA's
layers (vidur, FP16), of which every N-th row is taken (default 40). All by the analytic
model, which is not fitted to any of them; score_operators.py has attention.

optimum's prefill returns logits of every token in 32 bits and a full cache; its decode
grew the cache by a copy, where the zoo's appends. Its configurations name one EPYC 7742 of
128 threads with 540 GB, by all signs a DGX Station A100 (a DGX A100 has two), whose cards
nvidia-smi lists at 275 W: so it is predicted.
"""

import argparse
import collections
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published

RUNS = published.TABLES / "e2e_a100.csv.gz"
LARGER_RUNS = published.TABLES / "more" / "e2e_llm_diffusion_memory_hf.csv"
PRODUCTS = published.TABLES / "llm_layer_ops_fp16_a100.csv.gz"
DEVICE = ("--device", "a100-sxm4-80gb", "--method", "analytic")
STATION_W = 275
MIB = 1024 * 1024 / 1e6  # The sources print MB of 10^6 bytes.
# Runs whose device memory says what loading left in the allocator's cache: 25,843 MB at
# batch 1 and 25,845 at 2, where llama_baseline has 16,449 and 17,238 for the same work. The
# difference is about the first shard of the checkpoint, 9.98 GB, beside the weights.
LEFT_BY_LOADING = "sequence_length(512)-new_tokens(1000)"
# Runs that grow by 777 MB per sequence, 328 more than one pass: the cache and the logits
# in 32 bits of the call before, 262 + 66 MB, still alive in their loop.
KEEPS_LAST_RESULT = "llama_baseline"
BYTES = {"f16": 2, "f32": 4}
LLAMA_2_7B = {"NousResearch/Llama-2-7b-hf", "meta-llama/Llama-2-7b-hf",
              "lmsys/vicuna-7b-v1.5"}


def predict(model, *flags):
    return foretell.run_json("predict", model, *DEVICE, *flags,
                             "--json")["results"][0]


def gpu_ms(result):
    """What the GPU is busy for, without waiting for the host."""
    return result["latency"]["compute_ms"] + result["latency"]["memory_ms"]


def prefill(name, batch, tokens, torch, *flags):
    model = f"zoo:{name}?phase=prefill&all_logits=true&seq={tokens}"
    return predict(model, "--batch", batch, "--precision", "fp16", "--torch",
                   torch, *flags)


def decode(name, batch, cache, torch):
    model = f"zoo:{name}?phase=decode&cache={cache}"
    return predict(model, "--batch", batch, "--precision", "fp16", "--torch",
                   torch)


def noted(row, key):
    """MB after `key` in the row's note: "torch allocated 13738 MB, …"."""
    for part in row["note"].split(","):
        if key in part:
            return float(part.split()[-2])
    return None


def mean_of(values):
    known = [value for value in values if value]
    return statistics.mean(known) if known else None


def result_mb(result):
    """What the pass returns."""
    return sum(BYTES.get(one["dtype"], 0) * math.prod(one["shape"])
               for one in result["outputs"]) / 1e6


def figures(result, rows):
    """Per quantity what is predicted and, where it is known, measured."""
    latency = mean_of(float(row["latency_ms"]) for row in rows)
    memory = result["memory"]
    yield "latency", result["latency"]["ms"], latency
    for key in ("allocated", "reserved"):
        measured = mean_of(noted(row, f"{key} ") for row in rows)
        yield f"{key} memory", memory[f"{key}_mib"] * MIB, measured
    device = mean_of(float(row["memory_mb"] or 0) for row in rows)
    kept = sum(KEEPS_LAST_RESULT in row.get("source_path", "") for row in rows)
    yield ("device memory", memory["total_mib"] * MIB +
           (result_mb(result) if kept else 0), device)


class Runs:
    """Errors of whole runs by what was run and by quantity."""

    def __init__(self, shows_each):
        self.errors = collections.defaultdict(list)
        self.shows_each = shows_each

    def add(self, name, batch, result, rows):
        for quantity, predicted, measured in figures(result, rows):
            if not measured:
                continue
            self.errors[f"{name}: {quantity}"].append(predicted / measured - 1)
            if self.shows_each:
                print(f"{name}, batch {batch}: {quantity} {predicted:.1f}, "
                      f"measured {measured:.1f}")


def add_smaller(runs):
    """7B: optimum-benchmark, and vicuna, which is the same network."""
    groups = collections.defaultdict(list)
    for row in published.rows(RUNS):
        if row["source"] == "optimum-benchmark" and row["model"] in LLAMA_2_7B:
            if LEFT_BY_LOADING in row["source_path"]:
                row["memory_mb"] = ""
            kind = "eager" if row["runtime"] == "eager" else "fused"
            key = (kind, int(row["seq_len"]), int(row["batch"]))
            groups[key].append(row)
    for (kind, tokens, batch), rows in sorted(groups.items()):
        torch = "1.13" if kind == "eager" else "2.1"  # Attention fused or not.
        runs.add(f"7B, {kind}, prefill of {tokens}", batch,
                 prefill("llama2_7b", batch, tokens, torch, "--power-limit",
                         STATION_W), rows)


def add_larger(runs):
    """13B. Decode: 512 tokens after a prompt of 512, or of one."""
    for row in published.rows(LARGER_RUNS):
        if "llama-2-13b" not in row["model"]:
            continue
        batch, tokens = int(row["batch"]), int(row["seq_len"])
        fused = "SDPA" in row["runtime"]
        kind, torch = ("fused", "2.1") if fused else ("eager", "1.13")
        if tokens == 512:
            runs.add(f"13B, {kind}, prefill of 512", batch,
                     prefill("llama2_13b", batch, tokens, torch), [row])
            continue
        cache = 256 if tokens == 1 else 768  # The mean over 512 tokens.
        # Its memory is of the last step, and of the copies: not comparable.
        runs.add(f"13B, {kind}, decode at {cache}", batch,
                 decode("llama2_13b", batch, cache, torch),
                 [{**row, "memory_mb": ""}])


def print_errors(title, errors):
    print(f"\n| {title} | rows | median | mean | signed |\n|---|---|---|---|---|")
    for name, group in sorted(errors.items()):
        print(f"| {name} | {len(group)} | {published.error_cells(group)} |")


def score_products(every):
    errors = collections.defaultdict(list)
    rows = [row for row in published.rows(PRODUCTS)
            if row["n"] and row["tensor_parallel"] == "1" and
            ("Llama-2-7b" in row["model"] or "Llama-3-8B" in row["model"])]
    for row in rows[::every]:
        model = f"zoo:mlp?inputs={row['k']}&hidden=&outputs={row['n']}"
        result = predict(model, "--batch", row["num_tokens"], "--precision",
                         "fp16")
        error = gpu_ms(result) / float(row["latency_ms"]) - 1
        size = "up to 64" if int(row["num_tokens"]) <= 64 else "more"
        errors[f"{row['op']}, {size} tokens"].append(error)
    print_errors("product", errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--every", type=int, default=40,
                        help="take every N-th row of the kernels' tables")
    parser.add_argument("--runs", action="store_true",
                        help="print each whole run as well")
    arguments = parser.parse_args()
    published.need(RUNS, LARGER_RUNS, PRODUCTS)
    runs = Runs(arguments.runs)
    add_smaller(runs)
    add_larger(runs)
    print_errors("LLaMA-2", runs.errors)
    score_products(arguments.every)


if __name__ == "__main__":
    foretell.main(main)
