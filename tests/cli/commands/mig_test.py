#!/usr/bin/env python3
"""Tests of `mig`."""

import json
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, USAGE, run, predict_json


class Mig(unittest.TestCase):
    def counts(self, *flags):
        text = run("mig", "layouts", "--count", "--json", *flags).stdout
        return json.loads(text)

    def test_layout_counts_are_the_known_ones(self):
        without = self.counts("--without-double-memory")
        self.assertEqual(without["layouts"], 297)
        self.assertEqual(without["maximal_layouts"], 19)
        self.assertEqual(self.counts()["layouts"], 722)
        self.assertEqual(self.counts()["maximal_layouts"], 78)
        a30 = self.counts("--device", "a30")
        self.assertEqual((a30["layouts"], a30["maximal_layouts"]), (25, 5))

    def test_packs_jobs_and_files(self):
        outcome = run("mig", "pack", "--job", "a=9000", "--job", "b=3000",
                      "--format", "kubernetes")
        self.assertEqual(outcome.returncode, OK)
        self.assertIn("nvidia.com/mig-", outcome.stdout)
        outcome = run("mig", "pack", ONNX, "--batch", "1", "--format",
                      "mig-parted")
        self.assertIn("mig-configs", outcome.stdout)

    def test_packs_what_predict_learned(self):
        arguments = (ONNX, "--batch", "64", "--mode", "training", "--method",
                     "learned")
        (result,) = predict_json(*arguments)["results"]
        packed = json.loads(run("mig", "pack", *arguments, "--format",
                                "json").stdout)
        self.assertEqual([instance["profile"]
                          for instance in packed["instances"]],
                         [result["mig"]["profile"]])

    def test_nothing_to_pack_is_a_usage_error(self):
        outcome = run("mig", "pack")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("mig pack needs a model, or --job NAME=MIB", outcome.stderr)
        self.assertEqual(outcome.stdout, "")

    def test_too_much_is_told_by_the_exit_status(self):
        outcome = run("mig", "pack", "--job", "a=39000", "--job", "b=3000")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)


if __name__ == "__main__":
    unittest.main()
