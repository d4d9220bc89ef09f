#!/usr/bin/env python3
"""Runs the commands of examples/ci as the services would."""

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

from calls import BINARY, ONNX, SOURCE, OK, DOES_NOT_FIT, MODEL_FAILED

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = SOURCE / "examples" / "ci"


def read(name):
    return yaml.safe_load((FOLDER / name).read_text())


@unittest.skipIf(yaml is None, "PyYAML is not installed")
class CiExamples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "models").mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "foretell").symlink_to(pathlib.Path(BINARY).resolve())
        shutil.copy(ONNX, self.folder / "models")

    def shell(self, command):
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(["sh", "-ec", command], cwd=self.folder, text=True,
                              capture_output=True, timeout=300,
                              env={**os.environ, "PATH": path})

    def expect_a_gate(self, command):
        self.assertTrue(command.startswith("foretell fits "), command)
        outcome = self.shell(command)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("models/resnet18.onnx", outcome.stdout)
        outcome = self.shell(command + " --max-memory 1MiB")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT, outcome.stderr)
        (self.folder / "models" / "broken.onnx").write_text("nothing")
        outcome = self.shell(command + " models/broken.onnx")
        self.assertEqual(outcome.returncode, MODEL_FAILED, outcome.stderr)

    def test_github(self):
        steps = read("github.yml")["jobs"]["foretell"]["steps"]
        gate, summary = [step["run"] for step in steps if "run" in step]
        self.assertEqual(self.shell(summary).returncode, OK)
        self.expect_a_gate(gate)

    def test_gitlab(self):
        (command,) = read("gitlab.yml")["models-fit"]["script"]
        self.expect_a_gate(command)

    def test_pre_commit_hands_the_files_over(self):
        (hook,) = read("pre-commit.yaml")["repos"][0]["hooks"]
        self.assertRegex("models/resnet18.onnx", hook["files"])
        self.assertEqual(hook["language"], "system")
        files = shlex.join(["models/resnet18.onnx"])
        self.expect_a_gate(f"{hook['entry']} {files}")


if __name__ == "__main__":
    unittest.main()
