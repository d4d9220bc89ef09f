"""Graphs of the steps that processes share, as one process runs them on the CPU."""

import pathlib
import tempfile

import torch

import foretell


def graph_of(model, *flags):
    return foretell.run("inspect", model, *flags, "--mode", "training", "--optimizer",
                        "momentum", "--trace", "cpu", "--format", "graph")


def graphs_of_network(name, network, batches):
    """By each number of `batches` whose gradients are added up: of a network of tokens,
    called `name`."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"{name}.pt")
        torch.jit.trace(network, network.example()).save(str(path))
        return {count: graph_of(path, "--input", "i64[4,12]", "--accumulate",
                                str(count)).replace(str(path), path.name, 1)
                for count in batches}
