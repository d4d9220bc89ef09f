#!/usr/bin/env python3
"""Writes tests/frontends/data/causal: exports of one block of causal attention as
torch.onnx.export makes them at opset 20, where no operator says what attention is,
without their weights. The exporter folds what does not depend on the input, up to
sizes of its own, so that the mask has another form for each length:

- folded.onnx: 16 tokens; the mask is an initializer.
- ones.onnx: 96 tokens; the triangle of an initializer of ones.
- sizes.onnx: 600 tokens; ones that are expanded to constant sizes.
- dynamic.onnx: any number of tokens; sizes that are read from shapes.
- shared.onnx: as sizes.onnx, two heads of queries for one of keys and values.
- boolean.onnx: 16 tokens; a Boolean mask that the module keeps, folded into numbers.

NAME.pt2 is the same module as torch.export writes it, also without weights:
causal.pt2 for the first four.

    python scripts/generate/causal_exports.py

needs onnx and onnxscript (0.7) beside torch.
"""

import io
import pathlib
import sys
import zipfile

import numpy
import onnx
import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
from make_example import TEST_DATA, without_weights  # noqa: E402

FOLDER = TEST_DATA / "causal"
OPSET = 20
WIDTH = 32
HEADS = 4


class Causal(nn.Module):
    """A block of attention, `groups` heads of keys and values for HEADS of queries."""

    def __init__(self, groups=HEADS):
        super().__init__()
        self.heads = [HEADS, groups, groups]
        size = WIDTH // HEADS
        self.projections = nn.ModuleList(
            nn.Linear(WIDTH, heads * size) for heads in self.heads)
        self.output = nn.Linear(WIDTH, WIDTH)

    def attend(self, query, key, value):
        return functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.heads[1] != HEADS)

    def forward(self, x):
        batch, tokens, _ = x.shape
        parts = [projection(x).view(batch, tokens, heads, -1).transpose(1, 2)
                 for projection, heads in zip(self.projections, self.heads)]
        y = self.attend(*parts).transpose(1, 2).reshape(batch, tokens, WIDTH)
        return self.output(y)


class Masked(Causal):
    """The same with a Boolean mask that it keeps."""

    def __init__(self, tokens):
        super().__init__()
        self.register_buffer("mask", torch.ones(tokens, tokens).tril().bool())

    def attend(self, query, key, value):
        return functional.scaled_dot_product_attention(query, key, value, self.mask)


def holds_mask(tensor):
    """Whether an initializer is a matrix of zeros, ones and numbers that hide."""
    values = onnx.numpy_helper.to_array(tensor)
    if values.ndim < 2 or values.dtype != numpy.float32:
        return False
    return set(values.flat) <= {0, 1, numpy.finfo(numpy.float32).min}


def write_onnx(network, tokens, name, dynamic=False):
    shapes = ({1: torch.export.Dim.DYNAMIC},) if dynamic else None
    program = torch.onnx.export(network, (torch.zeros(1, tokens, WIDTH),), dynamo=True,
                                opset_version=OPSET, input_names=["x"],
                                output_names=["y"], dynamic_shapes=shapes, verbose=False)
    model = program.model_proto
    masks = [tensor for tensor in model.graph.initializer if holds_mask(tensor)]
    kept = {tensor.name: tensor.raw_data for tensor in masks}
    model = without_weights(model)
    for tensor in model.graph.initializer:
        if tensor.name in kept:
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            tensor.raw_data = kept[tensor.name]
    for node in model.graph.node:
        node.ClearField("metadata_props")
    del model.graph.value_info[:]
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def write_exported(network, tokens, name, dynamic=False):
    shapes = ({1: torch.export.Dim.DYNAMIC},) if dynamic else None
    with torch.device("meta"):
        example = torch.zeros(1, tokens, WIDTH)
    program = torch.export.export(network.to("meta"), (example,), dynamic_shapes=shapes)
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    source = zipfile.ZipFile(buffer)
    with zipfile.ZipFile(FOLDER / f"{name}.pt2", "w", zipfile.ZIP_STORED) as target:
        for entry in source.namelist():
            target.writestr(zipfile.ZipInfo(entry), source.read(entry))


def main():
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    with torch.no_grad():
        for tokens, name in ((16, "folded"), (96, "ones"), (600, "sizes")):
            write_onnx(Causal().eval(), tokens, name)
        write_onnx(Causal().eval(), 16, "dynamic", dynamic=True)
        write_onnx(Causal(groups=2).eval(), 600, "shared")
        write_onnx(Masked(16).eval(), 16, "boolean")
        write_exported(Causal().eval(), 16, "causal", dynamic=True)
        write_exported(Causal(groups=2).eval(), 600, "shared")
        write_exported(Masked(16).eval(), 16, "boolean")


if __name__ == "__main__":
    main()
