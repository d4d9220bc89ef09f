#!/usr/bin/env python3
"""Tests of `foretell dataset` as its users call it, and of its exports.

    command_test.py BINARY SOURCE_DIR [unittest arguments]

Where PyTorch Geometric is installed, it loads an export too.
"""

import functools
import json
import os
import pathlib
import pty
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zlib

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli/commands"))

import calls  # noqa: E402
from calls import (  # noqa: E402
    BINARY, SOURCE, ONNX, SCRIPT, OK, USAGE, MODEL_FAILED, predict_json)

sys.path.insert(0, str(SOURCE / "scripts" / "lib"))
sys.path.insert(0, str(SOURCE / "tests" / "browser"))

from page_document import document_of  # noqa: E402

run = functools.partial(calls.run, "dataset")


class DatasetTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "d.sqlite"

    def ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def generate(self, *arguments):
        return self.ok("generate", ONNX, "--batch", "1,8", "--out", self.path,
                       *arguments)

    def query(self, sql):
        connection = sqlite3.connect(self.path)
        rows = connection.execute(sql).fetchall()
        connection.close()
        return rows


class Generate(DatasetTest):
    def test_traces_only_what_is_missing(self):
        self.assertIn("2 points: 2 traced, 0 present", self.generate())
        self.assertIn("2 points: 0 traced, 2 present", self.generate())
        self.assertEqual(
            self.query("SELECT model, batch, inputs FROM points "
                       "ORDER BY batch"),
            [("resnet18", 1, "image=f32[1,3,224,224]"),
             ("resnet18", 8, "image=f32[8,3,224,224]")])

    def test_blobs_are_as_documented(self):
        self.generate()
        ((data, raw_bytes, num_nodes, macs),) = self.query(
            "SELECT data, raw_bytes, num_nodes, macs FROM graphs JOIN blobs "
            "ON blobs.id = graphs.nodes WHERE graphs.batch = 8")
        raw = zlib.decompress(data)
        self.assertEqual(len(raw), raw_bytes)
        self.assertEqual(len(raw), num_nodes * 32 * 4)
        self.assertEqual(macs, 8 * 1_814_073_344)

    def test_failures_are_recorded_and_others_go_on(self):
        bad = self.folder / "bad.onnx"
        bad.write_bytes(b"not a model")
        result = run("generate", bad, ONNX, "--out", self.path)
        self.assertEqual(result.returncode, MODEL_FAILED)
        self.assertIn("1 traced", result.stdout)
        self.assertIn("bad batch=1", result.stderr)
        ((status, attempts, reason),) = self.query(
            "SELECT status, attempts, reason FROM points WHERE model = 'bad'")
        self.assertEqual((status, attempts), ("failed", 1))
        self.assertIn("bad.onnx", reason)

    def test_input_table_gives_shapes_to_torchscript(self):
        table = self.folder / "truth.csv"
        table.write_text("model,input\nresnet18,3x64x64\n")
        self.ok("generate", "--files", SCRIPT, "--mode", "training",
                "--optimizer", "momentum", "--batch", "2", "--input-table",
                table, "--out", self.path)
        ((inputs, optimizer, size),) = self.query(
            "SELECT inputs, optimizer, image_size FROM points")
        self.assertIn("f32[2,3,64,64]", inputs)
        self.assertEqual((optimizer, size), ("momentum", 64))

    def test_shards_divide_models(self):
        out = self.generate("--shard", "2/2")
        self.assertIn("0 points", out)
        self.assertIn("2 points", self.generate("--shard", "1/2"))
        self.assertEqual(run("generate", ONNX, "--out", self.path, "--shard",
                             "3/2").returncode, USAGE)

    def test_a_model_that_is_missing_is_a_model_that_failed(self):
        for model, words in (("gone.onnx", "gone.onnx: no such file or folder"),
                             ("zoo:resnet18", "select zoo networks with --sweep")):
            result = run("generate", model, "--out", self.path)
            self.assertEqual(result.returncode, MODEL_FAILED)
            self.assertIn(words, result.stderr)
        self.assertEqual(run("generate", "--files", "gone", "--out",
                             self.path).returncode, USAGE)

    def test_says_what_is_missing(self):
        result = run("generate", "--out", self.path)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--files", result.stderr)

    def test_progress_shows_on_a_terminal_only(self):
        self.assertNotIn("\r", run("generate", ONNX, "--out",
                                   self.path).stderr)
        leader, follower = pty.openpty()
        subprocess.run([BINARY, "dataset", "generate", ONNX, "--batch",
                        "2,4", "--out", self.path], stderr=follower,
                       stdout=subprocess.DEVNULL, timeout=300)
        os.close(follower)
        shown = os.read(leader, 100_000).decode()
        os.close(leader)
        self.assertRegex(shown, r"\[#+\] 2/2  100 %  [\d.]+/s  0 s left")


