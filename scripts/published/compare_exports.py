#!/usr/bin/env python3
"""Compares files of torch.export with TorchScript traces of the same networks.

    scripts/published/compare_exports.py EXPORTED TRACED [--mode training] [--batch 2]

For each NAME.pt2 of EXPORTED and NAME.pt of TRACED, both are traced: operators in their
order, types of what they read and write, and, after every operator, the bytes that the
allocator holds must be equal. Two things are no difference: `torch.jit.trace` records
`_convolution` for each convolution, and torch.export leaves out calls that give back what
they were given (a slice of everything, contiguous() of what is). Prints the first difference of each network that has one, and the
counts; the exit status says whether any differs.
"""

import argparse
import collections
import itertools
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

CONVOLUTIONS = ("_convolution", "conv1d", "conv2d", "conv3d")
GIVE_BACK = ("slice", "contiguous", "to", "expand", "reshape", "view")


def inspected(path, flags):
    return foretell.run_json("inspect", path, "--format", "json", *flags)


def type_of(value):
    return f"{value['dtype']}{value['shape']}"


def gives_back(node, values):
    """Whether an operator's result is its operand, under another name."""
    if node["target"] not in GIVE_BACK:
        return False
    operand, result = values[node["inputs"][0]], values[node["outputs"][0]]
    return (operand["storage"] == result["storage"]
            and type_of(operand) == type_of(result))


def lines(document):
    """Each operator as text: name, types, bytes that are held after it."""
    values = document["values"]
    for node, memory in zip(document["nodes"], document["memory"]["timeline"],
                            strict=True):
        if gives_back(node, values):
            continue
        target = node["target"]
        target = "convolution" if target in CONVOLUTIONS else target
        read = " ".join(type_of(values[i]) for i in node["inputs"])
        written = " ".join(type_of(values[i]) for i in node["outputs"])
        yield (f"{target} ({read}) -> {written}, "
               f"{memory['allocated_after']} bytes")


def first_difference(exported, traced):
    """What differs first in two networks, in words; None for equal ones."""
    if exported["parameters"] != traced["parameters"]:
        return (f"parameters: {exported['parameters']} exported, "
                f"{traced['parameters']} traced")
    pairs = itertools.zip_longest(lines(exported), lines(traced), fillvalue="nothing")
    for number, (left, right) in enumerate(pairs):
        if left != right:
            return f"operator {number}: exported {left}; traced {right}"
    return None


def run():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exported", type=pathlib.Path)
    parser.add_argument("traced", type=pathlib.Path)
    parser.add_argument("--mode", default="training")
    parser.add_argument("--batch", type=int, default=2)
    options = parser.parse_args()
    counts = collections.Counter()
    for path in sorted(options.exported.glob("*.pt2")):
        other = options.traced / f"{path.stem}.pt"
        if not other.exists():
            continue
        flags = ["--mode", options.mode]
        exported = inspected(path, [*flags, "--batch", options.batch])
        image = exported["values"][exported["inputs"][0]]["shape"]
        traced = inspected(other, [*flags, "--input", "f32" + re.sub(
            " ", "", str(image))])
        difference = first_difference(exported, traced)
        counts["equal" if difference is None else "different"] += 1
        if difference:
            print(f"{path.stem}: {difference}", flush=True)
    print(f"{sum(counts.values())} networks: " + ", ".join(
        f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts["different"] or not counts else 0


if __name__ == "__main__":
    foretell.main(run)
