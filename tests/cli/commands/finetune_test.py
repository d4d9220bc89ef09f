#!/usr/bin/env python3
"""Tests of `foretell finetune`."""

import json
import shlex
import unittest

from calls import SOURCE, MODEL_FAILED, USAGE, run

DATA = SOURCE / "tests/recipes/data"
AXOLOTL = DATA / "axolotl_qlora.yaml"
ANSWER = ("--device", "rtx-4090", "--answer-only", "--json")


def understood(outcome):
    """The command line that the first note states, as words."""
    return shlex.split(outcome.stderr.splitlines()[0].split("): ", 1)[1])


class Config(unittest.TestCase):

    def test_is_the_run_of_the_flags_that_it_states(self):
        by_file = run("finetune", "--config", AXOLOTL, *ANSWER)
        words = understood(by_file)
        self.assertEqual(words[:3], ["NousResearch/Llama-3.2-1B", "--method", "qlora"])
        self.assertEqual(by_file.stderr.splitlines()[1],
                         "foretell: not modelled: micro_batchsize (unknown), "
                         "sample_packing=true")
        by_flags = run("finetune", *words, *ANSWER)
        self.assertEqual(json.loads(by_file.stdout), json.loads(by_flags.stdout))

    def test_gives_way_to_flags(self):
        outcome = run("finetune", "zoo:qwen2_0_5b", f"--config={AXOLOTL}", "-b", "1",
                      "--method", "full", "--seq-len=128", "--no-checkpointing",
                      *ANSWER)
        self.assertEqual(understood(outcome),
                         ["--accumulate", "4", "--optimizer", "paged_adamw8bit",
                          "--kernels", "rms-norm,fused-linear-cross-entropy"])
        (result,) = json.loads(outcome.stdout)["results"]
        self.assertTrue(result["model"].startswith("zoo:qwen2_0_5b"))

    def test_needs_a_file_that_it_can_read(self):
        outcome = run("finetune", "--config", DATA / "none.yaml")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("none.yaml", outcome.stderr)
        outcome = run("finetune", "--config", SOURCE / "README.md")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertEqual(len(outcome.stderr.splitlines()), 1)

    def test_says_how_to_name_a_network_that_no_file_states(self):
        outcome = run("finetune", "--config", DATA / "accelerate_fsdp.yaml")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("no network is stated that foretell knows",
                      outcome.stderr.splitlines()[-1])

    def test_gpus_are_those_of_a_file(self):
        outcome = run("finetune", "zoo:qwen2_0_5b", "--gpus", "2")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--gpus 2: applies to --config", outcome.stderr)


class Runtime(unittest.TestCase):

    def test_compiled_steps_are_checkpointed(self):
        outcome = run("finetune", "zoo:qwen2_0_5b?depth=1", "--seq-len", "64",
                      "--runtime", "compile")
        self.assertEqual(outcome.returncode, 0)
        self.assertIn("--runtime compile", outcome.stdout)
        self.assertIn("--recompute auto", outcome.stdout)
        self.assertIn("would save", outcome.stdout)


class Passes(unittest.TestCase):

    def test_other_networks_are_held_and_not_trained(self):
        words = ("finetune", "zoo:mlp", "+", "zoo:resnet18", "--method", "full",
                 "--batch", "4", "--no-checkpointing", "--json")
        outcome = run(*words)
        self.assertEqual(outcome.returncode, 0)
        both = json.loads(outcome.stdout)
        self.assertGreaterEqual(both["finetune"]["largest_batch"], 4)
        (alone,) = json.loads(run("finetune", "zoo:mlp", *words[4:], "--answer-only")
                              .stdout)["results"]

        (result,) = both["results"]
        self.assertEqual(result["memory"]["optimizer_mib"],
                         alone["memory"]["optimizer_mib"])
        # 11,689,512 parameters of ResNet-18 in BF16.
        self.assertAlmostEqual(result["memory"]["parameters_mib"]
                               - alone["memory"]["parameters_mib"],
                               11689512 * 2 / 2**20, delta=0.1)

    def test_one_step_is_answered(self):
        outcome = run("finetune", "zoo:mlp", "zoo:resnet18")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("stands between networks", outcome.stderr)

    def test_lengths_are_answered_without_a_search(self):
        outcome = run("finetune", "zoo:qwen2_0_5b?depth=1", "--lengths", "32,64",
                      "--no-checkpointing")
        self.assertEqual(outcome.returncode, 0)
        self.assertIn("with one length", outcome.stderr)
        self.assertIn("length 32", outcome.stdout)


if __name__ == "__main__":
    unittest.main()
