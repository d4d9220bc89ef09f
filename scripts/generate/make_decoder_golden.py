#!/usr/bin/env python3
"""Writes tests/golden/decoders/live_bytes.csv: what small decoders of transformers
4.57 keep alive after a forward pass that autograd records.

Networks run on the CPU, where every operator below autograd is seen with the storages
of its results (scripts/lib/storage_census.py). Needs, beside torch:
    pip install --no-deps transformers==4.57.6 huggingface_hub==0.36.0 \\
        tokenizers==0.22.1 safetensors regex requests packaging tqdm filelock pyyaml

Columns: `network` in the zoo, `precision` of its weights, `parameters`, and `kept`
bytes: those alive while the logits are held, without weights, buffers and inputs. What
only the CPU's kernels make, the log-sum-exp of attention, is left out.

usage: scripts/generate/make_decoder_golden.py [--out FOLDER]
"""

import argparse
import csv
import pathlib
import sys

import torch
from torch.utils._pytree import tree_leaves

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

BATCH, SEQ = 2, 32
FUSED = "_scaled_dot_product_flash_attention_for_cpu"
# What all have, in the zoo's words and in transformers'.
ZOO = ("llama?width=64&depth=2&heads=4&kv_heads={kv}&inner=96&vocabulary=128&"
       f"positions=64&seq={SEQ}")
SIZES = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
             intermediate_size=96, vocab_size=128, max_position_embeddings=64,
             pad_token_id=None, attention_dropout=0.0)
GEMMA = ("&head_width=32&norm=gemma&activation=gelu_tanh&embedding_scale=8&"
         "tied_head=true")
PLAIN = "&norm=layer&mlp_gate=false&qkv_bias=true&out_bias=true&mlp_bias=true"
CAPS = "&post_norms=true&window=16&window_pattern=2&logit_softcap=30"

# Of the classes whose configuration has another name.
CONFIGS = {"Gemma3": "Gemma3Text"}

