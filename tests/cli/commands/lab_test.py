#!/usr/bin/env python3
"""Tests of how `foretell` finds `foretell-lab`, the program beside it."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

from calls import BINARY, ONNX, OK, USAGE, MODEL_FAILED, run


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


if __name__ == "__main__":
    unittest.main()
