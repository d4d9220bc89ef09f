"""Reads dataset files: SQLite, as docs/dataset.md specifies it."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import urllib.parse
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error

if TYPE_CHECKING:
    from numpy import ndarray

APPLICATION_ID = 0x46544453
# By version, of the statements that made its tables and indexes, sorted, a line each.
# Others could run what a stranger wrote.
SCHEMAS_SHA256 = {
    1: "08129d1469b7bc6bdd3e833450a0af9d38b0810bbded0421b1140b04b46ea2f2",
    2: "d426af350f9e1ec308d709918f5003b67cf0f86fc42f8071548bee80b3414608",
}
FEATURES = 32
STATIC_FEATURES = ("macs", "batch", "convolutions", "dense", "relus")
# More than any network has: a damaged count must not take all memory.
MOST_BYTES = 2**30
TARGETS = ("memory_mib", "allocated_mib", "reserved_mib", "latency_ms", "energy_j")


class Dataset:
    """The points, labels and graphs of one file, which is only read.

    Needs NumPy for `graphs`; `to_pyg` also PyTorch and PyTorch Geometric.
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        self.path = os.fspath(path)
        if not os.path.isfile(self.path):
            raise Error(f"{self.path}: no such file", "not_found")
        uri = "file:" + urllib.parse.quote(self.path) + "?mode=ro"
        self._rows = sqlite3.connect(uri, uri=True)
        self._rows.row_factory = sqlite3.Row
        self._check()

    def __repr__(self) -> str:
        points, labels = (self._select(f"SELECT COUNT(*) AS n FROM {table}")[0]["n"]
                          for table in ("points", "labels"))
        return f"<foretell.Dataset {self.path}: {points} points, {labels} labels>"

    def _check(self) -> None:
        for name, known in (("application_id", (APPLICATION_ID,)),
                            ("user_version", tuple(SCHEMAS_SHA256))):
            (found,) = self._select(f"PRAGMA {name}")[0].values()
            if found not in known:
                expected = " or ".join(map(str, known))
                raise Error(f"{self.path}: {name} is {found}, expected {expected} "
                            "in a dataset of foretell", "corrupt")
        statements = sorted(row["sql"] for row in self._select(
            "SELECT sql FROM sqlite_schema WHERE sql NOT NULL"))
        schema = hashlib.sha256("\n".join(statements).encode()).hexdigest()
        if schema != SCHEMAS_SHA256[found]:
            raise Error(f"{self.path}: its tables, indexes, views and triggers are not "
                        "those that foretell makes", "corrupt")
        # Pages that contain each other would be read for ever.
        (found,) = self._select("PRAGMA integrity_check(1)")[0].values()
        if found != "ok":
            raise Error(f"{self.path}: the file is damaged: "
                        f"{' '.join(found.split())}", "corrupt")

    def _select(self, query: str, *values: Any) -> list[dict[str, Any]]:
        try:
            return [dict(row) for row in self._rows.execute(query, values)]
        except sqlite3.Error as error:
            raise Error(f"{self.path}: {error}", "corrupt") from error

    def _table(self, name: str) -> list[dict[str, Any]]:
        """All columns of a table, without the checksums of its rows."""
        rows = self._select(f"SELECT * FROM {name} ORDER BY id")
        for row in rows:
            del row["crc"]
        return rows

    @property
    def points(self) -> list[dict[str, Any]]:
        """A row per network, batch size, mode and precision; `graph` is None where
        it was not traced."""
        return self._table("points")

    @property
    def labels(self) -> list[dict[str, Any]]:
        """A row per measurement, with `point`, `device`, `source`, `status` and the
        five figures, None where not measured."""
        return self._table("labels")

    def split(self, name: str) -> dict[int, str]:
        """"train", "validation" or "test" of every point."""
        rows = self._select(
            "SELECT point, part FROM split_points JOIN splits ON splits.id = split "
            "WHERE name = ?", name)
        if not rows:
            known = [row["name"] for row in self._select("SELECT name FROM splits")]
            raise Error(f"{self.path}: no split {name!r}, expected one of: "
                        f"{', '.join(known) or 'none'}", "not_found")
        return {row["point"]: row["part"] for row in rows}

    def values(self, target: str, **which: str) -> dict[int, float]:
        """The labels of `target`, e.g. "latency_ms", by point; `which` are columns
        that must match, e.g. device="a100-sxm4-40gb". The last of several stands."""
        if target not in TARGETS:
            raise Error(f"target {target!r}: expected one of {', '.join(TARGETS)}")
        return {label["point"]: label[target] for label in self.labels
                if label[target] is not None
                and all(label[key] == value for key, value in which.items())}

    def _array(self, blob: int, kind: str, shape: tuple[int, int]) -> ndarray:
        import numpy

        rows = self._select("SELECT raw_bytes, data FROM blobs WHERE id = ?", blob)
        if not rows:
            raise Error(f"{self.path}: blob {blob} is missing", "corrupt")
        (row,) = rows
        expected = 4 * shape[0] * shape[1]
        if row["raw_bytes"] != expected or expected > MOST_BYTES:
            raise Error(f"{self.path}: blob {blob} has {row['raw_bytes']} bytes, "
                        f"expected {expected}", "corrupt")
        try:
            raw = zlib.decompressobj().decompress(row["data"], expected)
            array: ndarray = numpy.frombuffer(raw, kind).reshape(shape)
        except (zlib.error, ValueError) as error:
            raise Error(f"{self.path}: blob {blob}: {error}", "corrupt") from error
        return array

    def graphs(self) -> Iterator[dict[str, Any]]:
        """Every graph, in the order of the points: `point`, `x` [nodes, 32] float32,
        `edge_index` [2, edges] int64, `static_features` [5] float64."""
        import numpy

        for row in self._select(
                "SELECT points.id AS point, graphs.* FROM points "
                "JOIN graphs ON graphs.id = points.graph ORDER BY points.id"):
            nodes, edges = row["num_nodes"], row["num_edges"]
            ends = self._array(row["edges"], "<i4", (2, edges)).astype("int64")
            if ends.size and not 0 <= ends.min() <= ends.max() < nodes:
                raise Error(f"{self.path}: blob {row['edges']} has edges of nodes that "
                            f"are not there, of {nodes}", "corrupt")
            yield {
                "point": row["point"],
                "x": self._array(row["nodes"], "<f4", (nodes, FEATURES)),
                "edge_index": ends,
                "static_features": numpy.array(
                    [row[name] for name in STATIC_FEATURES], "float64"),
            }

    def to_pyg(self, target: str | None = None, *, split: str | None = None,
               part: str | None = None, **which: str) -> list[Any]:
        """torch_geometric Data objects; with a target only labelled points, with a
        split only those of one part."""
        import torch
        from torch_geometric.data import Data

        values = self.values(target, **which) if target else None
        parts = self.split(split) if split else {}
        dataset = []
        for graph in self.graphs():
            point = graph["point"]
            if (values is not None and point not in values) or (
                    split and parts.get(point) != part):
                continue
            data = Data(x=torch.tensor(graph["x"]),
                        edge_index=torch.tensor(graph["edge_index"]),
                        static_features=torch.tensor(
                            graph["static_features"]).float()[None])
            data.point = point
            if values is not None:
                data.y = torch.tensor([values[point]])
            dataset.append(data)
        return dataset

    def close(self) -> None:
        self._rows.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def dataset(path: Union[str, os.PathLike[str]]) -> Dataset:
    """Opens a file that `foretell dataset` wrote. Raises Error for others."""
    return Dataset(path)
