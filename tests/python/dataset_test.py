"""A dataset file read in Python: what `foretell dataset export` writes."""

import contextlib
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zlib

import foretell
import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(sys.executable).parent / "foretell"
sys.path.append(str(ROOT / "scripts" / "lib"))
from foretell_export import Export  # noqa: E402


def run(*words):
    subprocess.run([PROGRAM, "dataset", *map(str, words)], check=True,
                   capture_output=True)


class Dataset(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.path = cls.folder / "d.sqlite"
        run("generate", "--files", ROOT / "examples" / "resnet18.onnx", "--batch",
            "1,8", "--jobs", "1", "--out", cls.path)
        run("simulate", cls.path, "--device", "a100-sxm4-40gb")
        run("split", cls.path, "--kind", "configuration", "--seed", "0")
        run("export", cls.path, "--out", cls.folder / "exported")
        cls.export = Export(cls.folder / "exported")

    def setUp(self):
        self.dataset = foretell.dataset(self.path)
        self.addCleanup(self.dataset.close)

    def test_has_the_points_and_labels(self):
        self.assertEqual([(point["model"], point["batch"], point["status"])
                          for point in self.dataset.points],
                         [("resnet18", 1, "traced"), ("resnet18", 8, "traced")])
        self.assertEqual([label["provenance"] for label in self.dataset.labels],
                         ["simulated", "simulated"])

    def test_leaves_checksums_out(self):
        for row in self.dataset.points + self.dataset.labels:
            self.assertNotIn("crc", row)

    def test_says_what_it_holds(self):
        self.assertEqual(repr(self.dataset),
                         f"<foretell.Dataset {self.path}: 2 points, 2 labels>")

    def test_has_the_arrays_of_the_export(self):
        pairs = zip(self.dataset.graphs(), self.export.graphs(), strict=True)
        for here, there in pairs:
            self.assertEqual(here["point"], there["point"])
            for name in ("x", "edge_index", "static_features"):
                numpy.testing.assert_array_equal(here[name], there[name])
                self.assertEqual(here[name].dtype, there[name].dtype)

    def test_has_the_values_of_the_export(self):
        for target in ("memory_mib", "latency_ms", "energy_j"):
            here, there = self.dataset.values(target), self.export.values(target)
            self.assertEqual(set(here), set(there))
            for point, value in there.items():
                self.assertAlmostEqual(here[point], value, delta=1e-4 * value)
        self.assertEqual(self.dataset.values("latency_ms", device="a30"), {})

    def test_becomes_pyg_data_of_one_part(self):
        (name,) = [key.removeprefix("split:") for key in self.export.points[1]
                   if key.startswith("split:")]
        data = self.dataset.to_pyg("latency_ms", split=name, part="train")
        self.assertEqual(len(data), 2)
        self.assertEqual(data[0].x.shape[1], 32)
        self.assertEqual(float(data[0].y), numpy.float32(
            self.dataset.values("latency_ms")[data[0].point]))
        self.assertEqual(self.dataset.to_pyg(split=name, part="test"), [])

    def test_becomes_batches_of_pyg(self):
        try:
            from torch_geometric.loader import DataLoader
        except ImportError:
            self.skipTest("PyTorch Geometric is not installed")
        data = self.dataset.to_pyg("latency_ms")
        self.assertTrue(all(one.validate() for one in data))
        (batch,) = DataLoader(data, batch_size=len(data))
        self.assertEqual(batch.x.shape, (sum(len(one.x) for one in data), 32))
        self.assertEqual(batch.static_features.shape, (len(data), 5))
        self.assertEqual(batch.y.shape, (len(data),))

    def test_names_what_it_lacks(self):
        with self.assertRaisesRegex(foretell.Error, "no split 'x', expected one of: c"):
            self.dataset.split("x")
        with self.assertRaisesRegex(foretell.Error, "target 'speed'"):
            self.dataset.values("speed")

    def test_refuses_other_files(self):
        stranger = self.folder / "stranger.sqlite"
        with sqlite3.connect(stranger) as rows:
            rows.execute("CREATE TABLE points (id INTEGER)")
        with self.assertRaisesRegex(foretell.Error, "application_id is 0, expected"):
            foretell.dataset(stranger)
        (self.folder / "text").write_text("no database " * 100)
        with self.assertRaisesRegex(foretell.Error, "text: file is not a database"):
            foretell.dataset(self.folder / "text")
        with self.assertRaisesRegex(foretell.Error, "missing: no such file"):
            foretell.dataset(self.folder / "missing")

    def changed(self, *statements):
        path = self.folder / "changed.sqlite"
        shutil.copy(self.path, path)
        with contextlib.closing(sqlite3.connect(path)) as rows:
            for statement in statements:
                rows.execute(statement)
            rows.commit()
        return path

    def test_reads_files_without_graphs_of_runs(self):
        older = self.changed("DROP TABLE run_graphs", "PRAGMA user_version = 1")
        with foretell.dataset(older) as dataset:
            self.assertEqual(len(dataset.points), 2)
        with self.assertRaisesRegex(foretell.Error, "expected 1 or 2"):
            foretell.dataset(self.changed("PRAGMA user_version = 3"))

    def test_refuses_what_would_run(self):
        """An honest file's statements are those of the C++ side: it opens."""
        endless = ("WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
                   "SELECT id FROM n")
        for statements in (
                ["ALTER TABLE points RENAME TO p2", f"CREATE VIEW points AS {endless}"],
                ["CREATE TRIGGER t AFTER INSERT ON points BEGIN SELECT 1; END"],
                ["ALTER TABLE points ADD COLUMN x TEXT AS (hex(zeroblob(400000000)))"],
                ["CREATE VIRTUAL TABLE x USING rtree(id, a, b)"],
                ["DROP INDEX blobs_by_hash"]):
            with (self.subTest(statements=statements),
                  self.assertRaisesRegex(foretell.Error, "not those that foretell")):
                foretell.dataset(self.changed(*statements))

    def test_refuses_pages_that_are_damaged(self):
        """Both children of a table are the same page."""
        path = self.changed()
        with contextlib.closing(sqlite3.connect(path)) as rows:
            root, = rows.execute("SELECT rootpage FROM sqlite_schema "
                                 "WHERE name = 'points'").fetchone()
        content = bytearray(path.read_bytes())
        place = slice((root - 1) * 4096, root * 4096)
        leaf = len(content) // 4096 + 1
        content += content[place]
        content[28:32] = leaf.to_bytes(4, "big")
        cell = leaf.to_bytes(4, "big") + b"\2"
        content[place] = (b"\5\0\0\0\1" + (4091).to_bytes(2, "big") + b"\0" +
                          cell[:4] + (4091).to_bytes(2, "big")).ljust(4091, b"\0") + cell
        path.write_bytes(content)
        with self.assertRaisesRegex(foretell.Error, "the file is damaged: .*page"):
            foretell.dataset(path)

    def test_refuses_graphs_that_lack_something(self):
        ends = zlib.compress(b"\xff\xff\xff\x7f" * 1000000)
        for change, part in (
                ("UPDATE graphs SET nodes = 999999", "blob 999999 is missing"),
                (f"UPDATE blobs SET data = x'{ends.hex()}' WHERE kind = 'edges'",
                 "edges of nodes that are not there")):
            with (self.subTest(change=change[:40]),
                  foretell.dataset(self.changed(change)) as opened,
                  self.assertRaisesRegex(foretell.Error, part)):
                list(opened.graphs())

    def test_refuses_a_blob_that_is_not_what_its_graph_says(self):
        damaged = self.folder / "damaged.sqlite"
        for change in ("raw_bytes = raw_bytes + 4", "data = zeroblob(9)",
                       "data = substr(data, 1, length(data) / 2)"):
            shutil.copy(self.path, damaged)
            with sqlite3.connect(damaged) as rows:
                rows.execute(f"UPDATE blobs SET {change} WHERE kind = 'nodes'")
            with (self.subTest(change=change), foretell.dataset(damaged) as opened,
                  self.assertRaisesRegex(foretell.Error, "blob 1")):
                list(opened.graphs())


if __name__ == "__main__":
    unittest.main()
