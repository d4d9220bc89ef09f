#!/usr/bin/env python3
"""Tests of `inspect`."""

import json
import unittest

from calls import ONNX, run


class Inspect(unittest.TestCase):
    def test_json_has_edges_timeline_and_totals(self):
        document = json.loads(
            run("inspect", ONNX, "-b", "2", "--format", "json").stdout)
        self.assertEqual(document["macs"], 2 * 1_814_073_344)
        self.assertEqual(len(document["memory"]["timeline"]),
                         len(document["nodes"]))
        self.assertTrue(document["edges"])

    def test_answers_as_predict_does(self):
        flags = (ONNX, "-b", "2", "--autocast", "--device", "rtx-4090")
        inspected = json.loads(
            run("inspect", *flags, "--format", "json").stdout)
        predicted = json.loads(
            run("predict", *flags, "--json").stdout)["results"][0]
        self.assertEqual(inspected["figures"]["latency_ms"]["value"],
                         predicted["latency"]["ms"])
        self.assertEqual(inspected["figures"]["latency_ms"]["source"],
                         predicted["latency"]["source"])
        self.assertEqual(inspected["figures"]["memory_mib"]["value"],
                         predicted["memory"]["total_mib"])

    def test_dot_is_a_digraph_with_a_box_per_operator(self):
        dot = run("inspect", ONNX, "-b", "2", "--format", "dot").stdout
        self.assertTrue(dot.startswith("digraph"))
        self.assertEqual(dot.count("conv2d"), 20)

    def test_tree_sums_modules(self):
        tree = run("inspect", ONNX, "-b", "2", "--tree").stdout
        self.assertEqual(
            tree, run("inspect", ONNX, "-b", "2", "--format", "tree").stdout)
        network = tree.splitlines()[1]
        self.assertTrue(network.startswith("(network)"), network)
        self.assertIn("3.63 G", network)
        self.assertIn("\n  blocks  ", tree)
        self.assertIn("\n      conv1  ", tree)

    def test_text_lists_operators_and_peak(self):
        text = run("inspect", ONNX, "-b", "2").stdout
        self.assertIn("adaptive_avg_pool2d", text)
        self.assertIn("alive at the peak", text)


if __name__ == "__main__":
    unittest.main()
