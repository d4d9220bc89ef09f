#!/usr/bin/env python3
"""Tests of `--method pmgns`."""

import json
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, MODEL_FAILED, run, predict_json


class Pmgns(unittest.TestCase):
    FLAGS = ("--batch", "64", "--method", "pmgns")

    def sources(self, *flags):
        (result,) = predict_json(ONNX, *self.FLAGS, *flags)["results"]
        return {name: result[name]["source"]["method"]
                for name in ("memory", "latency", "energy")}

    def test_answers_all_three_figures_for_an_a100(self):
        simulated = "pmgns learned from simulated labels of foretell analytic"
        self.assertEqual(set(self.sources().values()), {simulated})
        half = self.sources("--precision", "bf16", "--device",
                            "a100-sxm4-80gb")
        self.assertEqual(set(half.values()), {simulated})
        training = self.sources("--mode", "training")
        self.assertEqual(training, {
            "memory": "analytic x pmgns learned from gpumemnet-timm",
            "latency": simulated, "energy": simulated})
        mixed = self.sources("--autocast")
        self.assertEqual(mixed["latency"], "pmgns-kernels learned from timm")

    def test_is_a_method_of_every_command(self):
        (result,) = predict_json(ONNX, *self.FLAGS)["results"]
        memory = result["memory"]["interval_mib"][1]
        for limit, status in ((memory - 1, DOES_NOT_FIT), (memory + 1, OK)):
            outcome = run("fits", ONNX, *self.FLAGS, "--max-memory",
                          str(limit))
            self.assertEqual(outcome.returncode, status, outcome.stderr)
        self.assertIn("pmgns learned from", run("predict", ONNX,
                                                *self.FLAGS).stdout)

    def test_no_gate_passes_a_network_that_it_does_not_know(self):
        weights_mib = 4 * 8.0e9 / 2**20
        for command in (("fits",), ("mig", "pack")):
            outcome = run(*command, "zoo:llama3_8b", "--batch", "1", "--method",
                          "pmgns", "--device", "a100-sxm4-40gb",
                          *(("--profile", "1g.5gb") if command == ("fits",)
                            else ("--format", "json")))
            with self.subTest(command=command):
                self.assertIn("memory: analytic, as the network", outcome.stderr)
                if command == ("fits",):
                    self.assertEqual(outcome.returncode, DOES_NOT_FIT)
                    continue
                for one in json.loads(outcome.stdout)["instances"]:
                    self.assertGreater(one["needed_mib"], weights_mib)

    def test_the_largest_batch_is_not_above_what_physics_allows(self):
        flags = ("zoo:llama3_2_1b", "--limit", "128")
        physics = int(run("max-batch", *flags, "--method", "analytic").stdout)
        asked = run("max-batch", *flags, "--method", "pmgns")
        self.assertLessEqual(int(asked.stdout), physics)

    def test_says_what_it_knows_where_it_knows_nothing(self):
        outcome = run("predict", ONNX, *self.FLAGS, "--device",
                      "h100-sxm5-80gb")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        (line,) = outcome.stderr.strip().splitlines()
        self.assertIn("'pmgns' knows no figure of inference in fp32", line)
        self.assertIn("no_grad: memory, latency, energy (a100-pcie-40gb, ", line)
        self.assertNotIn("training", line)


if __name__ == "__main__":
    unittest.main()
