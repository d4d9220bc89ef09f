#!/usr/bin/env python3
"""Counts the patterns that foretell recognises in a folder of ONNX files.

    scripts/generate/count_fusions.py --counter build/release/.../onnx_fusion_count FOLDER
                             [--torchscript FOLDER]

Prints two Markdown tables, those of docs/onnx_fusion.md: how often each fused
operator occurs, and how many nodes that patterns are made of are left with each
setting. With `--torchscript`, a folder of traces of the same networks (same file
names, `.pt`), the fused operators are compared with the calls in the traced
code, network by network.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import zipfile

SETTINGS = ("off", "exported", "equivalent")
# Fused operator, and the calls in traced code that it stands for.
FUSED = (
    ("Addcmul", ("addcmul",)),
    ("Attention", ("scaled_dot_product_attention",)),
    ("GRU", ("gru",)),
    ("Gelu", ("gelu",)),
    ("GroupNormalization", ("group_norm",)),
    ("HardSwish", ("hardswish", "hardswish_")),
    ("LSTM", ("lstm",)),
    ("LayerNormalization", ("layer_norm",)),
    ("Linear", ("linear",)),
    ("Mish", ("mish", "mish_")),
    ("RNN", ("rnn_relu", "rnn_tanh")),
    ("RmsNormalization", ("rms_norm",)),
    ("Roll", ("roll",)),
    ("Silu", ("silu", "silu_")),
    ("Softplus", ("softplus",)),
    ("Unbind", ("unbind",)),
)
# What the file itself has of an operator, fused or not.
NATIVE = {"GRU": ("GRU",), "Gelu": ("Gelu",),
          "GroupNormalization": ("GroupNormalization",),
          "HardSwish": ("HardSwish",), "LSTM": ("LSTM",), "Linear": ("Gemm",),
          "LayerNormalization": ("LayerNormalization",), "Mish": ("Mish",),
          "RNN": ("RNN",), "Softplus": ("Softplus",)}
PIECES = ("Softmax", "Erf", "Tanh", "Sigmoid", "HardSigmoid",
          "InstanceNormalization", "ReduceMean", "Sqrt", "MatMul", "Add", "Mul")
CALL = re.compile(r"torch\.(\w+)\(")
FILES_PER_PROCESS = 100


def count_operators(counter, files):
    """Counts by network, setting and operator."""
    counts = collections.defaultdict(
        lambda: {setting: collections.Counter() for setting in SETTINGS})
    for begin in range(0, len(files), FILES_PER_PROCESS):
        chunk = [str(file) for file in files[begin:begin + FILES_PER_PROCESS]]
        output = subprocess.run([str(counter), *chunk], check=True, text=True,
                                stdout=subprocess.PIPE).stdout
        for line in output.splitlines():
            path, setting, operator, count = line.split("\t")
            counts[pathlib.Path(path).stem][setting][operator] = int(count)
    return counts


def count_calls(trace):
    """ATen calls in the code of a traced module."""
    calls = collections.Counter()
    with zipfile.ZipFile(trace) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                calls.update(CALL.findall(archive.read(name).decode()))
    return calls


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "|".join([" --- "] + [" ---: "] * (len(head) - 1)) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def total(counts, setting, operator):
    return sum(network[setting][operator] for network in counts.values())


def networks_with(counts, setting, operator):
    return sum(network[setting][operator] > 0 for network in counts.values())


def print_counts(counts):
    print_table(
        ("operator", "nodes, exported", "networks", "nodes, equivalent"),
        [(operator, total(counts, "exported", f"foretell.{operator}"),
          networks_with(counts, "exported", f"foretell.{operator}"),
          total(counts, "equivalent", f"foretell.{operator}"))
         for operator, _ in FUSED])
    print_table(("node", *SETTINGS),
                [(piece, *(total(counts, setting, piece)
                           for setting in SETTINGS)) for piece in PIECES])


def compare(counts, folder):
    """Prints where fused operators and traced calls differ in number."""
    traces = {network: count_calls(folder / f"{network}.pt")
              for network in sorted(counts)
              if (folder / f"{network}.pt").exists()}
    rows, details = [], []
    for operator, names in FUSED:
        same = 0
        for network, calls in traces.items():
            exported = counts[network]["exported"]
            ours = exported[f"foretell.{operator}"] + sum(
                exported[native] for native in NATIVE.get(operator, ()))
            theirs = sum(calls[name] for name in names)
            same += ours == theirs
            if ours != theirs:
                details.append(f"{operator}: {network}: {ours}, trace {theirs}")
        rows.append((operator, len(traces), same))
    print_table(("operator", "networks", "same count as the trace"), rows)
    print("\n".join(details))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--counter", type=pathlib.Path, required=True)
    parser.add_argument("--torchscript", type=pathlib.Path)
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.onnx"))
    counts = count_operators(arguments.counter, files)
    print_counts(counts)
    if arguments.torchscript:
        compare(counts, arguments.torchscript)


if __name__ == "__main__":
    main()
