"""The wheel: what is in it, and how it finds its program and LibTorch."""

import importlib.metadata
import os
import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

import foretell
from foretell import _command

SCRIPTS = pathlib.Path(sys.executable).parent
PROGRAM = SCRIPTS / "foretell"


class Program(unittest.TestCase):

    def test_is_the_one_of_this_environment(self):
        self.assertTrue(pathlib.Path(foretell.__file__).is_relative_to(sys.prefix))
        self.assertTrue(pathlib.Path(_command.program()).is_relative_to(sys.prefix))

    def test_is_the_console_script_too(self):
        def output(*words, env=None):
            outcome = subprocess.run(words, capture_output=True, text=True, env=env)
            return outcome.returncode, outcome.stdout, outcome.stderr

        for words in (("version",), ("predict", "missing.onnx"), ("nonsense",)):
            self.assertEqual(
                output(PROGRAM, *words),
                output(_command.program(), *words,
                       env=dict(_command.environment())))

    def test_ends_silently_where_nobody_reads(self):
        with subprocess.Popen((PROGRAM, "devices"), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as process:
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(), -signal.SIGPIPE)

    def test_has_the_version_of_the_package(self):
        self.assertIn(importlib.metadata.version("foretell"), _command.run(["version"]))
        self.assertEqual(foretell.__version__, importlib.metadata.version("foretell"))
        with self.assertRaisesRegex(AttributeError, "no attribute 'nonsense'"):
            foretell.nonsense

    def test_brings_what_measures_and_keeps_datasets(self):
        self.assertIn("generate", _command.run(["dataset", "--help"]))


class LibTorch(unittest.TestCase):

    def environment(self, **built):
        _command.environment.cache_clear()
        self.addCleanup(_command.environment.cache_clear)
        with (mock.patch.object(_command, "built_with", lambda: built),
              mock.patch.dict(os.environ)):
            os.environ.pop("FORETELL", None)
            return dict(_command.environment())

    def test_of_another_version_is_refused(self):
        with self.assertRaisesRegex(
                foretell.Error, r"built with torch 2\.99\.1, and \S+ is installed"):
            self.environment(torch="2.99.1", libtorch_inside=False)

    def test_of_the_same_version_is_found_where_it_is(self):
        import torch

        found = self.environment(torch=torch.__version__, libtorch_inside=False)
        folder = pathlib.Path(torch.__file__).parent / "lib"
        self.assertEqual(found["LD_LIBRARY_PATH"].split(":")[0], str(folder))

    def test_inside_the_package_needs_no_torch(self):
        with mock.patch("importlib.util.find_spec", lambda name: None):
            found = self.environment(torch="2.99.1", libtorch_inside=True)
            self.assertEqual(found, dict(os.environ))
            with self.assertRaisesRegex(foretell.Error, "pip install torch==2.99.1"):
                self.environment(torch="2.99.1", libtorch_inside=False)

    def test_missing_program_is_named(self):
        with (mock.patch.object(_command, "program", lambda: "/nowhere/foretell"),
              self.assertRaisesRegex(foretell.Error, "/nowhere/foretell: cannot be")):
            foretell.predict("zoo:resnet18")


if __name__ == "__main__":
    unittest.main()
