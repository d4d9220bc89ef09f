#!/usr/bin/env python3
"""Tests of `foretell kv-cache`."""

import json
import pathlib
import tempfile
import unittest

from calls import DOES_NOT_FIT, MODEL_FAILED, OK, USAGE, run

LLAMA = "meta-llama/Llama-3.1-8B"


def answer(*arguments, accept=(OK,)):
    outcome = run("kv-cache", *arguments, "--json")
    assert outcome.returncode in accept, outcome.stderr
    return json.loads(outcome.stdout)


class KvCache(unittest.TestCase):

    def test_knows_names_of_the_hub_and_of_the_zoo(self):
        for name in (LLAMA, "zoo:llama3_8b"):
            with self.subTest(name=name):
                found = answer(name, "--device", "a100-80gb")
                self.assertEqual(found["token_bytes"], 131072)
                self.assertEqual(found["sequence_bytes"], 2**30)
                self.assertEqual(found["gpu"]["parameters"], 8030261248)

    def test_windows_are_those_of_the_zoo(self):
        (window, full) = answer("google/gemma-2-9b")["layers"]
        self.assertEqual((window["kind"], window["layers"], window["window"]),
                         ("window", 21, 4096))
        self.assertEqual((full["kind"], full["layers"]), ("full", 21))

    def test_a_file_needs_no_family_of_the_zoo(self):
        config = {"model_type": "deepseek_v3", "hidden_size": 7168,
                  "num_hidden_layers": 61, "num_attention_heads": 128,
                  "vocab_size": 129280, "kv_lora_rank": 512, "qk_rope_head_dim": 64}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.json")
            path.write_text(json.dumps(config))
            found = answer(path)
            self.assertEqual(found["token_bytes"], 61 * 576 * 2)
            self.assertNotIn("concurrency", found["gpu"])
            outcome = run("kv-cache", path)
            self.assertIn("--parameters N", outcome.stdout)
            found = answer(folder, "--parameters", "671e9", "--quantize", "fp8",
                           "--tensor-parallel", "8", "--device", "h200")
            self.assertGreater(found["gpu"]["concurrency"], 1)

    def test_says_whether_one_sequence_fits(self):
        found = answer(LLAMA, "--device", "t4", accept=(DOES_NOT_FIT,))
        self.assertEqual(found["gpu"]["concurrency"], 0)
        self.assertIn("nothing remains",
                      run("kv-cache", LLAMA, "--device", "t4").stdout)

    def test_refuses_what_is_no_decoder(self):
        outcome = run("kv-cache", "zoo:resnet50")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertIn("expected a decoder", outcome.stderr)
        self.assertEqual(run("kv-cache", LLAMA, "--kv-format", "int2").returncode,
                         USAGE)

    def test_warns_of_lengths_beyond_the_positions(self):
        outcome = run("kv-cache", "meta-llama/Llama-2-7b-hf", "--device", "a100-80gb")
        self.assertIn("4096 positions", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
