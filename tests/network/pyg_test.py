#!/usr/bin/env python3
"""Layers and networks beside PyTorch Geometric's, with the same weights.

    pyg_test.py LAYER_TOOL [unittest arguments]
"""

import json
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1)
TOLERANCE = 1e-5
HIDDEN, STATICS = 24, 5

try:
    import torch
    from torch_geometric import nn as pyg
    MISSING = None
except ImportError as error:
    MISSING = f"PyTorch Geometric is not installed ({error})"


def random_graph(num_nodes, width):
    """A chain with skip connections, and one node on its own."""
    edges = [(i, i + 1) for i in range(num_nodes - 2)]
    for i in range(num_nodes - 4):
        if torch.rand(()) < 0.4:
            edges.append((i, i + 2 + int(torch.randint(2, ()))))
    return {"nodes": torch.rand(num_nodes, width).tolist(),
            "edges": sorted(edges), "statics": torch.rand(STATICS).tolist()}


def collate(graphs):
    """Nodes, edge_index, graph of every node and static features."""
    nodes, edges, graph, first = [], [], [], 0
    for number, one in enumerate(graphs):
        nodes += one["nodes"]
        edges += [(first + s, first + t) for s, t in one["edges"]]
        graph += [number] * len(one["nodes"])
        first += len(one["nodes"])
    return (torch.tensor(nodes), torch.tensor(edges).T.contiguous(),
            torch.tensor(graph), torch.tensor([g["statics"] for g in graphs]))


def sage(inputs, outputs):
    layer = pyg.SAGEConv(inputs, outputs)
    return layer, {
        "weight": torch.cat([layer.lin_r.weight, layer.lin_l.weight], 1),
        "bias": layer.lin_l.bias}


def gcn(inputs, outputs):
    layer = pyg.GCNConv(inputs, outputs)
    torch.nn.init.normal_(layer.bias)
    return layer, {"weight": layer.lin.weight, "bias": layer.bias}


def gat(inputs, outputs):
    layer = pyg.GATConv(inputs, outputs)
    torch.nn.init.normal_(layer.bias)
    return layer, {"weight": layer.lin.weight,
                   "source_attention": layer.att_src,
                   "target_attention": layer.att_dst, "bias": layer.bias}


def gin(inputs, outputs):
    inner = torch.nn.Linear(inputs, outputs)
    outer = torch.nn.Linear(outputs, outputs)
    layer = pyg.GINConv(torch.nn.Sequential(inner, torch.nn.ReLU(), outer))
    return layer, {"inner_weight": inner.weight, "inner_bias": inner.bias,
                   "weight": outer.weight, "bias": outer.bias}


class OnNodes(torch.nn.Linear if MISSING is None else object):
    def forward(self, x, edges):
        return super().forward(x)


def node(inputs, outputs):
    layer = OnNodes(inputs, outputs)
    return layer, {"weight": layer.weight, "bias": layer.bias}


LAYERS = {"pmgns": sage, "gcn": gcn, "gat": gat, "gin": gin, "mlp": node}


class Frame(torch.nn.Module if MISSING is None else object):
    """docs/networks.md, written with PyTorch Geometric."""

    def __init__(self, kind):
        super().__init__()
        self.weights = {}
        self.graph = torch.nn.ModuleList()
        for i in range(6):
            layer, weights = LAYERS[kind](HIDDEN if i else 32, HIDDEN)
            self.graph.append(layer)
            self.keep(f"graph.{i}", weights)
        self.head = torch.nn.ModuleList(
            torch.nn.Linear(HIDDEN if i else HIDDEN + STATICS, HIDDEN)
            for i in range(3))
        self.output = torch.nn.Linear(HIDDEN, 3)
        for i, layer in enumerate(self.head):
            self.keep(f"head.{i}", dict(layer.named_parameters()))
        self.keep("output", dict(self.output.named_parameters()))

    def keep(self, place, weights):
        self.weights |= {f"{place}.{k}": v for k, v in weights.items()}

    def forward(self, nodes, edges, graph, statics):
        for layer in self.graph:
            nodes = layer(nodes, edges).relu()
        h = torch.cat([pyg.global_add_pool(nodes, graph) / 128, statics], 1)
        for layer in self.head:
            h = layer(h).relu()
        return self.output(h)


@unittest.skipIf(MISSING, MISSING)
class BesidePyTorchGeometric(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def ours(self, weights, **request):
        request["weights"] = {k: v.tolist() for k, v in weights.items()}
        result = subprocess.run([TOOL], input=json.dumps(request), text=True,
                                capture_output=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return torch.tensor(json.loads(result.stdout))

    def assert_near(self, ours, theirs):
        self.assertEqual(ours.shape, theirs.shape)
        self.assertGreater(theirs.std(), 1e-3)
        self.assertLess((ours - theirs).abs().max(), TOLERANCE)

    def test_layers_agree(self):
        for kind, make in LAYERS.items():
            for inputs, outputs in ((7, 5), (32, 16), (40, 33)):
                with self.subTest(kind=kind, inputs=inputs):
                    layer, weights = make(inputs, outputs)
                    graphs = [random_graph(n, inputs) for n in (5, 30, 12)]
                    nodes, edges, *_ = collate(graphs)
                    with torch.no_grad():
                        theirs = layer(nodes, edges)
                    self.assert_near(
                        self.ours(weights, kind=kind, outputs=outputs,
                                  graphs=graphs), theirs)

    def test_networks_agree(self):
        for kind in LAYERS:
            with self.subTest(kind=kind):
                network = Frame(kind)
                graphs = [random_graph(n, 32) for n in (60, 5, 41)]
                with torch.no_grad():
                    theirs = network(*collate(graphs))
                self.assert_near(
                    self.ours(network.weights, kind=kind, hidden=HIDDEN,
                              graphs=graphs), theirs)


if __name__ == "__main__":
    unittest.main()
