#!/usr/bin/env python3
"""Writes tests/datasets/zoo/reference.csv: parameters and MACs of stock networks
as torchvision, timm, transformers and diffusers build them, for the zoo to be held
against.

Needs, beside torch (not part of scripts/setup, because only this script does):
    pip install --no-deps torchvision timm transformers diffusers huggingface_hub \
        safetensors pyyaml pillow tokenizers regex packaging tqdm filelock requests \
        httpx httpcore h11 anyio idna certifi numpy
mixtral_8x7b needs transformers 4, whose experts are modules.

MACs are those of convolutions and matrix products that PyTorch's FlopCounterMode
counts in one forward pass at batch 2 on the meta device. Nothing is downloaded:
networks are built without weights.

usage: scripts/generate/make_zoo_reference.py [NAME…] > tests/datasets/zoo/reference.csv
"""

import contextlib
import csv
import functools
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

BATCH = 2

# zoo name: (library, name there, shape of the input without the batch)
IMAGE = (3, 224, 224)
NETWORKS = {
    name: ("torchvision", name, IMAGE)
    for name in (
        "resnet18 resnet34 resnet50 resnet101 resnet152 resnext50_32x4d "
        "resnext101_32x8d resnext101_64x4d wide_resnet50_2 wide_resnet101_2 "
        "vgg11 vgg13 vgg16 vgg19 vgg11_bn vgg13_bn vgg16_bn vgg19_bn "
        "densenet121 densenet161 densenet169 densenet201 "
        "mobilenet_v2 mobilenet_v3_large mobilenet_v3_small "
        "mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 "
        "regnet_x_400mf regnet_x_800mf regnet_x_1_6gf regnet_x_3_2gf "
        "regnet_x_8gf regnet_y_400mf regnet_y_800mf regnet_y_1_6gf "
        "regnet_y_3_2gf regnet_y_8gf "
        "convnext_tiny convnext_small convnext_base convnext_large"
    ).split()
}
NETWORKS["inception_v3"] = ("torchvision", "inception_v3", (3, 299, 299))
NETWORKS |= {
    f"efficientnet_b{i}": ("torchvision", f"efficientnet_b{i}", (3, size, size))
    for i, size in enumerate((224, 240, 260, 300, 380, 456, 528, 600))
}
NETWORKS |= {
    name: ("timm", reference, (3, size, size))
    for name, reference, size in (
        ("vit_tiny_patch16_224", "vit_tiny_patch16_224", 224),
        ("vit_small_patch16_224", "vit_small_patch16_224", 224),
        ("vit_small_patch32_224", "vit_small_patch32_224", 224),
        ("vit_base_patch16_224", "vit_base_patch16_224", 224),
        ("vit_base_patch32_224", "vit_base_patch32_224", 224),
        ("vit_large_patch16_224", "vit_large_patch16_224", 224),
        ("swin_tiny_patch4_window7_224", "swin_tiny_patch4_window7_224", 224),
        ("swin_small_patch4_window7_224", "swin_small_patch4_window7_224", 224),
        ("swin_base_patch4_window7_224", "swin_base_patch4_window7_224", 224),
        ("swin_large_patch4_window7_224", "swin_large_patch4_window7_224", 224),
        ("visformer_tiny", "visformer_tiny", 224),
        ("visformer_small", "visformer_small", 224),
        ("poolformer_s12", "poolformer_s12", 224),
        ("poolformer_s24", "poolformer_s24", 224),
        ("poolformer_s36", "poolformer_s36", 224),
        ("poolformer_m36", "poolformer_m36", 224),
        ("poolformer_m48", "poolformer_m48", 224),
        ("mixer_s16_224", "mixer_s16_224", 224),
        ("mixer_b16_224", "mixer_b16_224", 224),
    )
}
NETWORKS |= {
    name: ("timm", name, (3, 518, 518))
    for name in ("vit_small_patch14_dinov2", "vit_base_patch14_dinov2",
                 "vit_large_patch14_dinov2")
}
NETWORKS |= {
    name: ("transformers", name, (128,))
    for name in "bert_base bert_large gpt2 gpt2_medium t5_small t5_base "
    "deberta_v2_base".split()
}
# Their inputs differ from one tensor of tokens or pixels: see inputs_of.
NETWORKS |= {
    name: ("transformers", name, shape)
    for name, shape in (
        ("llama2_7b", (512,)),
        ("llama2_13b", (512,)),
        ("llama3_8b", (512,)),
        ("llama3_2_1b", (512,)),
        ("mistral_7b", (512,)),
        ("qwen2_0_5b", (512,)),
        ("qwen2_7b", (512,)),
        ("qwen3_8b", (512,)),
        ("qwen3_14b", (512,)),
        ("llama3_2_3b", (512,)),
        ("tinyllama_1_1b", (512,)),
        ("smollm2_135m", (512,)),
        ("qwen2_5_1_5b", (512,)),
        ("qwen3_4b", (512,)),
        ("gemma_2b", (512,)),
        ("gemma_7b", (512,)),
        ("gemma2_2b", (512,)),
        ("gemma2_9b", (512,)),
        ("phi3_mini", (512,)),
        ("falcon_7b", (512,)),
        ("pythia_410m", (512,)),
        ("pythia_1_4b", (512,)),
        ("mixtral_8x7b", (512,)),
        ("santacoder", (512,)),
        ("clip_vit_base_patch32", IMAGE),
        ("clip_vit_large_patch14", IMAGE),
        ("sam_vit_b", (3, 1024, 1024)),
        ("sam_vit_l", (3, 1024, 1024)),
        ("sam_vit_h", (3, 1024, 1024)),
        ("whisper_small_encoder", (80, 3000)),
        ("whisper_large_encoder", (80, 3000)),
        ("whisper_large_v3_encoder", (128, 3000)),
    )
}
NETWORKS |= {
    name: ("diffusers", name, (4, edge, edge))
    for name, edge in (
        ("sd15_unet", 64),
        ("sd21_unet", 96),
        ("sdxl_unet", 128),
        ("sd_vae_decoder", 64),
    )
}
NETWORKS["sd_vae_encoder"] = ("diffusers", "sd_vae_encoder", (3, 512, 512))


