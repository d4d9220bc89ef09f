#!/usr/bin/env python3
"""Predicts real models of other frameworks and compares counts with those by hand.

    frameworks_test.py BINARY [unittest arguments]

The environments are made where there are none: gigabytes, from a network. So nothing
is tried unless FORETELL_TEST_FRAMEWORKS is 1. Models are made by the environments.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARY = sys.argv.pop(1)

KERAS = """
import keras, numpy, tensorflow as tf
layers = keras.layers
model = keras.Sequential([
    keras.Input((32, 32, 3), name="image"),
    layers.Conv2D(16, 3, padding="same", use_bias=False),
    layers.BatchNormalization(), layers.ReLU(), layers.MaxPooling2D(),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.GlobalAveragePooling2D(), layers.Dense(10, activation="softmax")])
model.save("fresh.keras")
values = numpy.random.default_rng(0)
for weight in model.weights:
    weight.assign(values.uniform(0.1, 1, weight.shape))
model.save("net.h5")
model.export("saved")
open("net.tflite", "wb").write(tf.lite.TFLiteConverter.from_keras_model(model).convert())
code = keras.Sequential([keras.Input((4,)), layers.Lambda(lambda x: x * 2)])
code.save("lambda.keras")
code.save("lambda.h5")
"""

PADDLE = """
import sys
import paddle
from paddle.vision.models import LeNet
image = paddle.static.InputSpec([None, 1, 28, 28], "float32", name="image")
network = LeNet()
network.eval()
paddle.jit.save(network, sys.argv[1], input_spec=[image])
"""

HUGGING_FACE = """
import transformers
def save(config, name, architecture):
    config.architectures = [architecture]
    config.save_pretrained(name)
save(transformers.DistilBertConfig(), "distilbert", "DistilBertForMaskedLM")
save(transformers.ViTConfig(), "vit", "ViTForImageClassification")
save(transformers.T5Config(num_layers=2), "t5", "T5ForConditionalGeneration")
save(transformers.GemmaConfig(num_hidden_layers=1), "gemma", "GemmaForCausalLM")
"""


class Case(unittest.TestCase):
    """One framework: its environment, and models that it made."""

    # Any file that begins as one does that the converter is for; it makes the
    # environment.
    PROBE = ""
    PROBE_BYTES = b""

    @classmethod
    def setUpClass(cls):
        if os.environ.get("FORETELL_TEST_FRAMEWORKS") != "1":
            raise unittest.SkipTest("FORETELL_TEST_FRAMEWORKS is not 1")
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        probe = cls.folder / cls.PROBE
        probe.parent.mkdir(exist_ok=True)
        probe.write_bytes(cls.PROBE_BYTES)
        said = cls.run_predict(probe, "--convert").stderr
        found = re.search(r"converting it by .* in (\S+)\n", said)
        if not found:
            raise unittest.SkipTest(f"no environment: {said}")
        cls.python = found.group(1) + "/bin/python"

    @classmethod
    def run_predict(cls, path, *words):
        return subprocess.run([BINARY, "predict", str(path), "--json", *words],
                              capture_output=True, text=True, timeout=5400)

    @classmethod
    def make(cls, code, *words, **variables):
        subprocess.run([cls.python, "-c", code, *words], cwd=cls.folder, check=True,
                       capture_output=True, timeout=600,
                       env={**os.environ, "HF_HUB_OFFLINE": "1", **variables})

    def result(self, name, *words):
        run = self.run_predict(self.folder / name, *words)
        document = json.loads(run.stdout)
        self.assertEqual(document["errors"], [], run.stderr)
        return document["results"][0]

    def counts(self, name, *words):
        result = self.result(name, *words)
        return result["parameters"], result["static_features"]["macs"]

    def refusal(self, name):
        run = self.run_predict(self.folder / name)
        return json.loads(run.stdout)["errors"][0]["message"]


class TensorFlow(Case):
    PROBE = "probe.tflite"
    PROBE_BYTES = b"\x04\0\0\0TFL3"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make(KERAS)

    # Two convolutions of 3x3 kernels, the batch norm a bias per channel, a layer.
    PARAMETERS = 16 * 3 * 9 + 16 + 32 * 16 * 9 + 32 + 32 * 10 + 10
    MACS = 8 * (32 * 32 * 16 * 3 * 9 + 16 * 16 * 32 * 16 * 9 + 32 * 10)

    def test_every_format_has_the_counts_of_the_network(self):
        for name in ("fresh.keras", "net.h5", "saved", "saved/saved_model.pb",
                     "net.tflite"):
            self.assertEqual(self.counts(name, "--batch", "8"),
                             (self.PARAMETERS, self.MACS), name)

    def test_layers_that_are_code_are_refused(self):
        for name in ("lambda.keras", "lambda.h5"):
            said = self.refusal(name)
            self.assertIn("cannot be converted", said)
            self.assertRegex(said, "(?i)lambda|unsafe|safe_mode|deseriali", name)


class Paddle(Case):
    PROBE = "probe.pdmodel"
    PROBE_BYTES = b"\x0a\0"

    def test_lenet_in_both_formats(self):
        self.make(PADDLE, "new")
        self.make(PADDLE, "old", FLAGS_enable_pir_api="0")
        for name in ("new.json", "old.pdmodel"):
            self.assertEqual(
                self.counts(name, "--batch", "8"),
                (6 * 9 + 6 + 16 * 6 * 25 + 16 + 400 * 120 + 120 + 120 * 84 + 84
                 + 84 * 10 + 10,
                 8 * (28 * 28 * 6 * 9 + 10 * 10 * 16 * 6 * 25 + 400 * 120 + 120 * 84
                      + 84 * 10)), name)


class HuggingFace(Case):
    PROBE = "probe/config.json"
    PROBE_BYTES = b'{"model_type": "none"}'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.make(HUGGING_FACE)

    def test_distilbert_has_the_counts_of_its_paper(self):
        hidden, inner, words, layers, tokens = 768, 3072, 30522, 6, 256
        per_layer = 4 * hidden * hidden + 2 * hidden * inner
        parameters = (hidden * (words + 512 + 2)
                      + layers * (per_layer + 9 * hidden + inner)
                      + hidden * hidden + 3 * hidden + words)
        # The head of masked words shares the table of words.
        macs = 8 * tokens * (layers * (per_layer + 2 * tokens * hidden)
                             + hidden * hidden + hidden * words)
        self.assertEqual(self.counts("distilbert", "--batch", "8", "--dim",
                                     f"sequence={tokens}"), (parameters, macs))

    def test_pictures_pairs_of_texts_and_decoders(self):
        self.assertEqual(self.counts("vit", "--batch", "1")[0], 85_800_194)
        for name in ("t5", "gemma"):
            result = self.result(name, "--batch", "1")
            self.assertIn("without its weights", result["warnings"][0], name)

    def test_code_of_the_folder_is_not_run(self):
        folder = self.folder / "code"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(
            {"model_type": "distilbert", "auto_map": {"AutoModel": "evil.Net"}}))
        self.assertIn("its own code", self.refusal("code"))

    def test_an_unknown_network_is_named(self):
        self.assertIn("model_type None", self.refusal("probe"))


if __name__ == "__main__":
    unittest.main()
