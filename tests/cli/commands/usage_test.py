#!/usr/bin/env python3
"""Tests of flags that many commands take, and of what is a usage error."""

import json
import pathlib
import tempfile
import unittest
import zipfile

from calls import (SOURCE, ONNX, OK, DOES_NOT_FIT, USAGE, MODEL_FAILED, run,
                   predict_json)


class Usage(unittest.TestCase):
    def test_a_model_that_failed_is_in_the_json(self):
        for words in (("predict",), ("fits",), ("max-batch",), ("advise",),
                      ("compare",), ("report",), ("diff", ONNX, "--batch", "1")):
            with self.subTest(command=words[0]):
                outcome = run(*words, "zoo:missing", "--json")
                self.assertEqual(outcome.returncode, MODEL_FAILED)
                document = json.loads(outcome.stdout)
                self.assertEqual(document["results"], [])
                self.assertEqual([(one["model"], one["code"])
                                  for one in document["errors"]],
                                 [("zoo:missing", "not_found")])

    def test_a_device_that_is_unknown_is_in_the_json(self):
        batch = ("--batch", "1")
        for words in (("predict", *batch), ("fits", *batch), ("max-batch",),
                      ("advise", *batch), ("report", *batch),
                      ("diff", "--batch", "1,2")):
            with self.subTest(command=words[0]):
                outcome = run(*words, ONNX, "--device", "none", "--json")
                self.assertEqual(outcome.returncode, USAGE)
                document = json.loads(outcome.stdout)
                (error,) = document["errors"]
                self.assertEqual((document["results"], error["code"]),
                                 ([], "not_found"))
                self.assertEqual(outcome.stderr,
                                 f"foretell: error: {error['message']}\n")

    def test_a_flag_takes_no_value(self):
        for flag in ("autocast", "json"):
            outcome = run("predict", ONNX, "--batch", "1", f"--{flag}=bf16")
            self.assertEqual(outcome.returncode, USAGE)
            self.assertEqual(outcome.stderr, f"foretell: error: --{flag}: takes no value,"
                             " got 'bf16'; see foretell predict --help\n")

    def test_weights_alone_are_no_network(self):
        pickle = b"\x80\x02}q\x00."
        with tempfile.TemporaryDirectory() as folder:
            new = pathlib.Path(folder, "new.pth")
            with zipfile.ZipFile(new, "w") as archive:
                archive.writestr("new/data.pkl", pickle)
                archive.writestr("new/version", "3\n")
            old = pathlib.Path(folder, "old.pth")
            old.write_bytes(pickle)
            for path in (new, old):
                outcome = run("predict", str(path))
                self.assertEqual(outcome.returncode, MODEL_FAILED)
                self.assertRegex(outcome.stderr, "weights.* not a network; save the network with "
                             "torch.export.save")

    def test_a_model_that_cannot_be_answered_has_one_status(self):
        for words in (("predict",), ("inspect",), ("fits",), ("max-batch",),
                      ("advise",), ("compare",), ("report", "--json")):
            for model in ("missing.onnx", "zoo:missing"):
                with self.subTest(command=words[0], model=model):
                    outcome = run(*words, model)
                    self.assertEqual(outcome.returncode, MODEL_FAILED)
                    self.assertRegex(outcome.stderr,
                                     f"^foretell: error: {model}: no such .*\n$")
            if words[0] != "inspect":
                outcome = run(*words, ONNX, "--device-file", "missing.json")
                self.assertEqual(outcome.returncode, USAGE, words)

    def test_latency_under_autocast_is_learned(self):
        (result,) = predict_json(ONNX, "--batch", "256", "--autocast",
                                 "--device", "rtx-4090")["results"]
        source = result["latency"]["source"]
        self.assertEqual(source["method"], "learned from timm")
        self.assertIn("rtx-4090", source["trained_on"])
        self.assertLess(source["distance"], source["far_distance"])
        self.assertEqual(result["memory"]["source"]["method"],
                         "analytic, uncalibrated")
        self.assertEqual((result["precision"], result["autocast"]),
                         ("fp32", "bf16"))
        (analytic,) = predict_json(ONNX, "--batch", "256", "--autocast",
                                   "--device", "rtx-4090", "--method",
                                   "analytic")["results"]
        self.assertIsNone(analytic["latency"]["source"]["distance"])
        self.assertNotEqual(analytic["latency"]["ms"],
                            result["latency"]["ms"])

    def test_memory_under_autocast_holds_parameters_and_their_casts(self):
        results = {
            flags: predict_json("zoo:bert_large", "--batch", "1",
                                *flags)["results"][0]
            for flags in ((), ("--autocast",), ("--precision", "fp16"))}
        plain, mixed, half = (result["memory"] for result in results.values())
        self.assertAlmostEqual(mixed["parameters_mib"],
                               plain["parameters_mib"], places=2)
        self.assertAlmostEqual(half["parameters_mib"],
                               plain["parameters_mib"] / 2, places=2)
        self.assertGreater(mixed["allocated_mib"],
                           plain["parameters_mib"] + 578)
        for warning in results["--autocast",]["warnings"]:
            self.assertNotIn("converted", warning)

    def test_an_older_torch_without_fused_attention_runs_otherwise(self):
        arguments = (ONNX, "--batch", "256", "--autocast", "--device",
                     "rtx-3090")
        milliseconds = {
            predict_json(*arguments, *more)["results"][0]["latency"]["ms"]
            for more in ((), ("--torch", "1.13"), ("--channels-last",))}
        self.assertEqual(len(milliseconds), 3)

    def test_a_torch_that_is_no_version_is_a_usage_error(self):
        result = run("predict", ONNX, "--batch", "1", "--autocast", "--torch",
                     "newest")
        self.assertEqual(result.returncode, 2)
        self.assertIn("'newest'", result.stderr)

    def test_autocast_goes_with_training_and_bf16(self):
        def answer(*flags):
            (result,) = predict_json("zoo:resnet50", "--batch", "32",
                                     *flags)["results"]
            return result

        training = ("--mode", "training", "--method", "learned")
        mixed = answer(*training, "--autocast")
        self.assertEqual((mixed["mode"], mixed["autocast"]),
                         ("training", "bf16"))
        self.assertEqual(mixed["memory"]["source"]["method"],
                         "analytic, uncalibrated")
        self.assertLess(mixed["memory"]["allocated_mib"],
                        answer(*training)["memory"]["allocated_mib"])
        half = answer("--autocast", "--precision", "bf16", "--device",
                      "rtx-4090")
        self.assertEqual(half["autocast"], "bf16")
        # Labels of FP16 stand for BF16: tensor cores take both at one rate.
        self.assertEqual(half["latency"]["source"]["method"],
                         "learned from timm")

    def test_grad_keeps_what_a_backward_pass_would_need(self):
        def answer(*flags):
            (result,) = predict_json(ONNX, "--batch", "64", *flags)["results"]
            return result

        plain, recorded = answer(), answer("--grad")
        self.assertEqual((plain["grad_mode"], recorded["grad_mode"]),
                         (False, True))
        self.assertGreater(recorded["memory"]["allocated_mib"],
                           1.5 * plain["memory"]["allocated_mib"])
        self.assertGreater(recorded["latency"]["ms"], 0)
        # Forgetting no_grad costs what --grad takes.
        self.assertEqual(plain["memory"]["grad_mode_mib"],
                         recorded["memory"]["total_mib"])
        self.assertIsNone(recorded["memory"]["grad_mode_mib"])
        training = answer("--mode", "training")
        self.assertIsNone(training["memory"]["grad_mode_mib"])
        self.assertLess(recorded["memory"]["total_mib"],
                        training["memory"]["total_mib"])
        text = run("predict", ONNX, "--batch", "64", "--verbose").stdout
        self.assertRegex(text, r"autograd +[0-9]+ MiB .* without torch.no_grad\(\)")

    def test_grad_counts_for_every_command_that_judges(self):
        def largest(*flags):
            return int(run("max-batch", ONNX, "--profile", "1g.5gb",
                           *flags).stdout)

        self.assertLess(largest("--grad"), 0.8 * largest())
        fits = ("fits", ONNX, "--batch", "64", "--max-memory", "1700")
        self.assertEqual(run(*fits).returncode, OK)
        self.assertEqual(run(*fits, "--grad").returncode, DOES_NOT_FIT)
        graph = run("inspect", ONNX, "--batch", "1", "--grad", "--format",
                    "graph").stdout
        self.assertIn(" grad=on ", graph.splitlines()[0])

    def test_grad_means_nothing_in_training(self):
        refused = run("predict", ONNX, "--batch", "1", "--grad", "--mode",
                      "training")
        self.assertEqual(refused.returncode, USAGE)
        self.assertIn("--grad: applies to inference", refused.stderr)

    def test_a_batch_of_0_is_a_usage_error(self):
        for batch in ("0", "-1", "many"):
            outcome = run("predict", "zoo:resnet18", "--batch", batch)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn(f"--batch: '{batch}': expected a number above 0;",
                          outcome.stderr)

    def test_unknown_flag_and_value_are_usage_errors(self):
        for arguments in (["predict"], ["predict", ONNX, "--frob"],
                          ["predict", ONNX, "--precision", "fp7"],
                          ["predict", ONNX, "--batch", "0"],
                          ["predict", ONNX, "--batch", "x"],
                          ["predict", ONNX, "--device", "gtx"],
                          ["predict", ONNX, "--input", "image=f32[1,"],
                          ["predict", ONNX, "--dim", "batch"],
                          ["nonsense"], []):
            with self.subTest(arguments=arguments):
                outcome = run(*arguments)
                self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
                self.assertEqual(outcome.stdout, "")

    def test_wrong_words_are_one_line_that_says_what_may_be_meant(self):
        for arguments, words in (
                (["preditc", ONNX], "no command 'preditc'; near: predict"),
                (["mig", "profile"], "no command 'profile'; near: profiles"),
                (["predict", ONNX, "--btach", "8"], "no flag '--btach'; near: --batch"),
                (["predict", ONNX, "--batch", "1e3"], "'1e3': expected a whole number"),
                (["max-batch", ONNX, "--batch", "8"], "no flag '--batch'"),
                (["predict", ONNX, "--gpus", "8"], "--parallel ddp:N"),
                (["devices", "h100"], "no command 'h100'"),
                (["predict"], "MODEL is required"),
                (["--hlep"], "no flag '--hlep'; near: --help"),
                (["predict", ONNX, "--batch", "8", "--optimizer", "adam"],
                 "--optimizer adam: needs --mode training"),
                (["predict", ONNX, "--batch", "8", "--fused", "on"],
                 "--fused on: needs --mode training"),
                (["predict", ONNX, "--dim", "batch=1", "--dim", "batch=2"],
                 "--dim batch=1 and --dim batch=2: one of the two")):
            with self.subTest(arguments=arguments):
                outcome = run(*arguments)
                self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
                (line,) = outcome.stderr.splitlines()
                self.assertTrue(line.startswith("foretell: error: "), line)
                self.assertIn(words, line)

    def test_help_may_stand_in_front(self):
        self.assertEqual(run("help", "fits").stdout, run("fits", "--help").stdout)
        self.assertEqual(run("help").stdout, run("--help").stdout)

    def test_names_of_the_zoo_without_its_prefix_are_told(self):
        outcome = run("predict", "resnet50", "--batch", "1")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("resnet50: no such file; zoo:resnet50 is a stock network", outcome.stderr)
        self.assertNotIn("zoo:", run("predict", "gone.onnx").stderr)

    def test_names_of_other_places_are_told_where_to_go(self):
        for name, step in (
                ("bert-base-uncased", "; zoo:bert_base is a stock network"),
                ("some/llama3-8b", "; zoo:llama3_8b is a stock network"),
                ("some/net", "hf download some/net config.json"),
                ("https://a.b/net.onnx", "; URLs are not fetched: download the file"),
                ("net.py:Net", "opened in Python: foretell.predict('net.py:Net'")):
            with self.subTest(name=name):
                outcome = run("predict", name)
                self.assertEqual(outcome.returncode, MODEL_FAILED)
                self.assertIn(step, outcome.stderr)

    def test_one_model_too_many_is_told_in_plain_words(self):
        outcome = run("compare", "zoo:resnet18", "zoo:resnet50")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("error: compare takes one MODEL, got 2; see", outcome.stderr)

    def test_missing_file_and_directory_are_named(self):
        for path in ("/nonexistent/model.onnx", str(SOURCE)):
            outcome = run("predict", path, "--batch", "1")
            self.assertEqual(outcome.returncode, MODEL_FAILED)
            self.assertIn(path, outcome.stderr)

    def test_a_missing_model_failed_whoever_asks(self):
        gone = "gone.onnx"
        for arguments in (
                ("predict", gone), ("report", gone, "--json"), ("inspect", gone),
                ("diff", gone, ONNX), ("fits", gone), ("max-batch", gone),
                ("advise", gone), ("compare", gone), ("mig", "pack", gone),
                ("plan", gone, "--memory", "2GiB"), ("measure", gone),
                ("classify", gone),
                ("fit", gone, "--target", "memory", "--sweep", "batch=1..64"),
                ("calibrate", gone, "--sweep", "batch=1..64")):
            with self.subTest(arguments=arguments):
                outcome = run(*arguments)
                self.assertEqual(outcome.returncode, MODEL_FAILED, outcome.stderr)
                self.assertIn("gone.onnx: no such file", outcome.stderr)

    def test_every_command_has_help_on_stdout(self):
        for command in ("predict inspect fits max-batch adapt mig devices version "
                        "completion").split():
            outcome = run(command, "--help")
            self.assertEqual(outcome.returncode, OK)
            self.assertIn(command, outcome.stdout)


if __name__ == "__main__":
    unittest.main()
