#!/usr/bin/env python3
"""Writes tests/golden/optimizers/steps.csv: what real torch.optim does in three steps,
of the optimizers and implementations that LibTorch's C++ optimizers lack.

The parameters are those of linear(16, 32) and linear(32, 8), sin(0), sin(1) … in f32;
gradients are 0.5, 1.5 and 2.5 times the weights. Runs on the CPU, where every operator
is seen with the storages of its results. Needs torch 2.13 and transformers 5.24.

Columns: `state` bytes that the optimizer keeps; `temporary` most bytes beside it that are
alive at once in the third step; `weights` first and last number of each parameter after
it. Counts of steps are left out where they lie on the CPU whatever the device is.

usage: scripts/generate/make_optimizer_golden.py [--out FOLDER]
"""

import argparse
import csv
import pathlib
import sys

import torch
from torch.utils._pytree import tree_leaves
from transformers.optimization import Adafactor

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

SHAPES = ((32, 16), (32,), (8, 32), (8,))
STEPS = 3
OPTIMIZERS = {
    "adafactor": lambda weights: torch.optim.Adafactor(weights),
    "sgd fused": lambda weights: torch.optim.SGD(weights, lr=1e-3, fused=True),
    "momentum fused": lambda weights: torch.optim.SGD(weights, lr=1e-3, momentum=0.9,
                                                      fused=True),
    "adam fused": lambda weights: torch.optim.Adam(weights, fused=True),
    "adamw fused": lambda weights: torch.optim.AdamW(weights, fused=True),
    "adagrad fused": lambda weights: torch.optim.Adagrad(weights, lr=1e-3, fused=True),
    "amsgrad fused": lambda weights: torch.optim.AdamW(weights, amsgrad=True, fused=True),
    "muon": lambda weights: MuonAndAdamW(weights),
    "hf_adafactor": lambda weights: LeanAdafactor(
        weights, lr=1e-3, scale_parameter=False, relative_step=False),
}


class MuonAndAdamW:
    """Matrices by one, the rest by the other, as torch.optim.Muon's documentation has
    it."""

    def __init__(self, weights):
        self.muon = torch.optim.Muon([one for one in weights if one.ndim == 2])
        self.adamw = torch.optim.AdamW([one for one in weights if one.ndim != 2],
                                       foreach=True)

    def step(self):
        self.muon.step()
        self.adamw.step()


class LeanAdafactor(Adafactor):
    """Drops a number for each parameter that its step keeps and does not use."""

    def step(self):
        super().step()
        for state in self.state.values():
            del state["RMS"]


class Census(StorageCensus):
    """Of all storages that an operator returned. torch.tensor(…), by which counts of
    steps on the CPU are made, is no operator but a lift_fresh."""

    def __init__(self, known):
        super().__init__()
        self.known = {tensor.untyped_storage()._cdata for tensor in known}

    def results_of(self, func, results):
        leaves = [leaf for leaf in tree_leaves(results) if isinstance(leaf, torch.Tensor)]
        if func._schema.name == "aten::lift_fresh":
            self.known.update(leaf.untyped_storage()._cdata for leaf in leaves)
        return [leaf for leaf in leaves
                if leaf.untyped_storage()._cdata not in self.known]


def make_weights():
    return [torch.sin(torch.arange(torch.Size(shape).numel(), dtype=torch.float32))
            .reshape(shape).requires_grad_() for shape in SHAPES]


def row_of(name, make):
    weights = make_weights()
    census = Census(weights)
    with census:
        optimizer = make(weights)
    for step in range(STEPS):
        for weight in weights:
            weight.grad = weight.detach() * (0.5 + step)
        census.peak = census.live
        with census:
            optimizer.step()
    numbers = [number for weight in weights
               for number in weight.detach().flatten()[[0, -1]].tolist()]
    return {"optimizer": name, "state": census.live,
            "temporary": census.peak - census.live,
            "weights": " ".join(f"{number:.9g}" for number in numbers)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    root = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--out", type=pathlib.Path,
                        default=root / "tests/golden/optimizers")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = [row_of(name, make) for name, make in OPTIMIZERS.items()]
    with open(options.out / "steps.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
