#!/usr/bin/env python3
"""Tests that flags without what they go with are refused."""

import unittest

from calls import ONNX, OK, USAGE, run

PREDICT = ("predict", ONNX, "--batch", "1")
TRAINING = ("--mode", "training")
SHAPE = ("plan", "stencil", "--shape", "64,64", "--memory", "1GiB")
# What is refused: the words that are given, those that the message begins with, and
# those that make it right.
REFUSED = (
    (PREDICT, "--link 300", "applies to the GPUs of --parallel",
     ("--parallel", "ddp:2", *TRAINING)),
    (PREDICT, "--optimizer adam", "needs --mode training", TRAINING),
    (PREDICT, "--accumulate 2", "needs --mode training", TRAINING),
    (PREDICT, "--parallel ddp:2", "needs --mode training", TRAINING),
    (PREDICT, "--evaluate 4", "needs --mode training", TRAINING),
    (PREDICT + TRAINING + ("--evaluate", "4"), "--parallel ddp:2", "is for one step",
     None),
    (("predict", ONNX, "+", *PREDICT[1:], *TRAINING), "--parallel ddp:2",
     "is for one step", None),
    (("predict", ONNX, "+", *PREDICT[1:]), "--lengths 8,16",
     "one of --lengths, --evaluate and networks with '+'", None),
    (("advise", *PREDICT[1:]), "--try-trainable head", "needs --mode training",
     TRAINING),
    (("fits", *PREDICT[1:], *TRAINING, "--parallel", "ddp:2"), "--profile 1g.5gb",
     "NCCL", None),
    (("mig", "pack", ONNX, "--batch", "1", *TRAINING), "--parallel ddp:2",
     "does not span MIG instances", None),
    (("fits", *PREDICT[1:]), "--strict", "applies to --max-latency and --max-energy",
     ("--max-latency", "1000")),
    (("max-batch", ONNX, "--limit", "4"), "--strict", "applies to --max-latency",
     ("--max-energy", "1000")),
    (PREDICT + ("--sandbox", "off"), "--timeout 5", "limits a sandbox", None),
    (("diff", "a.json", "b.json"), "--batch 8", "both sides are saved answers", None),
    (("measure", ONNX), "--energy-repeats 3", "add --energy", None),
    (("measure", ONNX), "--optimizer adam", "needs --mode training", None),
    (("mig", "layouts"), "--json", "add --count", ("--count",)),
    (("mig", "layouts", "--count"), "--all", "--count counts all of them", None),
    (("mig", "pack", "--job", "a=1000"), "--batch 8", "name a model", (ONNX,)),
    (("zoo", "list"), "--count", "add --sweep", ("--sweep", "dippm")),
    (("fit", "rows.csv", "--target", "memory"), "--points 20", "add --sweep", None),
    (("fit", "rows.csv", "--target", "memory"), "--device a30", "add --sweep", None),
    (("fit", ONNX, "--target", "memory", "--sweep", "batch=1..64"), "--held-out 0.5",
     "with --sweep use --points and --checks", None),
    (("fit", "rows.csv", "--judge", "mine.json"), "--seed 3", "--judge fits nothing",
     None),
    (("fit", "rows.csv", "--target", "memory", "--method", "linear"),
     "--population 9", "applies to the search for formulas", None),
    (SHAPE, "--runs 5", "add --run", None),
    (SHAPE, "--axis resolution", "this plans no model", None),
    (SHAPE, "--device a30", "this plans no model", None),
    (("plan", ONNX, "--memory", "8GiB"), "--halo 1", "add --shape", None),
    (("plan", ONNX, "--memory", "8GiB", "--limit", "64"), "--batch 2",
     "fixes the batch while another axis grows", ("--axis", "resolution")),
    (("plan", "--run", "true {shape}", "--axes", "x=1..8"), "--memory 1GiB",
     "add --shape", None),
    (("plan", "--footprint", "mine.json", "--shape", "8,8", "--memory", "1GiB"),
     "stencil", "--footprint names one already", None),
    (("calibrate", ONNX, "--sweep", "batch=1..8"), "--seed 3",
     "applies to --checks and --random", None),
    (("dataset", "split", "d.sqlite"), "--family resnet", "--kind family", None),
    (("train", "--resume", "folder"), "--hidden 8", "--resume continues", None),
    (("evaluate", "--dataset", "d.sqlite", "--analytic", "--json"), "--markdown",
     "conflicts with --json", None),
)


class Partners(unittest.TestCase):
    def test_what_a_flag_goes_with_is_asked_for(self):
        for words, lonely, why, partner in REFUSED:
            arguments = (*words, *lonely.split())
            with self.subTest(arguments=arguments):
                outcome = run(*arguments)
                self.assertEqual(outcome.returncode, USAGE, outcome.stderr)
                (line,) = outcome.stderr.splitlines()
                self.assertTrue(line.startswith(f"foretell: error: {lonely}: "), line)
                self.assertIn(why, line)
                self.assertEqual(outcome.stdout, "")
                if partner:
                    right = run(*arguments, *partner)
                    self.assertNotIn(why, right.stderr)
                    self.assertEqual(right.returncode, OK, right.stderr)

    def test_several_are_told_at_once(self):
        outcome = run(*PREDICT, "--fused", "on", "--optimizer", "adam")
        self.assertIn("error: --optimizer adam, --fused on: needs --mode training",
                      outcome.stderr)

    def test_a_default_may_be_spelled_out(self):
        for flags in ("--optimizer adamw", "--accumulate 1", "--foreach on"):
            self.assertEqual(run(*PREDICT, *flags.split()).returncode, OK)

    def test_flags_without_any_effect_are_none(self):
        for words in (("compare", ONNX, "--profile", "1g.5gb"),
                      ("calibrate", ONNX, "--sweep", "batch=1..8", "--lora", "r=1,targets=x"),
                      ("dataset", "generate", ONNX, "--out", "d", "--parallel", "ddp:2")):
            outcome = run(*words)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn(f"no flag '{words[-2]}'", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
