#!/usr/bin/env python3
"""Writes tests/golden/adapters/live_bytes.csv: what a forward pass with PEFT's adapters
keeps alive in real PyTorch, in the second of two training steps.

Small networks run on the CPU, where every operator below autograd is seen with the
storages of its results. Dropout is what CUDA runs: native_dropout, whose mask is Boolean.
Needs torch, peft and transformers.

Columns, in bytes: `fixed` parameters and input; `peak` most alive after an operator, while
the result of the first step is held; `end` alive after the pass. `adapters` are written as
for --lora.

usage: scripts/generate/make_adapter_golden.py [--out FILE]
"""

import argparse
import collections
import pathlib
import sys

import peft
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from storage_census import StorageCensus  # noqa: E402

# As networks and inputs in tests/program/adapters_golden_test.cc.
NETWORKS = {
    "linear": (lambda: {"linear0": nn.Linear(16, 32), "relu": nn.ReLU(),
                        "linear1": nn.Linear(32, 8)}, lambda: torch.randn(4, 16)),
    "embedding": (lambda: {"embedding0": nn.Embedding(10, 16),
                           "linear1": nn.Linear(16, 32)},
                  lambda: torch.ones(4, dtype=torch.long)),
    "convolution": (lambda: {"conv0": nn.Conv2d(3, 8, 3)},
                    lambda: torch.randn(1, 3, 8, 8)),
}
BOTH = ("f32", "bf16")
ALL = (*BOTH, "autocast")
ADAPTERS = (
    ("linear", ALL, "linear0", {}),
    ("linear", BOTH, "linear0", {"dropout": 0.5}),
    ("linear", ("bf16",), "linear0", {"type": "bf16"}),
    ("linear", ("bf16",), "linear0", {"dropout": 0.5, "type": "bf16"}),
    ("linear", BOTH, "linear1", {}),
    ("linear", ALL, "linear", {"dropout": 0.5}),
    ("linear", ALL, "linear", {"dropout": 0.5, "dora": True}),
    ("linear", ("autocast",), "linear", {"dora": True}),
    ("linear", BOTH, "linear0", {"save": "linear1"}),
    ("linear", BOTH, "linear0", {"dora": True}),
    ("linear", BOTH, "linear0", {"dropout": 0.5, "dora": True}),
    ("linear", BOTH, "linear1", {"dora": True}),
    ("embedding", ALL, "embedding0", {}),
    ("linear", ALL, "linear", {"ia3": True, "feedforward": "linear1"}),
    ("linear", ALL, "linear", {"vera": True}),
    ("linear", BOTH, "linear", {"dropout": 0.5, "vera": True}),
    ("linear", ALL, "linear", {"method": "loha"}),
    ("linear", ALL, "linear", {"method": "lokr"}),
    ("linear", BOTH, "linear", {"method": "lokr", "factor": 8, "both": True}),
    ("linear", ALL, "linear", {"method": "oft"}),
    ("linear", BOTH, "linear", {"block": 4, "method": "oft"}),
    ("linear", ALL, "linear", {"method": "boft"}),
    ("linear", BOTH, "linear0", {"block": 4, "method": "boft"}),
    ("convolution", ALL, "conv0", {}),
    ("convolution", BOTH, "conv0", {"dropout": 0.5}),
)
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "autocast": torch.float32}


class Census(StorageCensus):
    """Of all storages that an operator returned, except of numbers that torch.tensor
    makes on the host: LoHa's scale."""

    def results_of(self, func, results):
        made_on_host = func.overloadpacket in (torch.ops.aten.lift_fresh,
                                               torch.ops.aten.detach)
        return [leaf for leaf in tree_leaves(results) if isinstance(leaf, torch.Tensor)
                and not (made_on_host and leaf.dim() == 0)]


# BOFT calls the number of its blocks otherwise.
METHODS = {
    "loha": lambda keys, targets: peft.LoHaConfig(r=2, target_modules=targets),
    "lokr": lambda keys, targets: peft.LoKrConfig(
        r=2, target_modules=targets, decompose_factor=keys.get("factor", -1),
        decompose_both="both" in keys),
    "oft": lambda keys, targets: peft.OFTConfig(
        r=0 if "block" in keys else 2, oft_block_size=keys.get("block", 0),
        target_modules=targets),
    "boft": lambda keys, targets: peft.BOFTConfig(
        boft_block_num=0 if "block" in keys else 2,
        boft_block_size=keys.get("block", 0), target_modules=targets),
}


def adapted(module, target, keys):
    targets = [name for name, _ in module.named_children() if target in name]
    dropout = keys.get("dropout", 0.0)
    if "ia3" in keys:
        config = peft.IA3Config(target_modules=targets,
                                feedforward_modules=[keys["feedforward"]])
    elif "vera" in keys:
        config = peft.VeraConfig(r=2, target_modules=targets, vera_dropout=dropout)
    elif "method" in keys:
        config = METHODS[keys["method"]](keys, targets)
    else:
        config = peft.LoraConfig(
            r=2, target_modules=targets, lora_dropout=dropout, use_dora="dora" in keys,
            modules_to_save=[keys["save"]] if "save" in keys else None)
    return peft.get_peft_model(module, config,
                               autocast_adapter_dtype="type" not in keys).train()


def census_of(module, x, casts):
    parameters = list(module.parameters())
    with Census() as census:
        for tensor in (*parameters, *module.buffers(), x):
            census.count(tensor)
        fixed = census.live
        with torch.autocast("cpu", torch.bfloat16, enabled=casts):
            out = module(x)
            loss = out.mean()
        loss.backward()
        del loss
        for parameter in parameters:
            parameter.grad = None
        census.peak = 0
        with torch.autocast("cpu", torch.bfloat16, enabled=casts):
            out = module(x)
            return fixed, census.peak, census.live


def flag(target, keys):
    words = [f"targets={target}"]
    if not {"ia3", "block"} & set(keys):
        words.insert(0, "r=2")
    words += [name if value is True else f"{name}={value}"
              for name, value in keys.items()]
    return ",".join(words)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    golden = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/adapters"
    parser.add_argument("--out", type=pathlib.Path, default=golden / "live_bytes.csv")
    out = parser.parse_args().out
    torch.nn.functional.dropout = (
        lambda x, p, training, inplace: torch.native_dropout(x, p, training)[0])
    lines = ["network,precision,fixed,peak,end,adapters"]
    for network, precisions, target, keys in ADAPTERS:
        make_layers, make_input = NETWORKS[network]
        for precision in precisions:
            module = nn.Sequential(collections.OrderedDict(make_layers()))
            module, x = module.to(TYPES[precision]), make_input()
            if x.is_floating_point():
                x = x.to(TYPES[precision])
            figures = census_of(adapted(module, target, keys), x,
                                precision == "autocast")
            lines.append(",".join([network, precision, *map(str, figures),
                                   flag(target, keys)]))
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
