#!/usr/bin/env python3
"""Training and inference of the networks beside PyTorch Geometric.

    scripts/bench/bench_training.py BENCHMARK [--rounds N] [--kinds pmgns,gcn] [--json]

BENCHMARK is the program network_benchmark (-DFORETELL_BUILD_BENCHMARKS=ON).
Both sides see the same graphs in the same order, with the same network, loss
and optimizer (torch.optim.Adam with its defaults on either side) and the same
number of threads, and take turns, round after round. A round's figure is its
median step; the table has the best round of either side, which is what a
machine with other work disturbs least. There, take --clock processor
--threads 1: the time of the process alone instead of the wall clock's.

"prepared": batches are collated before the clock starts, as in foretell's
trainer. "loader": PyTorch Geometric's DataLoader collates at every step.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from torch_geometric import nn as pyg
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

STATICS, TARGETS, WIDTH = 5, 3, 32
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
# Hidden width, batch size, epochs of a round.
SETTINGS = ((128, 32, 6), (512, 32, 1))
LAYERS = {
    "pmgns": pyg.SAGEConv,
    "gcn": pyg.GCNConv,
    "gat": pyg.GATConv,
    "gin": lambda i, o: pyg.GINConv(torch.nn.Sequential(
        torch.nn.Linear(i, o), torch.nn.ReLU(), torch.nn.Linear(o, o))),
}


def make_graphs(count, nodes, seed=1):
    """Operator graphs in the large: chains with skip connections, 1.3 edges
    per node, `nodes` as (least, most)."""
    random = numpy.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        size = int(random.integers(nodes[0], nodes[1] + 1))
        chain = numpy.stack([numpy.arange(size - 1), numpy.arange(1, size)], 1)
        skips = chain[random.random(size - 1) < 0.3].copy()
        skips[:, 1] = numpy.minimum(
            skips[:, 1] + random.integers(1, 6, len(skips)), size - 1)
        graphs.append({
            "nodes": random.random((size, WIDTH), dtype=numpy.float32),
            "edges": numpy.concatenate([chain, skips]).astype("<i4"),
            "statics": random.random(STATICS, dtype=numpy.float32),
            "targets": random.standard_normal(TARGETS).astype("<f4")})
    return graphs


def write_graphs(graphs, folder):
    def write(name, arrays):
        numpy.concatenate([a.reshape(-1) for a in arrays]).tofile(folder / name)

    write("sizes.i32", [numpy.array([len(g["nodes"]), len(g["edges"])], "<i4")
                        for g in graphs])
    write("nodes.f32", [g["nodes"] for g in graphs])
    write("edges.i32", [g["edges"] for g in graphs])
    write("statics.f32", [g["statics"] for g in graphs])
    write("targets.f32", [g["targets"] for g in graphs])


def to_pyg(graphs):
    return [Data(x=torch.from_numpy(g["nodes"]),
                 edge_index=torch.from_numpy(
                     g["edges"].astype("<i8").T.copy()),
                 statics=torch.from_numpy(g["statics"])[None],
                 y=torch.from_numpy(g["targets"])[None]) for g in graphs]


class Network(torch.nn.Module):
    """docs/networks.md, written with PyTorch Geometric."""

    def __init__(self, kind, hidden, dropout=0.05):
        super().__init__()
        self.dropout = dropout
        self.graph = torch.nn.ModuleList(
            LAYERS[kind](hidden if i else WIDTH, hidden) for i in range(6))
        self.head = torch.nn.ModuleList(
            torch.nn.Linear(hidden if i else hidden + STATICS, hidden)
            for i in range(3))
        self.output = torch.nn.Linear(hidden, TARGETS)

    def drop(self, x):
        return torch.nn.functional.dropout(x, self.dropout, self.training)

    def forward(self, batch):
        x = batch.x
        for i, layer in enumerate(self.graph):
            x = layer(x, batch.edge_index).relu()
            if i % 2:
                x = self.drop(x)
        pooled = pyg.global_add_pool(x, batch.batch, batch.num_graphs) / 128
        h = torch.cat([pooled, batch.statics], 1)
        for layer in self.head:
            h = self.drop(layer(h).relu())
        return self.output(h)


def train_pyg(kind, hidden, batches, epochs, clock, device="cpu"):
    """Seconds per step; `batches` is read again in every epoch."""
    network = Network(kind, hidden).train().to(device)
    optimizer = torch.optim.Adam(network.parameters(), 2.754e-5)
    seconds = []
    for epoch in range(epochs + 1):
        start = clock()
        for batch in batches:
            batch = batch.to(device)
            optimizer.zero_grad()
            torch.nn.functional.huber_loss(network(batch), batch.y).backward()
            optimizer.step()
            if device == "cuda":
                torch.cuda.synchronize()
            now = clock()
            if epoch:
                seconds.append(now - start)
            start = now
    return seconds


def infer_pyg(kind, hidden, batch, runs, clock):
    network = Network(kind, hidden).eval()
    seconds = []
    with torch.inference_mode():
        for run in range(runs + 20):
            start = clock()
            network(batch)
            if run >= 20:
                seconds.append(clock() - start)
    return seconds


def run_ours(args, *arguments):
    result = subprocess.run([args.benchmark, args.clock, *map(str, arguments)],
                            check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def take_turns(rounds, **sides):
    """The best over the rounds of each side's median, in seconds."""
    medians = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            medians[name].append(statistics.median(side()))
    return {name: min(values) for name, values in medians.items()}


