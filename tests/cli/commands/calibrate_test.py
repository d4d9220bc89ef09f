#!/usr/bin/env python3
"""Tests of `calibrate`."""

import json
import pathlib
import tempfile
import unittest

from calls import (ONNX, OK, SCRIPT, DOES_NOT_FIT, USAGE, MODEL_FAILED, run,
                   predict_json)


class Calibrate(unittest.TestCase):
    MODEL = "zoo:mlp?hidden={hidden}"
    SWEEP = "batch=1|16|256,inputs=512|1024|2048,hidden=64|128|256"

    def calibrate(self, *arguments):
        return run("calibrate", *arguments, "--threads", "1", "--mode",
                   "training", "--json")

    def test_measures_the_runs_of_an_array_and_fits_what_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            stored = pathlib.Path(folder) / "gap.json"
            outcome = self.calibrate(self.MODEL, "--sweep", self.SWEEP,
                                     "--checks", "2", "--out", str(stored))
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            gap = json.loads(stored.read_text())
        document = json.loads(outcome.stdout)
        self.assertEqual(document["array"], "L9")
        self.assertEqual((len(document["rows"]), len(document["checks"])),
                         (9, 2))
        for factor in ("batch", "inputs", "hidden"):
            levels = sorted(row[factor] for row in document["rows"])
            self.assertEqual(levels[0:3] + levels[6:9],
                             3 * levels[:1] + 3 * levels[-1:])
        for row in document["rows"]:
            self.assertGreater(row["measured_mib"], 0.9 * row["estimated_mib"])
        self.assertEqual(gap["format"], "calibration")
        self.assertEqual([one["name"] for one in gap["factors"]],
                         ["batch", "inputs", "hidden"])
        self.assertEqual(gap["step"]["inputs"], [
            {"name": "features", "shape": [{"factor": "batch"},
                                    {"factor": "inputs"}]}])
        self.assertEqual(document["failed"], [])
        worse = document["fit"]["error_left_out"] > document["fit"]["error_before"]
        self.assertEqual("makes estimates worse" in outcome.stderr, worse)
        self.assertIsNone(document["random_fit"])
        self.assertGreaterEqual(document["fit"]["error_left_out"], 0)

    def test_runs_values_of_one_factor_once_each(self):
        outcome = self.calibrate("zoo:mlp", "--sweep", "batch=1..64")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["array"], "one factor")
        batches = [row["batch"] for row in document["rows"]]
        self.assertEqual(len(set(batches)), 9)
        self.assertEqual((batches[0], batches[-1]), (1, 64))
        outcome = self.calibrate("zoo:mlp", "--sweep", "batch=1|2")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("batch has 2 values, expected at least 3",
                      outcome.stderr)

    def test_runs_a_script_whose_input_is_given(self):
        outcome = self.calibrate(SCRIPT, "--input", "f32[1,3,64,64]",
                                 "--sweep", "resolution=32|48|64")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual([row["resolution"] for row in document["rows"]],
                         [32, 48, 64])
        self.assertEqual(document["failed"], [])

    def test_tries_the_file_before_the_runs(self):
        outcome = self.calibrate(self.MODEL, "--sweep", self.SWEEP, "--out",
                                 "/none/gap.json")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("/none/gap.json: cannot be created", outcome.stderr)
        (error,) = json.loads(outcome.stdout)["errors"]
        self.assertEqual((error["model"], error["code"]), (self.MODEL, "io"))
        self.assertIn(error["message"], outcome.stderr)

    def test_leaves_out_runs_that_fail(self):
        # Five poolings leave nothing of 16 pixels.
        model = "zoo:vgg11?width=4&hidden=16"
        outcome = self.calibrate(model, "--sweep",
                                 "batch=1|2|4,resolution=16|32|64")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual((len(document["rows"]), len(document["failed"])), (6, 3))
        self.assertEqual({one["resolution"] for one in document["failed"]}, {16})
        self.assertRegex(outcome.stderr, r"batch=\d,resolution=16: failed: .*; "
                                         r"run skipped")
        outcome = self.calibrate(model, "--sweep",
                                 "batch=1|2|4,resolution=8|12|16")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("0 of 9 runs could be measured, and a polynomial of 2 "
                      "factors needs 4", outcome.stderr)

    def test_predictions_take_the_gap_of_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            stored = pathlib.Path(folder) / "gap.json"
            model = "zoo:mlp?inputs=64"
            outcome = self.calibrate(model, "--sweep",
                                     "batch=1|16|256,hidden=64|128|256",
                                     "--out", str(stored))
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            step = (f"{model}&hidden=64", "--batch", "16", "--mode", "training")
            flags = ("--adaptation", str(stored))
            outcome = run("predict", *step, *flags)
            self.assertIn("was measured on the CPU", outcome.stderr)
            gap = json.loads(stored.read_text())
            gap["measured_on"] = "cuda:0"
            gap["gap_mib"] = [{"coefficient": 1000, "powers": [0, 0]},
                              {"coefficient": 5, "powers": [1, 0]}]
            stored.write_text(json.dumps(gap))
            plain, more = (predict_json(*step, *extra)["results"][0]
                           for extra in ((), flags))
            self.assertAlmostEqual(
                more["memory"]["total_mib"] - plain["memory"]["total_mib"],
                1080, delta=0.01)
            self.assertIn("calibrated by 9 runs", more["memory"]["source"]["method"])
            limit = ("--max-memory", "1500", "--mode", "training")
            self.assertEqual(run("fits", *step, "--max-memory", "1500").returncode,
                             OK)
            self.assertEqual(
                run("fits", *step, "--max-memory", "1500", *flags).returncode,
                DOES_NOT_FIT)
            batches = [int(run("max-batch", step[0], *limit, "--limit", "200",
                               *extra).stdout) for extra in ((), flags)]
            self.assertEqual(batches[0], 200)
            self.assertLess(batches[1], 16)
            other = predict_json(*step, *flags, "--foreach", "off")["results"][0]
            self.assertRegex(other["warnings"][-1],
                             r"memory: operators \d+, of \d+ lies outside of the "
                             r"runs of .*gap.json; calibrated by the nearest")
            gap["step"]["inputs"][0]["shape"][1] = {"size": 32}
            stored.write_text(json.dumps(gap))
            other = predict_json(*step, *flags)["results"][0]
            self.assertIn("memory: dimension 1 of input 'features' 64, of 32 lies "
                          "outside", other["warnings"][-1])
            outcome = run("predict", ONNX, "--batch", "2", "--mode", "training",
                          *flags)
            self.assertIn("was measured with the model zoo:mlp", outcome.stderr)

    def test_refuses_factors_that_no_array_has(self):
        outcome = self.calibrate(self.MODEL, "--sweep",
                                 "batch=1|2,hidden=1|2")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("no orthogonal array", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
