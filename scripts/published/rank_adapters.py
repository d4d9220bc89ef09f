#!/usr/bin/env python3
"""Ranks PEFT's methods by predicted and by measured memory.

    scripts/published/rank_adapters.py TABLE [--device NAME]

TABLE is train_memory_peft_l40s.csv of ../shared/data/runs2026: Llama-3.2-3B on texts of up
to 768 tokens, batch 4 (huggingface/peft 5d602fd, method_comparison/MetaMathQA). Predictions
are for 768 tokens, so only the order can be compared, by Spearman's rank correlation.

Prints in Markdown each experiment that `--lora` can express, with both figures in MiB of
reserved memory, and the correlation; then what it cannot express.
"""

import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

LAYERS, WIDTH, KEY_WIDTH = 28, 3072, 1024
# Of the experiments' adapter_config.json, beyond rank and targets.
KEYS = {"LORA": "", "IA3": "method=ia3,feedforward=down_proj", "VERA": "method=vera",
        "LOHA": "method=loha", "OFT": "method=oft,block=32",
        "BOFT": "method=boft,block=4"}


def lora_of(row):
    """The text for --lora; None if it does not express the experiment."""
    method, trained = row["peft_type"], int(row["trainable_params"])
    name = row["experiment"].split("/")[1]
    if method == "PREFIX_TUNING":
        return f"method=prefix,tokens={trained // (LAYERS * 2 * KEY_WIDTH)}"
    if method == "PROMPT_TUNING":
        return f"method=prompt,tokens={trained // WIDTH}"
    if method == "P_TUNING":
        tokens = (trained - 3 * WIDTH * (WIDTH + 1)) // WIDTH
        return f"method=ptuning,tokens={tokens},hidden={WIDTH}"
    if method == "LORA" and not re.search(r"rank\d+(-target-mlp|-rslora|-dora)?$", name):
        return None
    keys = KEYS.get(method)
    if method == "LOKR":
        keys = "method=lokr,factor=" + re.search(r"factor(\d+)", name)[1]
    if keys is None:
        return None
    is_ranked = method not in ("IA3", "OFT", "BOFT")
    parts = [f"r={row['r']}"] * is_ranked
    parts += ["targets=" + "|".join(row["target_modules"].split()), keys]
    parts += ["dora"] * name.endswith("-dora")
    return ",".join(part for part in parts if part)


def predicted_mib(lora, device):
    words = ["predict", "meta-llama/Llama-3.2-3B", "--mode", "training", "--precision",
             "bf16", "--batch", "4", "--seq-len", "768", "--device", device,
             "--json"]
    if lora:
        words += ["--lora", lora]
    return foretell.run_json(*words)["results"][0]["memory"]["reserved_mib"]


def ranks(values):
    """From 0; equal values share their mean rank."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def spearman(first, second):
    pairs = list(zip(ranks(first), ranks(second)))
    mean = (len(pairs) - 1) / 2
    both = sum((a - mean) * (b - mean) for a, b in pairs)
    own = [sum((pair[side] - mean) ** 2 for pair in pairs) for side in (0, 1)]
    return both / (own[0] * own[1]) ** 0.5


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--device", default="l40s")
    args = parser.parse_args()
    measured, predicted, left_out = [], [], set()
    print("| experiment | measured | predicted |\n|---|---|---|")
    for row in published.rows(args.table):
        if row["task"] != "MetaMathQA" or row["status"] != "success":
            continue
        lora = "" if row["peft_type"] == "full" else lora_of(row)
        if lora is None:
            left_out.add(row["peft_type"])
            continue
        try:
            predicted.append(predicted_mib(lora, args.device))
        except foretell.Failure as failure:
            left_out.add(f"{row['peft_type']} ({str(failure).splitlines()[-1]})")
            continue
        measured.append(float(row["reserved_max_mib"]))
        print(f"| {row['experiment']} | {measured[-1]:.0f} | {predicted[-1]:.0f} |",
              flush=True)
    print(f"\nSpearman {spearman(measured, predicted):.2f} of {len(measured)} experiments; "
          f"not expressed: {', '.join(sorted(left_out))}")


if __name__ == "__main__":
    main()
