#!/usr/bin/env python3
"""Exports the five networks of docs/exported.md whole, on the meta device: no weights are
made, read or written, so that none needs more than a few GiB. DETR is exported in
eval(): in train() its encoder looks at values.

    python scripts/generate/large_exports.py out [--match llama]

Needs torch, transformers and diffusers (pip install --no-deps). Each NAME.pt2 is of
train() and has NAME.json beside it, as those of exported_programs.py.
"""

import argparse
import json
import pathlib
import re
import sys
import time

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from export_sources import declare_nms  # noqa: E402

BATCH, TOKENS = 2, 512


def llama3_8b():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336,
        num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8,
        max_position_embeddings=8192, rope_theta=500000.0, use_cache=False)
    return LlamaForCausalLM(config), (), tokens()


def mixtral_8x7b():
    from transformers import MixtralConfig, MixtralForCausalLM
    config = MixtralConfig(use_cache=False)
    config._experts_implementation = "grouped_mm"
    return MixtralForCausalLM(config), (), tokens()


def whisper_large():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    config = WhisperConfig(
        vocab_size=51866, num_mel_bins=128, d_model=1280, encoder_layers=32,
        encoder_attention_heads=20, decoder_layers=32, decoder_attention_heads=20,
        encoder_ffn_dim=5120, decoder_ffn_dim=5120, use_cache=False)
    return (WhisperForConditionalGeneration(config), (),
            {"input_features": torch.zeros(BATCH, 128, 3000),
             "decoder_input_ids": torch.zeros(BATCH, 128, dtype=torch.long)})


def detr_resnet50():
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig
    config = DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False,
                        backbone=None,
                        backbone_config=ResNetConfig(out_features=["stage4"]))
    model = DetrForObjectDetection(config)
    # As DETR trains: all but the stem and the first stage. transformers 5.23 means
    # to, but asks for names that its own ResNet does not have, and trains none.
    for name, parameter in model.model.backbone.named_parameters():
        parameter.requires_grad_(bool(re.search(r"stages\.[123]", name)))
    return (model, (),
            {"pixel_values": torch.zeros(BATCH, 3, 800, 1066)})


def sdxl_unet():
    from diffusers import UNet2DConditionModel
    model = UNet2DConditionModel(
        sample_size=128, in_channels=4, out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D",
                          "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(320, 640, 1280), transformer_layers_per_block=(1, 2, 10),
        attention_head_dim=(5, 10, 20), cross_attention_dim=2048,
        use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816)
    more = {"text_embeds": torch.zeros(BATCH, 1280),
            "time_ids": torch.zeros(BATCH, 6)}
    return (model, (torch.zeros(BATCH, 4, 128, 128), torch.zeros(BATCH),
                    torch.zeros(BATCH, 77, 2048)),
            {"added_cond_kwargs": more, "return_dict": False})


def tokens():
    return {"input_ids": torch.zeros(BATCH, TOKENS, dtype=torch.long)}


# What it is made of, in which type and mode.
NETWORKS = {"llama3_8b": (llama3_8b, torch.bfloat16, True),
            "mixtral_8x7b": (mixtral_8x7b, torch.bfloat16, True),
            "whisper_large": (whisper_large, torch.float32, True),
            "detr_resnet50": (detr_resnet50, torch.float32, False),
            "sdxl_unet": (sdxl_unet, torch.bfloat16, True)}


def cast(value, dtype):
    """Tensors of floating point in `dtype`, wherever they are."""
    return torch.utils._pytree.tree_map_only(
        torch.Tensor, lambda tensor: tensor.to(dtype)
        if tensor.is_floating_point() else tensor, value)


def export(name, path):
    build, dtype, train = NETWORKS[name]
    start = time.monotonic()
    with torch.device("meta"):
        model, args, kwargs = build()
    model.train(train).to(dtype)
    program = torch.export.export(model, cast(args, dtype), cast(kwargs, dtype),
                                  strict=False)
    torch.export.save(program, path, extra_files={"mode": "training" if train else "inference"})
    return {"parameters": sum(p.numel() for p in model.parameters()),
            "bytes": path.stat().st_size,
            "seconds": round(time.monotonic() - start, 1)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--match", default="", help="regular expression")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    declared = declare_nms()  # transformers imports torchvision, where it is there.
    for name in NETWORKS:
        if not re.search(options.match, name):
            continue
        path = options.out / f"{name}.pt2"
        facts = export(name, path)
        path.with_suffix(".json").write_text(json.dumps(facts) + "\n")
        print(name, json.dumps(facts), flush=True)
    del declared


if __name__ == "__main__":
    sys.exit(main())