def sizes(text, *names):
    """The numbers of `text` under `names`."""
    return dict(zip(names, map(int, text.split())))


# vocabulary, width, feed-forward width, layers, heads, heads of keys and values
DECODERS = {
    "llama2_7b": "32000 4096 11008 32 32 32",
    "llama2_13b": "32000 5120 13824 40 40 40",
    "llama3_8b": "128256 4096 14336 32 32 8",
    "llama3_2_1b": "128256 2048 8192 16 32 8",
    "mistral_7b": "32000 4096 14336 32 32 8",
    "qwen2_0_5b": "151936 896 4864 24 14 2",
    "qwen2_7b": "152064 3584 18944 28 28 4",
    "qwen3_8b": "151936 4096 12288 36 32 8",
    "qwen3_14b": "151936 5120 17408 40 40 8",
    "llama3_2_3b": "128256 3072 8192 28 24 8",
    "tinyllama_1_1b": "32000 2048 5632 22 32 4",
    "smollm2_135m": "49152 576 1536 30 9 3",
    "qwen2_5_1_5b": "151936 1536 8960 28 12 2",
    "qwen3_4b": "151936 2560 9728 36 32 8",
    "gemma_2b": "256000 2048 16384 18 8 1",
    "gemma_7b": "256000 3072 24576 28 16 16",
    "gemma2_2b": "256000 2304 9216 26 8 4",
    "gemma2_9b": "256000 3584 14336 42 16 8",
    "phi3_mini": "32064 3072 8192 32 32 32",
    "falcon_7b": "65024 4544 18176 32 71 1",
    "pythia_410m": "50304 1024 4096 24 16 16",
    "pythia_1_4b": "50304 2048 8192 24 16 16",
    "mixtral_8x7b": "32000 4096 14336 32 32 8",
    "santacoder": "49280 2048 8192 24 16 1",
}
TIED = ("llama3_2_1b", "llama3_2_3b", "smollm2_135m", "qwen2_0_5b", "qwen2_5_1_5b",
        "qwen3_4b", "gemma_2b", "gemma_7b", "gemma2_2b", "gemma2_9b", "falcon_7b",
        "santacoder")
# Beginning of a name: class in transformers, and what its configuration gets.
CLASSES = {
    "qwen2": ("Qwen2", {}),
    "qwen3_4b": ("Qwen3", {"head_dim": 128}),
    "qwen3": ("Qwen3", {}),
    "mistral": ("Mistral", {}),
    "mixtral": ("Mixtral", {}),
    "gemma2": ("Gemma2", {"head_dim": 256}),
    "gemma": ("Gemma", {"head_dim": 256}),
    "phi3": ("Phi3", {"sliding_window": 2047}),
    "falcon": ("Falcon", {"ffn_hidden_size": 18176}),
    "pythia": ("GPTNeoX", {"rotary_pct": 0.25}),
    "santacoder": ("GPTBigCode", {"n_positions": 2048}),
    "": ("Llama", {}),
}


