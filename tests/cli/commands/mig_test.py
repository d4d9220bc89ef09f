#!/usr/bin/env python3
"""Tests of `mig`."""

import json
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, USAGE, run, predict_json


class Mig(unittest.TestCase):
    def counts(self, *flags):
        text = run("mig", "layouts", "--count", "--json", *flags).stdout
        return json.loads(text)

    def test_layout_counts_are_the_known_ones(self):
        without = self.counts("--without-double-memory")
        self.assertEqual(without["layouts"], 297)
        self.assertEqual(without["maximal_layouts"], 19)
        self.assertEqual(self.counts()["layouts"], 722)
        self.assertEqual(self.counts()["maximal_layouts"], 78)
        a30 = self.counts("--device", "a30")
        self.assertEqual((a30["layouts"], a30["maximal_layouts"]), (25, 5))

    def test_layouts_are_json_only_where_they_are_counted(self):
        outcome = run("mig", "layouts", "--json")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--count", outcome.stderr)

    def test_packs_jobs_and_files(self):
        outcome = run("mig", "pack", "--job", "a=9000", "--job", "b=3000",
                      "--format", "kubernetes")
        self.assertEqual(outcome.returncode, OK)
        self.assertIn("nvidia.com/mig-", outcome.stdout)
        outcome = run("mig", "pack", ONNX, "--batch", "1", "--format",
                      "mig-parted")
        self.assertIn("mig-configs", outcome.stdout)

    def test_packs_what_predict_learned(self):
        arguments = (ONNX, "--batch", "64", "--mode", "training", "--method",
                     "learned")
        (result,) = predict_json(*arguments)["results"]
        packed = json.loads(run("mig", "pack", *arguments, "--format",
                                "json").stdout)
        self.assertEqual([instance["profile"]
                          for instance in packed["instances"]],
                         [result["mig"]["profile"]])

    def test_layouts_come_with_a_count_and_can_be_chosen(self):
        first, *lines = run("mig", "layouts").stdout.splitlines()
        self.assertIn("78 maximal layouts of a100-sxm4-40gb", first)
        self.assertEqual(len(lines), 78)
        first, *lines = run("mig", "layouts", "--with",
                            "3g.20gb,mig-3g.20gb").stdout.splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(line.count("3g.20gb"), 2)
        self.assertTrue(first.startswith(f"{len(lines)} maximal layout"))

    def test_packs_as_fits_judges(self):
        step = ("zoo:resnet50", "--batch", "32", "--mode", "training",
                "--optimizer", "adamw")
        (instance,) = json.loads(run("mig", "pack", *step, "--format",
                                     "json").stdout)["instances"]
        (result,) = predict_json(*step)["results"]
        self.assertEqual(instance["profile"], result["mig"]["profile"])
        self.assertEqual(run("fits", *step, "--profile",
                             instance["profile"]).returncode, OK)
        table = run("mig", "pack", *step).stdout
        for column in ("MiB at most", "margin MiB"):
            self.assertIn(column, table)

    def test_jobs_have_units(self):
        outcome = run("mig", "pack", "--job", "a=9GB", "--format", "json")
        (instance,) = json.loads(outcome.stdout)["instances"]
        self.assertAlmostEqual(instance["needed_mib"], 9e9 / 2**20, places=6)

    def test_what_fits_is_placed_with_a_lower_bound(self):
        outcome = run("mig", "pack", "--job", "large=40000", "--job", "a=4000",
                      "--job", "b=4000")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)
        self.assertIn("no place for large", outcome.stdout)
        self.assertIn("lower bound on the number of devices: 2", outcome.stdout)

    def test_nothing_to_pack_is_a_usage_error(self):
        outcome = run("mig", "pack")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("mig pack needs a model, or --job NAME=SIZE", outcome.stderr)
        self.assertEqual(outcome.stdout, "")

    def test_too_much_is_told_by_the_exit_status(self):
        outcome = run("mig", "pack", "--job", "a=39000", "--job", "b=3000")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)


if __name__ == "__main__":
    unittest.main()
