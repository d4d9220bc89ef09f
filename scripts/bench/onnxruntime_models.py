#!/usr/bin/env python3
"""Writes the weight-free ONNX files that measure_onnxruntime.py runs.

    onnxruntime_models.py --out models
    onnxruntime_models.py --out models --only resnet50

Stock networks with random weights, by the exporters of PyTorch (`dynamo`, opset
18, or `script`, the older one, opset 17), with a free batch. In addition to each
export, NAME.fp16.onnx and for some NAME.cast.onnx (16 bits inside, inputs and
outputs of 32) of onnxruntime.transformers.float16, and, of networks that it
knows, NAME.opt32.onnx and NAME.opt16.onnx, which
onnxruntime.transformers.optimizer writes as optimum's O2 and O4 do. Initializers
of floats above 1 KB are declared as data in a file that does not exist:
measure_onnxruntime.py fills them.

Needs torch, timm, transformers, onnx, onnxscript and onnxruntime.
"""
import argparse
import contextlib
import os
import sys
import tempfile
import time
import traceback
import warnings

import onnx
import torch
from torch import nn
from torch.nn import functional

KEPT_BYTES = 1024
MISSING = "missing.data"
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16,
          onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16}


class Outputs(nn.Module):
    """A network of transformers with positional inputs and one output."""

    def __init__(self, network, names, output):
        super().__init__()
        self.network, self.names, self.output = network, names, output

    def forward(self, *values):
        out = self.network(**dict(zip(self.names, values)))
        return getattr(out, self.output)


class Residual(nn.Module):
    """The residual block of Stable Diffusion's U-Net."""

    def __init__(self, width, out, steps=1280):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, width)
        self.conv1 = nn.Conv2d(width, out, 3, padding=1)
        self.time = nn.Linear(steps, out)
        self.norm2 = nn.GroupNorm(32, out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1)
        self.skip = nn.Conv2d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x, t):
        y = self.conv1(functional.silu(self.norm1(x)))
        y = y + self.time(functional.silu(t))[:, :, None, None]
        y = self.conv2(functional.silu(self.norm2(y)))
        return y + self.skip(x)


