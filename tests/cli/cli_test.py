#!/usr/bin/env python3
"""Tests of the `foretell` command as its users call it.

    cli_test.py BINARY SOURCE_DIR [unittest arguments]
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
ONNX = str(SOURCE / "examples" / "resnet18.onnx")
# Allows batches of 2 to 64.
BOUNDED = str(SOURCE / "tests/frontends/data/exported/conv_train.pt2")
SCRIPT = str(SOURCE / "examples" / "resnet18.pt")

OK, DOES_NOT_FIT, USAGE, MODEL_FAILED = 0, 1, 2, 3


def run(*arguments):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True,
                          timeout=120)


def predict_json(*arguments):
    return json.loads(run("predict", "--json", *arguments).stdout)


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
                                             "shape": [1, 3, 224, 224]}])

    def test_torchscript_and_onnx_agree_on_macs(self):
        (onnx,) = predict_json(ONNX, "--batch", "4")["results"]
        (script,) = predict_json(SCRIPT, "-i", "f32[4,3,224,224]")["results"]
        self.assertEqual(onnx["static_features"], script["static_features"])
        self.assertEqual(script["parameters"], 11_689_512)

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

    def test_open_dimensions_name_the_flag(self):
        outcome = run("predict", ONNX)
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("--batch", outcome.stderr)
        self.assertIn("'image'", outcome.stderr)
        self.assertEqual(len(outcome.stderr.strip().splitlines()), 1)

    def test_csv_has_a_line_per_result(self):
        outcome = run("predict", ONNX, "--batch", "1,2", "--csv")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([row["batch"] for row in rows], ["1", "2"])
        self.assertGreater(float(rows[0]["memory_mib"]), 0)

    def test_text_names_unit_method_and_profile(self):
        text = run("predict", ONNX, "--batch", "8").stdout
        for word in ("MiB", " ms", " J", "analytic, uncalibrated", "1g.5gb"):
            self.assertIn(word, text)

    def test_a_power_limit_costs_time_and_saves_energy(self):
        run_of = (ONNX, "--batch", "64", "--device", "v100", "--autocast")
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
                      run("predict", *run_of, "--power-limit", "120").stdout)

    def test_a_power_limit_must_be_the_boards_to_keep(self):
        for limit, problem in (("38", "expected more than 38 (idle)"),
                               ("251", "at most 250"), ("much", "--power-limit")):
            outcome = run("predict", ONNX, "--batch", "1", "--device", "v100",
                          "--power-limit", limit)
            self.assertEqual(outcome.returncode, USAGE, limit)
            self.assertIn(problem, outcome.stderr)

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


class Pmgns(unittest.TestCase):
    FLAGS = ("--batch", "256", "--method", "pmgns")

    def sources(self, *flags):
        (result,) = predict_json(ONNX, *self.FLAGS, *flags)["results"]
        return {name: result[name]["source"]["method"]
                for name in ("memory", "latency", "energy")}

    def test_answers_all_three_figures_for_an_a100(self):
        simulated = "pmgns learned from simulated labels of foretell analytic"
        self.assertEqual(set(self.sources().values()), {simulated})
        half = self.sources("--precision", "bf16", "--device",
                            "a100-sxm4-80gb")
        self.assertEqual(set(half.values()), {simulated})
        training = self.sources("--mode", "training")
        self.assertEqual(training, {
            "memory": "analytic x pmgns learned from gpumemnet-timm",
            "latency": simulated, "energy": simulated})
        mixed = self.sources("--autocast")
        self.assertEqual(mixed["latency"], "pmgns-kernels learned from timm")

    def test_is_a_method_of_every_command(self):
        (result,) = predict_json(ONNX, *self.FLAGS)["results"]
        memory = result["memory"]["interval_mib"][1]
        for limit, status in ((memory - 1, DOES_NOT_FIT), (memory + 1, OK)):
            outcome = run("fits", ONNX, *self.FLAGS, "--max-memory",
                          str(limit))
            self.assertEqual(outcome.returncode, status, outcome.stderr)
        self.assertIn("pmgns learned from", run("predict", ONNX,
                                                *self.FLAGS).stdout)

    def test_says_what_it_knows_where_it_knows_nothing(self):
        outcome = run("predict", ONNX, *self.FLAGS, "--device",
                      "h100-sxm5-80gb")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        (line,) = outcome.stderr.strip().splitlines()
        self.assertIn("'pmgns' knows no figure of inference in fp32", line)


class Usage(unittest.TestCase):
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
                         ("fp32", "f16"))
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
                         ("training", "f16"))
        self.assertEqual(mixed["memory"]["source"]["method"],
                         "analytic, uncalibrated")
        self.assertLess(mixed["memory"]["allocated_mib"],
                        answer(*training)["memory"]["allocated_mib"])
        half = answer("--autocast", "--precision", "bf16", "--device",
                      "rtx-4090")
        self.assertEqual(half["autocast"], "bf16")
        self.assertEqual(half["latency"]["source"]["method"],
                         "analytic, uncalibrated")

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
        text = run("predict", ONNX, "--batch", "64").stdout
        self.assertRegex(text, r"autograd +[0-9]+ MiB where torch.no_grad\(\)")

    def test_grad_counts_for_every_command_that_judges(self):
        def largest(*flags):
            return int(run("max-batch", ONNX, "--profile", "1g.5gb",
                           *flags).stdout)

        self.assertLess(largest("--grad"), 0.8 * largest())
        fits = ("fits", ONNX, "--batch", "64", "--max-memory", "1500")
        self.assertEqual(run(*fits).returncode, OK)
        self.assertEqual(run(*fits, "--grad").returncode, DOES_NOT_FIT)
        graph = run("inspect", ONNX, "--batch", "1", "--grad", "--format",
                    "graph").stdout
        self.assertIn(" grad=on ", graph.splitlines()[0])

    def test_grad_means_nothing_in_training(self):
        refused = run("predict", ONNX, "--batch", "1", "--grad", "--mode",
                      "training")
        self.assertEqual(refused.returncode, USAGE)
        self.assertIn("--grad says how inference runs", refused.stderr)

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
                (["max-batch", ONNX, "--batch", "8"], "no flag '--batch'; near: "),
                (["devices", "h100"], "'h100' is not expected"),
                (["predict"], "MODEL is required"),
                (["--hlep"], "no flag '--hlep'; near: --help"),
                (["predict", ONNX, "--batch", "8", "--optimizer", "adam"],
                 "--optimizer adam: only training is done so; add --mode training"),
                (["predict", ONNX, "--batch", "8", "--fused", "on"],
                 "--fused on: only training is done so"),
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

    def test_missing_file_and_directory_are_named(self):
        for path in ("/nonexistent/model.onnx", str(SOURCE)):
            outcome = run("predict", path, "--batch", "1")
            self.assertEqual(outcome.returncode, MODEL_FAILED)
            self.assertIn(path, outcome.stderr)

    def test_every_command_has_help_on_stdout(self):
        for command in ("predict inspect fits max-batch adapt mig devices version "
                        "completion").split():
            outcome = run(command, "--help")
            self.assertEqual(outcome.returncode, OK)
            self.assertIn(command, outcome.stdout)


class Inspect(unittest.TestCase):
    def test_json_has_edges_timeline_and_totals(self):
        document = json.loads(
            run("inspect", ONNX, "-b", "2", "--format", "json").stdout)
        self.assertEqual(document["macs"], 2 * 1_814_073_344)
        self.assertEqual(len(document["memory"]["timeline"]),
                         len(document["nodes"]))
        self.assertTrue(document["edges"])

    def test_answers_as_predict_does(self):
        flags = (ONNX, "-b", "2", "--autocast", "--device", "rtx-4090")
        inspected = json.loads(
            run("inspect", *flags, "--format", "json").stdout)
        predicted = json.loads(
            run("predict", *flags, "--json").stdout)["results"][0]
        self.assertEqual(inspected["figures"]["latency_ms"]["value"],
                         predicted["latency"]["ms"])
        self.assertEqual(inspected["figures"]["latency_ms"]["source"],
                         predicted["latency"]["source"])
        self.assertEqual(inspected["figures"]["memory_mib"]["value"],
                         predicted["memory"]["total_mib"])

    def test_dot_is_a_digraph_with_a_box_per_operator(self):
        dot = run("inspect", ONNX, "-b", "2", "--format", "dot").stdout
        self.assertTrue(dot.startswith("digraph"))
        self.assertEqual(dot.count("conv2d"), 20)

    def test_text_lists_operators_and_peak(self):
        text = run("inspect", ONNX, "-b", "2").stdout
        self.assertIn("adaptive_avg_pool2d", text)
        self.assertIn("alive at the peak", text)


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

        tight = "fits when the cache is given back"
        self.assertEqual(judged(high + 1), ("fits", OK))
        self.assertEqual(judged(high - cache / 2), (tight, DOES_NOT_FIT))
        self.assertEqual(judged(high - cache / 2, "--tight"), (tight, OK))
        self.assertEqual(judged(high - cache - 1, "--tight"),
                         ("does not fit", DOES_NOT_FIT))

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


class MaxBatch(unittest.TestCase):
    def expect_the_line(self, model, *flags):
        best = int(run("max-batch", model, *flags).stdout)
        self.assertGreater(best, 1)
        for batch, expected in ((best, OK), (best + 1, DOES_NOT_FIT)):
            outcome = run("fits", model, "-b", str(batch), *flags)
            self.assertEqual(outcome.returncode, expected, outcome.stdout)

    def test_the_answer_fits_and_the_next_batch_does_not(self):
        for flags in ((), ("--profile", "1g.5gb"), ("--profile", "1G.5GB"),
                      ("--device", "rtx-3090"),
                      ("--max-latency", "20"),
                      ("--max-energy", "2", "--strict")):
            with self.subTest(flags=flags):
                self.expect_the_line(ONNX, *flags)

    def test_training_is_judged_as_fits_judges_it(self):
        for model in ("mobilenet_v2", "resnet50", "bert_base"):
            with self.subTest(model=model):
                self.expect_the_line("zoo:" + model, "--mode", "training")

    def test_takes_the_memory_that_predict_learned(self):
        arguments = ("--mode", "training", "--profile", "2g.10gb")
        analytic = int(run("max-batch", ONNX, *arguments).stdout)
        learned = int(run("max-batch", ONNX, *arguments, "--method",
                          "learned").stdout)
        self.assertNotEqual(analytic, learned)
        (result,) = predict_json(ONNX, "--batch", str(learned), "--mode",
                                 "training", "--method", "learned")["results"]
        profile = next(one for one in result["mig"]["profiles"]
                       if one["profile"] == "2g.10gb")
        self.assertTrue(profile["fits"])
        self.assertGreaterEqual(profile["margin_mib"], 0)

    def test_limit_ends_the_search(self):
        self.assertEqual(run("max-batch", ONNX, "--limit", "3").stdout, "3\n")

    def test_the_largest_batch_is_one_that_the_file_allows(self):
        outcome = run("max-batch", BOUNDED)
        self.assertEqual(outcome.stdout, "64\n")
        self.assertIn("the model takes no more", outcome.stderr)
        self.assertEqual(run("max-batch", BOUNDED, "--limit", "5").stdout, "5\n")

    def test_json_says_the_same(self):
        flags = ("--profile", "1g.5gb")
        (result,) = json.loads(
            run("max-batch", ONNX, "--json", *flags).stdout)["results"]
        self.assertEqual(result, {
            "model": ONNX, "place": "a100-sxm4-40gb 1g.5gb",
            "batch": int(run("max-batch", ONNX, *flags).stdout),
            "is_limit": False})
        none = run("max-batch", ONNX, "--json", "--max-memory", "1")
        self.assertEqual(none.returncode, DOES_NOT_FIT)
        self.assertEqual(json.loads(none.stdout)["results"][0]["batch"], 0)

    def test_json_lists_what_fails(self):
        for command in (("max-batch", "--json"),
                        ("inspect", "--format", "json")):
            outcome = run(command[0], "missing.onnx", *command[1:])
            (error,) = json.loads(outcome.stdout)["errors"]
            self.assertEqual(error["code"], "not_found")
            self.assertIn(error["message"], outcome.stderr)


class Measure(unittest.TestCase):
    """Real runs on the CPU, as few as possible."""
    QUICK = ("--device", "cpu", "--warmup", "1", "--min-runs", "2",
             "--min-seconds", "0")

    def rows(self, *arguments):
        outcome = run("measure", "--json", *self.QUICK, *arguments)
        return json.loads(outcome.stdout)["measurements"]

    def test_json_has_every_documented_part(self):
        (row,) = self.rows(ONNX, "--batch", "2", "--energy")
        self.assertEqual(row["status"], "ok", row["message"])
        for field in ("model format mode optimizer precision batch device "
                      "inputs seed status message measured_at latency memory "
                      "energy state environment notes warnings").split():
            self.assertIn(field, row)
        self.assertEqual(row["latency"]["runs"], 2)
        self.assertEqual(row["inputs"], [{"name": "image", "dtype": "f32",
                                          "shape": [2, 3, 224, 224]}])
        reasons = {note["what"] for note in row["notes"]}
        self.assertIn("peak_reserved_bytes", reasons)
        self.assertIsNone(row["memory"]["peak_reserved_bytes"])
        if row["energy"]["energy_j"] is None:
            self.assertIn("energy", reasons)

    def test_peak_is_that_of_the_trace(self):
        (row,) = self.rows(ONNX, "--batch", "4")
        # Weights, the image and, at the peak, the first convolution's result
        # [4,64,112,112] with that of its relu. 1 % for a CPU whose kernels
        # want copies of their own.
        expected = 4 * (11_684_712 + 4 * 3 * 224 * 224 + 2 * 4 * 64 * 112**2)
        self.assertAlmostEqual(
            row["memory"]["peak_allocated_bytes"] / expected, 1, delta=0.01)

    def test_grad_keeps_what_the_trace_says(self):
        (row,) = self.rows(ONNX, "--batch", "4", "--grad")
        self.assertIs(row["environment"]["grad_mode"], True)
        (traced,) = predict_json(ONNX, "--batch", "4", "--grad")["results"]
        # The CUDA workspaces of the prediction are not the CPU's, whose last
        # convolutions want a copy of their weights, 9 MiB.
        expected = (traced["memory"]["allocated_mib"]
                    - traced["memory"]["workspace_at_peak_mib"]) * 2**20
        ratio = row["memory"]["peak_allocated_bytes"] / expected
        self.assertGreater(ratio, 0.99)
        self.assertLess(ratio, 1 + 10 * 2**20 / expected)

    def test_rows_are_the_product_of_the_lists(self):
        outcome = run("measure", "--csv", *self.QUICK, ONNX, "--batch", "1,2",
                      "--precision", "fp32,bf16")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([(r["precision"], r["batch"]) for r in rows],
                         [("fp32", "1"), ("fp32", "2"),
                          ("bf16", "1"), ("bf16", "2")])
        self.assertEqual({r["status"] for r in rows}, {"ok"})
        self.assertEqual(outcome.returncode, OK)

    def test_autocast_runs_fp32_parameters_in_16_bits(self):
        (plain,), (mixed,) = (self.rows(ONNX, "--batch", "4", *flags)
                              for flags in ((), ("--autocast",
                                                 "--channels-last")))
        self.assertEqual(mixed["status"], "ok", mixed["message"])
        self.assertEqual(mixed["precision"], "fp32")
        self.assertEqual([row["environment"]["autocast"]
                          for row in (plain, mixed)], [False, True])
        self.assertEqual(mixed["environment"]["memory_format"],
                         "channels_last")
        # The two activations of the peak have half the size.
        self.assertLess(mixed["memory"]["peak_allocated_bytes"],
                        plain["memory"]["peak_allocated_bytes"])
        refused = run("measure", *self.QUICK, ONNX, "--batch", "4",
                      "--autocast", "--precision", "bf16")
        self.assertEqual(refused.returncode, MODEL_FAILED)
        self.assertIn("not in bf16", refused.stderr)

    def test_a_row_that_fails_does_not_take_others_along(self):
        outcome = run("measure", "--csv", *self.QUICK, "missing.onnx", ONNX,
                      "--batch", "1000000000,1")
        rows = list(csv.DictReader(io.StringIO(outcome.stdout)))
        self.assertEqual([r["status"] for r in rows],
                         ["failed", "failed", "out_of_memory", "ok"])
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("missing.onnx", outcome.stderr)

    def test_a_row_that_takes_too_long_is_killed(self):
        outcome = run("measure", ONNX, "--device", "cpu", "--batch", "1",
                      "--min-seconds", "100000", "--deadline", "1", "--csv")
        (row,) = csv.DictReader(io.StringIO(outcome.stdout))
        self.assertEqual(row["status"], "deadline")
        self.assertEqual(outcome.returncode, MODEL_FAILED)

    def test_torchscript_runs_locked_on_the_cpu_and_trusted_on_a_gpu(self):
        (row,) = self.rows(SCRIPT, "--input", "x=f32[1,3,64,64]")
        self.assertEqual(row["status"], "ok", row["message"])
        refused = run("measure", SCRIPT, "--input", "x=f32[1,3,64,64]",
                      "--device", "cuda:0")
        self.assertEqual(refused.returncode, MODEL_FAILED)
        self.assertIn("--trust", refused.stderr)

    def test_environment_goes_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "environment.json"
            self.rows(ONNX, "--batch", "1,2", "--environment-out", str(path))
            (entry,) = json.loads(path.read_text())["environments"]
        self.assertEqual(entry["device"], "cpu")
        self.assertTrue(entry["environment"]["libtorch"].startswith("2."))


class Parallel(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[1,3,224,224]", "--batch", "8", "--mode",
            "training", "--optimizer", "adam")

    def result(self, *arguments):
        document = predict_json(*self.STEP, *arguments)
        self.assertEqual(document["errors"], [])
        return document["results"][0]

    def test_ddp_adds_buckets_as_large_as_the_gradients(self):
        alone, shared = self.result(), self.result("--parallel", "ddp:8")
        self.assertNotIn("parallel", alone)
        self.assertEqual(shared["setup"], ["--parallel ddp:8"])
        gradients = alone["parameters"] * 4 / 2**20
        more = shared["memory"]["allocated_mib"] - alone["memory"]["allocated_mib"]
        # Blocks that are not split hold up to 1 MiB more than is asked for.
        self.assertAlmostEqual(more, gradients, delta=1)
        parallel = shared["parallel"]
        self.assertEqual((parallel["plan"], parallel["gpus"]), ("ddp:8", 8))
        self.assertGreater(parallel["sent_mib"], 1.75 * gradients)
        self.assertGreater(shared["latency"]["ms"], alone["latency"]["ms"])

    def test_gradients_that_stay_lie_in_their_buckets(self):
        flags = ("--set-to-none", "off")
        alone = self.result(*flags)["memory"]["allocated_mib"]
        shared = self.result(*flags, "--parallel", "ddp:8,bucket-view")
        self.assertAlmostEqual(shared["memory"]["allocated_mib"], alone, delta=2)

    def test_shards_keep_an_eighth_of_the_state(self):
        alone, shared = self.result(), self.result("--parallel", "fsdp:8")
        self.assertLess(shared["memory"]["reserved_mib"],
                        alone["memory"]["reserved_mib"])
        # NCCL's rings: 24 channels of 12 MiB.
        self.assertEqual(shared["parallel"]["link_buffers_mib"], 288)
        self.assertNotIn("layers", shared["parallel"])
        self.assertLess(shared["memory"]["optimizer_mib"],
                        alone["memory"]["optimizer_mib"] / 7)
        self.assertEqual(shared["parallel"]["link_gb_s"], 300)

    def test_blocks_that_are_computed_again_are_gathered_whole(self):
        alone = self.result()
        for plan in ("fsdp:8", "zero2:8"):
            shared = self.result("--parallel", plan, "--recompute", "auto")
            self.assertEqual(shared["static_features"]["macs"],
                             alone["static_features"]["macs"])

    def test_layers_are_shared_in_inference_too(self):
        model = ("zoo:gpt2", "--batch", "2", "--device", "h100-sxm5-80gb")
        (alone,) = predict_json(*model)["results"]
        (shared,) = predict_json(*model, "--parallel", "tp:4")["results"]
        self.assertEqual(shared["parallel"]["layers"],
                         {"columns": 24, "rows": 24, "whole": 0})
        self.assertEqual(shared["parallel"]["exchanges"], 24)
        # Blocks are 85 of 124 million parameters.
        self.assertAlmostEqual(
            alone["memory"]["parameters_mib"] - shared["memory"]["parameters_mib"],
            0.75 * 85e6 * 4 / 2**20, delta=2)
        outcome = run("inspect", *model, "--parallel", "tp:4")
        self.assertIn("linear layers: 24 by columns, 24 by rows, 0 whole on every "
                      "GPU", outcome.stdout)
        outcome = run("predict", *model, "--parallel", "tp:5")
        self.assertIn("reads 12 heads, which 5 GPUs cannot share evenly",
                      outcome.stderr)

    def test_a_slow_link_makes_the_step_longer(self):
        fast = self.result("--parallel", "ddp:8")
        slow = self.result("--parallel", "ddp:8", "--link", "1")
        self.assertEqual(slow["parallel"]["link_gb_s"], 1)
        self.assertEqual(slow["memory"], fast["memory"])
        self.assertGreater(slow["parallel"]["exposed_link_ms"], 50)
        self.assertGreater(slow["latency"]["ms"], fast["latency"]["ms"] + 50)

    def test_refuses_what_cannot_be_shared(self):
        for flags, text in (
                (("--parallel", "tp:4"), "tp:4: none of 1 layers can be shared"),
                (("--parallel", "pp:4"), "--parallel 'pp:4': expected ddp:N"),
                (("--parallel", "ddp:1"), "--parallel 'ddp:1': expected ddp:N"),
                (("--parallel", "fsdp:2", "--accumulate", "2"), "fsdp:2: gradients"),
                (("--parallel", "fsdp:2,blocks=no.*"), "no block 'no.*'"),
                (("--parallel", "ddp:2", "--mode", "inference"),
                 "add --mode training")):
            with self.subTest(flags=flags):
                step = self.STEP[:5] if "--mode" in flags else self.STEP
                outcome = run("predict", *step, *flags)
                self.assertNotEqual(outcome.returncode, OK)
                self.assertIn(text, outcome.stderr)


class Advise(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[1,3,224,224]", "--batch", "8", "--mode",
            "training", "--optimizer", "adam")

    def advise(self, *arguments):
        outcome = run("advise", *self.STEP, "--json", *arguments)
        (result,) = json.loads(outcome.stdout)["results"]
        return outcome.returncode, result

    def test_a_remedy_takes_what_predict_says_with_its_flag(self):
        status, result = self.advise("--max-memory", "10", "--try-trainable", "fc")
        self.assertEqual(status, DOES_NOT_FIT)
        self.assertIsNone(result["smallest"])
        found = {one["remedies"][0]: one for one in result["remedies"]}
        for name, flags in (("recompute blocks", ("--recompute", "auto")),
                            ("foreach=False", ("--foreach", "off")),
                            ("fused=True", ("--fused", "on")),
                            ("expandable segments", ("--expandable-segments",)),
                            ("train only fc", ("--trainable", "fc")),
                            ("all of it in bf16", ("--precision", "bf16"))):
            with self.subTest(name):
                (same,) = predict_json(*self.STEP, *flags)["results"]
                self.assertAlmostEqual(found[name]["memory_mib"],
                                       same["memory"]["total_mib"], delta=0.01)
                if flags[0] != "--precision":
                    self.assertEqual(same["setup"], [" ".join(flags)])
                self.assertAlmostEqual(found[name]["latency_ms"],
                                       same["latency"]["ms"], delta=0.001)

    def test_status_0_names_the_smallest_change(self):
        status, result = self.advise()
        self.assertEqual(status, OK)
        self.assertTrue(result["unchanged"]["fits"])
        self.assertIsNone(result["smallest"])
        limit = result["unchanged"]["needed_mib"] - 100
        status, result = self.advise("--max-memory", str(limit))
        self.assertEqual(status, OK)
        self.assertEqual(len(result["smallest"]["remedies"]), 1)
        self.assertLessEqual(result["smallest"]["needed_mib"], limit)

    def test_a_missing_file_is_an_error_of_the_document(self):
        outcome = run("advise", "missing.onnx", "--json")
        self.assertNotEqual(outcome.returncode, OK)
        (error,) = json.loads(outcome.stdout)["errors"]
        self.assertIn("missing.onnx", error["message"])


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
        bad = (("batch,memory\n1,2\n", "has 1 rows"),
               ("batch,memory\n1,2\n2,x\n", "rows.csv:3: memory is 'x'"),
               ("batch,memory\n1,2\n2,nan\n", "rows.csv:3: memory is 'nan'"),
               ("batch,latency\n1,2\n", "'memory'"),
               ("batch,memory\n1,2\n2,2\n3,2\n4,2\n", "in all 4 rows"))
        for text, complaint in bad:
            self.table.write_text(text)
            outcome = self.fit("--target", "memory")
            self.assertIn(outcome.returncode, (USAGE, MODEL_FAILED))
            self.assertEqual(len(outcome.stderr.splitlines()), 1)
            self.assertIn(complaint, outcome.stderr)

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

    def test_refuses_sweeps_that_a_model_does_not_have(self):
        for sweep, complaint in (
                ("depth=1..4", "no such dimension"),
                ("batch=1..4", "has 4 points"),
                ("batch=4..1", "fewer than two values")):
            outcome = run("fit", ONNX, "--target", "memory", "--sweep", sweep)
            self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
            self.assertIn(complaint, outcome.stderr)


class Calibrate(unittest.TestCase):
    MODEL = "zoo:mlp?hidden={hidden}"
    SWEEP = "batch=1|16|256,inputs=512|1024|2048,hidden=64|128|256"

    def calibrate(self, *arguments):
        return run("calibrate", *arguments, "--threads", "1", "--mode",
                   "training", "--json")

    def test_measures_the_runs_of_an_array_and_fits_what_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            stored = pathlib.Path(folder) / "gap.json"
            outcome = self.calibrate(self.MODEL, "--sweep", self.SWEEP,
                                     "--checks", "2", "--out", str(stored))
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            gap = json.loads(stored.read_text())
        document = json.loads(outcome.stdout)
        self.assertEqual(document["array"], "L9")
        self.assertEqual((len(document["rows"]), len(document["checks"])),
                         (9, 2))
        for factor in ("batch", "inputs", "hidden"):
            levels = sorted(row[factor] for row in document["rows"])
            self.assertEqual(levels[0:3] + levels[6:9],
                             3 * levels[:1] + 3 * levels[-1:])
        for row in document["rows"]:
            self.assertGreater(row["measured_mib"], 0.9 * row["estimated_mib"])
        self.assertEqual(gap["format"], "calibration")
        self.assertEqual([one["name"] for one in gap["factors"]],
                         ["batch", "inputs", "hidden"])
        self.assertEqual(document["failed"], [])
        self.assertIsNone(document["random_fit"])
        self.assertGreaterEqual(document["fit"]["error_left_out"], 0)

    def test_leaves_out_runs_that_fail(self):
        # Five poolings leave nothing of 16 pixels.
        model = "zoo:vgg11?width=4&hidden=16"
        outcome = self.calibrate(model, "--sweep",
                                 "batch=1|2|4,resolution=16|32|64")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual((len(document["rows"]), len(document["failed"])), (6, 3))
        self.assertEqual({one["resolution"] for one in document["failed"]}, {16})
        self.assertRegex(outcome.stderr, r"batch=\d,resolution=16: failed: .*; "
                                         r"the run is left out")
        outcome = self.calibrate(model, "--sweep",
                                 "batch=1|2|4,resolution=8|12|16")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("0 of 9 runs could be measured, and a polynomial of 2 "
                      "factors needs 4", outcome.stderr)

    def test_predictions_take_the_gap_of_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            stored = pathlib.Path(folder) / "gap.json"
            model = "zoo:mlp?inputs=64"
            outcome = self.calibrate(model, "--sweep",
                                     "batch=1|16|256,hidden=64|128|256",
                                     "--out", str(stored))
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            step = (f"{model}&hidden=64", "--batch", "16", "--mode", "training")
            flags = ("--adaptation", str(stored))
            outcome = run("predict", *step, *flags)
            self.assertIn("was measured on the CPU", outcome.stderr)
            gap = json.loads(stored.read_text())
            gap["measured_on"] = "cuda:0"
            gap["gap_mib"] = [{"coefficient": 1000, "powers": [0, 0]},
                              {"coefficient": 5, "powers": [1, 0]}]
            stored.write_text(json.dumps(gap))
            plain, more = (predict_json(*step, *extra)["results"][0]
                           for extra in ((), flags))
            self.assertAlmostEqual(
                more["memory"]["total_mib"] - plain["memory"]["total_mib"],
                1080, delta=0.01)
            self.assertIn("calibrated by 9 runs", more["memory"]["source"]["method"])
            limit = ("--max-memory", "1500", "--mode", "training")
            self.assertEqual(run("fits", *step, "--max-memory", "1500").returncode,
                             OK)
            self.assertEqual(
                run("fits", *step, "--max-memory", "1500", *flags).returncode,
                DOES_NOT_FIT)
            batches = [int(run("max-batch", step[0], *limit, "--limit", "200",
                               *extra).stdout) for extra in ((), flags)]
            self.assertEqual(batches[0], 200)
            self.assertLess(batches[1], 16)
            outcome = run("predict", ONNX, "--batch", "2", "--mode", "training",
                          *flags)
            self.assertIn("was calibrated with the model zoo:mlp", outcome.stderr)

    def test_refuses_factors_that_no_array_has(self):
        outcome = self.calibrate(self.MODEL, "--sweep",
                                 "batch=1|2,hidden=1|2")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("no orthogonal array", outcome.stderr)


class Plan(unittest.TestCase):
    def expect_refusal(self, words, *arguments, status=USAGE):
        outcome = run("plan", *arguments)
        self.assertEqual(outcome.returncode, status, outcome.stdout)
        self.assertEqual(len(outcome.stderr.splitlines()), 1, outcome.stderr)
        self.assertIn(words, outcome.stderr)

    def plan(self, *arguments):
        outcome = run("plan", *arguments, "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        return json.loads(outcome.stdout)

    def test_a_model_gets_the_batch_that_max_batch_names(self):
        found = self.plan(ONNX, "--memory", "2GiB", "--margin", "0.25")
        self.assertEqual(found["usable_mib"], 0.75 * 2048)
        most = run("max-batch", ONNX, "--max-memory", "1536").stdout
        self.assertEqual(f"{found['value']}\n", most)
        text = run("plan", ONNX, "--memory", "2GiB", "--margin", "0.25").stdout
        self.assertIn(f"batch {found['value']}\n", text)

    def test_a_tile_grows_in_steps_at_a_batch(self):
        found = self.plan("zoo:unet", "--axis", "resolution", "--batch", "1",
                          "--memory", "16GiB", "--step", "16")
        self.assertEqual(found["value"] % 16, 0)
        self.assertLessEqual(found["needed_mib"], found["usable_mib"])
        larger = self.plan("zoo:unet", "--axis", "resolution", "--batch",
                           "2", "--memory", "16GiB", "--step", "16")
        self.assertLess(larger["value"], found["value"])

    def test_a_search_keeps_to_the_batches_that_a_file_allows(self):
        found = self.plan(BOUNDED, "--memory", "16GiB")
        self.assertEqual(found["value"], 64)
        why = "dimension 0 is 65, the file allows batch = at most 64"
        self.assertIn(why, found["refusal"])
        self.assertIn(why, run("plan", BOUNDED, "--memory", "16GiB").stdout)
        found = self.plan(BOUNDED, "--memory", "16GiB", "--limit", "20",
                          "--step", "3")
        self.assertEqual((found["value"], found["is_limit"]), (18, True))
        self.assertIsNone(found["refusal"])
        most = run("max-batch", BOUNDED)
        self.assertEqual(most.stdout, "64\n")
        self.assertIn(f"note: the model takes no more: {BOUNDED}: ", most.stderr)
        self.assertIn(why, most.stderr)

    def test_says_what_the_smallest_batch_needs(self):
        self.expect_refusal("batch 1 needs up to", ONNX, "--memory", "600MiB",
                            status=DOES_NOT_FIT)

    def test_refuses_memory_in_wrong_units(self):
        for size in ("16", "16Gigs", "GiB", "-1GiB", "0GiB", "nanGiB",
                     "1e30GiB"):
            with self.subTest(size=size):
                self.expect_refusal(f"--memory '{size}'", ONNX,
                                    f"--memory={size}")

    VOLUME = ("stencil", "--shape", "400,400,400", "--memory", "512MiB")

    def test_a_volume_gets_chunks(self):
        found = self.plan(*self.VOLUME, "--dtype", "f64")
        self.assertLessEqual(found["peak_mib"], found["usable_mib"])
        self.assertEqual(found["block"], [size + 2 for size in found["chunk"]])
        self.assertEqual(found["dask_chunks"], [str(tuple(found["chunk"]))])
        text = run("plan", *self.VOLUME, "--dtype", "f64").stdout
        self.assertIn(f"chunks={tuple(found['chunk'])}\n", text)
        self.assertIn("stencil f64", text)

    def test_elements_half_as_large_take_larger_chunks(self):
        for algorithm in ("convolution3d", "fft", "matmul", "sort", "stencil"):
            request = (algorithm, "--shape", "3000,1000,3000", "--memory",
                       "192MiB")
            chunks = [self.plan(*request, "--dtype", dtype)["chunk"]
                      for dtype in ("f64", "f32")]
            with self.subTest(algorithm=algorithm):
                for small, large in zip(*chunks):
                    self.assertLessEqual(small, large)
                self.assertNotEqual(*chunks)

    def test_more_memory_larger_chunks_and_a_margin_smaller_ones(self):
        chunks = [self.plan(*self.VOLUME[:-1], memory)["chunk"]
                  for memory in ("192MiB", "512MiB", "2GiB")]
        self.assertEqual(chunks, sorted(chunks))
        self.assertLess(chunks[0][0], chunks[2][0])
        self.assertLess(self.plan(*self.VOLUME, "--margin", "0.5")["chunk"],
                        self.plan(*self.VOLUME, "--margin", "0")["chunk"])

    def test_chunks_follow_storage_halo_and_whole_axes(self):
        aligned = self.plan(*self.VOLUME, "--align", "64,64,64")["chunk"]
        self.assertEqual([size % 64 for size in aligned], [0, 0, 0])
        wide = self.plan(*self.VOLUME, "--halo", "4,2,1")
        self.assertEqual([b - c for b, c in zip(wide["block"], wide["chunk"])],
                         [8, 4, 2])
        whole = self.plan(*self.VOLUME, "--whole", "x")
        self.assertEqual(whole["chunk"][2], 400)

    def test_a_product_has_chunks_of_two_arrays(self):
        found = self.plan("matmul", "--shape", "4000,500,4000", "--memory",
                          "192MiB")
        rows, inner, columns = found["chunk"]
        self.assertEqual(inner, 500)
        self.assertEqual(found["dask_chunks"],
                         [f"({rows}, 500)", f"(500, {columns})"])

    def test_learns_a_command_and_keeps_what_it_learned(self):
        # 10 MiB or so of Python and 2000 bytes per element, kept until somebody
        # must have looked.
        command = (f"{sys.executable} -c 'import time; a, b = {{shape}};"
                   " block = bytearray(2000 * a * b); time.sleep(0.5)'")
        with tempfile.TemporaryDirectory() as folder:
            stored = str(pathlib.Path(folder) / "mine.json")
            outcome = run("plan", "mine", "--run", command, "--axes",
                          "a=8..128,b=8..128", "--runs", "6", "--out", stored)
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            self.assertIn("6 runs", outcome.stdout)
            found = self.plan("--footprint", stored, "--shape", "2000,2000",
                              "--memory", "1GiB", "--margin", "0")
            rows, columns = found["block"]
            bare = 1024 - rows * columns * 2000 / 2 ** 20
            self.assertGreater(bare, -0.02 * 1024)
            self.assertAlmostEqual(
                found["peak_mib"] - rows * columns * 2000 / 2 ** 20, 10,
                delta=0.02 * 1024)
            self.expect_refusal("is of dtype ''", "--footprint", stored,
                                "--shape", "9,9", "--memory", "1GiB",
                                "--dtype", "f32")
            document = json.loads(pathlib.Path(stored).read_text())
            self.assertEqual(document["command"], command)
            document["schema_version"] = 2
            pathlib.Path(stored).write_text(json.dumps(document))
            self.expect_refusal("schema_version", "--footprint", stored,
                                "--shape", "9,9", "--memory", "1GiB",
                                status=MODEL_FAILED)

    def test_keeps_the_runs_that_failed(self):
        command = (f"{sys.executable} -c 'import time; a, b = {{shape}};"
                   " assert a * b < 16000, a; block = bytearray(2000 * a * b);"
                   " time.sleep(0.5)'")
        outcome = run("plan", "--run", command, "--axes", "a=8..128,b=8..128",
                      "--runs", "8", "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        (failed, *_) = json.loads(outcome.stdout)["failed"]
        self.assertEqual(failed["shape"], [128, 128])
        self.assertIn("AssertionError: 128", failed["message"])
        self.expect_refusal("AssertionError: nothing", "--run",
                            f"{sys.executable} -c 'assert [{{shape}}] == 0,"
                            ' "nothing"\'', "--axes", "a=8..128", status=MODEL_FAILED)

    def test_refuses_what_makes_no_plan(self):
        for words, arguments in (
                ("algorithm 'warp' is unknown, expected one of convolution3d",
                 ("warp", "--shape", "8,8,8", "--memory", "1GiB")),
                ("dtype 'i8' has no footprint, expected one of f32, f64",
                 ("sort", "--shape", "8,8,8", "--memory", "1GiB", "--dtype",
                  "i8")),
                ("plan sort needs the --shape", ("sort", "--memory", "1GiB")),
                ("plan needs --memory", ("sort", "--shape", "8,8,8")),
                ("shape has 4 dimensions, expected 3: z, y, x",
                 ("sort", "--shape", "8,8,8,8", "--memory", "1GiB")),
                ("--halo has 2 numbers", (*self.VOLUME, "--halo", "1,2")),
                ("--whole w: no axis", (*self.VOLUME, "--whole", "w")),
                ("has no {shape}", ("--run", "python algo.py", "--axes",
                                    "a=8..128")),
                ("--run needs --axes", ("--run", "algo {shape}")),
                ("--axes 'a': ", ("--run", "algo {shape}", "--axes", "a")),
                ("plan needs a model", ("--memory", "1GiB"))):
            with self.subTest(words=words):
                self.expect_refusal(words, *arguments)

    def test_refuses_a_shape_of_nothing(self):
        outcome = run("plan", "sort", "--shape", "8,0,8", "--memory", "1GiB")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--shape: '0': expected a number above 0",
                      outcome.stderr)

    def test_says_how_a_shape_is_written(self):
        for shape in (("400", "400", "400"), ("400x400x400",), ("400,400 400",)):
            with self.subTest(shape=shape):
                outcome = run("plan", "stencil", "--shape", *shape, "--memory",
                              "1GiB")
                self.assertEqual(outcome.returncode, USAGE)
                self.assertIn("with commas between them: --shape 4000,4000",
                              outcome.stderr)

    def test_flags_name_the_arrays_that_are_cut(self):
        found = self.plan(*self.VOLUME, "--array", "z,y", "--array", "x")
        z, y, x = found["chunk"]
        self.assertEqual(found["dask_chunks"], [f"({z}, {y})", f"({x},)"])
        self.expect_refusal("--array w: no axis of stencil", *self.VOLUME,
                            "--array", "z,w")

    def test_says_what_the_smallest_block_takes(self):
        self.expect_refusal("the smallest block, 3 x 3 x 3, takes",
                            *self.VOLUME[:-1], "16MiB", status=DOES_NOT_FIT)

    def test_refuses_an_axis_that_a_model_lacks(self):
        self.expect_refusal("--axis frames", ONNX, "--memory", "1GiB",
                            "--axis", "frames")


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
                         r"rows that were left out got worse: latency [\d.]+ % "
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
            self.assertIn(f"{self.out}: was fitted to rows with", outcome.stderr)
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
        self.assertIn(f"{self.rows}: 0 rows have energy_j, expected at least 5",
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

    def test_too_much_is_told_by_the_exit_status(self):
        outcome = run("mig", "pack", "--job", "a=39000", "--job", "b=3000")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)


class Zoo(unittest.TestCase):
    def test_a_stock_network_is_predicted_like_a_file(self):
        ours = predict_json("zoo:resnet18", "--batch", "2")["results"][0]
        file = predict_json(ONNX, "--batch", "2")["results"][0]
        self.assertEqual(ours["format"], "zoo")
        self.assertEqual(ours["parameters"], 11_689_512)
        # The file has its batch norms folded away.
        self.assertEqual(
            ours["static_features"]["macs"], file["static_features"]["macs"]
        )

    def test_show_prints_every_field_with_its_value(self):
        shown = json.loads(run("zoo", "show", "resnet50?image_size=160").stdout)
        self.assertEqual(shown["family"], "resnet")
        self.assertEqual(shown["configuration"]["image_size"], 160)
        self.assertEqual(shown["configuration"]["layers"], [3, 4, 6, 3])

    def test_a_sweep_counts_what_it_lists(self):
        options = ("zoo", "list", "--sweep", "dippm", "--json")
        points = json.loads(run(*options).stdout)
        counts = json.loads(run(*options, "--count").stdout)
        self.assertEqual(sum(counts.values()), len(points))
        self.assertEqual(counts["resnet"], 1152)

    def test_mistakes_name_the_way_out(self):
        wrong_name = run("predict", "zoo:resnet5", "--batch", "1")
        self.assertEqual(wrong_name.returncode, MODEL_FAILED)
        self.assertIn("resnet50", wrong_name.stderr)
        wrong_field = run("zoo", "show", "resnet50?depth=3")
        self.assertEqual(wrong_field.returncode, USAGE)
        self.assertIn("layers", wrong_field.stderr)


class Lab(unittest.TestCase):
    """What `foretell` leaves to the program beside it."""
    BESIDE = pathlib.Path(BINARY).with_name("foretell-lab")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.alone = pathlib.Path(folder.name) / "foretell"
        shutil.copy(BINARY, self.alone)

    def call(self, program, *arguments):
        return subprocess.run([program, *arguments], capture_output=True,
                              text=True, timeout=120)

    def test_both_programs_have_one_help_and_one_completion(self):
        for arguments in (["--help"], ["completion", "bash"]):
            self.assertEqual(run(*arguments).stdout,
                             self.call(self.BESIDE, *arguments).stdout)
        for arguments in (["train", "--help"], ["--help", "train"]):
            outcome = run(*arguments)
            self.assertEqual(outcome.returncode, OK)
            self.assertIn("--learning-rate", outcome.stdout)

    def test_arguments_and_exit_status_go_through(self):
        lab = self.alone.with_name("foretell-lab")
        lab.write_text('#!/bin/sh\nprintf "%s|" "$@"\ncat\nexit 7\n')
        lab.chmod(0o755)
        outcome = subprocess.run(
            [self.alone, "dataset", "stats", "a b", "", "--json"], text=True,
            capture_output=True, input="stdin", timeout=120)
        self.assertEqual((outcome.returncode, outcome.stdout),
                         (7, "dataset|stats|a b||--json|stdin"))

    def test_a_link_to_the_program_finds_it(self):
        link = self.alone.with_name("link")
        link.symlink_to(BINARY)
        outcome = self.call(link, "train")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--dataset", outcome.stderr)

    def test_where_it_is_missing_one_line_says_what_to_do(self):
        for command in ("measure dataset train evaluate compare-networks "
                        "cross-validate").split():
            outcome = self.call(self.alone, command, "--help")
            self.assertEqual(outcome.returncode, MODEL_FAILED)
            self.assertEqual(outcome.stdout, "")
            self.assertIn(f"{self.alone}-lab", outcome.stderr)
            self.assertIn("`scripts/build foretell-lab`", outcome.stderr)
            self.assertEqual(outcome.stderr.count("\n"), 1)

    def test_where_it_is_missing_all_else_works(self):
        self.assertEqual(self.call(self.alone, "--help").stdout,
                         run("--help").stdout)
        script = self.call(self.alone, "completion", "bash").stdout
        for word in ("--precision", "cross-validate"):
            self.assertIn(word, script)
        self.assertEqual(
            self.call(self.alone, "predict", ONNX, "--batch", "1").stdout,
            run("predict", ONNX, "--batch", "1").stdout)


class Host(unittest.TestCase):
    """What `foretell host` prints and keeps; how fast this machine is does not
    matter."""
    QUICK = ("--batches", "2", "--calls", "3")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hosts = self.folder / "foretell" / "hosts"

    def call(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=120,
            env={**os.environ, "XDG_CONFIG_HOME": str(self.folder)})

    def put(self, name, factor, spread=1.2):
        self.hosts.mkdir(parents=True, exist_ok=True)
        path = self.hosts / f"{name}.json"
        path.write_text(json.dumps(
            {"name": name, "factor": factor, "spread": spread}))
        return path

    def predict(self, *flags):
        outcome = self.call("predict", ONNX, "--batch", "1", "--json", *flags)
        (result,) = json.loads(outcome.stdout)["results"]
        return result

    def test_json_has_times_of_every_operator_beside_the_reference(self):
        outcome = self.call("host", "--json", *self.QUICK)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["schema_version"], 1)
        self.assertIsNone(document["path"])
        host, reference = document["host"], document["reference"]
        self.assertGreater(host["factor"], 0)
        self.assertGreaterEqual(host["spread"], 1)
        calls = {(probe["probe"], probe["tensors"], probe["grad"])
                 for probe in host["probes"]}
        self.assertEqual(len(calls), len(host["probes"]))
        self.assertEqual(calls, {
            (probe["probe"], probe["tensors"], probe["grad"])
            for probe in reference["probes"]})
        self.assertFalse(self.hosts.exists())

    def test_text_says_factor_and_operators(self):
        text = self.call("host", *self.QUICK).stdout
        for word in ("host ", "reference ", "factor ", "--name", "add",
                     "product", "meta"):
            self.assertIn(word, text)

    def test_a_name_is_stored_and_taken(self):
        stored = json.loads(self.call("host", "--json", "--name", "mine",
                                      *self.QUICK).stdout)
        path = self.hosts / "mine.json"
        self.assertEqual(stored["path"], str(path))
        self.assertEqual(json.loads(path.read_text()), stored["host"])
        self.assertEqual(list(self.hosts.iterdir()), [path])
        latency = self.predict("--host", "mine")["latency"]
        self.assertEqual((latency["host"], latency["host_name"]),
                         ("python", "mine"))
        self.assertAlmostEqual(
            latency["host_factor"] / stored["host"]["factor"], 1, delta=1e-5)

    def test_bad_names_store_nothing(self):
        for name in ("../x", "a/b", "", "python", ".x"):
            outcome = self.call("host", "--name", name, *self.QUICK)
            self.assertEqual(outcome.returncode, USAGE, name)
            self.assertEqual(outcome.stderr.count("\n"), 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_host_changes_dispatch_time_alone(self):
        self.put("slow", 3)
        plain, slow = self.predict(), self.predict("--host", "slow")
        self.assertGreater(slow["latency"]["ms"], 2 * plain["latency"]["ms"])
        self.assertLess(slow["latency"]["ms"], 3.1 * plain["latency"]["ms"])
        for part in ("compute_ms", "memory_ms"):
            self.assertEqual(slow["latency"][part], plain["latency"][part])
        self.assertEqual(slow["memory"], plain["memory"])
        self.assertIsNone(plain["latency"]["host_name"])
        self.assertEqual(plain["latency"]["host_factor"], 1)
        self.assertEqual(slow["latency"]["host_factor"], 3)
        text = self.call("predict", ONNX, "--batch", "1", "--host", "slow").stdout
        self.assertIn("called from Python on slow, host factor 3", text)

    def test_the_interval_is_wider_where_no_host_is_named(self):
        def width(*flags):
            low, high = self.predict(*flags)["latency"]["interval_ms"]
            return high / low

        self.put("typical", 1, spread=1)
        self.assertAlmostEqual(width("--host", "typical"), 4, delta=0.01)
        self.assertGreater(width(), 5)
        self.assertLess(width(), 8)

    def test_every_command_that_predicts_takes_a_host(self):
        path = self.put("slow", 20)
        limit = ("--max-latency", "30")
        fits = ("fits", ONNX, "--batch", "1", *limit)
        self.assertEqual(self.call(*fits).returncode, OK)
        for host in ("slow", str(path)):
            self.assertEqual(self.call(*fits, "--host", host).returncode,
                             DOES_NOT_FIT)
        self.assertEqual(self.call("max-batch", ONNX, *limit, "--host",
                                   "slow").stdout, "0\n")

    def test_unknown_and_damaged_hosts_are_one_error(self):
        self.put("slow", 3)
        unknown = self.call("predict", ONNX, "--batch", "1", "--host", "fast")
        self.assertEqual(unknown.returncode, USAGE)
        self.assertIn("host 'fast' is unknown; known are: python, cpp, slow;",
                      unknown.stderr)
        path = self.put("slow", -1)
        damaged = self.call("predict", ONNX, "--batch", "1", "--host", "slow")
        self.assertNotEqual(damaged.returncode, OK)
        self.assertIn(f"{path}: factor", damaged.stderr)
        self.assertEqual(damaged.stderr.count("\n"), 1)


class Others(unittest.TestCase):
    def test_devices_are_listed(self):
        names = [d["name"] for d in
                 json.loads(run("devices", "--json").stdout)["devices"]]
        for name in ("a100-sxm4-40gb", "a100-sxm4-80gb", "a30", "b200-sxm-180gb"):
            self.assertIn(name, names)

    def test_a_doctor_tries_what_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder)
            parts = self.examined(config)
            self.assertEqual(parts["hosts"]["health"], "note")
            hosts = config / "foretell" / "hosts"
            hosts.mkdir(parents=True)
            (hosts / "mine.json").write_text("{}")
            self.assertEqual(self.examined(config)["hosts"],
                             {"part": "hosts", "health": "ok", "text": "mine"})
        self.assertEqual(parts["trial"]["health"], "ok")
        self.assertRegex(parts["trial"]["text"], "resnet18.*[0-9] MiB, [0-9.]+ ms")
        self.assertIn("2.", parts["LibTorch"]["text"])
        self.assertIn("21 devices", parts["data"]["text"])

    def examined(self, config):
        result = subprocess.run([BINARY, "doctor", "--json"], text=True,
                                capture_output=True, timeout=120,
                                env={**os.environ, "XDG_CONFIG_HOME": str(config)})
        parts = {part["part"]: part
                 for part in json.loads(result.stdout)["parts"]}
        broken = any(p["health"] == "broken" for p in parts.values())
        self.assertEqual(result.returncode, 3 if broken else 0, result.stdout)
        return parts

    def test_a_doctor_misses_the_other_program(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "foretell"
            shutil.copy(BINARY, alone)
            result = subprocess.run([alone, "doctor"], capture_output=True,
                                    text=True, timeout=120)
        self.assertRegex(result.stdout, "note +foretell-lab .*missing")

    def test_manual_pages_are_of_every_command(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder) / "new" / "man1"
            self.assertEqual(run("manual", str(pages)).returncode, 0)
            names = {page.name for page in pages.iterdir()}
            self.assertLessEqual({"foretell.1", "foretell-predict.1",
                                  "foretell-mig-pack.1"}, names)
            self.assertNotIn("foretell-manual.1", names)
            page = (pages / "foretell-predict.1").read_text()
        self.assertIn(r"\fB\-p,\-\-precision\fR", page)
        self.assertFalse([line for line in page.splitlines()
                          if line.startswith(".")
                          and line.split()[0] not in
                          (".TH", ".SH", ".TP", ".nf", ".fi")])

    def test_completion_knows_every_command_and_flag(self):
        script = run("completion", "bash").stdout
        for word in ("predict", "mig pack", "--precision", "--max-memory",
                     "dataset measure", "--learning-rate"):
            self.assertIn(word, script)
        check = subprocess.run(["bash", "-n"], input=script, text=True)
        self.assertEqual(check.returncode, 0)

    def test_a_full_disk_is_no_success(self):
        for command in (["version"], ["devices", "--json"],
                        ["predict", ONNX, "--batch", "8"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([BINARY, *command], stdout=full,
                                        stderr=subprocess.PIPE, text=True,
                                        timeout=120)
            self.assertEqual(result.returncode, 3)
            self.assertIn("stdout cannot be written", result.stderr)

    def test_operators_in_text_form_are_timed_one_by_one(self):
        relu = ("graph\n%x = input f32[1000000]\n"
                "%y = relu(%x) : f32[1000000]\noutput %y\n")
        convolution = ("graph\n%x = input f32[8,64,56,56]\n%y = conv2d(%x, "
                       "weight f32[64,64,3,3]) {padding=[1, 1]} : "
                       "f32[8,64,56,56]\noutput %y\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "two.graphs"
            path.write_text(relu + convolution)
            both = json.loads(run("time-operators", str(path)).stdout)
            slow = json.loads(run("time-operators", str(path),
                                  "--no-tf32").stdout)
            path.write_text(relu + "graph\n%x = input f32[1]\nnonsense\n")
            wrong = run("time-operators", str(path))
        self.assertEqual(len(both), 2)
        # 8 MB at 0.87 of 1,555 GB/s, and a launch.
        self.assertAlmostEqual(both[0], 8 / 0.87 / 1.555 + 3, delta=0.01)
        self.assertEqual(slow[0], both[0])
        self.assertGreater(slow[1], both[1])
        self.assertIn("graph 1", wrong.stderr)

    def test_version_names_libtorch(self):
        self.assertIn("LibTorch 2.", run("version").stdout)


if __name__ == "__main__":
    unittest.main()
