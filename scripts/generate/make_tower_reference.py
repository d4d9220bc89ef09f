#!/usr/bin/env python3
"""Writes tests/datasets/zoo/reference_towers.json: parameters of small vision-language
models, towers included, as transformers 5.17 builds them on the meta device from the keys
of a config.json.

usage: scripts/generate/make_tower_reference.py > tests/datasets/zoo/reference_towers.json
"""

import copy
import json

import torch
from transformers import AutoConfig, AutoModelForImageTextToText

TEXT = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 128,
        "max_position_embeddings": 64}
WIDE = {**TEXT, "head_dim": 16}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
DELTA = {**WIDE, "num_hidden_layers": 4, "linear_num_key_heads": 2,
         "linear_num_value_heads": 4, "linear_key_head_dim": 16,
         "linear_value_head_dim": 16}
TOWER = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2,
         "intermediate_size": 48, "patch_size": 14, "image_size": 56}
CLIP = {**TOWER, "model_type": "clip_vision_model"}
PIXTRAL = {**TOWER, "model_type": "pixtral", "head_dim": 16}
QWEN = {"hidden_size": 32, "depth": 3, "num_heads": 2, "out_hidden_size": 64,
        "intermediate_size": 48}
QWEN3 = {**QWEN, "num_position_embeddings": 64}
DEEP = {**QWEN3, "deepstack_visual_indexes": [0, 1]}

# model_type, text_config, vision_config
ROWS = (
    ("gemma3", WIDE, {**TOWER, "vision_use_head": False}),
    ("gemma3", WIDE, TOWER),
    ("llava", {**TEXT, "model_type": "llama", "num_key_value_heads": 4}, CLIP),
    ("llava_next", {**TEXT, "model_type": "llama", "num_key_value_heads": 4}, CLIP),
    ("mistral3", {**WIDE, "model_type": "mistral"}, PIXTRAL),
    ("mistral3", {**WIDE, "model_type": "ministral3"}, PIXTRAL),
    ("qwen2_vl", TEXT, {"embed_dim": 32, "depth": 3, "num_heads": 2, "hidden_size": 64,
                        "mlp_ratio": 4}),
    ("qwen2_5_vl", TEXT, QWEN),
    ("qwen3_vl", WIDE, DEEP),
    ("qwen3_vl_moe", {**WIDE, **EXPERTS}, DEEP),
    ("qwen3_5", DELTA, QWEN3),
    ("qwen3_5_moe", {**DELTA, **EXPERTS, "shared_expert_intermediate_size": 48}, QWEN3),
)


def counted(kind, text, tower):
    tied = kind in ("gemma3", "mistral3")
    keys = {"text_config": text, "vision_config": tower, "tie_word_embeddings": tied}
    config = AutoConfig.for_model(kind, **copy.deepcopy(keys))
    with torch.device("meta"):
        network = AutoModelForImageTextToText.from_config(config)
    return {"config": {"model_type": kind, **keys},
            "parameters": sum(weight.numel() for weight in network.parameters())}


def main():
    rows = [json.dumps(counted(*row)) for row in ROWS]
    print('{"rows": [\n  ' + ",\n  ".join(rows) + "\n]}")


if __name__ == "__main__":
    main()
