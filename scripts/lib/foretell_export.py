"""Loads a folder that `foretell dataset export` wrote.

    import sys; sys.path.insert(0, "scripts/lib")
    from foretell_export import Export
    export = Export("exported/")
    for graph in export.graphs():          # NumPy arrays
        graph["x"], graph["edge_index"], graph["static_features"]
    export.values("latency_ms", device="a100-sxm4-40gb")

Needs NumPy. `foretell.dataset(path).to_pyg(…)` gives PyTorch Geometric's objects.
"""

import csv
import pathlib

import numpy


class Export:
    """Points, labels and graphs of one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.points = {int(row["point"]): row
                       for row in self._read("points.csv")}
        self.labels = self._read("labels.csv")

    def _read(self, name):
        with open(self.folder / name, newline="", encoding="utf-8") as table:
            return list(csv.DictReader(table))

    def graphs(self):
        """Every graph, in the order of the points: a dict with `point` (row
        number), `x` [nodes, 32] float32, `edge_index` [2, edges] int64 and
        `static_features` [5] float64. Holds one file in memory."""
        for path in sorted(self.folder.glob("graphs-*.npz")):
            with numpy.load(path) as arrays:
                yield from _split({name: arrays[name] for name in arrays})

    def values(self, target, device=None, source=None, provenance=None):
        """{point: value} of the labels that have a `target` and match. Where a
        point has several, the last one stands."""
        wanted = {"device": device, "source": source, "provenance": provenance}
        return {int(label["point"]): float(label[target])
                for label in self.labels
                if label[target] and all(value is None or label[key] == value
                                         for key, value in wanted.items())}


def _split(arrays):
    nodes, edges = arrays["node_offsets"], arrays["edge_offsets"]
    for i, point in enumerate(arrays["point"]):
        yield {
            "point": int(point),
            "x": arrays["x"][nodes[i]:nodes[i + 1]],
            "edge_index": arrays["edge_index"][:, edges[i]:edges[i + 1]],
            "static_features": arrays["static_features"][i],
        }