class Attention(nn.Module):
    def __init__(self, width, context, heads=8):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(context, width, bias=False)
        self.v = nn.Linear(context, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context):
        q, k, v = (f(y).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for f, y in ((self.q, x), (self.k, context), (self.v, context)))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """The transformer block of Stable Diffusion's U-Net."""

    def __init__(self, width, context=768):
        super().__init__()
        self.group = nn.GroupNorm(32, width, eps=1e-6)
        self.enter, self.leave = (nn.Conv2d(width, width, 1) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own = Attention(width, width)
        self.cross = Attention(width, context)
        self.wide = nn.Linear(width, 8 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x, context):
        shape = x.shape
        y = self.enter(self.group(x)).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.own(z, z)
        y = y + self.cross(self.norms[1](y), context)
        value, gate = self.wide(self.norms[2](y)).chunk(2, -1)
        y = y + self.narrow(value * functional.gelu(gate))
        return x + self.leave(y.transpose(1, 2).reshape(shape))


class UNet(nn.Module):
    """Two levels of Stable Diffusion's U-Net down and up again."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(4, 320, 3, padding=1)
        self.first, self.first_block = Residual(320, 320), Block(320)
        self.down = nn.Conv2d(320, 320, 3, stride=2, padding=1)
        self.second, self.second_block = Residual(320, 640), Block(640)
        self.up = nn.Conv2d(640, 640, 3, padding=1)
        self.third, self.third_block = Residual(960, 320), Block(320)
        self.norm, self.leave = nn.GroupNorm(32, 320), nn.Conv2d(320, 4, 3, padding=1)

    def forward(self, sample, steps, context):
        x = self.enter(sample)
        kept = x = self.first_block(self.first(x, steps), context)
        x = self.second_block(self.second(self.down(x), steps), context)
        x = self.up(functional.interpolate(x, scale_factor=2.0, mode="nearest"))
        x = self.third(torch.cat([x, kept], 1), steps)
        x = self.third_block(x, context)
        return self.leave(functional.silu(self.norm(x)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(256, 512, 2, batch_first=True)
        self.head = nn.Linear(512, 1000)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


class One(nn.Module):
    """A network of one operator."""

    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


def image(model):
    def make():
        import timm
        return (timm.create_model(model, pretrained=False),
                {"x": torch.randn(2, 3, 224, 224)})
    return make


def text(kind, config, length, output, names=("input_ids", "attention_mask")):
    def make():
        import transformers
        network = getattr(transformers, kind)
        settings = network.config_class(**config)
        settings._attn_implementation = "eager"
        settings.use_cache = False
        values = {name: torch.ones(2, length, dtype=torch.int64) for name in names}
        return Outputs(network(settings), names, output), values
    return make


def own(network, **shapes):
    return lambda: (network(), {n: torch.randn(2, *s) for n, s in shapes.items()})


BERT_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Text networks after the first are short: their layers repeat.
SHORT = dict(vocab_size=8192)
# name -> (maker, heads and width where the optimizer knows the network)
NETWORKS = {
    "relu": (own(lambda: One(nn.ReLU()), x=(16, 64)), None),
    "matmul": (own(lambda: One(nn.Linear(512, 512)), x=(16, 512)), None),
    "conv": (own(lambda: One(nn.Conv2d(64, 64, 3)), x=(64, 32, 32)), None),
    "resnet50": (image("resnet50"), None),
    "bge_base": (text("BertModel", {}, 256, "last_hidden_state", BERT_INPUTS),
                 ("bert", 12, 768)),
    "efficientnet_b0": (image("efficientnet_b0"), None),
    "vit_base": (image("vit_base_patch16_224"), ("vit", 12, 768)),
    "unet": (own(UNet, sample=(4, 64, 64), steps=(1280,), context=(77, 768)),
             ("unet", 0, 0)),
    "gpt2": (text("GPT2Model", dict(SHORT, n_layer=4), 128, "last_hidden_state"),
             ("gpt2", 12, 768)),
    "convnext_tiny": (image("convnext_tiny"), None),
    "mobilenetv3": (image("mobilenetv3_large_100"), None),
    "swin_tiny": (image("swin_tiny_patch4_window7_224"), None),
    "distilbert": (text("DistilBertModel", dict(SHORT, n_layers=4), 128,
                        "last_hidden_state"), ("bert", 12, 768)),
    "regnety_008": (image("regnety_008"), None),
    "roberta_base": (text("RobertaModel", dict(
        SHORT, num_hidden_layers=4, max_position_embeddings=514), 128,
        "last_hidden_state"), ("bert", 12, 768)),
    "t5_encoder": (text("T5EncoderModel", dict(
        SHORT, d_model=512, d_ff=2048, num_layers=6, num_heads=8), 128,
        "last_hidden_state"), None),
    "lstm": (own(Lstm, x=(64, 256)), None),
}
SCRIPTED = ("bge_base", "resnet50", "vit_base", "mobilenetv3", "gpt2")
KEPT_TYPES = ("bge_base", "resnet50", "convnext_tiny", "vit_base")


def export(network, values, dynamo):
    names = list(values)
    options = dict(dynamo=True, opset_version=18, dynamic_shapes=[
        {0: torch.export.Dim("batch")} for _ in names])
    if not dynamo:
        options = dict(dynamo=False, opset_version=17, dynamic_axes={
            name: {0: "batch"} for name in [*names, "out"]})
    if dynamo and isinstance(network, Outputs):
        options["dynamic_shapes"] = (tuple(options["dynamic_shapes"]),)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(network.eval(), tuple(values.values()), path,
                          input_names=names, output_names=["out"], **options)
        return onnx.load(path)


def drop_weights(model):
    """Declares large initializers of floats as data of a missing file."""
    for tensor in model.graph.initializer:
        size = tensor.ByteSize()
        if size <= KEPT_BYTES or tensor.data_type not in FLOATS:
            continue
        kept = onnx.TensorProto(
            name=tensor.name, dims=tensor.dims, data_type=tensor.data_type,
            data_location=onnx.TensorProto.EXTERNAL)
        kept.external_data.add(key="location", value=MISSING)
        tensor.CopyFrom(kept)
    for item in [model, model.graph, *model.graph.node]:
        del item.metadata_props[:]
        item.doc_string = ""
    del model.graph.value_info[:]


def write(model, folder, name):
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    drop_weights(copy)
    with open(os.path.join(folder, name + ".onnx"), "wb") as file:
        file.write(copy.SerializeToString())
    print(time.strftime("%X"), name, len(copy.graph.node), "nodes", flush=True)


def in_16_bits(model, keep):
    from onnxruntime.transformers import float16
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return float16.convert_float_to_float16(copy, keep_io_types=keep,
                                            disable_shape_infer=False)


def optimized(model, known, half):
    from onnxruntime.transformers import optimizer
    kind, heads, width = known
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        result = optimizer.optimize_model(
            file.name, model_type=kind, num_heads=heads, hidden_size=width,
            opt_level=1, use_gpu=False)
    if half:
        result.convert_float_to_float16(keep_io_types=True)
    return result.model


def write_variants(name, folder):
    make, known = NETWORKS[name]
    torch.manual_seed(1)
    network, values = make()
    for exporter in ["dynamo"] + ["script"] * (name in SCRIPTED):
        with attempt(name, exporter):
            model = export(network, values, exporter == "dynamo")
            stem = name if exporter == "dynamo" else name + ".script"
            write(model, folder, stem)
            with attempt(stem, "16 bits"):
                write(in_16_bits(model, False), folder, stem + ".fp16")
            if name in KEPT_TYPES and exporter == "dynamo":
                with attempt(stem, "16 bits with casts"):
                    write(in_16_bits(model, True), folder, stem + ".cast")
            if not known or name in SCRIPTED and exporter == "dynamo":
                continue
            for half in (False, True):
                with attempt(stem, "optimizer"):
                    write(optimized(model, known, half), folder,
                          stem + (".opt16" if half else ".opt32"))


@contextlib.contextmanager
def attempt(name, what):
    try:
        yield
    except Exception as error:
        lines = traceback.format_exception_only(error)
        print(f"{name}: {what}: {''.join(lines)[:400]}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", default="models")
    parser.add_argument("--only", nargs="*", default=list(NETWORKS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.makedirs(options.out, exist_ok=True)
    for name in options.only:
        with attempt(name, "network"):
            write_variants(name, options.out)


if __name__ == "__main__":
    main()
