"""Calls of the `foretell` program for the tests beside this file, and the dataset
that they learn from."""

import csv
import pathlib
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "cli/commands"))

from calls import (  # noqa: E402, F401
    BINARY, SOURCE, OK, USAGE, MODEL_FAILED as FAILED, run)

INTERRUPTED = 5

SMALL = ("--hidden", "8", "--graph-blocks", "1", "--head-blocks", "1",
         "--learning-rate", "3e-3", "--threads", "1")


def make_dataset(folder):
    """ResNet-18 at 24 batch sizes with simulated labels."""
    path = folder / "d.sqlite"
    batches = ",".join(str(batch) for batch in range(1, 25))
    for arguments in (
            ("generate", SOURCE / "examples" / "resnet18.onnx", "--batch",
             batches, "--out", path),
            ("simulate", path, "--device", "a100-sxm4-40gb"),
            ("split", path, "--kind", "random", "--name", "mine")):
        result = run("dataset", *arguments)
        assert result.returncode == OK, result.stderr
    return path


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.dataset = make_dataset(pathlib.Path(cls.shared.name))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def train_arguments(self, name="run", *arguments, batch_size=4):
        return ("train", "--dataset", self.dataset, "--split", "mine", "--out",
                self.folder / name, "--batch-size", batch_size, *SMALL,
                *arguments)

    def train(self, name="run", *arguments, batch_size=4):
        self.ok(*self.train_arguments(name, *arguments,
                                      batch_size=batch_size))
        return self.folder / name

    def rows(self, path):
        with path.open() as file:
            return list(csv.DictReader(file))

    def checkpoints(self, folder):
        return [(folder / name).read_bytes()
                for name in ("last.safetensors", "best.safetensors")]
