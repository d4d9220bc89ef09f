#!/usr/bin/env python3
"""Tests of scripts/published/score_left_out_devices.py."""

import csv
import json
import math
import os
import subprocess
import sys
import unittest

from training_calls import BINARY, SOURCE, OK, SMALL, TrainingTest


class ScoreLeftOutDevices(TrainingTest):
    """scripts/published/score_left_out_devices.py, on what cross-validate writes."""

    def score(self, folder):
        result = subprocess.run(
            [sys.executable, SOURCE / "scripts" / "published" /
             "score_left_out_devices.py", folder],
            capture_output=True, text=True, timeout=300,
            env=dict(os.environ, FORETELL=BINARY))
        self.assertEqual(result.returncode, OK, result.stderr)
        lines = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in result.stdout.splitlines()]
        return lines[0], lines[2:]

    def test_reads_the_predictions_of_a_cross_validation(self):
        self.ok("cross-validate", "--dataset", self.dataset, "--folds",
                "random", "--k", "3", "--epochs", "1", "--out",
                self.folder / "v", "--targets", "latency", *SMALL)
        _, (device, everything) = self.score(self.folder / "v")
        self.assertEqual(device[0], "a100-sxm4-40gb")
        self.assertEqual([device[2], everything[2]], ["24", "24"])
        self.assertEqual(device[3], everything[3])

    def write_predictions(self, label_of):
        """101 networks of rate exp(x), x from -2 to 2, all predicted as 1."""
        with (self.folder / "predictions.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("model", "label", "prediction", "macs", "device",
                             "environment"))
            for i in range(101):
                x = (i - 50) / 25
                for device, label in label_of.items():
                    writer.writerow(
                        [f"net{i}", label(i, x), 1, round(1e9 * math.exp(x)),
                         device, json.dumps({"format": device})])

    def test_two_factors_undo_an_error_that_grows_with_the_rate(self):
        self.write_predictions(
            {"bent": lambda i, x: math.exp(-0.1 - 0.1 * x),
             "scaled": lambda i, x: 0.8})
        header, (bent, scaled, _) = self.score(self.folder)
        self.assertEqual(bent[1], "bent")
        median = {(row[0], name): float(cell.split("/")[0])
                  for row in (bent, scaled)
                  for name, cell in zip(header[3:], row[3:])}
        # y = 0.1 + 0.1 x: around its median, half of |x| is above 1.
        self.assertAlmostEqual(median["bent", "one factor of all"], 10, delta=1)
        self.assertLess(median["bent", "two factors of five"], 2)
        self.assertEqual(median["scaled", "median / mean"], 25)
        self.assertEqual(median["scaled", "one factor of five"], 0)
        # The ridge takes a twentieth of log(1.25).
        self.assertAlmostEqual(median["scaled", "two factors of five"], 1.2,
                               delta=0.15)

    def test_known_networks_are_those_predicted_well_elsewhere(self):
        # Two in five are wrong by up to 40 % either way, as on the other device.
        def label(i, _):
            return 0.9 * math.exp(0.35 * (i % 5 == 1) - 0.35 * (i % 5 == 3))

        self.write_predictions({"first": label, "second": label})
        header, rows = self.score(self.folder)
        for row in rows[:2]:
            mean = {name: float(cell.split("/")[1])
                    for name, cell in zip(header[3:], row[3:])}
            # Of 101 labels 40 stay wrong: 0.2 * (41.9 % + 29.5 %), and the
            # twentieth of log(1 / 0.9) that the ridge takes.
            self.assertAlmostEqual(mean["one of five known"], 14.8, delta=0.5)
            self.assertGreater(mean["one factor of five"], 16)
            self.assertLess(mean["two of five known"],
                            mean["two factors of five"])


if __name__ == "__main__":
    unittest.main()
