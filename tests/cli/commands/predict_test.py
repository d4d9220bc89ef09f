#!/usr/bin/env python3
"""Tests of `predict`: its forms of output, counts, parts of memory, power limits."""

import csv
import io
import json
import os
import pathlib
import pty
import subprocess
import tempfile
import unittest

from calls import (BINARY, ONNX, SCRIPT, SOURCE, USAGE, MODEL_FAILED, run,
                   predict_json)


# Open in its batch and its length: f32[batch,length,32].
TOKENS = str(SOURCE / "tests/frontends/data/causal/dynamic.onnx")


class Predict(unittest.TestCase):
    def test_json_has_every_documented_field(self):
        document = predict_json(ONNX, "--batch", "8")
        self.assertEqual(document["schema_version"], 1)
        self.assertEqual(document["errors"], [])
        (result,) = document["results"]
        for field in ("model format device mode precision batch parameters "
                      "operators static_features inputs outputs memory latency "
                      "energy method coverage warnings mig").split():
            self.assertIn(field, result)
        for field in ("total_mib interval_mib allocated_mib reserved_mib "
                      "context_mib workspace_mib parameters_mib "
                      "activations_mib gradients_mib optimizer_mib").split():
            self.assertIn(field, result["memory"])
        self.assertEqual(set(result["static_features"]),
                         {"macs", "batch", "convolutions", "dense", "relus"})
        self.assertIn("uncalibrated", result["method"])

    def test_counts_resnet18_as_the_literature_does(self):
        (result,) = predict_json(ONNX, "--batch", "1")["results"]
        # 11,689,512 parameters, of which 4,800 weights and 4,800 biases of
        # batch norms; the export folds both into one bias per channel.
        self.assertEqual(result["parameters"], 11_689_512 - 4_800)
        # 1,814,073,344 MACs: 20 convolutions and one dense layer.
        self.assertEqual(result["static_features"],
                         {"macs": 1_814_073_344, "batch": 1,
                          "convolutions": 20, "dense": 1, "relus": 17})
        self.assertEqual(result["inputs"], [{"name": "image", "dtype": "f32",
                                             "shape": [1, 3, 224, 224],
                                             "place": "device",
                                             "from_example": {}}])

    def test_torchscript_and_onnx_agree_on_macs(self):
        (onnx,) = predict_json(ONNX, "--batch", "4")["results"]
        (script,) = predict_json(SCRIPT, "-i", "f32[4,3,224,224]")["results"]
        self.assertEqual(onnx["static_features"], script["static_features"])
        self.assertEqual(script["parameters"], 11_689_512)

    def test_an_input_may_be_its_sizes_alone(self):
        (whole,) = predict_json(SCRIPT, "-i", "x=f32[4,3,64,64]")["results"]
        for text in ("4,3,64,64", "(4, 3, 64, 64)", "float32[4,3,64,64]",
                     "x=torch.float32[4,3,64,64]"):
            (short,) = predict_json(SCRIPT, "--input", text)["results"]
            self.assertEqual(short["inputs"], whole["inputs"], text)
            self.assertEqual(short["memory"], whole["memory"], text)
        (tokens,) = predict_json("zoo:bert_base", "--input", "4,64")["results"]
        self.assertEqual((tokens["inputs"][0]["dtype"], tokens["inputs"][0]["shape"]),
                         ("i64", [4, 64]))
        (typed,) = predict_json(TOKENS, "--input", "1,64,32")["results"]
        self.assertEqual(typed["inputs"][0]["shape"], [1, 64, 32])

    def test_a_length_goes_to_the_dimension_that_is_one(self):
        (named,) = predict_json(TOKENS, "--dim", "x.1=48")["results"]
        for flag in ("--seq-len", "--max-seq-len"):
            (short,) = predict_json(TOKENS, flag, "48")["results"]
            self.assertEqual(short["inputs"][0]["shape"], [1, 48, 32])
            self.assertEqual(short["memory"], named["memory"])
        (zoo,) = predict_json("zoo:bert_base", "--seq-len", "48")["results"]
        self.assertEqual(zoo["inputs"][0]["shape"], [1, 48])
        outcome = run("predict", ONNX, "--seq-len", "48")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("--seq-len 48: the model leaves no length open", outcome.stderr)
        self.assertIn("no field 'seq'", run("predict", "zoo:resnet18", "--seq-len",
                                            "48").stderr)

    def test_steps_of_equal_lengths_are_one_step(self):
        (one,) = predict_json(TOKENS, "--seq-len", "512")["results"]
        (run_of_two,) = predict_json(TOKENS, "--lengths", "512,512")["results"]
        for field in ("total_mib", "interval_mib", "least_mib", "allocated_mib",
                      "reserved_mib"):
            self.assertEqual(run_of_two["memory"][field], one["memory"][field], field)
        self.assertEqual(run_of_two["latency"]["ms"], one["latency"]["ms"])
        self.assertNotIn("passes", one)

    def test_steps_of_several_lengths_share_the_memory(self):
        (longest,) = predict_json(TOKENS, "--seq-len", "512")["results"]
        (mixed,) = predict_json(TOKENS, "--lengths", "64,512,384,64")["results"]
        self.assertEqual(mixed["setup"], ["--lengths 64,512,384,64"])
        self.assertEqual([(one["label"], one["runs"]) for one in mixed["passes"]],
                         [("length 64", 2), ("length 512", 1), ("length 384", 1)])
        self.assertGreaterEqual(mixed["memory"]["reserved_mib"],
                                longest["memory"]["reserved_mib"])
        self.assertEqual(mixed["inputs"][0]["shape"], [1, 512, 32])
        self.assertEqual(mixed["latency"]["ms"], longest["latency"]["ms"])
        self.assertLessEqual(mixed["latency"]["mean_ms"], longest["latency"]["ms"])
        (drawn,) = predict_json("zoo:bert_base", "--lengths", "30..100")["results"]
        self.assertEqual(sorted(one["label"] for one in drawn["passes"])[0],
                         "length 100")
        self.assertEqual({one["runs"] for one in drawn["passes"]}, {2})

    def test_networks_of_one_process_add_up(self):
        (one,) = predict_json(ONNX, "--batch", "2")["results"]
        (two,) = predict_json(ONNX, "+", ONNX, "--batch", "2")["results"]
        self.assertEqual(two["model"], f"{ONNX} + {ONNX}")
        self.assertAlmostEqual(two["memory"]["parameters_mib"],
                               2 * one["memory"]["parameters_mib"], delta=1e-3)
        self.assertAlmostEqual(two["latency"]["ms"], 2 * one["latency"]["ms"],
                               delta=1e-3)
        self.assertEqual([pass_["label"] for pass_ in two["passes"]], [ONNX, ONNX])
        self.assertEqual(run("fits", ONNX, "+", ONNX, "--batch", "2").returncode, 0)

    def test_an_evaluation_may_need_more_than_the_step(self):
        step = (SCRIPT, "-i", "x=f32[1,3,64,64]", "--mode", "training")
        (alone,) = predict_json(*step)["results"]
        (small,) = predict_json(*step, "--evaluate", "1")["results"]
        (large,) = predict_json("zoo:resnet18", "--batch", "1", "--mode", "training",
                                "--evaluate", "512")["results"]
        self.assertEqual(small["latency"]["ms"], alone["latency"]["ms"])
        self.assertEqual([(one["label"], one["mode"], one["batch"])
                          for one in large["passes"]],
                         [("training step", "training", 1),
                          ("evaluation", "inference", 512)])
        self.assertTrue(large["memory"]["peak_operator"].endswith(" of evaluation"))

    def test_memory_parts_add_up(self):
        (result,) = predict_json(ONNX, "--batch", "8")["results"]
        memory = result["memory"]
        self.assertAlmostEqual(memory["context_mib"] + memory["reserved_mib"],
                               memory["total_mib"], delta=0.01)
        low, high = memory["interval_mib"]
        self.assertLess(low, memory["total_mib"])
        self.assertGreater(high, memory["total_mib"])

    def test_training_needs_more_than_inference(self):
        infer, train = (
            predict_json(SCRIPT, "-i", "f32[8,3,224,224]", "--mode", mode)
            ["results"][0]["memory"] for mode in ("inference", "training"))
        self.assertGreater(train["reserved_mib"], infer["reserved_mib"])
        # All 11,689,512 float32 gradients are alive at the end of the step.
        self.assertEqual(infer["gradients_mib"], 0)
        self.assertGreater(train["gradients_mib"], 0)

    def test_half_precision_halves_the_parameters(self):
        full, half = (
            predict_json(ONNX, "--batch", "8", "--precision", precision)
            ["results"][0]["memory"] for precision in ("fp32", "fp16"))
        self.assertAlmostEqual(full["parameters_mib"],
                               2 * half["parameters_mib"], delta=0.01)

    def test_channels_last_counts_with_and_without_autocast(self):
        for autocast in ((), ("--autocast",)):
            usual, last = (
                predict_json(ONNX, "--batch", "64", "--method", "analytic",
                             *autocast, *flag)["results"][0]["latency"]["ms"]
                for flag in ((), ("--channels-last",)))
            self.assertLess(last, 0.95 * usual, autocast)
        self.assertNotRegex(run("predict", "--help").stdout,
                            r"--channels-last[^-]*--autocast")

    def test_many_batches_are_many_results(self):
        results = predict_json(ONNX, "--batch", "1,8,32")["results"]
        self.assertEqual([r["batch"] for r in results], [1, 8, 32])
        totals = [r["memory"]["total_mib"] for r in results]
        self.assertEqual(totals, sorted(totals))

    def test_one_bad_file_does_not_hide_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder) / "bad.onnx"
            bad.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
            outcome = run("predict", str(bad), ONNX, "--batch", "1", "--json")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        document = json.loads(outcome.stdout)
        self.assertEqual(len(document["results"]), 1)
        (error,) = document["errors"]
        self.assertEqual(error["model"], str(bad))
        self.assertEqual(error["code"], "corrupt")
        self.assertIn("bad.onnx", outcome.stderr)

    def test_jobs_answer_as_one_process_does(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "bad.onnx")
            bad.write_text("not a model")
            models = (ONNX, SCRIPT, bad, "zoo:mobilenet_v2", ONNX)
            for form in ("--json", "--csv"):
                with self.subTest(form=form):
                    one, three = (
                        run("predict", *models, "-i", "f32[2,3,224,224]", form,
                            "--jobs", jobs) for jobs in (1, 3))
                    self.assertEqual(one.returncode, MODEL_FAILED)
                    self.assertIn("bad.onnx", one.stderr)
                    self.assertEqual(one.stdout, three.stdout)
                    self.assertEqual(one.stderr, three.stderr)
                    self.assertEqual(one.returncode, three.returncode)

    def test_jobs_need_a_form_without_a_table(self):
        answer = run("predict", ONNX, ONNX, "--jobs", "2")
        self.assertEqual(answer.returncode, USAGE)
        self.assertIn("--jobs needs --json or --csv", answer.stderr)

    def test_the_batch_is_one_where_none_is_named(self):
        (result,) = predict_json(ONNX)["results"]
        self.assertEqual(result["batch"], 1)
        self.assertRegex("\n".join(result["warnings"]), "batch 1: .*--batch N")
        (named,) = predict_json(ONNX, "--batch", "1")["results"]
        self.assertEqual(named["memory"], result["memory"])
        self.assertEqual(named["warnings"], [])

    def test_text_begins_with_the_verdict(self):
        lines = run("predict", ONNX, "--batch", "8").stdout.splitlines()
        self.assertRegex(lines[0], "inference · fp32 · batch 8$")
        self.assertRegex(lines[1], r"^input image f32\[8,3,224,224\]$")
        self.assertRegex(lines[4], "^  FITS  .* GiB .*smallest MIG slice 1g.5gb$")
        too_large = run("predict", "zoo:llama2_13b", "--device", "rtx-4090").stdout
        self.assertIn("  DOES NOT FIT ", too_large)

    def test_tries_nothing_that_makes_a_step_slower_that_fits(self):
        step = ("zoo:resnet18", "--batch", "8", "--mode", "training")
        (plain,) = predict_json(*step)["results"]
        (cast,) = predict_json(*step, "--autocast")["results"]
        high = lambda result: result["memory"]["interval_mib"][1]
        self.assertLess(high(cast), 0.9 * high(plain))
        self.assertGreater(cast["latency"]["ms"], plain["latency"]["ms"])
        self.assertIsNone(plain["verdict"]["suggestion"])
        (large,) = predict_json("zoo:resnet18", "--batch", "256", "--mode",
                                "training")["results"]
        self.assertIn("--autocast", large["verdict"]["suggestion"]["flags"])
        # Weights in FP32 and their casts do not fit where the weights alone do.
        (full,) = predict_json("meta-llama/Llama-3.1-8B", "--batch", "1",
                               "--device", "a100-40gb")["results"]
        self.assertIsNone(full["verdict"]["suggestion"])

    def test_words_of_other_tools_are_understood(self):
        (theirs,), (ours,) = (
            predict_json(SCRIPT, "-i", "f32[8,3,224,224]", *flags)["results"]
            for flags in (("--train", "--optim", "AdamW", "--dtype", "bfloat16",
                           "--gpu", "RTX 4090"),
                          ("--mode", "training", "--optimizer", "adamw",
                           "--precision", "bf16", "--device", "rtx-4090")))
        self.assertEqual(theirs, ours)

    def test_autocast_takes_the_type_of_the_device(self):
        for device, flags, kind in (("a100", (), "bf16"), ("v100", (), "f16"),
                                    ("a100", ("--precision", "fp16"), "f16")):
            (result,) = predict_json(ONNX, "--batch", "8", "--autocast",
                                     "--device", device, *flags)["results"]
            self.assertEqual(result["autocast"], kind, (device, flags))

    def test_training_takes_adamw_where_nothing_is_said(self):
        (result,) = predict_json(SCRIPT, "-i", "f32[8,3,224,224]", "--mode",
                                 "training")["results"]
        self.assertEqual(result["optimizer"], "adamw")

    def test_csv_has_a_line_per_result(self):
        outcome = run("predict", ONNX, "--batch", "1,2", "--csv")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([row["batch"] for row in rows], ["1", "2"])
        self.assertGreater(float(rows[0]["memory_mib"]), 0)

    def test_text_names_unit_method_and_profile(self):
        text = run("predict", ONNX, "--batch", "8", "--verbose").stdout
        for word in ("MiB", " ms", " J", "analytic, uncalibrated", "1g.5gb"):
            self.assertIn(word, text)

    def test_a_runtime_may_choose_the_layout_of_a_file(self):
        outcome = run("predict", SOURCE / "examples/resnet18.onnx", "--runtime",
                      "onnxruntime,nhwc")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertIn("· --runtime onnxruntime,nhwc", outcome.stdout.splitlines()[0])

    def test_a_power_limit_costs_time_and_saves_energy(self):
        run_of = (ONNX, "--batch", "128", "--device", "v100", "--autocast")
        free, limited = (predict_json(*run_of, *flags)["results"][0]
                         for flags in ([], ["--power-limit", "120"]))
        self.assertIn("learned", free["latency"]["source"]["method"])
        self.assertGreater(limited["latency"]["ms"], 1.1 * free["latency"]["ms"])
        self.assertLess(limited["energy"]["j"], 0.9 * free["energy"]["j"])
        self.assertLessEqual(limited["energy"]["average_power_w"], 120)
        self.assertAlmostEqual(
            limited["energy"]["average_power_w"],
            1000 * limited["energy"]["j"] / limited["latency"]["ms"], places=2)
        self.assertEqual((free["energy"]["power_limit_w"],
                          limited["energy"]["power_limit_w"]), (None, 120))
        self.assertIn("at most 120 W",
                      run("predict", *run_of, "--power-limit", "120",
                          "--verbose").stdout)

    def test_a_power_limit_must_be_the_boards_to_keep(self):
        for limit, problem in (("38", "expected more than 38 (idle)"),
                               ("251", "at most 250"), ("much", "--power-limit")):
            outcome = run("predict", ONNX, "--batch", "1", "--device", "v100",
                          "--power-limit", limit)
            self.assertEqual(outcome.returncode, USAGE, limit)
            self.assertIn(problem, outcome.stderr)

    def test_a_terminal_shows_what_is_done(self):
        terminal, stderr = pty.openpty()
        outcome = subprocess.run([BINARY, "predict", ONNX, "--batch", "1"],
                                 stdout=subprocess.PIPE, stderr=stderr,
                                 text=True, timeout=300)
        os.close(stderr)
        shown = os.read(terminal, 10_000).decode()
        os.close(terminal)
        stages = [line for line in shown.split("\r\x1b[K") if line]
        self.assertEqual([line.split("  ")[-1].split()[0] for line in stages],
                         ["opening", "tracing", "predicting"])
        self.assertTrue(shown.endswith("\r\x1b[K"), shown)
        self.assertNotIn("tracing", outcome.stdout)

    def test_older_environment_has_a_larger_context(self):
        new, old = (predict_json(ONNX, "--batch", "1", *flags)["results"][0]
                    for flags in ([], ["--environment", "cuda11.6-eager"]))
        self.assertGreater(old["memory"]["context_mib"],
                           new["memory"]["context_mib"] + 1000)

    def test_paper_rule_can_be_asked_for(self):
        (result,) = predict_json(ONNX, "--batch", "1", "--mig-rule",
                                 "dippm")["results"]
        self.assertEqual(result["mig"]["rule"], "dippm")
        self.assertEqual(result["mig"]["profile"], "1g.5gb")


if __name__ == "__main__":
    unittest.main()
