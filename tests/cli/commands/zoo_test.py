#!/usr/bin/env python3
"""Tests of `zoo` and of models named `zoo:`."""

import json
import unittest

from calls import ONNX, USAGE, MODEL_FAILED, run, predict_json


class Zoo(unittest.TestCase):
    def test_a_field_has_one_value(self):
        name = "zoo:resnet18?image_size=64&image_size=128"
        outcome = run("predict", name, "--batch", "1")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn(f"{name[4:]}: image_size=64 and image_size=128: one of the two",
                      outcome.stderr)

    def test_a_stock_network_is_predicted_like_a_file(self):
        ours = predict_json("zoo:resnet18", "--batch", "2")["results"][0]
        file = predict_json(ONNX, "--batch", "2")["results"][0]
        self.assertEqual(ours["format"], "zoo")
        self.assertEqual(ours["parameters"], 11_689_512)
        # The file has its batch norms folded away.
        self.assertEqual(
            ours["static_features"]["macs"], file["static_features"]["macs"]
        )

    def test_show_prints_every_field_with_its_value(self):
        shown = json.loads(run("zoo", "show", "resnet50?image_size=160").stdout)
        self.assertEqual(shown["family"], "resnet")
        self.assertEqual(shown["configuration"]["image_size"], 160)
        self.assertEqual(shown["configuration"]["layers"], [3, 4, 6, 3])

    def test_a_sweep_counts_what_it_lists(self):
        options = ("zoo", "list", "--sweep", "dippm", "--json")
        points = json.loads(run(*options).stdout)
        counts = json.loads(run(*options, "--count").stdout)
        self.assertEqual(sum(counts.values()), len(points))
        self.assertEqual(counts["resnet"], 1152)

    def test_mistakes_name_the_way_out(self):
        wrong_name = run("predict", "zoo:resnet5", "--batch", "1")
        self.assertEqual(wrong_name.returncode, MODEL_FAILED)
        self.assertIn("resnet50", wrong_name.stderr)
        wrong_field = run("zoo", "show", "resnet50?depth=3")
        self.assertEqual(wrong_field.returncode, USAGE)
        self.assertIn("layers", wrong_field.stderr)


if __name__ == "__main__":
    unittest.main()
