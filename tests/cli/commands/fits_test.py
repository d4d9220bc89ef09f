#!/usr/bin/env python3
"""Tests of `fits`."""

import json
import re
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, USAGE, run, predict_json


class Fits(unittest.TestCase):
    def test_exit_status_is_the_answer(self):
        fits = lambda *flags: run("fits", ONNX, "-b", "8", *flags).returncode
        self.assertEqual(fits("--profile", "1g.5gb"), OK)
        self.assertEqual(fits("--max-memory", "100"), DOES_NOT_FIT)
        self.assertEqual(fits("--max-latency", "0.0001"), DOES_NOT_FIT)
        self.assertEqual(fits("--max-energy", "1e-6"), DOES_NOT_FIT)
        self.assertEqual(fits("--max-memory", "40000", "--max-latency", "1e6",
                              "--max-energy", "1e6"), OK)
        self.assertEqual(fits("--profile", "9g.9gb"), USAGE)

    def test_memory_has_units_and_profiles_the_names_of_clusters(self):
        fits = lambda *flags: run("fits", ONNX, "-b", "8", *flags)
        self.assertEqual(fits("--max-memory", "10GB").returncode, OK)
        self.assertEqual(fits("--max-memory", "100MiB").returncode, DOES_NOT_FIT)
        outcome = fits("--max-memory", "10XB")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("10GB", outcome.stderr)
        for name in ("mig-1g.5gb", "nvidia.com/mig-1g.5gb", "MIG-1G.5GB"):
            self.assertEqual(fits("--profile", name).returncode, OK)
        outcome = fits("--device", "rtx-3090", "--profile", "1g.5gb")
        self.assertIn("rtx-3090 has no MIG", outcome.stderr)

    def test_time_and_energy_have_units(self):
        fits = lambda *flags: run("fits", ONNX, "-b", "8", *flags)
        for flag, enough, short, wrong in (
                ("--max-latency", "1.5s", "0.1us", "5 MB"),
                ("--max-energy", "1Wh", "1e-3 mJ", "5MJ")):
            self.assertEqual(fits(flag, enough).returncode, OK)
            self.assertEqual(fits(flag, short).returncode, DOES_NOT_FIT)
            outcome = fits(flag, wrong)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn(f"'{wrong}': expected a number above 0", outcome.stderr)

    def test_a_card_given_by_its_memory_is_the_only_limit(self):
        outcome = run("fits", ONNX, "-b", "8", "--max-memory", "10GB")
        (line,) = [one for one in outcome.stdout.splitlines() if "MiB" in one]
        self.assertIn("<= 9537 MiB", line)

    def test_warnings_are_on_stderr(self):
        outcome = run("fits", ONNX, "-b", "8", "--mode", "training")
        (result,) = json.loads(run("fits", ONNX, "-b", "8", "--mode", "training",
                                   "--json").stdout)["results"]
        self.assertTrue(result["warnings"])
        for warning in result["warnings"]:
            self.assertIn(f"warning: {ONNX}: {warning}", outcome.stderr)

    def test_the_profile_is_that_which_predict_and_pack_choose(self):
        step = ("zoo:resnet50", "--batch", "32", "--mode", "training",
                "--optimizer", "adamw")
        self.assertEqual(run("fits", *step, "--profile", "1g.5gb").returncode,
                         OK if predict_json(*step)["results"][0]["mig"]["profile"]
                         == "1g.5gb" else DOES_NOT_FIT)

    def test_tells_a_tight_fit_from_none(self):
        step = ("zoo:vgg11", "--batch", "32", "--mode", "training")
        (result,) = predict_json(*step)["results"]
        memory = result["memory"]
        high = memory["interval_mib"][1]
        cache = memory["total_mib"] - memory["least_mib"]
        self.assertGreater(cache, 100)

        def judged(max_memory, *flags):
            outcome = run("fits", *step, "--max-memory", str(max_memory),
                          "--json", *flags)
            (one,) = json.loads(outcome.stdout)["results"]
            return one["fit"], outcome.returncode

        tight = "fits when PyTorch empties its cache"
        self.assertEqual(judged(high + 1), ("fits", OK))
        self.assertEqual(judged(high - cache / 2), (tight, DOES_NOT_FIT))
        self.assertEqual(judged(high - cache / 2, "--tight"), (tight, OK))
        self.assertEqual(judged(high - cache - 1, "--tight"),
                         ("does not fit", DOES_NOT_FIT))
        outcome = run("fits", *step, "--max-memory", str(high - cache / 2))
        self.assertIn(tight, outcome.stdout)
        self.assertIn("as torch.cuda.empty_cache() does", outcome.stderr)

    def test_judges_the_figures_that_predict_gives(self):
        for flags in ((), ("--autocast",),
                      ("--autocast", "--method", "analytic"),
                      ("--autocast", "--channels-last", "--torch", "2.4"),
                      ("--host", "cpp"),
                      ("--mode", "training", "--method", "learned")):
            with self.subTest(flags=flags):
                arguments = (ONNX, "--batch", "256", "--device", "rtx-4090",
                             *flags)
                (result,) = predict_json(*arguments)["results"]
                judged = run("fits", *arguments, "--max-latency", "1e6",
                             "--max-energy", "1e6").stdout
                for pattern, figure in (
                        (r"memory at most ([\d.]+) MiB",
                         result["memory"]["interval_mib"][1]),
                        (r"latency ([\d.]+) ms", result["latency"]["ms"]),
                        (r"energy ([\d.]+) J", result["energy"]["j"])):
                    found = float(re.search(pattern, judged)[1])
                    # Three digits are printed.
                    self.assertAlmostEqual(found / figure, 1, delta=5e-3)


if __name__ == "__main__":
    unittest.main()
