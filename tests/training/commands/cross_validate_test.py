#!/usr/bin/env python3
"""Tests of `cross-validate`."""

import json
import unittest

from training_calls import USAGE, SMALL, run, TrainingTest


class CrossValidate(TrainingTest):
    def test_predicts_every_sample_once(self):
        arguments = ("cross-validate", "--dataset", self.dataset, "--folds",
                     "random", "--k", "3", "--epochs", "2", "--out",
                     self.folder / "v", "--targets", "latency", *SMALL)
        result = json.loads(self.ok(*arguments, "--json"))
        self.assertEqual(result["targets"][0]["count"], 24)
        rows = self.rows(self.folder / "v" / "predictions.csv")
        self.assertEqual(sorted(int(row["batch"]) for row in rows),
                         list(range(1, 25)))
        self.assertEqual({row["target"] for row in rows}, {"latency_ms"})
        again = json.loads(self.ok(*arguments, "--json"))
        self.assertEqual(again, result)

    def test_a_network_over_kernels_becomes_a_checkpoint(self):
        checkpoint = self.folder / "kernels.safetensors"
        output = self.ok(
            "cross-validate", "--dataset", self.dataset, "--split", "none",
            "--folds", "random", "--k", "2", "--network", "kernels",
            "--epochs", "2", "--threads", "1", "--out", self.folder / "cv",
            "--checkpoint", checkpoint, "--json")
        self.assertEqual(
            [one["target"] for one in json.loads(output)["targets"]],
            ["latency"])
        judged = self.ok("evaluate", "--dataset", self.dataset, "--checkpoint",
                         checkpoint, "--split", "none", "--json")
        (latency,) = json.loads(judged)["targets"]
        self.assertEqual(latency["count"], 24)
        # Two epochs of 24 samples teach little; the sum itself is near.
        self.assertLess(latency["median_ape"], 0.6)
        self.assertIsNotNone(latency["coverage"])

    def test_a_network_over_terms_takes_its_own_target_only(self):
        result = run(*self.train_arguments("run", "--network", "replay",
                                           "--targets", "latency"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("network 'replay' predicts only memory", result.stderr)

    def test_names_the_number_of_groups(self):
        result = run("cross-validate", "--dataset", self.dataset, "--folds",
                     "family", "--k", "3", "--out", self.folder / "v")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("folds by family: samples have 1 group, expected at least 2",
                      result.stderr)


if __name__ == "__main__":
    unittest.main()
