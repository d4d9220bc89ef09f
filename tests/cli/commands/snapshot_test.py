#!/usr/bin/env python3
"""Tests of `diff` with a memory snapshot of PyTorch, as users call it."""

import json
import os
import pathlib
import pickle
import tempfile
import unittest

from calls import MODEL_FAILED, OK, ONNX, SOURCE, USAGE, run

SNAPSHOT = SOURCE / "tests/snapshot/data/resnet18.pickle"


class Call:
    """Pickled, it would run a command."""

    def __reduce__(self):
        return os.system, ("touch harmed",)


class Snapshot(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def difference(self, *arguments):
        outcome = run("diff", "--json", *arguments)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        return json.loads(outcome.stdout)

    def written(self, data, protocol=4):
        path = self.folder / f"protocol{protocol}.pickle"
        path.write_bytes(pickle.dumps(data, protocol))
        return path

    def test_finds_the_one_block_that_the_prediction_lacks(self):
        found = self.difference(SNAPSHOT, ONNX, "--batch", "8")
        figures = {row["name"].strip(): (row["snapshot"], row["predicted"])
                   for row in found["figures"]}
        self.assertEqual(*figures["parameters"])
        self.assertEqual(*figures["activations"])
        self.assertEqual(*figures["workspaces"])
        image = 8 * 3 * 224 * 224 * 4 / 2**20
        recorded, predicted = figures["allocated"]
        self.assertAlmostEqual(recorded - predicted, image, delta=0.1)
        (block,) = found["unmatched"]["snapshot"]
        self.assertAlmostEqual(block["mib"], image, delta=0.01)
        self.assertEqual(found["unmatched"]["predicted"], [])

    def test_takes_a_document_and_either_order(self):
        step = self.folder / "step.json"
        outcome = run("report", ONNX, "--batch", "8", "--json")
        step.write_text(outcome.stdout)
        first = self.difference(SNAPSHOT, step)
        self.assertEqual(first, self.difference(step, SNAPSHOT))
        model = self.difference(SNAPSHOT, ONNX, "--batch", "8")
        self.assertEqual(first["figures"], model["figures"])

    def test_prints_tables(self):
        outcome = run("diff", SNAPSHOT, ONNX, "--batch", "8")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("only in the snapshot", outcome.stdout)
        self.assertIn("elsewhere infer.py:15 normalise", outcome.stdout)

    def test_reads_every_protocol_of_data(self):
        data = pickle.loads(SNAPSHOT.read_bytes())
        whole = self.difference(SNAPSHOT, ONNX, "--batch", "8")["figures"]
        for protocol in (2, 3, 4, 5):
            path = self.written(data, protocol)
            found = self.difference(path, ONNX, "--batch", "8")
            self.assertEqual(found["figures"], whole)

    def test_runs_nothing_of_a_pickle(self):
        path = self.written({"segments": [Call()]})
        outcome = run("diff", path, ONNX, "--batch", "8", cwd=self.folder)
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("STACK_GLOBAL, expected data alone", outcome.stderr)
        self.assertFalse((self.folder / "harmed").exists())

    def test_refuses_two_snapshots_and_a_page(self):
        for arguments in ((SNAPSHOT, SNAPSHOT), (
                SNAPSHOT, ONNX, "--batch", "8", "--html", "page.html")):
            outcome = run("diff", *arguments, cwd=self.folder)
            self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
            self.assertIn("a snapshot is compared with a model", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