class Labels(DatasetTest):
    def test_simulated_labels_say_so(self):
        self.generate()
        out = self.ok("simulate", self.path, "--device", "a100-sxm4-40gb")
        self.assertIn("2 points: 2 labelled", out)
        labels = self.query(
            "SELECT device, source, provenance, memory_mib, latency_ms, "
            "energy_j FROM labels JOIN points ON points.id = point "
            "ORDER BY batch")
        predicted = predict_json(ONNX, "--batch", "1,8")["results"]
        for label, result in zip(labels, predicted):
            self.assertEqual(label[:3], ("a100-sxm4-40gb", "foretell analytic",
                                         "simulated"))
            for value, expected in zip(
                    label[3:], (result["memory"]["total_mib"],
                                result["latency"]["ms"],
                                result["energy"]["j"])):
                self.assertAlmostEqual(value / expected, 1, delta=1e-5)
        self.assertIn("2 present",
                      self.ok("simulate", self.path, "--device",
                              "A100-SXM4-40GB"))

    def test_simulates_inference_in_grad_mode_beside_the_other(self):
        self.generate()
        self.ok("simulate", self.path)
        out = self.ok("simulate", self.path, "--grad")
        self.assertIn("2 points: 2 labelled", out)
        labels = self.query(
            "SELECT source, memory_mib, json FROM labels JOIN points "
            "ON points.id = point JOIN environments "
            "ON environments.id = environment WHERE batch = 8 "
            "ORDER BY memory_mib")
        self.assertEqual([label[0] for label in labels],
                         ["foretell analytic", "foretell analytic --grad"])
        self.assertEqual(json.loads(labels[1][2])["grad_mode"], "true")
        recorded = predict_json(ONNX, "--batch", "8", "--grad")["results"][0]
        self.assertAlmostEqual(
            labels[1][1] / recorded["memory"]["total_mib"], 1, delta=1e-5)

    def test_out_of_memory_has_no_latency(self):
        self.ok("generate", ONNX, "--batch", "8192", "--out", self.path)
        self.ok("simulate", self.path, "--device", "a100-sxm4-40gb")
        ((status, memory, latency),) = self.query(
            "SELECT status, memory_mib, latency_ms FROM labels")
        self.assertEqual((status, latency), ("out_of_memory", None))
        self.assertGreater(memory, 40_000)

    def test_measured_labels_of_two_ways_to_run_stand_side_by_side(self):
        # A network so small that a CPU without 16-bit arithmetic runs it, too.
        self.ok("generate", SOURCE / "tests/frontends/data/exported/vit_tiny.pt2",
                "--batch", "2,8", "--out", self.path)
        for flags in ((), ("--autocast",), ("--autocast",)):
            self.ok("measure", self.path, "--device", "cpu", "--limit", "1",
                    *flags)
        labels = self.query("SELECT source, provenance, device, status, json, "
                            "latency_ms FROM labels JOIN environments "
                            "ON environments.id = environment ORDER BY source, "
                            "point")
        self.assertEqual([label[:4] for label in labels],
                         [("foretell measure", "measured", "cpu", "ok")] +
                         [("foretell measure --autocast", "measured", "cpu",
                           "ok")] * 2)
        self.assertEqual([json.loads(label[4])["autocast"]
                          for label in labels], [False, True, True])
        self.assertTrue(all(label[5] > 0 for label in labels))

    def test_imported_labels_keep_their_source(self):
        self.generate()
        table = self.folder / "t.csv"
        table.write_text("gpu,model,batch,mode,precision,ms,state\n"
                         "A100-SXM4-40GB,resnet18,8,inference,full,3.5,ok\n"
                         "A100-SXM4-40GB,resnet18,1,inference,full,,oom\n"
                         "A100-SXM4-40GB,vgg,1,inference,full,3,ok\n")
        result = run("import", table, "--into", self.path, "--source", "them",
                     "--map", "gpu=device", "--map", "ms=latency_ms",
                     "--word", "precision:full=fp32", "--where", "state=ok",
                     "--set", "environment.host=lab")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("3 rows: 1 joined, 0 present, 1 filtered out",
                      result.stdout)
        self.assertIn("line 4: model=vgg", result.stderr)
        self.assertEqual(
            self.query("SELECT device, source, provenance, latency_ms, json "
                       "FROM labels JOIN environments ON environments.id = "
                       "labels.environment"),
            [("a100-sxm4-40gb", "them", "imported", 3.5,
              '{"host":"lab"}')])

    def test_an_import_that_joins_nothing_fails(self):
        self.generate()
        table = self.folder / "t.csv"
        table.write_text("device,model,batch,mode,precision,latency_ms\n"
                         "a100-sxm4-40gb,vgg,1,inference,fp32,3\n")
        result = run("import", table, "--into", self.path, "--source", "them")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn(f"none of its 1 row is of a point of {self.path}",
                      result.stderr)

    def test_import_quotes_bad_flags(self):
        self.generate()
        for flag in ("--map", "--set", "--where", "--word"):
            result = run("import", "t.csv", "--into", self.path, "--source",
                         "x", flag, "nonsense")
            self.assertEqual(result.returncode, USAGE)
            self.assertIn("nonsense", result.stderr)


