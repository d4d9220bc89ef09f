#!/usr/bin/env python3
"""Compares steps of sharded training with published ones of language models.

    scripts/published/score_sharded_training.py [--every N] [--rows]

llm-foundry (../shared/data/more/train_latency_llm_foundry.csv) trained MPTs of 125
million to 30 billion parameters on eight A100s or H100s, under FSDP (FULL_SHARD), and
notes tokens per second by batch and length, with and without activation checkpointing.
The networks are GPT-2's with GELU as one operator, no dropout and 50368 words
(scripts/lib/ language_models.py), asked for with `--precision bf16 --parallel fsdp:8`:
FSDP gathers and multiplies in BF16 whether the source says bf16 or amp_bf16. Its
attention is FlashAttention 1 in Triton (`attn_impl: triton` of its
scripts/train/benchmarking, images of PyTorch 1.13 and 2.1), so it is predicted as of
PyTorch 2.1. Its rate is over many micro-batches to one step of the optimizer, so the
optimizer is SGD, the cheapest. Rows in FP8 are left out, which foretell does not know.
Prints by GPU and checkpointing, in percent, how many rows there are, median and mean
absolute error and the signed median of the time of a micro-batch, and how many of the
measured times lie in the predicted interval. Of the rows, in the order of the source,
every N-th is taken (default 12). Needs torch.
"""

import argparse
import collections
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell
import published

TABLE = published.TABLES / "more" / "train_latency_llm_foundry.csv"
DEVICES = {"A100-40GB": "a100-sxm4-40gb", "A100-80GB": "a100-sxm4-80gb",
           "H100-80GB": "h100-sxm5-80gb"}
# Width, depth and heads.
NETWORKS = {"mpt-125m": (768, 12, 12), "mpt-350m": (1024, 24, 16),
            "mpt-760m": (1536, 24, 12), "mpt-1b": (2048, 24, 16),
            "mpt-3b": (2560, 32, 20), "mpt-7b": (4096, 32, 32),
            "mpt-13b": (5120, 40, 40), "mpt-30b": (7168, 48, 56)}
VOCABULARY = 50368
BLOCKS = "blocks.*"
TORCH = "2.1"
NOTE = re.compile(r"8 GPUs, sharding FULL_SHARD, activation checkpointing (True|False)")


def taken(every):
    rows = []
    for row in published.rows(TABLE):
        note = NOTE.match(row["note"])
        if row["status"] == "ok" and "fp8" not in row["precision"] and note:
            rows.append({**row, "checkpoints": note[1] == "True"})
    return rows[::every]


def export(name, tokens, folder):
    import language_models

    path = folder / f"{name}-{tokens}.pt"
    if not path.exists():
        width, depth, heads = NETWORKS[name]
        language_models.export(
            language_models.Model(
                width=width, depth=depth, heads=heads, inner=4 * width,
                vocabulary=VOCABULARY, positions=tokens, activation="gelu",
                dropout=0, attention_dropout=0), "training", path)
    return path


def predicted(row, folder):
    tokens = int(row["seq_len"])
    flags = ["--recompute", BLOCKS] if row["checkpoints"] else []
    (result,) = foretell.run_json(
        "predict", export(row["model"], tokens, folder), "--json", "--input",
        f"i64[{row['batch']},{tokens}]", "--mode", "training", "--optimizer", "sgd",
        "--precision", "bf16", "--torch", TORCH, "--parallel",
        f"fsdp:8,blocks={BLOCKS}", "--device", DEVICES[row["device"]],
        *flags)["results"]
    return result


def table(found):
    """Of pairs by GPU and checkpointing: an error, and whether the interval holds it."""
    print("| GPU | recompute | rows | median error | mean error | signed median "
          "| inside the interval |")
    print("|---|---|---|---|---|---|---|")
    everything = [one for group in found.values() for one in group]
    for (device, checkpoints), group in (*sorted(found.items()),
                                         (("all", None), everything)):
        words = {True: "yes", False: "no", None: ""}[checkpoints]
        errors, inside = zip(*group)
        print(f"| {device} | {words} | {len(group)} "
              f"| {published.error_cells(errors)} | {sum(inside)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=12)
    parser.add_argument("--rows", action="store_true")
    options = parser.parse_args()
    published.need(TABLE)
    pairs = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        for row in taken(options.every):
            result = predicted(row, pathlib.Path(folder))
            truth, found = float(row["latency_ms"]), result["latency"]["ms"]
            error = found / truth - 1
            low, high = result["latency"]["interval_ms"]
            pairs[row["device"], row["checkpoints"]].append(
                (error, low <= truth <= high))
            if options.rows:
                print(row["device"], row["model"], row["batch"], row["seq_len"],
                      "recompute" if row["checkpoints"] else "-",
                      f"{truth:.0f} ms {found:.0f} ms "
                      f"{100 * error:+.1f} %, link "
                      f"{result['parallel']['link_ms']:.0f} ms, exposed "
                      f"{result['parallel']['exposed_link_ms']:.1f} ms", flush=True)
    table(pairs)


if __name__ == "__main__":
    foretell.main(main)
