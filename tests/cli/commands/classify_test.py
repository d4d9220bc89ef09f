#!/usr/bin/env python3
"""Tests of `classify` and `memory-classes`."""

import json
import pathlib
import tempfile
import unittest

from calls import ONNX, SCRIPT, OK, USAGE, MODEL_FAILED, run


class Classify(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[8,3,64,64]")

    def results(self, *arguments):
        outcome = run(*arguments, "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        return json.loads(outcome.stdout)["results"]

    def classify(self, *arguments):
        (result,) = self.results("classify", *arguments)
        return result

    def test_rounds_the_memory_that_predict_says(self):
        for flags in ((), ("--optimizer", "sgd"),
                      ("--device", "rtx-4090", "--autocast")):
            step = (*self.STEP, *flags)
            (predicted,) = self.results("predict", *step, "--mode", "training")
            found = self.classify(*step, "--width", "100")
            self.assertEqual(found["memory_mib"],
                             predicted["memory"]["total_mib"])
            for field in ("device", "environment", "optimizer", "precision",
                          "setup"):
                self.assertEqual(found[field], predicted[field])
            index = int(found["memory_mib"] // 100)
            self.assertEqual(found["class"],
                             {"index": index, "from_mib": 100 * index,
                              "to_mib": 100 * index + 100})
            self.assertTrue(found["fits"])

    def test_names_the_nearest_edge(self):
        memory = self.classify(*self.STEP)["memory_mib"]
        for width, edge, place in ((memory * .99, memory * .99, "1.0 % above"),
                                   (memory * 1.01, memory * 1.01, "1.0 % below"),
                                   (memory * 3, memory * 3, "66.7 % below")):
            found = self.classify(*self.STEP, "--width", width)
            self.assertAlmostEqual(found["nearest_edge_mib"], edge, delta=1e-6)
            self.assertIn(f" MiB, {place} ",
                          run("classify", *self.STEP, "--width", width).stdout)

    def test_says_what_does_not_fit(self):
        step = ("zoo:vgg19", "--batch", "512", "--device", "rtx-4060")
        self.assertFalse(self.classify(*step)["fits"])
        self.assertIn(" MiB, does not fit\n", run("classify", *step).stdout)

    def test_says_which_step_it_is(self):
        text = run("classify", *self.STEP, "--precision", "bf16",
                   "--parallel", "ddp:4", "--device", "a30").stdout
        self.assertIn("training with adamw, bf16, batch 8, --parallel ddp:4\n"
                      "on a30, environment ", text)

    def test_warns_of_what_an_export_has_lost(self):
        step = (ONNX, "--batch", "8")
        warnings = self.classify(*step)["warnings"]
        self.assertIn("batch norms", " ".join(warnings))
        outcome = run("classify", *step)
        for warning in warnings:
            self.assertIn(f"foretell: warning: {ONNX}: {warning}\n",
                          outcome.stderr)

    def test_answers_the_others_where_one_model_fails(self):
        outcome = run("classify", "none.onnx", "zoo:resnet18", "--batch", "4",
                      "--json")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        document = json.loads(outcome.stdout)
        self.assertEqual((len(document["results"]), len(document["errors"])),
                         (1, 1))

    def test_takes_from_the_table_what_a_row_says(self):
        for flag in (("--mode", "training"), ("--optimizer", "sgd")):
            outcome = run("memory-classes", "inputs", "runs.csv", "--out",
                          "inputs.jsonl", *flag)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn(f"no flag '{flag[0]}'", outcome.stderr)

    def test_learning_answers_as_json(self):
        header = "name,set,model,input,batch,optimizer,memory_mib\n"
        rows = [f"{i},mine,zoo:mlp,,{8 << i},adam,{3000 if i < 4 else 9000}\n"
                for i in range(8)]
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            (place / "runs.csv").write_text(
                header + "".join(rows) + "8,mine,zoo:none,,8,adam,1\n")
            inputs, out = str(place / "inputs.jsonl"), str(place / "mine.st")
            outcome = run("memory-classes", "inputs", place / "runs.csv",
                          "--out", inputs, "--json")
            self.assertEqual(outcome.returncode, MODEL_FAILED)
            document = json.loads(outcome.stdout)
            self.assertEqual(document["results"],
                             [{"file": inputs, "steps": 8}])
            self.assertEqual([one["model"] for one in document["errors"]],
                             ["zoo:none"])
            outcome = run("memory-classes", "train", inputs, "--out", out,
                          "--members", "1", "--epochs", "1", "--edges",
                          "4000,8000", "--json")
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            (learned,) = json.loads(outcome.stdout)["results"]
            self.assertEqual(
                (learned["file"], learned["estimator"], learned["members"],
                 learned["edges_mib"], learned["sets"], learned["steps"]),
                (out, "mlp", 1, [4000, 8000], ["mine"], 8))
            by_ensemble = ("memory-classes", "classify", *self.STEP,
                           "--checkpoint", out)
            (found,) = self.results(*by_ensemble)
            self.assertEqual((found["sets"], found["optimizer"]),
                             (["mine"], "adam"))
            classes = found["classes"]
            self.assertAlmostEqual(sum(one["probability"] for one in classes), 1,
                                   delta=1e-4)
            self.assertEqual([(one["from_mib"], one["to_mib"]) for one in classes],
                             [(0, 4000), (4000, 8000), (8000, None)])
            self.assertIn("on a100-sxm4-40gb, environment cuda12-eager\n",
                          run(*by_ensemble).stdout)
            outcome = run("memory-classes", "cross-validate", inputs,
                          "--members", "1", "--epochs", "1", "--edges",
                          "4000,8000", "--folds", "2")
            document = json.loads(outcome.stdout)
            self.assertEqual((document["schema_version"], document["errors"]),
                             (1, []))
            (judged,) = document["results"]
            self.assertEqual(judged["edges_mib"], [4000, 8000])
            self.assertEqual([step["class"] for step in judged["steps"]],
                             [0] * 4 + [2] * 4)

    def test_errors_are_json_too(self):
        for arguments in (("classify", SCRIPT, "--mode", "inference"),
                          ("memory-classes", "inputs", "none.csv", "--out",
                           "/none/x"),
                          ("memory-classes", "train", "none.jsonl", "--out",
                           "/none/x"),
                          ("memory-classes", "cross-validate", "none.jsonl")):
            always = "cross-validate" in arguments
            outcome = run(*arguments, *([] if always else ["--json"]))
            (error,) = json.loads(outcome.stdout)["errors"]
            self.assertEqual(outcome.stderr,
                             f"foretell: error: {error['message']}\n")


if __name__ == "__main__":
    unittest.main()
