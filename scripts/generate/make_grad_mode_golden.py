#!/usr/bin/env python3
"""Writes tests/golden/grad_mode/live_bytes.csv: what real PyTorch keeps alive in a
forward pass in eval mode, under torch.no_grad() and without.

Networks run on the CPU, where every operator below autograd is seen with the
storages of its results: what autograd saves stays alive, and is counted. Needs, beside
torch (not part of scripts/setup, because only scripts of this folder do):
    pip install --no-deps torchvision timm huggingface_hub safetensors pyyaml pillow \\
        packaging filelock tqdm

Columns, in bytes: `fixed` parameters, buffers and inputs; `peak` most alive after an
operator of one call; `end` alive after it, while its result is held; `loop_peak` the
peak of a second call while the result of the first is still held, as in
`for x in data: out = model(x)`. Tensors that only the CPU's kernels make are left
out: the log-sum-exp of attention, the workspace of the recurrent layers.

usage: scripts/generate/make_grad_mode_golden.py [--out FOLDER]
"""

import argparse
import csv
import gc
import pathlib
import sys
from unittest import mock

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

BATCH = 4
# Results of these operators, by position, are the CPU's own.
OWN = {"_scaled_dot_product_flash_attention_for_cpu": (1,),
       "mkldnn_rnn_layer": (3,)}
COLUMNS = ("network", "batch", "grad", "fixed", "peak", "end", "loop_peak")


class Lstm(nn.Module):
    """The zoo's lstm_medium: embedding, two layers, dropout and classifier."""

    def __init__(self, vocabulary=10000, width=650, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.dropout = nn.Dropout(0.5)
        self.lstm = nn.LSTM(width, width, layers, dropout=0.5, batch_first=True)
        self.decoder = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        y, _ = self.lstm(self.dropout(self.embedding(tokens)))
        return self.decoder(self.dropout(y))


def of_torchvision(name):
    # Its compiled operators, which no network here calls, need not fit this PyTorch.
    with mock.patch("torch.library.register_fake", lambda *_, **__: lambda f: f):
        import torchvision
    return getattr(torchvision.models, name)(weights=None)


def of_timm(name):
    import timm
    return timm.create_model(name, pretrained=False)


def image():
    return torch.randn(BATCH, 3, 224, 224)


# Name in the zoo: how the library makes it, and its input.
NETWORKS = {
    "resnet18": (lambda: of_torchvision("resnet18"), image),
    "mobilenet_v2": (lambda: of_torchvision("mobilenet_v2"), image),
    "densenet121": (lambda: of_torchvision("densenet121"), image),
    "convnext_tiny": (lambda: of_torchvision("convnext_tiny"), image),
    "vit_tiny_patch16_224": (lambda: of_timm("vit_tiny_patch16_224"), image),
    "lstm_medium": (Lstm, lambda: torch.randint(0, 100, (BATCH, 35))),
}


class Census(StorageCensus):
    """Of all storages that an operator returned."""

    def results_of(self, func, results):
        own = OWN.get(func._schema.name.removeprefix("aten::"), ())
        listed = results if isinstance(results, (tuple, list)) else [results]
        return [leaf for i, result in enumerate(listed) if i not in own
                for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def census_of(network, x, grad):
    with torch.set_grad_enabled(grad), Census() as census:
        for tensor in (*network.parameters(), *network.buffers(), x):
            census.count(tensor)
        fixed = census.live
        out = network(x)
        peak, end = census.peak, census.live
        census.peak = 0
        out = network(x)
        loop_peak = census.peak
        assert census.live == end, "a second call keeps something else"
        del out
        gc.collect()
        assert census.live == fixed, "something outlives its result"
    return fixed, peak, end, loop_peak


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/grad_mode"
    parser.add_argument("--out", type=pathlib.Path, default=folder)
    out = parser.parse_args().out
    torch.manual_seed(0)
    with (out / "live_bytes.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for name, (make, make_input) in NETWORKS.items():
            network = make().eval()
            for grad in (False, True):
                row = census_of(network, make_input(), grad)
                table.writerow((name, BATCH, str(grad).lower(), *row))


if __name__ == "__main__":
    main()
