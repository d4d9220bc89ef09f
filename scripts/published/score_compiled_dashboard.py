#!/usr/bin/env python3
"""Memory and speed under torch.compile against PyTorch's dashboards of 2023.

    scripts/published/score_compiled_dashboard.py

Training under AMP (FP16) on an A100, a step without an optimizer
(`compile_dashboard_a100_amp.csv` of ../shared, PyTorch 2.0): how many times the
compiled step's memory the eager one's is, and how many times as fast it is, with and
without CUDA graphs. Only the best rows of each table were published: the ratios are
far above the mean of the suites, so this is a check of single networks, those that the
zoo has. Which A100 it was is not said; 40 GB is assumed. Nothing is fitted here.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

TABLE = published.TABLES / "runs2026" / "compile_dashboard_a100_amp.csv"
NETWORKS = {"mobilenet_v2": "zoo:mobilenet_v2", "densenet121": "zoo:densenet121",
            "mobilenet_v3_large": "zoo:mobilenet_v3_large",
            "timm_vision_transformer": "zoo:vit_small_patch16_224",
            "hf_GPT2": "zoo:gpt2?lm_head=true&seq=512"}
MODES = {"inductor_no_cudagraphs": "compile",
         "inductor_cudagraphs": "compile,reduce-overhead"}
MEMORY, SPEED = "peak_memory_eager_over_compiled", "speedup_over_eager"


def step(model, batch, runtime):
    """The graph of the step, as `inspect` prints it. SGD updates in place."""
    text = foretell.run("inspect", model, "--batch", batch, "--mode", "training",
                        "--optimizer", "sgd", "--autocast", "--precision", "fp16",
                        "--device", "a100-sxm4-40gb", "--torch", "2.0", "--runtime",
                        runtime, "--format", "json")
    return json.loads(text)


def cost(graph, metric):
    """Bytes or milliseconds."""
    return (graph["memory"]["allocated_peak"] if metric == MEMORY
            else graph["figures"]["latency_ms"]["value"])


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    published.need(TABLE)
    print("| network | batch | quantity | CUDA graphs | published | predicted |\n"
          "|---|---|---|---|---|---|")
    for row in published.rows(TABLE):
        metric = row["metric"]
        if row["model"] not in NETWORKS:
            continue
        model, batch = NETWORKS[row["model"]], row["batch"]
        eager = cost(step(model, batch, "eager"), metric)
        for column, runtime in MODES.items():
            if metric == MEMORY and column == "inductor_cudagraphs":
                continue  # Pools of graphs are not counted as allocated.
            ratio = eager / cost(step(model, batch, runtime), metric)
            print(f"| {row['model']} | {batch} | "
                  f"{'memory' if metric == MEMORY else 'speed'} | "
                  f"{'no' if '_no_' in column else 'yes'} | "
                  f"{float(row[column]):.2f} | {ratio:.2f} |")


if __name__ == "__main__":
    foretell.main(main)
