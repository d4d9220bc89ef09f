#!/usr/bin/env python3
"""Tests of `compare`."""

import json
import pathlib
import tempfile
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, USAGE, run, predict_json


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

    def test_prices_that_say_nothing_are_refused(self):
        for text, words in (
                ("gpu,price\na30,1\n", "no columns 'device', 'usd_per_hour'; "
                                        "there are: 'gpu', 'price'"),
                ("device,price\na30,1\n", "no column 'usd_per_hour'; there are:"),
                ("device,usd_per_hour\n", "has no price"),
                ("device,usd_per_hour\na31,1\n", "has no price of a known device"),
                ("device,usd_per_hour\na30,-1\n",
                 ":2: usd_per_hour is '-1', expected a number above 0"),
                ("device,usd_per_hour\na30,nan\n", ":2: usd_per_hour is 'nan'"),
                ("device,usd_per_hour\na30,cheap\n", ":2: usd_per_hour is 'cheap'")):
            with tempfile.TemporaryDirectory() as folder, self.subTest(text=text):
                prices = pathlib.Path(folder, "prices.csv")
                prices.write_text(text)
                outcome = run("compare", ONNX, "--batch", "8", "--devices", "a30",
                              "--prices", str(prices))
                self.assertNotEqual(outcome.returncode, OK)
                (line,) = outcome.stderr.splitlines()
                self.assertTrue(line.startswith(f"foretell: error: {prices}:"), line)
                self.assertIn(words, line)

    def test_unknown_devices_of_a_price_list_are_skipped(self):
        with tempfile.TemporaryDirectory() as folder:
            prices = pathlib.Path(folder, "prices.csv")
            prices.write_text("device,usd_per_hour\nabacus,9\na30,1\n")
            outcome = run("compare", ONNX, "--batch", "8", "--devices", "a30",
                          "--prices", str(prices))
        self.assertEqual(outcome.returncode, OK)
        self.assertIn(f"{prices}:2: abacus is no known device", outcome.stderr)
        self.assertIn("USD/h", outcome.stdout)

    def test_unknown_devices_are_named_and_the_others_compared(self):
        outcome = run("compare", ONNX, "--batch", "8", "--json", "--devices",
                      "abacus,a30,rtx-3091")
        self.assertEqual(outcome.returncode, OK)
        (result,) = json.loads(outcome.stdout)["results"]
        self.assertEqual([one["device"] for one in result["devices"]], ["a30"])
        first, second = result["untried"]
        self.assertIn("device 'abacus' is unknown", first)
        self.assertIn("device 'rtx-3091' is unknown; near: rtx-3090", second)

    def test_devices_of_which_none_is_known_are_an_error(self):
        outcome = run("compare", ONNX, "--batch", "8", "--devices", "abacus")
        self.assertEqual((outcome.returncode, outcome.stdout), (USAGE, ""))
        (line,) = outcome.stderr.splitlines()
        self.assertIn("device 'abacus' is unknown", line)

    def test_without_prices_there_is_no_column_of_them(self):
        outcome = run("compare", ONNX, "--batch", "8", "--devices", "a30")
        self.assertNotIn("USD", outcome.stdout)

    def test_an_environment_that_is_unknown_is_one_error(self):
        outcome = run("compare", ONNX, "--batch", "8", "--environment", "none")
        self.assertEqual((outcome.returncode, outcome.stdout), (USAGE, ""))
        (line,) = outcome.stderr.splitlines()
        self.assertIn("environment 'none' is unknown", line)

    def test_all_devices_are_those_of_the_catalogue(self):
        outcome = run("compare", ONNX, "--batch", "1", "--json")
        (result,) = json.loads(outcome.stdout)["results"]
        self.assertGreaterEqual(len(result["devices"]), 19)
        latencies = [one["latency_ms"] for one in result["devices"]]
        self.assertEqual(latencies, sorted(latencies))

    def test_runtimes_are_compared_with_eager(self):
        outcome = run("compare", ONNX, "--batch", "8", "--json", "--devices", "a30",
                      "--runtimes", "eager,tensorrt,tensorrt,int8")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        (result,) = json.loads(outcome.stdout)["results"]
        rows = result["runtimes"]
        self.assertEqual([one["runtime"] for one in rows],
                         ["eager", "tensorrt", "tensorrt,int8"])
        self.assertEqual(rows[0]["speed_up"], 1)
        self.assertGreater(rows[1]["speed_up"], 1)
        self.assertAlmostEqual(rows[2]["speed_up"],
                               rows[0]["latency_ms"] / rows[2]["latency_ms"], places=3)
        for row, runtime in zip(rows, ("eager", "tensorrt")):
            (same,) = predict_json(ONNX, "--batch", "8", "--device", "a30",
                                   "--runtime", runtime)["results"]
            self.assertEqual(row["latency_ms"], same["latency"]["ms"])

    def test_writes_a_page_of_runtimes(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.html")
            outcome = run("compare", ONNX, "--batch", "8", "--devices", "a30",
                          "--runtimes", "eager,tensorrt", "--html", str(page))
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            text = page.read_text()
        self.assertIn('data-view="devices"', text)
        self.assertTrue('"runtime":"tensorrt"' in text)

    def test_a_runtime_that_cannot_run_the_step_is_named(self):
        outcome = run("compare", ONNX, "--batch", "8", "--mode", "training",
                      "--runtimes", "eager,tensorrt", "--devices", "a30")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertRegex(outcome.stdout, "not possible: tensorrt: .*: --runtime "
                                         "tensorrt: an engine does not train")

    def test_status_1_where_no_device_holds_it(self):
        outcome = run("compare", ONNX, "--batch", "100000", "--devices", "a30,a40")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)


if __name__ == "__main__":
    unittest.main()
