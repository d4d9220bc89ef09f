#!/usr/bin/env python3
"""Tests of how python/converters/huggingface.py exports networks; transformers itself
is not needed.

    huggingface_test.py SOURCE_DIR [unittest arguments]
"""

import pathlib
import shutil
import sys
import tempfile
import types
import unittest

import torch

SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.append(str(SOURCE / "python/converters"))
import huggingface  # noqa: E402


class Network(torch.nn.Module):
    """Adds a tensor that its forward pass makes without saying on which device."""

    config = types.SimpleNamespace(max_position_embeddings=64)
    dtype = torch.float32

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)

    def forward(self, input_ids, labels=None):
        return self.embedding(input_ids) + torch.zeros(4)


def hollow():
    with torch.device("meta"):
        model = Network()
        return model, huggingface.inputs_of(model)


class Export(unittest.TestCase):
    def test_inputs_are_those_that_forward_names(self):
        _, inputs = hollow()
        self.assertEqual(list(inputs), ["input_ids"])
        self.assertEqual(inputs["input_ids"].shape, (2, 64))
        Network.config.max_position_embeddings = None
        self.addCleanup(setattr, Network.config, "max_position_embeddings", 64)
        self.assertEqual(hollow()[1]["input_ids"].shape, (2, huggingface.TOKENS))

    def test_tensors_that_forward_makes_are_made_on_meta_too(self):
        program = huggingface.export(*hollow())
        (input_ids,) = [node for node in program.graph.nodes
                        if node.op == "placeholder" and node.name == "input_ids"]
        batch, length = input_ids.meta["val"].shape
        self.assertFalse(isinstance(batch, int) or isinstance(length, int))

    def test_its_module_is_found_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            here = pathlib.Path(folder)
            shutil.copy(SOURCE / "python/foretell/_on_meta.py", here)
            self.addCleanup(setattr, huggingface, "HERE", huggingface.HERE)
            huggingface.HERE = here
            module = huggingface.of_package("_on_meta")
            self.assertEqual(pathlib.Path(module.__file__), here / "_on_meta.py")


if __name__ == "__main__":
    unittest.main()
