#!/usr/bin/env python3
"""What torch.compile keeps for the backward pass between graph breaks.

    region_oracle.py FOLDER

runs small networks that call torch._dynamo.graph_break() after some of their modules
through Dynamo and AOTAutograd with Inductor's decompositions and partition, on the CPU.
Prints CSV: network, modules after which it breaks, region, bytes that its forward pass
made and any region keeps. Writes FOLDER/NETWORK.pt2, the same network without breaks.
"""

import argparse
import pathlib

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import partitioners
from torch._inductor.decomposition import select_decomp_table

BATCH, WIDTH, SIZE = 8, 32, 16


class Chain(nn.Module):
    """Three modules one after the other, and the loss of a step."""

    def __init__(self, parts, breaks):
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.breaks = breaks
        self.is_broken = False

    def join(self, first, second, third):
        """Of the results of the modules."""
        del first, second
        return third

    def add(self, first, second):
        """What the third module reads."""
        del first
        return second

    def forward(self, x):
        first = self.parts[0](x)
        # In this function: in one that it calls, Dynamo would break before, too.
        if self.is_broken and 0 in self.breaks:
            torch._dynamo.graph_break()
        made = self.parts[1](first)
        if self.is_broken and 1 in self.breaks:
            torch._dynamo.graph_break()
        second = self.add(first, made)
        result = self.join(first, second, self.parts[2](second))
        return result.mean() if self.is_broken else result

    def paths(self):
        return "|".join(f"parts.{i}" for i in self.breaks)


class Residual(Chain):
    """Blocks add to what they read, behind the break."""

    def add(self, first, second):
        return first + second

    def join(self, first, second, third):
        return second + third.relu()


class Long(Chain):
    """The first result is read by the last region."""

    def join(self, first, second, third):
        return third * first.sigmoid()


def linear(*after):
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), *after)


def conv(*after):
    return nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1), *after)


def norm_block():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU())


NETWORKS = {
    "relus": lambda: Chain([linear(nn.ReLU()) for _ in range(3)], [0, 1]),
    "one_break": lambda: Chain([linear(nn.GELU()) for _ in range(3)], [1]),
    "norms": lambda: Chain([norm_block() for _ in range(3)], [0, 1]),
    "residual": lambda: Residual([norm_block() for _ in range(3)], [0, 1]),
    "long": lambda: Long([linear(nn.Tanh()) for _ in range(3)], [0, 1]),
    "images": lambda: Chain([conv(nn.ReLU()) for _ in range(3)], [0, 1]),
    "batch_norms": lambda: Chain(
        [conv(nn.BatchNorm2d(WIDTH), nn.SiLU()) for _ in range(3)], [0]),
    "pointwise": lambda: Residual(
        [linear(), nn.Sequential(nn.Sigmoid(), nn.Tanh()), linear(nn.Softmax(-1))],
        [0, 1]),
}


class Regions:
    """Stands for a compiler, and remembers what forward passes make and keep."""

    def __init__(self):
        self.visible = None  # Results of the next forward pass to be compiled.
        self.made = {}  # Region by storage.
        self.kept = {}  # Bytes by storage.
        self.tensors = []  # Alive, so that no address is used twice.
        self.count = 0

    def partition(self, joint, inputs, *, num_fwd_outputs, **options):
        self.visible = num_fwd_outputs
        return partitioners.min_cut_rematerialization_partition(
            joint, inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def forward(self, module, _):
        region, self.count = self.count, self.count + 1
        visible, self.visible = self.visible, None

        def run(*arguments):
            results = module.forward(*arguments)
            for i, result in enumerate(results):
                if isinstance(result, torch.Tensor):
                    self.see(result, region,
                             visible is not None and i >= visible)
            return results
        return run

    def see(self, tensor, region, is_kept):
        storage = tensor.untyped_storage()
        self.tensors.append(tensor)
        self.made.setdefault(storage.data_ptr(), region)
        if is_kept:
            self.kept[storage.data_ptr()] = storage.nbytes()

    def bytes(self, sources):
        sizes = [0] * self.count
        known = {source.untyped_storage().data_ptr() for source in sources}
        for pointer, size in self.kept.items():
            if pointer not in known:
                sizes[self.made[pointer]] += size
        return sizes


def measure(network, image):
    torch._dynamo.reset()
    regions = Regions()
    backend = aot_autograd(
        fw_compiler=regions.forward, bw_compiler=lambda module, _: module.forward,
        partition_fn=regions.partition, decompositions=select_decomp_table())
    compiled = torch.compile(network, backend=backend)
    compiled(image).backward()
    return regions.bytes([image, *network.parameters(), *network.buffers()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    print("network,breaks,region,bytes", flush=True)
    for name, make in NETWORKS.items():
        network = make()
        is_image = any(isinstance(part, nn.Conv2d) for part in network.modules())
        shape = (BATCH, WIDTH, SIZE, SIZE) if is_image else (BATCH, SIZE, WIDTH)
        image = torch.randn(shape)
        torch.export.save(torch.export.export(network, (image,)), folder / f"{name}.pt2")
        network.is_broken = True
        for region, size in enumerate(measure(network, image)):
            print(f"{name},{network.paths()},{region},{size}")


if __name__ == "__main__":
    main()
