#!/usr/bin/env python3
"""Compares the memory after a forward pass with another tool's simulation.

    scripts/compare_forward_memory.py [--limit N]

../shared/data/training_memory_timm_a100.csv.gz (GPUMemNet) has, beside its measured
peaks, what PyTorch's FakeTensor counts after the forward pass of training: parameters
and whatever autograd saves, no workspace and no allocator. For every network of
../shared/models/timm_torchscript_train.tar.xz this prints the MiB per sample that the
traced graph holds there (the slope between two batches), FakeTensor's (less one
image: it counts the input twice), and where they differ by more than 1.5 %. A network
that differs was another one when it was measured: other image sizes, other operators
in the timm of that time. Needs the shared folder beside the repository and says so
when it is absent. With FORETELL in the environment that binary is run instead of
scripts/foretell.
"""

import argparse
import csv
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile

from make_label_set import SETS

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORETELL = os.environ.get("FORETELL", str(ROOT / "scripts" / "foretell"))
MODELS, TABLE = SETS["training-memory"].archive, SETS["training-memory"].table
TOLERANCE = 0.015
# The table's MB are thousandths of a GiB.
MIB = 1000 / 1024
STANDS_AT_START = ("parameter", "buffer", "input")


def read_table():
    """FakeTensor's MB after the forward pass by network and batch."""
    found = {}
    with gzip.open(TABLE, "rt", newline="") as table:
        for row in csv.DictReader(table):
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
    outcome = subprocess.run(
        [FORETELL, "inspect", str(path), "--mode",
         "training", "--format", "json", "--input",
         f"f32[{batch},{shape.replace('x', ',')}]"],
        capture_output=True, text=True)
    if outcome.returncode != 0:
        return None
    return json.loads(outcome.stdout)


def per_sample(path, shape, batches):
    """MiB per sample; None where the network cannot be traced."""
    graphs = [inspect(path, shape, batch) for batch in batches]
    if None in graphs:
        return None
    few, many = map(held_after_forward, graphs)
    return (many - few) / (batches[1] - batches[0]) / 2**20


def image_mib(shape):
    elements = 1
    for size in shape.split("x"):
        elements *= int(size)
    return 4 * elements / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, help="only so many networks")
    options = parser.parse_args()
    for path in (MODELS, TABLE):
        if not path.exists():
            sys.exit(f"not found: {path}")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(MODELS) as archive:
            archive.extractall(folder, filter="data")
        files = {path.stem: path for path in pathlib.Path(folder).rglob("*.pt")}
        truth = next(pathlib.Path(folder).rglob("truth.csv"))
        with open(truth, newline="") as file:
            shapes = {row["model"]: row["input"] for row in csv.DictReader(file)}
        table = read_table()
        names = sorted(name for name in files if len(table.get(name, ())) > 1)
        print("| network | here, MiB per sample | FakeTensor | ratio |\n"
              "|---|--:|--:|--:|")
        for name in names[:options.limit]:
            few, many = min(table[name]), max(table[name])
            here = per_sample(files[name], shapes[name], (few, many))
            if here is None:
                continue
            there = ((table[name][many] - table[name][few]) / (many - few) / MIB
                     - image_mib(shapes[name]))
            ratios.append(here / there)
            if abs(ratios[-1] - 1) > TOLERANCE:
                print(f"| {name} | {here:.2f} | {there:.2f} | {ratios[-1]:.3f} |")
    off = [abs(ratio - 1) for ratio in ratios]
    print(f"\n{len(ratios)} networks: median difference "
          f"{statistics.median(off):.2%}, more than {TOLERANCE:.1%} for "
          f"{sum(one > TOLERANCE for one in off)}")


if __name__ == "__main__":
    main()
