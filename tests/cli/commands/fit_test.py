#!/usr/bin/env python3
"""Tests of `fit`."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from calls import ONNX, OK, SCRIPT, USAGE, MODEL_FAILED, run, predict_json


class Fit(unittest.TestCase):
    SEARCH = ("--population", "100", "--generations", "15")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.table = self.folder / "rows.csv"
        rows = [(batch, edge, 100 + 0.001 * batch * edge ** 3)
                for batch in (1, 2, 4, 8) for edge in (16, 32, 48, 64, 80)]
        self.table.write_text("batch,edge,memory\n" + "".join(
            f"{batch},{edge},{memory}\n" for batch, edge, memory in rows))

    def fit(self, *arguments):
        return run("fit", str(self.table), *arguments)

    def evaluate(self, formula, **values):
        """A formula as Python runs it."""
        return eval(formula, {"__builtins__": {}}, values)

    def test_prints_a_formula_that_python_runs(self):
        outcome = self.fit("--target", "memory", "--json", *self.SEARCH,
                           "--method", "symbolic,polynomial,forest")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["method"], "symbolic")
        self.assertEqual((document["rows"], document["held_out_rows"]), (14, 6))
        (symbolic, polynomial, forest) = document["methods"]
        self.assertLess(symbolic["error"], 0.02)
        self.assertIsNone(forest["formula"])
        self.assertAlmostEqual(
            self.evaluate(document["formula"], batch=4, edge=64),
            100 + 0.001 * 4 * 64 ** 3, delta=60)
        self.assertIn("batch", polynomial["formula"])
        sizes = [one["size"] for one in document["front"]]
        self.assertEqual(sizes, sorted(sizes))
        self.assertIn(document["formula"],
                      [one["formula"] for one in document["front"]])

    def test_text_has_formula_errors_and_front(self):
        outcome = self.fit("--target", "memory", *self.SEARCH)
        self.assertRegex(outcome.stdout, r"(?m)^memory = .*batch")
        self.assertIn("batch from 1 to 8, edge from 16 to 80", outcome.stdout)
        self.assertRegex(outcome.stdout, r"symbolic +\d+\.\d\d %")
        self.assertIn("size  error of fit  expected  held out  formula", outcome.stdout)

    def test_stores_a_model_and_judges_it(self):
        stored = str(self.folder / "model.json")
        for method in ("polynomial", "extra-trees", "network"):
            outcome = self.fit("--target", "memory", "--method", method,
                               "--out", stored, "--json")
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            judged = json.loads(self.fit("--judge", stored, "--json").stdout)
            self.assertEqual(judged["rows"], 20)
            self.assertEqual(judged["method"], method)
            (fitted,) = json.loads(outcome.stdout)["methods"]
            self.assertLessEqual(fitted["error"] * 6 / 20,
                                 judged["error"] + 1e-9)

    def test_names_what_is_wrong_with_a_table(self):
        bad = (("batch,memory\n1,2\n", "has 1 row"),
               ("batch,memory\n1,2\n2,x\n", "rows.csv:3: memory is 'x'"),
               ("batch,memory\n1,2\n2,nan\n", "rows.csv:3: memory is 'nan'"),
               ("batch,latency\n1,2\n", "'memory'"),
               ("batch;memory\n1;2\n", "there are: 'batch;memory'"),
               ("batch,memory\n1,2\n2,1e40\n", "rows.csv:3: memory is '1e40'"),
               ("batch,memory\n1,2\n2,2\n3,2\n4,2\n", "in all 4 rows"))
        for text, complaint in bad:
            self.table.write_text(text)
            outcome = self.fit("--target", "memory")
            self.assertIn(outcome.returncode, (USAGE, MODEL_FAILED))
            self.assertEqual(len(outcome.stderr.splitlines()), 1)
            self.assertIn(complaint, outcome.stderr)

    def test_errors_are_json_too(self):
        self.table.write_text("batch,memory\n1,2\n2,x\n")
        table = str(self.table)
        for arguments, subject in (((table,), table),
                                   (("missing.csv",), "missing.csv"),
                                   ((ONNX, "--sweep", "depth=1..9"), ONNX),
                                   ((ONNX,), ONNX)):
            outcome = run("fit", *arguments, "--target", "memory", "--json")
            self.assertIn(outcome.returncode, (USAGE, MODEL_FAILED))
            (error,) = json.loads(outcome.stdout)["errors"]
            self.assertEqual(error["model"], subject)
            self.assertEqual(outcome.stderr,
                             f"foretell: error: {error['message']}\n")

    def test_refuses_a_column_twice_and_searches_without_end(self):
        for flags, complaint in (
                (("--columns", "edge,edge"), "'edge' is named twice"),
                (("--population", "2000000000"), "--population"),
                (("--generations", "2000000000"), "--generations")):
            outcome = self.fit("--target", "memory", *flags)
            self.assertEqual(outcome.returncode, USAGE, outcome.stdout)
            self.assertIn(complaint, outcome.stderr)

    def test_tries_the_file_before_the_search(self):
        outcome = self.fit("--target", "memory", "--out",
                           str(self.folder / "none" / "model.json"))
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertEqual(outcome.stdout, "")
        self.assertIn("model.json: cannot be created", outcome.stderr)
        self.assertEqual(list(self.folder.iterdir()), [self.table])

    def test_a_model_needs_a_sweep(self):
        for model in (ONNX, "zoo:resnet18"):
            outcome = run("fit", model, "--target", "memory")
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn("is a model", outcome.stderr)
            self.assertIn("--sweep", outcome.stderr)

    def paste(self, formula):
        """Runs a formula of a table's columns in all languages."""
        expected = self.evaluate(formula, batch_size=4, length_=64)
        for program, flag, code in (
                ("awk", None, "BEGIN {batch_size = 4; length_ = 64; "
                              f"printf \"%.6f\", {formula}}}"),
                ("node", "-e", "const batch_size = 4, length_ = 64; "
                               f"console.log({formula})")):
            if shutil.which(program) is None:
                continue
            answer = subprocess.run([program, *filter(None, [flag]), code],
                                    capture_output=True, text=True)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertAlmostEqual(float(answer.stdout), expected, delta=0.01)

    def test_pastes_into_python_awk_and_javascript(self):
        self.table.write_text(self.table.read_text().replace(
            "batch,edge", "batch size,length"))
        outcome = self.fit("--target", "memory", "--json", *self.SEARCH)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.paste(json.loads(outcome.stdout)["formula"])
        self.assertIn("batch_size ('batch size') from 1 to 8",
                      self.fit("--target", "memory", *self.SEARCH).stdout)

    def test_pastes_bends(self):
        rows = [(batch, edge, 100 + max(batch * edge, 5 * batch * edge - 600))
                for batch in range(1, 9) for edge in range(16, 81, 8)]
        self.table.write_text("batch size,length,memory\n" + "".join(
            f"{batch},{edge},{memory}\n" for batch, edge, memory in rows))
        outcome = self.fit("--target", "memory", "--method", "piecewise",
                           "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        formula = json.loads(outcome.stdout)["formula"]
        self.assertIn("(batch_size*length_ > ", formula)
        self.paste(formula)

    def test_sweeps_a_model_as_predict_would(self):
        outcome = run("fit", ONNX, "--target", "memory", "--sweep",
                      "batch=1..64", "--points", "16", "--checks", "8",
                      "--method", "polynomial,linear", "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["ranges"], {"batch": [1, 64]})
        self.assertEqual(
            (document["rows"], document["choosing_rows"],
             document["held_out_rows"]), (12, 4, 8))
        (result,) = predict_json(ONNX, "--batch", "48")["results"]
        predicted = result["memory"]["total_mib"]
        self.assertAlmostEqual(
            self.evaluate(document["formula"], batch=48), predicted,
            delta=0.06 * predicted)

    def test_sweeps_resolutions_and_fields_of_the_zoo(self):
        outcome = run("fit", "zoo:vgg11", "--target", "memory", "--sweep",
                      "resolution=64..256:32,classes=10|1000|2000,batch=1|2",
                      "--points", "16", "--checks", "2", "--method", "linear",
                      "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertEqual(json.loads(outcome.stdout)["ranges"],
                         {"resolution": [64, 256], "classes": [10, 2000],
                          "batch": [1, 2]})

    def test_sweeps_the_resolution_that_a_script_is_given(self):
        outcome = run("fit", SCRIPT, "--input", "f32[1,3,64,64]", "--target",
                      "memory", "--sweep", "batch=1..8,resolution=64..128:32",
                      "--points", "16", "--checks", "4", "--method", "linear",
                      "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertEqual(json.loads(outcome.stdout)["ranges"],
                         {"batch": [1, 8], "resolution": [64, 128]})

    def test_shares_out_the_points_of_a_small_sweep(self):
        outcome = run("fit", ONNX, "--target", "memory", "--sweep",
                      "batch=1..30", "--method", "linear", "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(
            (document["rows"], document["choosing_rows"],
             document["held_out_rows"]), (18, 6, 6))

    def test_bends_where_a_line_does_not_hold(self):
        outcome = run("fit", ONNX, "--target", "memory", "--mode",
                      "training", "--optimizer", "adam", "--sweep",
                      "batch=1..128,resolution=64..256:32", "--method",
                      "piecewise,linear", "--points", "60", "--checks", "16",
                      "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["method"], "piecewise")
        (piecewise, linear) = document["methods"]
        self.assertLess(piecewise["error"], 0.015)
        self.assertGreater(linear["error"], 0.1)
        self.assertGreater(piecewise["within_1_percent"],
                           linear["within_1_percent"])
        (result,) = predict_json(
            ONNX, "--mode", "training", "--optimizer", "adam", "--input",
            "f32[100,3,256,256]")["results"]
        predicted = result["memory"]["total_mib"]
        self.assertAlmostEqual(
            self.evaluate(document["formula"], batch=100, resolution=256),
            predicted, delta=0.03 * predicted)

    def test_refuses_flags_that_would_say_nothing(self):
        stored = str(self.folder / "model.json")
        self.fit("--target", "memory", "--method", "linear", "--out", stored)
        for flags, complaint in (
                (("--target", "memory", "--points", "20"), "--points"),
                (("--target", "memory", "--checks", "20"), "--checks"),
                (("--judge", stored, "--target", "latency"),
                 "target is 'memory', but --target is 'latency'")):
            outcome = self.fit(*flags)
            self.assertEqual(outcome.returncode, USAGE, outcome.stdout)
            self.assertIn(complaint, outcome.stderr)
        for flags in (("--columns", "batch"), ("--held-out", "0.2"),
                      ("--judge", stored)):
            outcome = run("fit", ONNX, "--sweep", "batch=1..64", *flags)
            self.assertEqual(outcome.returncode, USAGE, outcome.stdout)
            self.assertIn(flags[0], outcome.stderr)

    def test_says_why_a_formula_is_coarse(self):
        for target, why in (("memory", "memory grows in steps"),
                            ("latency", "kernels change with size")):
            outcome = run("fit", ONNX, "--target", target, "--sweep",
                          "batch=1..64,resolution=64..256:32", "--points",
                          "16", "--checks", "8", "--method", "linear")
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            self.assertIn(f"more than 1 %: {why}", outcome.stderr)

    def test_asks_for_the_shape_that_a_trace_lacks(self):
        outcome = run("fit", SCRIPT, "--target", "memory", "--sweep",
                      "batch=1..8,resolution=64..128:32")
        self.assertEqual(outcome.returncode, MODEL_FAILED, outcome.stderr)
        self.assertIn("has no shape; state it with --input", outcome.stderr)

    def test_refuses_sweeps_that_a_model_does_not_have(self):
        for sweep, complaint in (
                ("depth=1..4", "no such dimension; there are: batch"),
                ("batch=1..4", "has 4 points"),
                ("batch=4..1", "fewer than two values")):
            outcome = run("fit", ONNX, "--target", "memory", "--sweep", sweep)
            self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
            self.assertIn(complaint, outcome.stderr)


if __name__ == "__main__":
    unittest.main()
