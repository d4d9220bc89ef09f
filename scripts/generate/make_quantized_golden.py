#!/usr/bin/env python3
"""Writes tests/golden/quantized/bitsandbytes.csv: what a layer of bitsandbytes keeps of
its matrix, and what autograd keeps of a product with it.

Needs, beside torch, bitsandbytes (0.50.2 wrote the file); its code for the CPU is run:
    pip install --no-deps bitsandbytes

Columns: the `--quantize` text, the matrix's rows and columns, the bytes of its tensors
(codes, then scales, and the table of a 4-bit type; the table of nested scales is one for
all layers and left out), largest first, and the bytes that the product saves of its
input.

usage: scripts/generate/make_quantized_golden.py [--out FOLDER]
"""

import argparse
import csv
import pathlib

import bitsandbytes
import torch

ROWS = 4
SHAPES = ((32, 16), (48, 80), (7, 129), (256, 1024))
COLUMNS = ("format", "rows", "columns", "tensors", "saved")


def four_bits(rows, columns, kind, nested):
    layer = bitsandbytes.nn.Linear4bit(
        columns, rows, bias=False, compute_dtype=torch.float32,
        compress_statistics=nested, quant_type=kind).to("cpu")
    state = layer.weight.quant_state
    tensors = [layer.weight.data, state.absmax, state.code]
    if nested:
        tensors += [state.state2.absmax, state.offset]
    return layer, tensors


def saved_bytes(layer, columns):
    x = torch.randn(ROWS, columns, requires_grad=True)
    saved = []

    def pack(tensor):
        if tensor.is_floating_point() and tensor.numel() == x.numel():
            saved.append(tensor.nbytes)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        layer(x).sum().backward()
    return sum(saved)


def measured_rows():
    for kind in ("nf4", "fp4"):
        for nested in (False, True):
            for rows, columns in SHAPES:
                layer, tensors = four_bits(rows, columns, kind, nested)
                sizes = sorted((tensor.nbytes for tensor in tensors), reverse=True)
                yield {"format": kind + ",double" * nested, "rows": rows,
                       "columns": columns, "tensors": " ".join(map(str, sizes)),
                       "saved": saved_bytes(layer, columns)}
    for rows, columns in SHAPES:
        layer = bitsandbytes.nn.Linear8bitLt(columns, rows, bias=False,
                                             has_fp16_weights=False).to("cpu")
        sizes = [layer.weight.CB.nbytes, layer.weight.SCB.nbytes]
        yield {"format": "int8", "rows": rows, "columns": columns,
               "tensors": " ".join(map(str, sorted(sizes, reverse=True))),
               "saved": ""}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2] /
                        "tests/golden/quantized")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "bitsandbytes.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(measured_rows())


if __name__ == "__main__":
    main()
