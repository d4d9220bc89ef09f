#!/usr/bin/env python3
"""Tests of `evaluate`."""

import json
import shutil
import unittest

from training_calls import USAGE, run, TrainingTest


class Evaluate(TrainingTest):
    def test_judges_a_checkpoint(self):
        folder = self.train("run", "--epochs", "2")
        arguments = ("evaluate", "--dataset", self.dataset, "--split", "mine",
                     "--checkpoint", folder / "best.safetensors")
        text = self.ok(*arguments)
        self.assertIn("3 simulated", text)
        self.assertIn("1g.5gb", text)
        predictions = self.folder / "p.csv"
        result = json.loads(self.ok(*arguments, "--json", "--csv",
                                    predictions))
        self.assertEqual(result["provenance"], {"simulated": 3})
        self.assertEqual([one["target"] for one in result["targets"]],
                         ["memory", "latency", "energy"])
        rows = self.rows(predictions)
        self.assertEqual(len(rows), 9)
        errors = [abs(float(row["prediction"]) / float(row["label"]) - 1)
                  for row in rows]
        self.assertAlmostEqual(sum(errors) / 9, result["pooled_mape"])
        self.assertIn("| memory | 3 |", self.ok(*arguments, "--markdown"))

    def test_the_analytic_model_explains_what_it_simulated(self):
        result = json.loads(self.ok(
            "evaluate", "--dataset", self.dataset, "--split", "none",
            "--analytic", "--json"))
        self.assertEqual(result["samples"], 24)
        for target in result["targets"]:
            self.assertLess(target["mape"], 1e-9)
        for fit in result["fits"]:
            self.assertEqual(fit["fits"], fit["both"])

    def test_the_analytic_model_has_the_host_that_is_expected_of_a_gpu(self):
        dataset = shutil.copy(self.dataset, self.folder)
        self.ok("dataset", "simulate", dataset, "--device", "h100")
        result = json.loads(self.ok(
            "evaluate", "--dataset", dataset, "--split", "none",
            "--device", "h100-sxm5-80gb", "--analytic", "--json"))
        self.assertGreater(result["samples"], 0)
        for target in result["targets"]:
            self.assertLess(target["mape"], 1e-9)

    def test_a_network_corrects_a_prior(self):
        folder = self.train("run", "--epochs", "1", "--prior", "analytic",
                            "--prior-features", "--device-features")
        result = json.loads(self.ok(
            "evaluate", "--dataset", self.dataset, "--split", "mine",
            "--checkpoint", folder / "best.safetensors", "--json"))
        self.assertIn("analytic", result["method"])
        # The labels are the prior: the network has nothing to correct, and
        # even an untrained one is near them.
        self.assertLess(result["pooled_mape"], 10)

    def test_needs_one_thing_to_judge(self):
        result = run("evaluate", "--dataset", self.dataset)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--analytic", result.stderr)

    def test_a_missing_checkpoint_is_named(self):
        result = run("evaluate", "--dataset", self.dataset, "--checkpoint",
                     "/nowhere.safetensors")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("/nowhere.safetensors", result.stderr)


if __name__ == "__main__":
    unittest.main()