def bench_training(args, folder, kind, setting):
    hidden, batch_size, epochs = setting
    graphs = make_graphs(args.graphs, (100, 300))
    write_graphs(graphs, folder)
    torch.set_num_threads(args.threads)
    loader = DataLoader(to_pyg(graphs), batch_size=batch_size)
    prepared = [batch.to(args.device) for batch in loader]
    times = take_turns(
        args.rounds,
        foretell=lambda: run_ours(args, "train", folder, kind, hidden,
                                  batch_size, args.threads, epochs,
                                  args.device),
        pyg_loader=lambda: train_pyg(kind, hidden, loader, epochs,
                                     CLOCKS[args.clock],
                                     args.device),
        pyg_prepared=lambda: train_pyg(kind, hidden, prepared, epochs,
                                       CLOCKS[args.clock],
                                       args.device))
    return {"task": "train", "kind": kind, "hidden": hidden, "batch": batch_size,
            "threads": args.threads, "device": args.device, **times}


def bench_inference(args, folder, kind, hidden):
    graphs = make_graphs(1, (200, 200))
    write_graphs(graphs, folder)
    torch.set_num_threads(1)
    (batch,) = DataLoader(to_pyg(graphs), batch_size=1)
    runs = 100 * 128 // hidden
    times = take_turns(
        args.rounds,
        foretell=lambda: run_ours(args, "infer", folder, kind, hidden,
                                  runs),
        pyg_prepared=lambda: infer_pyg(kind, hidden, batch, runs,
                                       CLOCKS[args.clock]))
    return {"task": "infer", "kind": kind, "hidden": hidden, "batch": 1,
            "threads": 1, **times}


def print_table(rows):
    print("| task | network | hidden | batch | threads | foretell, ms | "
          "PyG prepared, ms | times | PyG loader, ms | times |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for row in rows:
        cells = [row[k] for k in ("task", "kind", "hidden", "batch", "threads")]
        cells.append(f"{1e3 * row['foretell']:.2f}")
        for side in ("pyg_prepared", "pyg_loader"):
            if side in row:
                cells += [f"{1e3 * row[side]:.2f}",
                          f"{row[side] / row['foretell']:.2f}"]
            else:
                cells += ["", ""]
        print("| " + " | ".join(map(str, cells)) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--graphs", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="of training; inference is on the CPU")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--kinds", default="pmgns")
    parser.add_argument("--hidden", default="128,512")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind in args.kinds.split(","):
            for setting in SETTINGS:
                if str(setting[0]) not in args.hidden.split(","):
                    continue
                rows.append(bench_training(args, folder, kind, setting))
                rows.append(bench_inference(args, folder, kind, setting[0]))
    if args.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(rows)
        import torch_geometric
        print(f"\n{args.graphs} graphs of 100 to 300 nodes, {args.rounds} "
              f"rounds, {args.clock} clock; torch {torch.__version__}, torch_geometric "
              f"{torch_geometric.__version__}, Python "
              f"{platform.python_version()}", file=sys.stderr)


if __name__ == "__main__":
    main()
