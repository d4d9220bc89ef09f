#!/usr/bin/env python3
"""Tests of `max-batch`."""

import json
import unittest

from calls import ONNX, BOUNDED, OK, DOES_NOT_FIT, run, predict_json


class MaxBatch(unittest.TestCase):
    def expect_the_line(self, model, *flags):
        best = int(run("max-batch", model, *flags).stdout)
        self.assertGreater(best, 1)
        for batch, expected in ((best, OK), (best + 1, DOES_NOT_FIT)):
            outcome = run("fits", model, "-b", str(batch), *flags)
            self.assertEqual(outcome.returncode, expected, outcome.stdout)

    def test_the_answer_fits_and_the_next_batch_does_not(self):
        for flags in ((), ("--profile", "1g.5gb"), ("--profile", "1G.5GB"),
                      ("--device", "rtx-3090"),
                      ("--max-latency", "20"),
                      ("--max-energy", "2", "--strict")):
            with self.subTest(flags=flags):
                self.expect_the_line(ONNX, *flags)

    def test_training_is_judged_as_fits_judges_it(self):
        for model in ("mobilenet_v2", "resnet50", "bert_base"):
            with self.subTest(model=model):
                self.expect_the_line("zoo:" + model, "--mode", "training")

    def test_takes_the_memory_that_predict_learned(self):
        arguments = ("--mode", "training", "--profile", "3g.20gb")
        analytic = int(run("max-batch", ONNX, *arguments).stdout)
        learned = int(run("max-batch", ONNX, *arguments, "--method",
                          "learned").stdout)
        self.assertNotEqual(analytic, learned)
        (result,) = predict_json(ONNX, "--batch", str(learned), "--mode",
                                 "training", "--method", "learned")["results"]
        profile = next(one for one in result["mig"]["profiles"]
                       if one["profile"] == "3g.20gb")
        self.assertTrue(profile["fits"])
        self.assertGreaterEqual(profile["margin_mib"], 0)

    def test_says_what_likely_fits_too(self):
        outcome = run("max-batch", ONNX, "--profile", "1g.5gb")
        sure = int(outcome.stdout)
        likely = int(outcome.stderr.split("up to ")[1].split()[0])
        self.assertGreater(likely, sure)
        (result,) = predict_json(ONNX, "--batch", str(likely))["results"]
        one = result["mig"]["profiles"][0]
        self.assertLessEqual(one["total_mib"], one["usable_mib"])

    def test_limit_ends_the_search(self):
        self.assertEqual(run("max-batch", ONNX, "--limit", "3").stdout, "3\n")

    def test_the_largest_batch_is_one_that_the_file_allows(self):
        outcome = run("max-batch", BOUNDED)
        self.assertEqual(outcome.stdout, "64\n")
        self.assertIn("the model accepts no larger batch", outcome.stderr)
        self.assertEqual(run("max-batch", BOUNDED, "--limit", "5").stdout, "5\n")

    def test_json_says_the_same(self):
        flags = ("--profile", "1g.5gb")
        (result,) = json.loads(
            run("max-batch", ONNX, "--json", *flags).stdout)["results"]
        self.assertEqual(result, {
            "model": ONNX, "place": "a100-sxm4-40gb 1g.5gb",
            "batch": int(run("max-batch", ONNX, *flags).stdout),
            "likely_batch": result["likely_batch"],
            "is_limit": False, "warnings": []})
        self.assertGreaterEqual(result["likely_batch"], result["batch"])
        none = run("max-batch", ONNX, "--json", "--max-memory", "1")
        self.assertEqual(none.returncode, DOES_NOT_FIT)
        self.assertEqual(json.loads(none.stdout)["results"][0]["batch"], 0)

    def test_json_lists_what_fails(self):
        for command in (("max-batch", "--json"),
                        ("inspect", "--format", "json")):
            outcome = run(command[0], "missing.onnx", *command[1:])
            (error,) = json.loads(outcome.stdout)["errors"]
            self.assertEqual(error["code"], "not_found")
            self.assertIn(error["message"], outcome.stderr)


if __name__ == "__main__":
    unittest.main()
