#!/usr/bin/env python3
"""Tests of `advise`."""

import json
import unittest

from calls import SCRIPT, OK, DOES_NOT_FIT, run, predict_json


class Advise(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[1,3,224,224]", "--batch", "8", "--mode",
            "training", "--optimizer", "adam")

    def advise(self, *arguments):
        outcome = run("advise", *self.STEP, "--json", *arguments)
        (result,) = json.loads(outcome.stdout)["results"]
        return outcome.returncode, result

    def test_a_remedy_takes_what_predict_says_with_its_flag(self):
        status, result = self.advise("--max-memory", "10", "--try-trainable", "fc")
        self.assertEqual(status, DOES_NOT_FIT)
        self.assertIsNone(result["smallest"])
        found = {one["remedies"][0]: one for one in result["remedies"]}
        for name, flags in (("activation checkpointing", ("--recompute", "auto")),
                            ("foreach=False", ("--foreach", "off")),
                            ("fused=True", ("--fused", "on")),
                            ("expandable segments", ("--expandable-segments",)),
                            ("saved tensors on the host", ("--offload-activations",)),
                            ("optimizer states on the host",
                             ("--offload-optimizer", "states")),
                            ("optimizer in the backward pass",
                             ("--optimizer-in-backward",)),
                            ("train only fc", ("--trainable", "fc")),
                            ("pure bf16 (weights too)", ("--precision", "bf16"))):
            with self.subTest(name):
                (same,) = predict_json(*self.STEP, *flags)["results"]
                self.assertAlmostEqual(found[name]["memory_mib"],
                                       same["memory"]["total_mib"], delta=0.01)
                if flags[0] != "--precision":
                    self.assertEqual(same["setup"], [" ".join(flags)])
                self.assertAlmostEqual(found[name]["latency_ms"],
                                       same["latency"]["ms"], delta=0.001)

    def test_status_0_names_the_smallest_change(self):
        status, result = self.advise()
        self.assertEqual(status, OK)
        self.assertTrue(result["unchanged"]["fits"])
        self.assertIsNone(result["smallest"])
        limit = result["unchanged"]["needed_mib"] - 10
        status, result = self.advise("--max-memory", str(limit))
        self.assertEqual(status, OK)
        self.assertEqual(len(result["smallest"]["remedies"]), 1)
        self.assertLessEqual(result["smallest"]["needed_mib"], limit)

    def test_a_missing_file_is_an_error_of_the_document(self):
        outcome = run("advise", "missing.onnx", "--json")
        self.assertNotEqual(outcome.returncode, OK)
        (error,) = json.loads(outcome.stdout)["errors"]
        self.assertIn("missing.onnx", error["message"])


if __name__ == "__main__":
    unittest.main()
