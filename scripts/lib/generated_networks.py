"""The generated networks whose training memory GPUMemNet's authors measured.

`blocks` of the table names the units of a network; README_gpumemnet2.md beside the table
says how they are joined. `export_mlp`, `export_cnn` and `export_transformer` write a
network without weights as TorchScript. Needs torch.
"""

import re

import torch
from torch import nn

from language_models import save_without_weights

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "elu": nn.ELU,
               "leaky_relu": nn.LeakyReLU, "selu": nn.SELU, "swish": nn.SiLU,
               "softplus": nn.Softplus, "mish": nn.Mish, "prelu": nn.PReLU}
GROWTH = 32  # Channels that a unit of a dense block adds.


class Unit:
    """How a row's convolutions are followed: norm, activation, dropout."""

    def __init__(self, row):
        self.has_norm = row["use_batchnorm"] == "1"
        self.activation = ACTIVATIONS[row["activation"]]
        self.dropout = (float(row["dropout_rate"]) if row["use_dropout"] == "1"
                        else None)

    def normed(self, *layers, channels):
        norm = [nn.BatchNorm2d(channels)] if self.has_norm else []
        return [*layers, *norm]

    def make(self, before, after, stride=1):
        convolution = nn.Conv2d(before, after, 3, stride=stride, padding=1)
        last = [] if self.dropout is None else [nn.Dropout(self.dropout)]
        return nn.Sequential(*self.normed(convolution, channels=after),
                             self.activation(), *last)


class Residual(nn.Module):
    def __init__(self, unit, before, after, stride):
        super().__init__()
        self.units = nn.Sequential(unit.make(before, after, stride),
                                   unit.make(after, after))
        self.shortcut = None
        if before != after or stride != 1:
            self.shortcut = nn.Sequential(*unit.normed(
                nn.Conv2d(before, after, 1, stride=stride), channels=after))

    def forward(self, x):
        shortcut = x if self.shortcut is None else self.shortcut(x)
        return self.units(x) + shortcut


class Dense(nn.Module):
    def __init__(self, unit, before):
        super().__init__()
        self.units = nn.ModuleList(unit.make(before + GROWTH * i, GROWTH)
                                   for i in range(4))

    def forward(self, x):
        parts = [x]
        for unit in self.units:
            parts.append(unit(torch.cat(parts, 1)))
        return torch.cat(parts, 1)


def transition(unit, before, after, halves):
    pooling = [nn.AvgPool2d(2)] if halves else []
    return nn.Sequential(*unit.normed(nn.Conv2d(before, after, 1), channels=after),
                         nn.ReLU(), *pooling)


def layers_of(row):
    """The blocks and how many channels they give."""
    unit, channels, layers = Unit(row), int(row["input_channels"]), []
    size = int(row["input_size"])
    for block in row["blocks"].split():
        if row["arch"] == "residual":
            after, stride = map(int, block.split("/"))
            layers.append(Residual(unit, channels, after, stride))
        elif block == "D":
            layers.append(Dense(unit, channels))
            after = channels + 4 * GROWTH
        elif block.startswith("T"):
            after = int(block.strip("T<>"))
            layers.append(transition(unit, channels, after, size > 1))
            size //= 2
        else:
            after = int(block)
            layers.append(unit.make(channels, after))
        channels = after
    return layers, channels


def export_cnn(row, path):
    """Scripted, as tracing convolutions on meta fails and on the CPU computes them."""
    with torch.device("meta"):
        layers, channels = layers_of(row)
        model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                              nn.Linear(channels, int(row["num_classes"])),
                              nn.Softmax(1)).train()
    save_without_weights(torch.jit.script(model), path)


def mlp_layers(row):
    """`layer_widths` names every layer: "linear:629 ReLU:629 …"."""
    width = int(row["input_size"])
    rate = re.search(r"dropout:([0-9.]+)", row["config"])
    for text in row["layer_widths"].split():
        kind, after = text.split(":")
        before, width = width, int(after)
        if kind == "linear":
            yield nn.Linear(before, width)
        elif kind == "batch_normalization":
            yield nn.BatchNorm1d(width)
        elif kind == "dropout":
            yield nn.Dropout(float(rate[1]))
        else:
            yield nn.Softmax(1) if kind == "Softmax" else getattr(nn, kind)()


def export_mlp(row, path):
    with torch.device("meta"):
        traced = torch.jit.trace(nn.Sequential(*mlp_layers(row)).train(),
                                 torch.zeros(2, int(row["input_size"])),
                                 check_trace=False)
    save_without_weights(traced, path)


class Classifier(nn.Module):
    def __init__(self, row):
        super().__init__()
        width = int(row["embedding_size"])
        self.words = nn.Embedding(int(row["vocab_size"]), width)
        self.places = nn.Parameter(torch.zeros(1, int(row["seq_length"]), width))
        layer = nn.TransformerEncoderLayer(
            width, int(row["num_heads"]), int(row["ff_hidden_size"]),
            float(row["dropout_rate"]), batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, int(row["num_layers"]))
        self.head = nn.Linear(width, int(row["num_classes"]))

    def forward(self, tokens):
        x = self.words(tokens) + self.places
        return self.head(self.encoder(x).mean(dim=1))


def export_transformer(row, path):
    with torch.device("meta"):
        tokens = torch.zeros(2, int(row["seq_length"]), dtype=torch.long)
        traced = torch.jit.trace(Classifier(row).train(), tokens,
                                 check_trace=False)
    save_without_weights(traced, path)
