#!/usr/bin/env python3
"""Tests of `classify`."""

import json
import pathlib
import tempfile
import unittest

from calls import ONNX, SCRIPT, OK, USAGE, MODEL_FAILED, run


class Classify(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[8,3,64,64]")

    def classify(self, *arguments):
        outcome = run("classify", *arguments, "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        (result,) = json.loads(outcome.stdout)["results"]
        return result

    def test_gives_probabilities_of_every_class(self):
        found = self.classify(*self.STEP)
        classes = found["classes"]
        self.assertAlmostEqual(sum(one["probability"] for one in classes), 1,
                               delta=1e-4)
        for below, above in zip(classes, classes[1:]):
            self.assertEqual(below["to_mib"], above["from_mib"])
        self.assertLessEqual(found["class"]["index"],
                             found["not_exceeded_99"]["index"])
        (warning,) = found["warnings"]
        self.assertIn("traced in eval()", warning)

    def test_says_which_step_it_is(self):
        text = run("classify", *self.STEP, "--precision", "bf16",
                   "--parallel", "ddp:4").stdout
        self.assertIn("training with adam, bf16, batch 8, --parallel ddp:4\n"
                      "on a100-sxm4-40gb, environment cuda12-eager\n", text)

    def test_warns_of_steps_unlike_those_it_learned_from(self):
        for flags in (("--precision", "bf16"), ("--accumulate", "2"),
                      ("--optimizer", "adagrad")):
            *_, warning = self.classify(*self.STEP, *flags)["warnings"]
            self.assertIn("classes were learned from steps of adam and momentum "
                          "in fp32", warning)

    def test_knows_the_optimizers_of_each_kind_of_network(self):
        momentum = ("--optimizer", "momentum")
        (warning,) = self.classify(*self.STEP, *momentum)["warnings"]
        self.assertIn("traced in eval()", warning)
        (warning,) = self.classify("zoo:mlp", "--batch", "8",
                                   *momentum)["warnings"]
        self.assertIn("learned from steps of adam in fp32", warning)
        self.assertIn("this one has momentum, fp32", warning)

    def test_warns_of_what_an_export_has_lost(self):
        step = (ONNX, "--batch", "8")
        warnings = self.classify(*step)["warnings"]
        self.assertIn("batch norms", " ".join(warnings))
        text = run("classify", *step).stdout
        for warning in warnings:
            self.assertIn(f"warning: {warning}\n", text)

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
            found = self.classify(*self.STEP, "--checkpoint", out)
            self.assertEqual(found["sets"], ["mine"])
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
