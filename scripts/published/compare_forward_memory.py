#!/usr/bin/env python3
"""Compares the memory after a forward pass with another tool's simulation.

    scripts/published/compare_forward_memory.py [--limit N]

../shared/data/training_memory_timm_a100.csv.gz (GPUMemNet) has, beside its measured
peaks, what PyTorch's FakeTensor counts after the forward pass of training: parameters
and whatever autograd saves, no workspace and no allocator. For every network of
../shared/models/timm_torchscript_train.tar.xz this prints the MiB per sample that the
traced graph holds there (the slope between two batches), FakeTensor's (less one
image: it counts the input twice), and where they differ by more than 1.5 %. A network
that differs was another one when it was measured: other image sizes, other operators
in the timm of that time. Needs the shared folder beside the repository and says so
when it is absent.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

TOLERANCE = 0.015
# The table's MB are thousandths of a GiB.
MIB = 1000 / 1024
STANDS_AT_START = ("parameter", "buffer", "input")


def read_table():
    """FakeTensor's MB after the forward pass by network and batch."""
    found = {}
    for row in published.rows(published.TRAINING_MEMORY):
        if row["faketensor_after_forward_mb"]:
            found.setdefault(row["model"], {})[int(row["batch"])] = float(
                row["faketensor_after_forward_mb"])
    return found


def held_after_forward(graph):
    """Bytes that live when the last node of the forward pass is over."""
    live = 0
    for event in graph["events"]:
        node, storage = event["node"], graph["storages"][event["storage"]]
        if node is None and storage["role"] not in STANDS_AT_START:
            continue  # What the step before left behind.
        if node is not None and graph["nodes"][node]["phase"] != "forward":
            break
        live += storage["bytes"] * (1 if event["event"] == "allocate" else -1)
    return live


def inspect(path, shape, batch):
    return foretell.run_json(
        "inspect", path, "--mode", "training", "--format", "json", "--input",
        published.input_flag(shape, batch))


def per_sample(path, shape, batches):
    """MiB per sample; None where the network cannot be traced."""
    try:
        graphs = [inspect(path, shape, batch) for batch in batches]
    except foretell.Failure as failure:
        print(failure, file=sys.stderr)
        return None
    few, many = map(held_after_forward, graphs)
    return (many - few) / (batches[1] - batches[0]) / 2**20


def image_mib(shape):
    elements = 1
    for size in shape.split("x"):
        elements *= int(size)
    return 4 * elements / 2**20


def compare(folder, limit):
    """Prints a row per network that differs; the ratios of all."""
    truth, table, ratios = published.truth(folder), read_table(), []
    names = sorted(path.stem for path in folder.glob("*.pt")
                   if len(table.get(path.stem, ())) > 1)
    print("| network | here, MiB per sample | FakeTensor | ratio |\n"
          "|---|--:|--:|--:|")
    for name in names[:limit]:
        shape, counted = truth[name]["input"], table[name]
        few, many = min(counted), max(counted)
        here = per_sample(folder / f"{name}.pt", shape, (few, many))
        if here is None:
            continue
        there = ((counted[many] - counted[few]) / (many - few) / MIB
                 - image_mib(shape))
        ratios.append(here / there)
        if abs(ratios[-1] - 1) > TOLERANCE:
            print(f"| {name} | {here:.2f} | {there:.2f} | {ratios[-1]:.3f} |")
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, help="only so many networks")
    options = parser.parse_args()
    published.need(published.TRAINING_TRACES, published.TRAINING_MEMORY)
    with published.unpacked(published.TRAINING_TRACES) as folder:
        ratios = compare(folder, options.limit)
    off = [abs(ratio - 1) for ratio in ratios]
    print(f"\n{len(ratios)} networks: median difference "
          f"{statistics.median(off):.2%}, more than {TOLERANCE:.1%} for "
          f"{sum(one > TOLERANCE for one in off)}")


if __name__ == "__main__":
    foretell.main(main)