# Class in transformers, heads of keys, fields in the zoo, fields there.
NETWORKS = (
    ("Llama", 2, "&attention=eager", {}),
    ("Llama", 4, "", {"_attn_implementation": "sdpa"}),
    ("Qwen3", 2, "&attention=eager&head_width=32&head_norms=true", {"head_dim": 32}),
    ("Granite", 2, "&attention=eager&embedding_scale=2&residual_scale=0.5&"
     "logits_scale=4",
     {"embedding_multiplier": 2.0, "residual_multiplier": 0.5, "logits_scaling": 4.0}),
    ("Gemma", 1, "&attention=eager" + GEMMA, {"head_dim": 32}),
    ("Gemma2", 2, "&attention=eager&attention_softcap=50" + GEMMA + CAPS,
     {"head_dim": 32, "sliding_window": 16}),
    ("Phi3", 2, "&attention=eager&fused_qkv=true&fused_gate_up=true",
     {"sliding_window": None}),
    ("Mixtral", 2, "&attention=eager&experts=4", {"num_local_experts": 4}),
    ("Qwen2Moe", 2, "&attention=eager&qkv_bias=true&experts=4&expert_inner=48&"
     "shared_inner=80&norm_topk=false",
     {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48,
      "shared_expert_intermediate_size": 80, "norm_topk_prob": False}),
    ("Olmoe", 2, "&attention=eager&width_norms=true&experts=4&norm_topk=false",
     {"num_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": False}),
    ("GraniteMoe", 2, "&attention=eager&experts=4&moe=granite",
     {"num_local_experts": 4, "num_experts_per_tok": 2}),
    ("StableLm", 2, "&attention=eager&norm=layer&rotary_share=0.5",
     {"partial_rotary_factor": 0.5}),
    ("Starcoder2", 2, "&attention=eager&activation=gelu_tanh&tied_head=true" + PLAIN,
     {"sliding_window": None, "residual_dropout": 0.0, "embedding_dropout": 0.0}),
    ("Phi", 2, "&attention=eager&parallel_blocks=true&rotary_share=0.5&"
     "activation=gelu_new&head_bias=true" + PLAIN, {}),
    ("GPTNeoX", 4, "&attention=eager&parallel_blocks=true&parallel_norms=2&"
     "rotary_share=0.25&fused_qkv=true&activation=gelu" + PLAIN, {}),
    ("GPTBigCode", 1, "&attention=eager&positions_learned=true&fused_qkv=true&"
     "activation=gelu_tanh&tied_head=true" + PLAIN,
     {"n_inner": 96, "n_positions": 64, "attn_pdrop": 0.0, "resid_pdrop": 0.0,
      "embd_pdrop": 0.0}),
    ("SmolLM3", 2, "&attention=eager&rotary_pattern=2&tied_head=true",
     {"no_rope_layer_interval": 2}),
    ("Glm", 2, "&attention=eager&rotary_share=0.5&rotary=glm&fused_gate_up=true&"
     "qkv_bias=true", {"head_dim": 16}),
    ("Glm4", 2, "&attention=eager&rotary_share=0.5&rotary=glm&fused_gate_up=true&"
     "post_norms=true&qkv_bias=true", {"head_dim": 16}),
    ("Glm4Moe", 2, "&attention=eager&rotary_share=0.5&experts=4&expert_inner=48&"
     "shared_inner=48&first_dense=1&moe=glm4&head_norms=true",
     {"head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 48, "n_shared_experts": 1, "use_qk_norm": True}),
    ("Cohere", 2, "&attention=eager&norm=cohere&rotary=cohere&parallel_blocks=true&"
     "tied_head=true&logits_scale=16", {}),
    ("Cohere2", 2, "&attention=eager&norm=cohere&rotary=cohere&parallel_blocks=true&"
     "tied_head=true&logits_scale=16&window=16&window_pattern=2&rotary_pattern=2",
     {"sliding_window": 16, "sliding_window_pattern": 2}),
    ("Nemotron", 2, "&attention=eager&norm=layer1p&rotary_share=0.5&activation=relu2&"
     "mlp_gate=false", {"hidden_act": "relu2"}),
    ("Exaone4", 2, "&attention=eager&pre_norms=false&post_norms=true&head_norms=true&"
     "window=16&window_pattern=2&rotary_pattern=2",
     {"sliding_window": 16, "sliding_window_pattern": 2}),
    ("Ernie4_5", 2, "&attention=eager&rotary=ernie&tied_head=true", {"head_dim": 16}),
    ("HunYuanDenseV1", 2, "&attention=eager&head_norms=true&late_head_norms=true",
     {"head_dim": 16}),
    ("SeedOss", 2, "&attention=eager&qkv_bias=true",
     {"head_dim": 16, "residual_dropout": 0.0}),
    ("Arcee", 2, "&attention=eager&activation=relu2&mlp_gate=false", {}),
    ("Olmo", 2, "&attention=eager&norm=olmo&rotary=olmo", {}),
    ("Olmo2", 2, "&attention=eager&norm=olmo2&rotary=olmo&width_norms=true&"
     "pre_norms=false&post_norms=true", {}),
    ("Olmo3", 2, "&attention=eager&norm=olmo2&rotary=olmo&width_norms=true&"
     "pre_norms=false&post_norms=true&window=16&window_pattern=2&window_rotary=true",
     {"sliding_window": 16,
      "layer_types": ["sliding_attention", "full_attention"]}),
    ("Gemma3", 2, "&attention=eager&head_norms=true&post_norms=true&window=16&"
     "window_pattern=2&window_rotary=true" + GEMMA,
     {"head_dim": 32, "sliding_window": 16,
      "layer_types": ["sliding_attention", "full_attention"]}),
    ("Qwen3Next", 2, "&attention=eager&norm=gemma&head_norms=true&rotary_share=0.25&"
     "gated_attention=true&linear_pattern=2&linear_key_heads=2&linear_value_heads=4&"
     "linear_key_width=16&linear_value_width=16&experts=4&expert_inner=48&"
     "shared_inner=80",
     {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 48, "shared_expert_intermediate_size": 80,
      "linear_num_key_heads": 2, "linear_num_value_heads": 4,
      "linear_key_head_dim": 16, "linear_value_head_dim": 16,
      "layer_types": ["linear_attention", "full_attention"]}),
    ("Ministral", 2, "&attention=eager&window=16&window_pattern=2",
     {"head_dim": 16, "sliding_window": 16,
      "layer_types": ["sliding_attention", "full_attention"]}),
    ("GptOss", 2, "&attention=eager&norm=olmo2&rotary=gpt_oss&qkv_bias=true&"
     "out_bias=true&window=16&window_pattern=2&sinks=true&experts=4&moe=gpt_oss",
     {"head_dim": 16, "sliding_window": 16, "num_local_experts": 4,
      "num_experts_per_tok": 2}),
)


class Census(StorageCensus):
    """Of all storages that an operator returned."""

    def results_of(self, func, results):
        fused = func._schema.name == "aten::" + FUSED
        # Gemma's factor of the embeddings is a number on the host.
        return [leaf for leaf in tree_leaves(results[0] if fused else results)
                if isinstance(leaf, torch.Tensor) and leaf.dim() > 0]


def build(kind, kv_heads, fields, dtype):
    import transformers as tf

    options = SIZES | {"num_key_value_heads": kv_heads,
                       "_attn_implementation": "eager"} | fields
    attention = options.pop("_attn_implementation")
    config = getattr(tf, CONFIGS.get(kind, kind) + "Config")(**options)
    config._attn_implementation = attention
    torch.set_default_dtype(dtype)
    network = getattr(tf, kind + "ForCausalLM")(config).eval()
    torch.set_default_dtype(torch.float)
    return network


def kept_by(network):
    tokens = torch.randint(0, 128, (BATCH, SEQ))
    seen = torch.ones_like(tokens)  # Without it, rows count as packed ones.
    with Census() as census:
        for tensor in (*network.parameters(), *network.buffers(), tokens, seen):
            census.count(tensor)
        fixed = census.live
        logits = network(tokens, attention_mask=seen, use_cache=False).logits
        kept = census.live - fixed
    del logits
    return kept


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/decoders"
    parser.add_argument("--out", type=pathlib.Path, default=folder)
    out = parser.parse_args().out
    torch.manual_seed(0)
    with (out / "live_bytes.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("network", "precision", "parameters", "kept"))
        for kind, kv_heads, changes, fields in NETWORKS:
            # Statistics of layer norms are 16 bits wide on the CPU only.
            is_wide = "norm=layer" in changes
            dtype = torch.float if is_wide else torch.bfloat16
            network = build(kind, kv_heads, fields, dtype)
            parameters = sum(p.numel() for p in network.parameters())
            table.writerow((ZOO.format(kv=kv_heads) + changes,
                            "fp32" if is_wide else "bf16", parameters,
                            kept_by(network)))
            file.flush()


if __name__ == "__main__":
    main()
