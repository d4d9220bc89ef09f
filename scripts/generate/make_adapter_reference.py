#!/usr/bin/env python3
"""Writes tests/datasets/zoo/reference_adapters.json: parameters of small decoders with
LoRA of rank 8, all and those that PEFT trains, as transformers and PEFT build them on the
meta device from the keys of a config.json.

usage: scripts/generate/make_adapter_reference.py > tests/datasets/zoo/reference_adapters.json
"""

import json

import peft
import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 64,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = {**SIZES, "num_key_value_heads": 2}
WIDE = {**GROUPED, "head_dim": 32}
EXPERTS = {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64,
       "bos_token_id": 1, "eos_token_id": 2}
FALCON = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "vocab_size": 100, "bos_token_id": 1, "eos_token_id": 2}
DELTA = {"head_dim": 16, "num_hidden_layers": 4, "linear_num_key_heads": 2,
         "linear_num_value_heads": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 16}
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
LINEAR = ATTENTION + ["gate_proj", "up_proj", "down_proj"]
NEOX = ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]

# model_type, keys, target_modules
ROWS = (
    ("llama", GROUPED, LINEAR),
    ("llama", {**GROUPED, "tie_word_embeddings": True}, ["q_proj", "v_proj"]),
    ("mistral", GROUPED, LINEAR),
    ("qwen2", GROUPED, ["q_proj", "v_proj"]),
    ("qwen3", WIDE, LINEAR),
    ("gemma", WIDE, LINEAR),
    ("gemma2", WIDE, ATTENTION),
    ("gemma3_text", WIDE, LINEAR),
    ("phi3", SIZES, ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
    ("phi", SIZES, ["q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"]),
    ("stablelm", GROUPED, LINEAR),
    ("starcoder2", GROUPED, ["q_proj", "o_proj", "c_fc", "c_proj"]),
    ("granite", GROUPED, LINEAR),
    ("gpt_neox", SIZES, NEOX),
    ("gpt_neox", SIZES, ["dense"]),
    ("falcon", FALCON, NEOX),
    ("gpt_bigcode", GPT, ["c_attn", "c_fc"]),
    ("gpt_bigcode", GPT, ["c_proj"]),
    ("gpt2", GPT, ["c_attn", "c_proj"]),
    ("mixtral", {**GROUPED, "num_local_experts": 4}, ["q_proj", "v_proj"]),
    ("qwen2_moe", {**EXPERTS, "moe_intermediate_size": 32,
                   "shared_expert_intermediate_size": 48}, ["q_proj", "o_proj"]),
    ("qwen3_moe", {**EXPERTS, "head_dim": 32, "moe_intermediate_size": 32}, ATTENTION),
    ("olmoe", EXPERTS, ["k_proj", "o_proj"]),
    ("smollm3", GROUPED, LINEAR),
    ("glm", {**GROUPED, "head_dim": 16}, ["q_proj", "gate_up_proj"]),
    ("glm4", {**GROUPED, "head_dim": 16}, ["q_proj", "gate_up_proj"]),
    ("glm4_moe", {**GROUPED, "head_dim": 16, "n_routed_experts": 4,
                  "num_experts_per_tok": 2, "moe_intermediate_size": 32,
                  "n_shared_experts": 2, "use_qk_norm": True}, ATTENTION),
    ("cohere", GROUPED, LINEAR),
    ("cohere2", {**WIDE, "head_dim": 16}, LINEAR),
    ("granitemoe", {**GROUPED, "num_local_experts": 4}, ATTENTION),
    ("nemotron", {**WIDE, "hidden_act": "relu2"}, ["q_proj", "up_proj"]),
    ("exaone4", GROUPED, LINEAR),
    ("ernie4_5", WIDE, LINEAR),
    ("hunyuan_v1_dense", {**WIDE, "head_dim": 16}, LINEAR),
    ("seed_oss", WIDE, LINEAR),
    ("arcee", {**WIDE, "head_dim": 16}, ["q_proj", "up_proj"]),
    ("olmo", GROUPED, LINEAR),
    ("olmo2", GROUPED, LINEAR),
    ("olmo3", GROUPED, LINEAR),
    ("ministral", WIDE, LINEAR),
    ("ministral3", WIDE, LINEAR),
    ("gpt_oss", {**GROUPED, "head_dim": 32, "num_local_experts": 4,
                 "num_experts_per_tok": 2}, ATTENTION),
    ("llama4_text", {**GROUPED, "head_dim": 16, "num_local_experts": 4,
                     "intermediate_size_mlp": 96, "interleave_moe_layer_step": 2},
     ATTENTION),
    ("qwen3_next", {**EXPERTS, **DELTA, "moe_intermediate_size": 32,
                    "shared_expert_intermediate_size": 48},
     ["q_proj", "o_proj", "in_proj_qkvz", "in_proj_ba", "out_proj"]),
    ("qwen3_5_text", {**GROUPED, **DELTA},
     LINEAR + ["in_proj_qkv", "in_proj_z", "in_proj_a", "in_proj_b", "out_proj"]),
    ("qwen3_5_moe_text", {**EXPERTS, **DELTA, "moe_intermediate_size": 32,
                          "shared_expert_intermediate_size": 48},
     ["q_proj", "o_proj", "in_proj_qkv"]),
)


def counted(kind, keys, targets):
    config = AutoConfig.for_model(kind, **keys)
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config)
        adapted = peft.get_peft_model(network, peft.LoraConfig(r=8, target_modules=targets))
    weights = list(adapted.parameters())
    return {"config": {"model_type": kind, **keys}, "targets": targets,
            "parameters": sum(weight.numel() for weight in weights),
            "trained": sum(weight.numel() for weight in weights if weight.requires_grad)}


def main():
    rows = [json.dumps(counted(*row)) for row in ROWS]
    print('{"rows": [\n  ' + ",\n  ".join(rows) + "\n]}")


if __name__ == "__main__":
    main()
