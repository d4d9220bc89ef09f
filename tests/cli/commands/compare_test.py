#!/usr/bin/env python3
"""Tests of `compare`."""

import json
import pathlib
import tempfile
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, run, predict_json


class Compare(unittest.TestCase):
    def test_the_cheapest_device_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            prices = pathlib.Path(folder, "prices.csv")
            prices.write_text("device,usd_per_hour\na100,1000\na30,1\n")
            outcome = run("compare", ONNX, "--batch", "8", "--json", "--devices",
                          "a100,a30,a40", "--prices", str(prices))
        self.assertEqual(outcome.returncode, OK)
        (result,) = json.loads(outcome.stdout)["results"]
        self.assertEqual([one["device"] for one in result["devices"]],
                         ["a30", "a100-sxm4-40gb", "a40"])
        first = result["devices"][0]
        self.assertAlmostEqual(first["usd_per_thousand_batches"],
                               first["latency_ms"] / 3600, places=8)
        (same,) = predict_json(ONNX, "--batch", "8", "--device", "a30")["results"]
        self.assertEqual(first["latency_ms"], same["latency"]["ms"])

    def test_all_devices_are_those_of_the_catalogue(self):
        outcome = run("compare", ONNX, "--batch", "1", "--json")
        (result,) = json.loads(outcome.stdout)["results"]
        self.assertGreaterEqual(len(result["devices"]), 19)
        latencies = [one["latency_ms"] for one in result["devices"]]
        self.assertEqual(latencies, sorted(latencies))

    def test_status_1_where_no_device_holds_it(self):
        outcome = run("compare", ONNX, "--batch", "100000", "--devices", "a30,a40")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)


if __name__ == "__main__":
    unittest.main()
