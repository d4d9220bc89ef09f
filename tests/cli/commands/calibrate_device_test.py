#!/usr/bin/env python3
"""Tests of `calibrate-device`: no GPU is there, so that it is simulated, or its rows are
written by hand."""

import csv
import json
import pathlib
import tempfile
import unittest

from calls import DOES_NOT_FIT, OK, SOURCE, USAGE, run

CONSTANTS = {"reached_bandwidth_gb_s": 760, "launch_us": 4.2,
             "matmul_tflops": {"fp32": 52, "tf32": 61, "fp16": 130, "bf16": 118}}


class CalibrateDevice(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "fit.json"

    def calibrate(self, *arguments):
        return run("calibrate-device", "--gpu", "rtx-4090", "--out", self.out,
                   *arguments)

    def write_rows(self, rows, header=("model", "batch", "precision", "latency_ms")):
        path = self.folder / "rows.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        return path

    def test_gives_back_the_constants_of_a_simulated_device(self):
        device = json.loads((SOURCE / "data/devices/rtx-4090.json").read_text())
        device |= CONSTANTS | {"name": "changed", "aliases": [],
                               "display_name": "Changed"}
        changed = self.folder / "changed.json"
        changed.write_text(json.dumps(device))
        host = self.folder / "host.json"
        outcome = self.calibrate("--device-file", changed, "--simulate", "changed",
                                 "--host-out", host)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        found = json.loads(self.out.read_text())
        self.assertEqual(found["name"], "rtx-4090")
        for name in ("reached_bandwidth_gb_s", "launch_us"):
            self.assertAlmostEqual(found[name] / CONSTANTS[name], 1, delta=0.01)
        for precision, rate in CONSTANTS["matmul_tflops"].items():
            self.assertAlmostEqual(found["matmul_tflops"][precision] / rate, 1,
                                   delta=0.01)
        self.assertAlmostEqual(json.loads(host.read_text())["factor"], 1, delta=0.01)
        self.assertIn("calibrate-device", found["sources"][-1])
        predicted = run("predict", "zoo:resnet18", "--batch", "64", "--device",
                        "rtx-4090", "--device-file", self.out, "--host", host)
        self.assertEqual(predicted.returncode, OK, predicted.stderr)

    def test_ends_at_once_without_the_device(self):
        outcome = self.calibrate("--device", "cuda:63")
        self.assertNotEqual(outcome.returncode, OK)
        self.assertIn("cuda:63", outcome.stderr)
        self.assertNotIn("left out", outcome.stderr)

    def test_fits_a_table_of_measurements(self):
        path = self.write_rows(
            [("zoo:mlp", batch, "fp32", 1) for batch in (1, 2, 3, 4, 5, 6)])
        outcome = self.calibrate("--rows", path)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("6 rows on rtx-4090", outcome.stdout)
        self.assertIn("the 2 that were held out", outcome.stdout)

    def test_writes_nothing_where_held_out_rows_get_worse(self):
        times = ((1, 1), (2, 1), (3, 0.07), (4, 1), (5, 1), (6, 0.07))
        path = self.write_rows([("zoo:mlp", batch, "fp32", ms)
                                for batch, ms in times])
        outcome = self.calibrate("--rows", path)
        self.assertEqual(outcome.returncode, DOES_NOT_FIT, outcome.stdout)
        self.assertIn("nothing is written", outcome.stderr)
        self.assertFalse(self.out.exists())

    def test_names_the_line_of_a_bad_row(self):
        for row, complaint in (
                (("zoo:mlp", 0, "fp32", 1), "batch is '0'"),
                (("zoo:mlp", 1, "fp33", 1), "precision is 'fp33'"),
                (("zoo:mlp", 1, "fp32", -1), "latency_ms is '-1'")):
            outcome = self.calibrate("--rows", self.write_rows([row]))
            self.assertNotEqual(outcome.returncode, OK)
            self.assertIn(f"rows.csv: line 2: {complaint}", outcome.stderr)
        few = self.calibrate("--rows", self.write_rows([("zoo:mlp", 1, "fp32", 1)]))
        self.assertEqual(few.returncode, USAGE)
        self.assertIn("1 row to fit, expected at least 4", few.stderr)


if __name__ == "__main__":
    unittest.main()
