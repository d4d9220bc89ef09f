#!/usr/bin/env python3
"""Writes tests/golden/recompute/live_bytes.csv: what a small LLaMA of transformers 5.24
keeps alive in a training step with each kind of torch.utils.checkpoint.

It runs on the CPU, where every operator below autograd is seen with the storages of its
results (scripts/lib/storage_census.py). Needs, beside torch:
    pip install --no-deps transformers==5.24.0 huggingface_hub tokenizers safetensors \\
        regex requests packaging tqdm filelock pyyaml

Columns: `kept` bytes that are alive before the backward pass and `peak`, the most in it,
both without weights and tokens; the rest of the line is the value of foretell's flag.
The log-sum-exp that the CPU's attention returns is left out where nothing keeps it.

usage: scripts/generate/make_recompute_golden.py [--out FOLDER]
"""

import argparse
import pathlib
import sys

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

BATCH, SEQ, DEPTH = 2, 32, 4
FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
PRODUCT = torch.ops.aten.mm.default


class Census(StorageCensus):
    """Of all storages that an operator returned."""

    def results_of(self, func, results):
        return [leaf for leaf in tree_leaves(results[0] if func is FUSED else results)
                if isinstance(leaf, torch.Tensor) and leaf.dim() > 0]


def keeping(operators, every=1):
    """What gradient_checkpointing_enable takes; of every two products in a block the
    first is kept if `every` is 2."""
    def contexts():
        products = {False: 0, True: 0}

        def policy(context, func, *args, **kwargs):
            if func is PRODUCT:
                products[context.is_recompute] += 1
                if every == 2 and products[context.is_recompute] % 2 == 0:
                    return CheckpointPolicy.PREFER_RECOMPUTE
            return (CheckpointPolicy.MUST_SAVE if func in operators
                    else CheckpointPolicy.PREFER_RECOMPUTE)
        return create_selective_checkpoint_contexts(policy)
    return {"use_reentrant": False, "context_fn": contexts}


KINDS = {
    "auto": {"use_reentrant": False},
    "auto/2": {"use_reentrant": False},
    "auto,reentrant": {"use_reentrant": True},
    "auto,save=sdpa": keeping({FUSED}),
    "auto,save=mm|sdpa": keeping({FUSED, PRODUCT}),
    "auto,save=mm/2|sdpa": keeping({FUSED, PRODUCT}, every=2),
}


def network(kind):
    import transformers as tf

    config = tf.LlamaConfig(
        hidden_size=64, num_hidden_layers=DEPTH, num_attention_heads=4,
        num_key_value_heads=4, intermediate_size=96, vocab_size=128,
        max_position_embeddings=64, pad_token_id=None, attention_dropout=0.0)
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(torch.bfloat16)
    made = tf.LlamaForCausalLM(config).train()
    torch.set_default_dtype(torch.float)
    made.gradient_checkpointing_enable(KINDS[kind])
    for layer in made.model.layers[0::2] if kind == "auto/2" else ():
        layer.gradient_checkpointing = False
    return made


def step(made, tokens, census=None):
    seen = torch.ones_like(tokens)
    result = made(tokens, attention_mask=seen, use_cache=False, labels=tokens)
    logits, loss = result.logits, result.loss
    del result
    kept = census.live if census else 0
    if census:
        census.peak = census.live
    loss.backward()
    del logits
    return kept


def measure(kind):
    made = network(kind)
    tokens = torch.randint(0, 128, (BATCH, SEQ))
    step(made, tokens)
    made.zero_grad(set_to_none=True)
    with Census() as census:
        for tensor in (*made.parameters(), *made.buffers(), tokens):
            census.count(tensor)
        fixed = census.live
        kept = step(made, tokens, census)
        return kept - fixed, census.peak - fixed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/recompute"
    parser.add_argument("--out", type=pathlib.Path, default=folder)
    out = parser.parse_args().out
    torch.manual_seed(0)
    lines = ["kept,peak,recompute"]
    for kind in KINDS:
        kept, peak = measure(kind)
        lines.append(f"{kept},{peak},{kind}")
    (out / "live_bytes.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
