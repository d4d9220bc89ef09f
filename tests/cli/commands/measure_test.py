#!/usr/bin/env python3
"""Tests of `measure`, on the CPU."""

import csv
import io
import json
import pathlib
import tempfile
import unittest

from calls import BOUNDED, ONNX, SCRIPT, OK, MODEL_FAILED, run, predict_json


class Measure(unittest.TestCase):
    """Real runs on the CPU, as few as possible."""
    QUICK = ("--device", "cpu", "--warmup", "1", "--min-runs", "2",
             "--min-seconds", "0")

    def rows(self, *arguments):
        outcome = run("measure", "--json", *self.QUICK, *arguments)
        return json.loads(outcome.stdout)["measurements"]

    def test_json_has_every_documented_part(self):
        (row,) = self.rows(ONNX, "--batch", "2", "--energy")
        self.assertEqual(row["status"], "ok", row["message"])
        for field in ("model format mode optimizer precision batch device "
                      "inputs seed status message measured_at latency memory "
                      "energy state environment notes warnings").split():
            self.assertIn(field, row)
        self.assertEqual(row["latency"]["runs"], 2)
        self.assertEqual(row["inputs"], [{"name": "image", "dtype": "f32",
                                          "shape": [2, 3, 224, 224]}])
        reasons = {note["what"] for note in row["notes"]}
        self.assertIn("peak_reserved_bytes", reasons)
        self.assertIsNone(row["memory"]["peak_reserved_bytes"])
        if row["energy"]["energy_j"] is None:
            self.assertIn("energy", reasons)

    def test_peak_is_that_of_the_trace(self):
        (row,) = self.rows(ONNX, "--batch", "4")
        # Weights, the image and, at the peak, the first convolution's result
        # [4,64,112,112] with that of its relu. 1 % for a CPU whose kernels
        # want copies of their own.
        expected = 4 * (11_684_712 + 4 * 3 * 224 * 224 + 2 * 4 * 64 * 112**2)
        self.assertAlmostEqual(
            row["memory"]["peak_allocated_bytes"] / expected, 1, delta=0.01)

    def test_grad_keeps_what_the_trace_says(self):
        (row,) = self.rows(ONNX, "--batch", "4", "--grad")
        self.assertIs(row["environment"]["grad_mode"], True)
        (traced,) = predict_json(ONNX, "--batch", "4", "--grad")["results"]
        # The CUDA workspaces of the prediction are not the CPU's, whose last
        # convolutions want a copy of their weights, 9 MiB.
        expected = (traced["memory"]["allocated_mib"]
                    - traced["memory"]["workspace_at_peak_mib"]) * 2**20
        ratio = row["memory"]["peak_allocated_bytes"] / expected
        self.assertGreater(ratio, 0.99)
        self.assertLess(ratio, 1 + 10 * 2**20 / expected)

    def test_rows_are_the_product_of_the_lists(self):
        outcome = run("measure", "--csv", *self.QUICK, ONNX, "--batch", "1,2",
                      "--precision", "fp32,bf16")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([(r["precision"], r["batch"]) for r in rows],
                         [("fp32", "1"), ("fp32", "2"),
                          ("bf16", "1"), ("bf16", "2")])
        self.assertEqual({r["status"] for r in rows}, {"ok"})
        self.assertEqual(outcome.returncode, OK)

    def in_runtime(self, *arguments):
        """The row of a run in Python's packages, which may be missing."""
        (row,) = self.rows("--trust", *arguments)
        if "FORETELL_PYTHON names" in row["message"]:
            self.skipTest(row["message"])
        self.assertEqual(row["status"], "ok", row["message"])
        return row

    def test_compile_runs_an_exported_program(self):
        row = self.in_runtime("--runtime", "compile", BOUNDED)
        self.assertEqual(row["latency"]["runs"], 2)
        self.assertGreater(row["memory"]["peak_rss_bytes"], 0)

    def test_onnxruntime_runs_an_onnx_file(self):
        row = self.in_runtime("--runtime", "onnxruntime", ONNX, "--batch", "2")
        self.assertEqual((row["latency"]["runs"], row["batch"]), (2, 2))
        row = self.in_runtime("--runtime", "onnxruntime,overrides", ONNX,
                              "--batch", "2")
        self.assertEqual(row["batch"], 2)

    def test_other_runtimes_say_what_they_cannot_run(self):
        for words, reason in (
                (("--runtime", "compile", BOUNDED), "allow it with --trust"),
                (("--runtime", "tensorrt", "--trust", ONNX), "cannot be measured"),
                (("--runtime", "compile", "--trust", ONNX), "runs .pt2 files"),
                (("--runtime", "onnxruntime", "--trust", BOUNDED), "runs .onnx files"),
                (("--runtime", "onnxruntime,level=transformers", "--trust", ONNX),
                 "measure that file"),
                (("--runtime", "compile", "--trust", "--energy", BOUNDED),
                 "latency and memory of inference")):
            outcome = run("measure", *self.QUICK, *words)
            with self.subTest(words=words):
                self.assertEqual(outcome.returncode, MODEL_FAILED)
                self.assertIn(reason, outcome.stderr)

    def test_autocast_runs_fp32_parameters_in_16_bits(self):
        (plain,), (mixed,) = (self.rows(ONNX, "--batch", "4", *flags)
                              for flags in ((), ("--autocast",
                                                 "--channels-last")))
        self.assertEqual(mixed["status"], "ok", mixed["message"])
        self.assertEqual(mixed["precision"], "fp32")
        self.assertEqual([row["environment"]["autocast"]
                          for row in (plain, mixed)], [False, True])
        self.assertEqual(mixed["environment"]["memory_format"],
                         "channels_last")
        # The two activations of the peak have half the size.
        self.assertLess(mixed["memory"]["peak_allocated_bytes"],
                        plain["memory"]["peak_allocated_bytes"])
        refused = run("measure", *self.QUICK, ONNX, "--batch", "4",
                      "--autocast", "--precision", "bf16")
        self.assertEqual(refused.returncode, MODEL_FAILED)
        self.assertIn("not in bf16", refused.stderr)

    def test_a_row_that_fails_does_not_take_others_along(self):
        outcome = run("measure", "--csv", *self.QUICK, "missing.onnx", ONNX,
                      "--batch", "1000000000,1")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([r["status"] for r in rows],
                         ["failed", "failed", "out_of_memory", "ok"])
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("missing.onnx", outcome.stderr)

    def test_a_row_that_takes_too_long_is_killed(self):
        outcome = run("measure", ONNX, "--device", "cpu", "--batch", "1",
                      "--min-seconds", "100000", "--deadline", "1", "--csv")
        (row,) = csv.DictReader(io.StringIO(outcome.stdout))
        self.assertEqual(row["status"], "deadline")
        self.assertEqual(outcome.returncode, MODEL_FAILED)

    def test_torchscript_runs_locked_on_the_cpu_and_trusted_on_a_gpu(self):
        (row,) = self.rows(SCRIPT, "--input", "x=f32[1,3,64,64]")
        self.assertEqual(row["status"], "ok", row["message"])
        refused = run("measure", SCRIPT, "--input", "x=f32[1,3,64,64]",
                      "--device", "cuda:0")
        self.assertEqual(refused.returncode, MODEL_FAILED)
        self.assertIn("--trust", refused.stderr)

    def test_environment_goes_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "environment.json"
            self.rows(ONNX, "--batch", "1,2", "--environment-out", str(path))
            (entry,) = json.loads(path.read_text())["environments"]
        self.assertEqual(entry["device"], "cpu")
        self.assertTrue(entry["environment"]["libtorch"].startswith("2."))


if __name__ == "__main__":
    unittest.main()
