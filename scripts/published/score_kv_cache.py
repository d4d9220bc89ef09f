#!/usr/bin/env python3
"""Compares sizes of weights and KV caches with published generation on an A100.

    scripts/published/score_kv_cache.py

Of ../shared/data/runs2026/llm_inference_quantized_a100.csv (optimum-benchmark,
transformers 4.35): memory that torch allocated during generation at several batches is a
line; its slope is what a sequence takes, its start are the weights. `foretell kv-cache`
states both. That version's loop holds the caches of the step before and of this one, so
a sequence takes two; activations of a step, which are small, come on top. Prints in
Markdown, per model and experiment, rows and both numbers in MB, and the median error.
"""

import collections
import csv
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

RUNS = published.TABLES / "runs2026" / "llm_inference_quantized_a100.csv"
MB = 1e6
CACHES = 2
# Of those with figures of the allocator; LLaMA's 65B has the sizes that its paper says.
NETWORKS = {"NousResearch/Llama-2-7b-hf": "zoo:llama2_7b",
            "NousResearch/Llama-2-13b-hf": "zoo:llama2_13b",
            "TheBloke/LLaMa-7B-GPTQ": "zoo:llama2_7b",
            "TheBloke/LLaMa-13B-GPTQ": "zoo:llama2_13b",
            "TheBloke/LLaMa-65B-GPTQ":
                "zoo:llama2_7b?width=8192&depth=80&heads=64&kv_heads=64&inner=22016"}


def line(points):
    """Start and slope of the least squares."""
    xs, ys = zip(*points)
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    slope = (sum((a - x) * (b - y) for a, b in points)
             / sum((a - x) ** 2 for a in xs))
    return y - slope * x, slope


def answer(network, tokens, quantization):
    flags = ("--quantize", "gptq:4") if quantization == "gptq" else ()
    found = foretell.run_json("kv-cache", network, "--context", tokens, *flags,
                              "--device", "a100-80gb", "--json",
                              accept=(foretell.DONE, foretell.DOES_NOT_FIT))
    return (found["gpu"]["weight_bytes"] / MB,
            CACHES * found["sequence_bytes"] / MB)


def main():
    published.need(RUNS)
    lines = collections.defaultdict(list)
    with RUNS.open() as file:
        for row in csv.DictReader(file):
            if row["generate_allocated_mb"] and row["model"] in NETWORKS:
                tokens = int(row["prompt_len"]) + int(row["new_tokens"])
                lines[row["model"], row["experiment"], row["quantization"],
                      tokens].append((int(row["batch"]),
                                      float(row["generate_allocated_mb"])))
    print("| network | experiment | rows | weights: measured | foretell | a sequence: "
          "measured | foretell |\n|---|---|---|---|---|---|---|")
    errors = [[], []]
    for (model, experiment, quantization, tokens), points in lines.items():
        if len(points) < 3:
            continue
        measured = line(points)
        ours = answer(NETWORKS[model], tokens, quantization)
        for kept, was, is_ours in zip(errors, measured, ours):
            kept.append(abs(is_ours / was - 1))
        print(f"| {model} | {experiment} | {len(points)} | {measured[0]:.0f} | "
              f"{ours[0]:.0f} | {measured[1]:.1f} | {ours[1]:.1f} |")
    print("\nMedian error: weights {:.1%}, a sequence {:.1%}".format(
        *map(statistics.median, errors)))


if __name__ == "__main__":
    foretell.main(main)
