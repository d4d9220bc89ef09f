#!/usr/bin/env python3
"""Tests of `--parallel`."""

import unittest

from calls import SCRIPT, OK, MODEL_FAILED, run, predict_json


class Parallel(unittest.TestCase):
    STEP = (SCRIPT, "--input", "f32[1,3,224,224]", "--batch", "8", "--mode",
            "training", "--optimizer", "adam")

    def result(self, *arguments):
        document = predict_json(*self.STEP, *arguments)
        self.assertEqual(document["errors"], [])
        return document["results"][0]

    def test_ddp_adds_buckets_as_large_as_the_gradients(self):
        # A batch whose peak is within the backward pass, in both.
        step = [word if word != "8" else "64" for word in self.STEP]
        (alone,), (shared,) = (predict_json(*step, *flags)["results"]
                               for flags in ((), ("--parallel", "ddp:8")))
        self.assertNotIn("parallel", alone)
        self.assertEqual(shared["setup"], ["--parallel ddp:8"])
        self.assertEqual(alone["memory"]["peak_operator"],
                         shared["memory"]["peak_operator"])
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

    def test_words_are_shared_where_asked_for(self):
        model = ("zoo:llama3_2_1b", "--batch", "1", "--precision", "bf16",
                 "--device", "h100-sxm5-80gb", "--parallel")
        (layers,) = predict_json(*model, "tp:4")["results"]
        (words,) = predict_json(*model, "tp:4,vocabulary")["results"]
        # Three quarters of a table of 128,256 words are on other GPUs.
        self.assertAlmostEqual(
            layers["memory"]["parameters_mib"] - words["memory"]["parameters_mib"],
            0.75 * 128256 * 2048 * 2 / 2**20, delta=0.1)
        refused = run("predict", "zoo:gpt2", "--batch", "1", "--parallel",
                      "tp:4,vocabulary")
        self.assertEqual(refused.returncode, MODEL_FAILED)
        self.assertRegex(refused.stderr, "50257.* 4 ")

    def test_a_pipeline_lists_all_gpus(self):
        alone = self.result()
        shared = self.result("--parallel", "pp:2,microbatches=4")
        parallel = shared["parallel"]
        self.assertEqual(len(parallel["stages"]), 2)
        self.assertEqual([stage["in_flight"] for stage in parallel["stages"]],
                         [2, 1])
        shown = parallel["stages"][parallel["gpu"]]
        self.assertAlmostEqual(shown["memory_mib"], shared["memory"]["total_mib"],
                               delta=1)
        self.assertEqual(shared["batch"], alone["batch"])
        self.assertEqual(shared["inputs"], alone["inputs"])
        # The first GPU waits for the first backward pass, the last for the first
        # forward pass.
        self.assertGreater(parallel["bubble_ms"], 0)
        self.assertGreater(shared["latency"]["ms"],
                           max(stage["busy_ms"] for stage in parallel["stages"]))

    def test_stages_keep_the_masks_that_they_compute_again(self):
        for plan in ("pp:2", "pp:2+zero2:2"):
            with self.subTest(plan=plan):
                outcome = run("predict", "zoo:gpt2?depth=4", "--batch", "2",
                              "--seq-len", "64", "--mode", "training", "--optimizer",
                              "sgd", "--recompute", "auto", "--parallel", plan,
                              "--device", "a100-sxm4-40gb")
                self.assertEqual(outcome.returncode, OK, outcome.stderr)

    def test_a_slow_link_makes_the_step_longer(self):
        fast = self.result("--parallel", "ddp:8")
        slow = self.result("--parallel", "ddp:8", "--link", "1")
        self.assertEqual(slow["parallel"]["link_gb_s"], 1)
        self.assertEqual(slow["memory"], fast["memory"])
        self.assertGreater(slow["parallel"]["exposed_link_ms"], 50)
        self.assertGreater(slow["latency"]["ms"], fast["latency"]["ms"] + 50)

    def test_refuses_what_cannot_be_shared(self):
        for flags, text in (
                (("--parallel", "tp:4"), "tp:4: none of 1 layer can be shared"),
                (("--parallel", "xp:4"), "--parallel 'xp:4': expected a plan of ddp"),
                (("--parallel", "ep:4"), "ep:4: experts are shared of networks"),
                (("--parallel", "cp:4"), "cp:4: no input is [batch, tokens]"),
                (("--parallel", "pp:2", "--accumulate", "2"), "pp:2: --accumulate is not"),
                (("--parallel", "pp:64"), "for 64 stages"),
                (("--parallel", "ddp:1"), "--parallel 'ddp:1': expected a number of GPUs"),
                (("--parallel", "fsdp:2", "--torch", "1.13"), "fsdp:2: --set-to-none off"),
                (("--parallel", "fsdp:2,blocks=no.*"), "no block 'no.*'"),
                (("--parallel", "ddp:2", "--mode", "inference"),
                 "needs --mode training")):
            with self.subTest(flags=flags):
                step = self.STEP[:5] if "--mode" in flags else self.STEP
                outcome = run("predict", *step, *flags)
                self.assertNotEqual(outcome.returncode, OK)
                self.assertIn(text, outcome.stderr)


if __name__ == "__main__":
    unittest.main()