def run_two_experts(block, states):
    """MixtralSparseMoeBlock of transformers 4 with two experts for every token:
    which ones depends on the tokens, how much they multiply does not."""
    router = block.gate(states)
    return block.experts[0](states) + block.experts[1](states), router


def decoder(name):
    import transformers as tf

    fields = sizes(
        DECODERS[name],
        "vocab_size",
        "hidden_size",
        "intermediate_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
    )
    fields["tie_word_embeddings"] = name in TIED
    kind, more = next(row for start, row in CLASSES.items() if name.startswith(start))
    config = getattr(tf, kind + "Config")(**fields | more)
    network = getattr(tf, kind + "ForCausalLM")(config)
    if kind == "Mixtral":
        for layer in network.model.layers:
            block = layer.block_sparse_moe
            block.forward = functools.partial(run_two_experts, block)
    return network


def clip(name):
    import transformers as tf

    names = ("hidden_size", "intermediate_size", "num_attention_heads")
    text, vision, projection = {"eos_token_id": 2}, {"patch_size": 32}, 512
    if name.endswith("large_patch14"):
        text |= sizes("768 3072 12", *names)
        vision = sizes("1024 4096 16 24 14", *names, "num_hidden_layers", "patch_size")
        projection = 768
    config = tf.CLIPConfig(
        text_config=text, vision_config=vision, projection_dim=projection
    )
    return tf.CLIPModel(config)


def sam(name):
    import transformers as tf

    names = ("hidden_size", "num_hidden_layers", "num_attention_heads")
    text, blocks = {
        "sam_vit_b": ("768 12 12", [2, 5, 8, 11]),
        "sam_vit_l": ("1024 24 16", [5, 11, 17, 23]),
        "sam_vit_h": ("1280 32 16", [7, 15, 23, 31]),
    }[name]
    config = tf.SamVisionConfig(
        **sizes(text, *names), global_attn_indexes=blocks, mlp_ratio=4.0
    )
    return tf.SamVisionModel(config)


def whisper(name):
    import transformers as tf
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    names = ("d_model", "encoder_layers", "encoder_attention_heads", "encoder_ffn_dim")
    text = "768 12 12 3072" if "small" in name else "1280 32 20 5120"
    bands = 128 if "v3" in name else 80
    config = tf.WhisperConfig(num_mel_bins=bands, **sizes(text, *names))
    return WhisperEncoder(config)


# What UNet2DConditionModel is told beside its defaults, as in the config.json of
# each network.
UNETS = {
    "sd15_unet": {"cross_attention_dim": 768, "attention_head_dim": 8},
    "sd21_unet": {
        "cross_attention_dim": 1024,
        "attention_head_dim": [5, 10, 20, 20],
        "use_linear_projection": True,
    },
    "sdxl_unet": {
        "cross_attention_dim": 2048,
        "attention_head_dim": [5, 10, 20],
        "use_linear_projection": True,
        "block_out_channels": [320, 640, 1280],
        "down_block_types": ["DownBlock2D"] + 2 * ["CrossAttnDownBlock2D"],
        "up_block_types": 2 * ["CrossAttnUpBlock2D"] + ["UpBlock2D"],
        "transformer_layers_per_block": [1, 2, 10],
        "addition_embed_type": "text_time",
        "addition_time_embed_dim": 256,
        "projection_class_embeddings_input_dim": 2816,
    },
}


class Decoder(torch.nn.Module):
    """The half of an autoencoder that makes pictures."""

    def __init__(self, autoencoder):
        super().__init__()
        self.post_quant_conv = autoencoder.post_quant_conv
        self.decoder = autoencoder.decoder

    def forward(self, latent):
        return self.decoder(self.post_quant_conv(latent))


class Encoder(torch.nn.Module):
    """The half that makes latent images."""

    def __init__(self, autoencoder):
        super().__init__()
        self.encoder = autoencoder.encoder
        self.quant_conv = autoencoder.quant_conv

    def forward(self, picture):
        return self.quant_conv(self.encoder(picture))