class Views(DatasetTest):
    def setUp(self):
        super().setUp()
        self.generate()
        self.ok("simulate", self.path)

    def test_stats_in_three_forms(self):
        page = self.folder / "page.html"
        out = self.ok("stats", self.path, "--html", page)
        self.assertIn("2 points (2 traced, 0 failed, 0 untraced)", out)
        stats = json.loads(self.ok("stats", self.path, "--json"))
        self.assertEqual(stats["families"][0]["family"], "resnet")
        self.assertEqual(stats["coverage"][0]["points"], 2)
        document = document_of(page.read_text())
        self.assertEqual(len(document.pop("scatters")), 2)
        self.assertEqual(document, stats)

    def test_splits_are_stored(self):
        self.assertRegex(self.ok("split", self.path, "--kind",
                                 "configuration", "--seed", "7"),
                         r"configuration-7: 2 train, 0 validation, 0 test")
        self.ok("split", self.path, "--kind", "family")
        self.assertEqual(
            self.query("SELECT DISTINCT name, part FROM split_points JOIN "
                       "splits ON splits.id = split ORDER BY name"),
            [("configuration-7", "train"), ("family-resnet-0", "test")])

    def test_numpy_loads_an_export(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        from foretell_export import Export
        self.ok("split", self.path, "--kind", "random")
        folder = self.folder / "out"
        self.ok("export", self.path, "--out", folder)
        export = Export(folder)
        graphs = list(export.graphs())
        self.assertEqual(len(graphs), 2)
        stored = self.query(
            "SELECT points.id, nodes.data, edges.data, num_nodes, num_edges, "
            "macs, points.batch, convolutions, dense, relus FROM points "
            "JOIN graphs ON graphs.id = graph "
            "JOIN blobs AS nodes ON nodes.id = graphs.nodes "
            "JOIN blobs AS edges ON edges.id = graphs.edges "
            "ORDER BY points.id")
        for graph, row in zip(graphs, stored):
            point, nodes, edges, num_nodes, num_edges, *statics = row
            self.assertEqual(graph["point"], point)
            numpy.testing.assert_array_equal(
                graph["x"], numpy.frombuffer(zlib.decompress(nodes), "<f4")
                .reshape(num_nodes, 32))
            numpy.testing.assert_array_equal(
                graph["edge_index"],
                numpy.frombuffer(zlib.decompress(edges), "<i4")
                .reshape(2, num_edges))
            self.assertEqual(list(graph["static_features"]), statics)
        values = export.values("latency_ms", device="a100-sxm4-40gb",
                               provenance="simulated")
        self.assertEqual(sorted(values), [1, 2])
        self.assertEqual(export.values("latency_ms", provenance="measured"),
                         {})


class Files(DatasetTest):
    def test_shards_merge_into_the_same_dataset(self):
        self.generate()
        shards = [self.folder / f"{batch}.sqlite" for batch in (1, 8)]
        for batch, shard in zip((1, 8), shards):
            self.ok("generate", ONNX, "--batch", batch, "--out", shard)
        merged = self.folder / "merged.sqlite"
        self.assertIn("2 new points, 2 new graphs",
                      self.ok("merge", *shards, "--out", merged))
        columns = ("SELECT model, points.batch, nodes.data, text.data FROM points "
                   "JOIN graphs ON graphs.id = graph "
                   "JOIN blobs AS nodes ON nodes.id = graphs.nodes "
                   "JOIN blobs AS text ON text.id = graphs.text "
                   "ORDER BY points.batch")
        whole = self.query(columns)
        self.path = merged
        self.assertEqual(self.query(columns), whole)

    def test_check_names_damage_and_salvage_saves_the_rest(self):
        self.generate()
        self.assertIn("sound", self.ok("check", self.path))
        connection = sqlite3.connect(self.path)
        connection.execute("UPDATE points SET family = 'x' WHERE id = 2")
        connection.commit()
        connection.close()
        result = run("check", self.path)
        self.assertEqual(result.returncode, MODEL_FAILED)
        self.assertIn("points row 2: the checksum does not match",
                      result.stdout)
        rescued = self.folder / "rescued.sqlite"
        self.assertEqual(run("merge", self.path, "--out",
                             rescued).returncode, MODEL_FAILED)
        result = run("merge", self.path, "--out", rescued, "--salvage")
        self.assertIn("1 new points, 1 new graphs", result.stdout)
        self.assertIn("points row 2", result.stderr)

    def test_missing_and_foreign_files_are_refused(self):
        self.assertEqual(run("stats", self.path).returncode, USAGE)
        self.path.write_bytes(b"x" * 10_000)
        for command in ("stats", "split", "simulate"):
            result = run(command, self.path)
            self.assertEqual(result.returncode, MODEL_FAILED)
            self.assertIn("d.sqlite", result.stderr)
        self.assertEqual(run("check", self.path).returncode, MODEL_FAILED)


if __name__ == "__main__":
    unittest.main()
