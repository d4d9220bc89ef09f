#!/usr/bin/env python3
"""What Inductor's freezing makes of small networks.

    freezing_oracle.py FOLDER

runs torch/_inductor/freezing.py on networks in inference, on the CPU but as for a GPU:
without MKL-DNN's packed weights and with merged linear layers. Prints CSV: network,
products that remain, bytes of constants that are no parameter. Writes
FOLDER/NETWORK.pt2.
"""

import argparse
import pathlib

import torch
from torch import nn
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import compile_fx, config, freezing

BATCH, WIDTH, SIZE = 8, 64, 16
PRODUCTS = {torch.ops.aten.convolution.default, torch.ops.aten.addmm.default,
            torch.ops.aten.mm.default}


def conv_norm(bias, act):
    return nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=bias),
                         nn.BatchNorm2d(WIDTH), act)


class Scaled(nn.Module):
    """A convolution whose result is added to, and then no constant."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(WIDTH, 2 * WIDTH, 1)
        self.scale = nn.Parameter(torch.ones(1, 2 * WIDTH, 1, 1))

    def forward(self, x):
        return torch.sigmoid(self.conv(x) * self.scale + 1.0) * x.mean()


class ReadTwice(nn.Module):
    """A residual reads the convolution before its norm."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.norm = nn.BatchNorm2d(WIDTH)

    def forward(self, x):
        y = self.conv(x)
        return self.norm(y) + y


class Heads(nn.Module):
    """Linear layers of one operand."""

    def __init__(self, count, bias):
        super().__init__()
        self.parts = nn.ModuleList(
            nn.Linear(WIDTH, WIDTH * (1 + i % 2), bias=bias) for i in range(count))

    def forward(self, x):
        return torch.cat([part(x) for part in self.parts], -1)


class Normed(nn.Module):
    """A weight that is computed of parameters."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH, WIDTH))
        self.gain = nn.Parameter(torch.ones(WIDTH, 1))

    def forward(self, x):
        return nn.functional.linear(x, self.weight * self.gain)


NETWORKS = {
    "conv_norm": lambda: conv_norm(False, nn.ReLU()),
    "conv_bias_norm": lambda: nn.Sequential(conv_norm(True, nn.SiLU()),
                                            conv_norm(True, nn.SiLU())),
    "scaled": Scaled,
    "read_twice": ReadTwice,
    "three_heads": lambda: Heads(3, True),
    "two_heads": lambda: Heads(2, True),
    "two_heads_without_bias": lambda: Heads(2, False),
    "five_heads_without_bias": lambda: Heads(5, False),
    "normed": Normed,
}


def freeze(network, image):
    """The frozen graph of a network."""
    found = []
    torch._dynamo.reset()
    original = freezing.freeze

    def spy(*arguments):
        module, preserved = original(*arguments)
        found.append(module)
        return module, preserved

    freezing.freeze = spy

    def inner(module, *_, **__):
        return make_boxed_func(module.forward)

    with config.patch({"freezing": True, "cpp.weight_prepack": False,
                       "cpp.enable_concat_linear": True}), torch.no_grad():
        torch.compile(network, backend=lambda module, inputs: compile_fx.compile_fx(
            module, inputs, inner_compile=inner))(image)
    freezing.freeze = original
    return found[0]


def measure(network, image):
    """Products and bytes."""
    known = {t.untyped_storage().data_ptr() for t in network.state_dict().values()}
    module = freeze(network, image)
    products = sum(node.target in PRODUCTS for node in module.graph.nodes)
    made = {}
    for node in module.graph.find_nodes(op="get_attr"):
        storage = getattr(module, node.target).untyped_storage()
        if node.users and storage.data_ptr() not in known:
            made[storage.data_ptr()] = storage.nbytes()
    return products, sum(made.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    print("network,products,bytes", flush=True)
    for name, make in NETWORKS.items():
        network = make().eval()
        is_image = any(isinstance(part, nn.Conv2d) for part in network.modules())
        image = torch.randn((BATCH, WIDTH, SIZE, SIZE) if is_image else
                            (BATCH * SIZE, WIDTH))
        torch.export.save(torch.export.export(network, (image,)), folder / f"{name}.pt2")
        print(name, *measure(network, image), sep=",", flush=True)


if __name__ == "__main__":
    main()
