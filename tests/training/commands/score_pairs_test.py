#!/usr/bin/env python3
"""Tests of scripts/published/score_pairs.py."""

import csv
import pathlib
import subprocess
import sys
import tempfile
import unittest

from training_calls import SOURCE


class ScorePairs(unittest.TestCase):
    """scripts/published/score_pairs.py, on predictions made up here."""

    def write(self, folder, predictions):
        folder.mkdir(parents=True)
        with (folder / "predictions.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("model", "family", "batch", "device",
                             "environment", "label", "prediction"))
            for i, prediction in enumerate(predictions):
                writer.writerow([f"net{i}", f"family{i % 2}", 1, "gpu", "{}",
                                 100, prediction])

    def score(self, *seeds):
        return subprocess.run(
            [sys.executable, SOURCE / "scripts" / "published" /
             "score_pairs.py", "--first", "a", "--second", "b", *seeds],
            capture_output=True, text=True, timeout=60)

    def test_compares_row_by_row(self):
        with tempfile.TemporaryDirectory() as name:
            seed = pathlib.Path(name) / "seed0"
            self.write(seed / "a", (110, 90, 120, 100))
            self.write(seed / "b", (104, 94, 119, 98))
            result = self.score(seed)
            self.assertEqual(result.returncode, 0, result.stderr)
            _, _, line, over_all = result.stdout.splitlines()
            # Differences -6, -4, -1, +2: family0 -3.5, family1 -1 on average.
            self.assertEqual(
                line, "| seed0 | 10.00 / 10.00 | 5.00 / 7.75 | "
                "-2.25 (-3.50 to -1.00) | 75 % |")
            self.assertEqual(
                over_all, "| all | | | -2.25 (-3.50 to -1.00) | 75 % |")

    def test_refuses_other_labels(self):
        with tempfile.TemporaryDirectory() as name:
            seed = pathlib.Path(name) / "seed0"
            self.write(seed / "a", (110, 90))
            self.write(seed / "b", (110, 90, 100))
            result = self.score(seed)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("not judged on the same labels", result.stderr)


if __name__ == "__main__":
    unittest.main()
