#!/usr/bin/env python3
"""Writes tests/datasets/zoo/reference.csv: parameters and MACs of stock networks
as torchvision, timm and transformers build them, for the zoo to be held against.

Needs, beside torch (not part of scripts/setup, because only this script does):
    pip install --no-deps torchvision timm transformers huggingface_hub \
        safetensors pyyaml pillow tokenizers regex packaging tqdm filelock requests

MACs are those of convolutions and matrix products that PyTorch's FlopCounterMode
counts in one forward pass at batch 2 on the meta device. Nothing is downloaded:
networks are built without weights.

usage: scripts/generate/make_zoo_reference.py [NAME…] > tests/datasets/zoo/reference.csv
"""

import csv
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
    name: ("transformers", name, (128,))
    for name in "bert_base bert_large gpt2 gpt2_medium t5_small t5_base "
    "deberta_v2_base".split()
}


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
    return text_network(name)


def count(zoo_name):
    library, name, shape = NETWORKS[zoo_name]
    try:
        with torch.device("meta"):
            network = build(library, name).eval()
    except NotImplementedError:  # its constructor calculates with tensors
        network = build(library, name).eval().to("meta")
    size = (BATCH, *shape)
    dtype = torch.long if library == "transformers" else torch.float
    inputs = torch.zeros(size, dtype=dtype, device="meta")
    # Without a mask it would look for padding among the tokens.
    is_deberta = zoo_name.startswith("deberta")
    options = {"attention_mask": torch.ones(size, device="meta")} if is_deberta else {}
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        network(inputs, **options)
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