def diffusion(name):
    import diffusers

    if name in UNETS:
        return diffusers.UNet2DConditionModel(**UNETS[name])
    half = Encoder if name == "sd_vae_encoder" else Decoder
    return half(diffusers.AutoencoderKL(
        block_out_channels=[128, 256, 512, 512], layers_per_block=2,
        down_block_types=4 * ["DownEncoderBlock2D"],
        up_block_types=4 * ["UpDecoderBlock2D"]))


def inputs_of(name, library, shape):
    """Positional and named inputs of the forward pass, on meta."""

    def tensor(*size, dtype=torch.float):
        return torch.zeros((BATCH, *size), dtype=dtype, device="meta")

    if name.startswith("clip"):
        return (tensor(77, dtype=torch.long), tensor(*shape)), {}
    if name in UNETS:
        width = UNETS[name]["cross_attention_dim"]
        options = ({"added_cond_kwargs": {"text_embeds": tensor(1280),
                                          "time_ids": tensor(6)}}
                   if name == "sdxl_unet" else {})
        return (tensor(*shape), tensor(dtype=torch.long),
                tensor(77, width)), options
    if name.startswith(("sam", "whisper")) or library != "transformers":
        return (tensor(*shape),), {}
    # Without a mask it would look for padding among the tokens.
    is_deberta = name.startswith("deberta")
    options = {"attention_mask": tensor(*shape)} if is_deberta else {}
    return (tensor(*shape, dtype=torch.long),), options


def text_network(name):
    """The bare encoder (or decoder) of each family, from its default sizes."""
    import transformers as tf

    if name.startswith("bert"):
        large = dict(
            hidden_size=1024,
            num_hidden_layers=24,
            num_attention_heads=16,
            intermediate_size=4096,
        )
        config = tf.BertConfig(**(large if name.endswith("large") else {}))
        return tf.BertModel(config)
    if name.startswith("gpt2"):
        medium = dict(n_embd=1024, n_layer=24, n_head=16)
        config = tf.GPT2Config(**(medium if name.endswith("medium") else {}))
        return tf.GPT2Model(config)
    if name.startswith("t5"):
        base = dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12)
        config = tf.T5Config(**(base if name.endswith("base") else {}))
        return tf.T5EncoderModel(config)
    config = tf.DebertaV2Config(
        vocab_size=128100,
        type_vocab_size=0,
        hidden_size=768,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=3072,
        relative_attention=True,
        position_buckets=256,
        max_relative_positions=-1,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
    )
    return tf.DebertaV2Model(config)


def build(library, name):
    if library == "torchvision":
        import torchvision

        options = {"init_weights": False} if "inception" in name else {}
        if "inception" in name:
            options["aux_logits"] = False
        return torchvision.models.get_model(name, weights=None, **options)
    if library == "timm":
        import timm

        return timm.create_model(name)
    if library == "diffusers":
        return diffusion(name)
    if name in DECODERS:
        return decoder(name)
    for kind, make in (("clip", clip), ("sam", sam), ("whisper", whisper)):
        if name.startswith(kind):
            return make(name)
    return text_network(name)


def count(zoo_name):
    library, name, shape = NETWORKS[zoo_name]
    try:
        with torch.device("meta"):
            network = build(library, name).eval()
    except NotImplementedError:  # its constructor calculates with tensors
        network = build(library, name).eval().to("meta")
    inputs, options = inputs_of(zoo_name, library, shape)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(*inputs, **options)
    return {
        "model": zoo_name,
        "library": library,
        "reference": name,
        "input": "x".join(map(str, shape)),
        "batch": BATCH,
        "parameters": sum(p.numel() for p in network.parameters()),
        "macs": counter.get_total_flops() // 2,
    }


def main():
    # torchvision's own operators are not needed, only their names.
    library = torch.library.Library("torchvision", "DEF")
    arguments = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
    for operator in ("nms", "qnms"):
        library.define(operator + arguments)
    # transformers 4 switches autocast off, which PyTorch 2.13 refuses on meta.
    torch.autocast = lambda device_type, **options: contextlib.nullcontext()
    names = sys.argv[1:] or list(NETWORKS)
    writer = None
    for name in names:
        try:
            row = count(name)
        except Exception as error:  # one network must not cost the others
            print(f"{name}: {error}", file=sys.stderr)
            continue
        if writer is None:
            writer = csv.DictWriter(sys.stdout, row.keys(), lineterminator="\n")
            writer.writeheader()
        writer.writerow(row)
        sys.stdout.flush()


main()
