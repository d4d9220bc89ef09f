#!/usr/bin/env python3
"""Tests of `adapt`, and of `predict --adaptation`."""

import csv
import io
import json
import pathlib
import tempfile
import unittest

from calls import ONNX, OK, DOES_NOT_FIT, USAGE, run, predict_json


class Adapt(unittest.TestCase):
    MODELS = (ONNX, "zoo:vgg11", "zoo:mobilenet_v2")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.rows = self.folder / "rows.csv"
        self.out = self.folder / "mine.json"

    def write_rows(self, factor_of, more_mib=0):
        """Rows that are what is predicted times a factor; returns those."""
        outcome = run("predict", "--csv", "--batch", "8,64", *self.MODELS)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        lines = ["model,batch,latency_ms,memory_mib,precision"]
        for i, row in enumerate(rows):
            lines.append(",".join([
                row["model"], row["batch"],
                str(float(row["latency_ms"]) * factor_of(i)),
                str(float(row["memory_mib"]) + more_mib), "fp32"]))
        self.rows.write_text("\n".join(lines) + "\n")
        return rows

    def adapt(self, *arguments):
        return run("adapt", str(self.rows), "--out", str(self.out), *arguments)

    def adapted(self, command, *arguments):
        return run(command, *arguments, "--adaptation", str(self.out))

    def test_every_command_that_predicts_takes_what_it_found(self):
        self.write_rows(lambda i: 1.25, more_mib=300)
        outcome = self.adapt()
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("6 rows of 3 networks on a100-sxm4-40gb", outcome.stdout)
        self.assertRegex(outcome.stdout, r"memory +\+[23]\d\d MiB +6 ")
        arguments = ("zoo:resnet50", "--batch", "32")
        (plain,) = predict_json(*arguments)["results"]
        (adapted,) = json.loads(self.adapted("predict", *arguments, "--json")
                                .stdout)["results"]
        self.assertAlmostEqual(
            adapted["latency"]["ms"] / plain["latency"]["ms"], 1.25, delta=0.05)
        self.assertAlmostEqual(
            adapted["memory"]["total_mib"] - plain["memory"]["total_mib"], 300,
            delta=20)
        self.assertEqual(
            adapted["latency"]["source"]["method"],
            "analytic, uncalibrated, adapted by 6 rows of a100-sxm4-40gb")
        between = (plain["latency"]["ms"] + adapted["latency"]["ms"]) / 2
        limit = ("--max-latency", str(between))
        self.assertEqual(run("fits", *arguments, *limit).returncode, OK)
        self.assertEqual(self.adapted("fits", *arguments, *limit).returncode,
                         DOES_NOT_FIT)
        self.assertGreater(
            int(run("max-batch", "zoo:resnet50", *limit).stdout),
            int(self.adapted("max-batch", "zoo:resnet50", *limit).stdout))
        pack = ("pack", *arguments, "--format", "json")
        (before,), (after,) = (
            json.loads(outcome.stdout)["instances"]
            for outcome in (run("mig", *pack), self.adapted("mig", *pack)))
        self.assertAlmostEqual(after["latency_ms"] / before["latency_ms"], 1.25,
                               delta=0.05)

    def test_refuses_what_makes_rows_worse(self):
        self.write_rows(lambda i: (1.3, 1.3, 0.8, 0.8, 1.0, 1.0)[i])
        outcome = self.adapt("--figure", "latency")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT, outcome.stdout)
        self.assertRegex(outcome.stderr,
                         r"held-out rows got worse: latency [\d.]+ % "
                         r"before, [\d.]+ % after; nothing is written")
        self.assertFalse(self.out.exists())
        self.assertEqual(self.adapt("--figure", "latency", "--force").returncode,
                         OK)
        self.assertTrue(self.out.exists())

    def test_names_the_device_and_the_run_that_it_was_made_for(self):
        self.write_rows(lambda i: 1.25)
        self.assertEqual(self.adapt("--figure", "latency").returncode, OK)
        for flags, words in (
                (("--device", "rtx-4090"),
                 "device a100-sxm4-40gb; asked for is rtx-4090"),
                (("--precision", "fp16"),
                 'precision "fp32"; asked for is "fp16"'),
                (("--mode", "training"), 'mode "inference"')):
            outcome = self.adapted("predict", ONNX, "--batch", "1", *flags)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn(f"{self.out}: was measured with", outcome.stderr)
            self.assertIn(words, outcome.stderr)

    def test_starts_from_a_host_and_keeps_to_it(self):
        self.write_rows(lambda i: 1.25)
        slow = self.folder / "slow.json"
        slow.write_text(json.dumps({"name": "slow", "factor": 2, "spread": 1.1}))
        host = ("--host", str(slow))
        self.assertEqual(
            self.adapt("--figure", "latency", "--force", *host).returncode, OK)
        found = json.loads(self.out.read_text())["host"]
        self.assertEqual((found["name"], found["spread"]), ("slow", 1.1))
        self.assertAlmostEqual(found["factor"], 2, delta=0.3)
        arguments = ("predict", ONNX, "--batch", "1", "--json")
        for flags in ((), host):
            (result,) = json.loads(self.adapted(*arguments, *flags).stdout)["results"]
            self.assertEqual(result["latency"]["host_name"], "slow")
            self.assertAlmostEqual(result["latency"]["host_factor"],
                                   found["factor"], delta=1e-5)
        slow.write_text(json.dumps({"name": "other", "factor": 2, "spread": 1}))
        outcome = self.adapted(*arguments, *host)
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("host slow; asked for is other", outcome.stderr)

    def test_a_bad_table_is_one_line(self):
        for text, words in (
                ("model,batch\na,1\n", "no column 'latency_ms'"),
                ("model,batch,latency_ms\na,1,x\n",
                 "line 2: latency_ms is 'x', expected a number above 0"),
                ("model,batch,latency_ms\na,1,2\n",
                 "1 different rows from line 2 on, expected at least 5")):
            self.rows.write_text(text)
            outcome = self.adapt()
            self.assertNotEqual(outcome.returncode, OK)
            self.assertIn(f"{self.rows}: {words}", outcome.stderr)
            self.assertEqual(len(outcome.stderr.splitlines()), 1)
        self.assertFalse(self.out.exists())

    def test_a_figure_that_too_few_rows_have_is_refused(self):
        self.write_rows(lambda i: 1.25)
        outcome = self.adapt("--figure", "energy")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn(f"{self.rows}: 0 rows with energy_j, expected at least 5",
                      outcome.stderr)

    def test_a_model_that_is_missing_names_its_line(self):
        self.rows.write_text("model,batch,latency_ms\n" + "".join(
            f"gone.onnx,{i},{i}\n" for i in range(1, 6)))
        outcome = self.adapt()
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("line 2: gone.onnx", outcome.stderr)

    def test_takes_what_measure_prints(self):
        for form, name in (("--csv", "rows.csv"), ("--json", "rows.json")):
            rows = run("measure", ONNX, "zoo:mlp_small", "--device", "cpu",
                       "--batch", "1,2,3", "--min-runs", "1", "--min-seconds",
                       "0", "--warmup", "0", form)
            self.assertEqual(rows.returncode, OK, rows.stderr)
            self.rows = self.folder / name
            self.rows.write_text(rows.stdout)
            # A CPU is no A100, which is told; the fit is of no use.
            outcome = self.adapt("--host", "cpp", "--force")
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            self.assertIn("which is no device of the catalogue", outcome.stderr)
            self.assertIn("6 rows of 2 networks", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
