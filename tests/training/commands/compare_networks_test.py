#!/usr/bin/env python3
"""Tests of `compare-networks`."""

import json
import unittest

from training_calls import SMALL, TrainingTest


class Compare(TrainingTest):
    def arguments(self, *more):
        return ("compare-networks", "--dataset", self.dataset, "--split", "mine",
                "--networks", "gcn,pmgns", "--seeds", "0,1", "--epochs", "2",
                "--out", self.folder / "c", *SMALL, *more)

    def test_repeats_nothing(self):
        text = self.ok(*self.arguments())
        self.assertIn("17 simulated", text)
        self.assertIn("±", text)
        cells = sorted((self.folder / "c" / "cells").iterdir())
        self.assertEqual(len(cells), 4)
        times = [cell.stat().st_mtime_ns for cell in cells]
        cells[0].unlink()
        self.assertEqual(self.ok(*self.arguments()), text)
        self.assertEqual([cell.stat().st_mtime_ns for cell in cells[1:]],
                         times[1:])

    def test_prints_json_and_markdown(self):
        result = json.loads(self.ok(*self.arguments("--json")))
        self.assertEqual([one["network"] for one in result["networks"]],
                         ["gcn", "pmgns"])
        self.assertGreater(
            result["networks"][0]["test"]["pooled"]["deviation"], 0)
        self.assertIn("| gcn |", self.ok(*self.arguments("--markdown")))


if __name__ == "__main__":
    unittest.main()
