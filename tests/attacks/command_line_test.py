#!/usr/bin/env python3
"""Hostile words on the command line, odd files, outputs that cannot be written.

    command_line_test.py FORETELL FORETELL_LAB [unittest arguments]
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import unittest

import bounded_run
import onnx_file
from onnx_cases import ODD

FORETELL = sys.argv.pop(1)
LAB = sys.argv.pop(1)
USAGE, FAILED = 2, 3
PREDICT = ["predict", "ok.onnx"]
FITS = ["fits", "ok.onnx", "--batch", "1"]

# Words, exit status, and a part of what is said; the model is ok.onnx.
REFUSED = {
    "batch of 0": ([*PREDICT, "--batch", "0"], USAGE, "--batch"),
    "batch below 0": ([*PREDICT, "--batch", "-1"], USAGE, "--batch"),
    "batch of 2^63": ([*PREDICT, "--batch", str(1 << 63)], USAGE,
                      "beyond 64 bits"),
    "batch of 2^62": ([*PREDICT, "--batch", str(1 << 62)], FAILED,
                      "more than 2^56 elements"),
    "batch of 2^48": ([*PREDICT, "--batch", str(1 << 48)], FAILED, "bytes"),
    "dimension of 2^62": ([*PREDICT, "--dim", f"batch={1 << 62}"], FAILED,
                          "more than 2^56 elements"),
    **{f"input {text[:20]!r}": ([*PREDICT, "--input", text], USAGE, "--input")
       for text in ["x=f32[1099511627777,4]", "x=f32[1" + "0" * 40 + ",4]", "",
                    "]x[", "x=f32[-4,4]", "x=f32[" + "1," * 16 + "1]",
                    "x=f32[" + "1," * 60000 + "1]", "x=\x1b[31m[1,4]"]},
    **{f"{flag} {value}": ([*FITS, flag, value], USAGE, flag)
       for flag in ("--max-memory", "--max-latency", "--max-energy")
       for value in ("nan", "inf", "-5")},
    "a pattern of 60,000 brackets": (
        [*PREDICT, "--batch", "1", "--mode", "training", "--trainable",
         "(" * 60000], FAILED, "is no regular expression: missing )"),
    "timeout of nan": ([*PREDICT, "--timeout", "nan"], USAGE, "--timeout"),
    "job of nan": (["mig", "pack", "--job", "a=nan"], USAGE, "--job"),
    "a name of escapes": (
        ["predict", b"/no/\x1b[31mfile\xc2\x9b31m\xc2"], FAILED,
        r"/no/\x1b[31mfile\xc2\x9b31m\xc2: no such file"),
    "a folder": (["predict", "."], FAILED, ".: is a directory"),
    "a device": (["predict", "/dev/zero"], FAILED, "/dev/zero: is a device"),
    "no input": (["predict", "/dev/stdin"], FAILED, "/dev/stdin: is a device"),
    "a pipe": (["predict", "pipe"], FAILED, "pipe: is a named pipe"),
    "a dataset that cannot be written": (
        ["dataset", "generate", "ok.onnx", "--batch", "1", "--out",
         "/proc/x.sqlite"], FAILED, "/proc/x.sqlite"),
    "a dataset on a full disk": (
        ["dataset", "generate", "ok.onnx", "--batch", "1", "--out",
         "/dev/full"], FAILED, "/dev/full"),
}

# What is printed on a full disk: half an answer must not pass for one.
PRINTED = {
    "a table": [*PREDICT, "--batch", "1"],
    "JSON": [*PREDICT, "--batch", "1", "--json"],
    "a graph": ["inspect", "ok.onnx", "--dim", "batch=2", "--format", "json"],
}


class Programs(unittest.TestCase):
    """Run in a folder that holds ok.onnx and a pipe."""

    def setUp(self):
        scratch = bounded_run.scratch()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        bounded_run.pipe(self.folder)
        (self.folder / "ok.onnx").write_bytes(onnx_file.model(
            [onnx_file.node("MatMul", "x w", "y")], [onnx_file.ones("w", 4, 4)],
            [onnx_file.value_info("x", ("batch", 4))]))

    def run_words(self, words, **options):
        program = LAB if words[0] == "dataset" else FORETELL
        words = [os.fsdecode(word) for word in words]
        return bounded_run.run(program, *words, cwd=self.folder, **options)


class CommandLine(Programs):
    def check_refused(self, name):
        words, status, part = REFUSED[name]
        outcome = self.run_words(words)
        self.assertEqual(outcome.status, status, outcome.err[:500])
        self.assertEqual(outcome.out, "")
        self.assertIn(part, outcome.err)
        self.assertLess(len(outcome.err), 10000)

    def check_printed(self, name):
        with open("/dev/full", "wb") as full:
            outcome = self.run_words(PRINTED[name], stdout=full)
        self.assertEqual(outcome.status, FAILED)
        self.assertIn("cannot write to stdout", outcome.err)

    def test_ten_thousand_files(self):
        outcome = self.run_words(["predict", *[f"no{k}" for k in range(10000)]])
        self.assertEqual(outcome.status, FAILED)
        self.assertEqual(len(outcome.errors()), 10000)

    def test_the_largest_batch_is_bounded(self):
        outcome = self.run_words(["max-batch", "ok.onnx"])
        self.assertEqual(outcome.status, 0)
        self.assertIn("limit of the search", outcome.err)

    def test_a_reader_that_leaves(self):
        """Nobody reads on: the program ends and leaves no message."""
        process = subprocess.Popen(
            [FORETELL, *PREDICT, "--batch", "1", "--json"], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertNotEqual(process.wait(), 4)


class OddNames(Programs):
    """Names of a file, in every form of output: bounded_run.run refuses text
    that steers what shows it."""

    def setUp(self):
        super().setUp()
        node, value = onnx_file.node, onnx_file.value_info
        self.name = "=cmd\x1b[31m<script>,\"x.onnx"
        (self.folder / self.name).write_bytes(onnx_file.file_of(onnx_file.graph(
            [node("Relu", [ODD], "m", name=ODD),
             node("MatMul", ["m", "w" + ODD], "y", name="=cmd|'/C calc'!A0")],
            [onnx_file.ones("w" + ODD, 4, 4)], [value(ODD, (4, 4))],
            [value("y")], name="=2+5" + ODD)))

    def test_inspect(self):
        for form in ("text", "json", "dot"):
            outcome = self.run_words(["inspect", self.name, "--format", form])
            self.assertEqual(outcome.status, 0, outcome.err)
            if form == "json":
                json.loads(outcome.out)

    def test_predict(self):
        for flags in ([], ["--json"], ["--csv"]):
            outcome = self.run_words(["predict", self.name, *flags])
            self.assertEqual(outcome.status, 0, outcome.err)
            if flags == ["--csv"]:
                for row in csv.reader(io.StringIO(outcome.out)):
                    for cell in row:
                        self.assertFalse(cell.startswith(("=", "+", "@")), cell)


bounded_run.add_cases(CommandLine, "refuses_", REFUSED, "check_refused")
bounded_run.add_cases(CommandLine, "says_that_a_full_disk_lacks_", PRINTED,
                      "check_printed")

if __name__ == "__main__":
    unittest.main()
