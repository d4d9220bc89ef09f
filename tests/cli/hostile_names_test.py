#!/usr/bin/env python3
"""What files of strangers put into names must not reach a terminal.

    hostile_names_test.py BINARY [unittest arguments]

Writes an ONNX file whose names hold escape sequences, bytes that are no UTF-8,
line feeds and markup, and looks at every form of output.
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unicodedata
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "attacks"))
from onnx_file import (file_of, graph, node, ones, opset,  # noqa: E402
                       value_info)

BINARY = sys.argv.pop(1)

# A line feed, an escape sequence, DEL, CSI in eight bits, a turn of the
# direction of writing, no UTF-8, markup; and letters that shall stay.
HOSTILE = b'\n\x1b[31m\x7f\xc2\x9b2J\xe2\x80\xae\xb1"\\<b>,' + "größe".encode()
ESCAPED = r"\x0a\x1b[31m\x7f\xc2\x9b2J\xe2\x80\xae\xb1"


def model(*nodes):
    """A network on x[2,64] with a weight w[64,64], all names hostile."""
    return file_of(
        graph(nodes, [ones(b"w" + HOSTILE, 64, 64)],
              [value_info(b"x" + HOSTILE, (2, 64))],
              [value_info(b"y" + HOSTILE, (2, 64))], b"net" + HOSTILE),
        [opset(17)])


def layer(operator):
    return model(
        node("MatMul", [b"x" + HOSTILE, b"w" + HOSTILE], [b"h" + HOSTILE],
             name=b"/layer" + HOSTILE + b"/attn/MatMul"),
        node(operator, [b"h" + HOSTILE], [b"y" + HOSTILE],
             name=b"/layer" + HOSTILE + b"/act"))


class HostileNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        cls.good = cls.folder / "net.onnx"
        cls.good.write_bytes(layer(b"Relu"))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_command(self, *arguments, cwd=None):
        """Text of stdout and stderr, which must be harmless."""
        outcome = subprocess.run([BINARY, *arguments], capture_output=True,
                                 cwd=cwd, timeout=300)
        self.assertLess(outcome.returncode, 4, outcome.stderr)
        texts = []
        for stream in (outcome.stdout, outcome.stderr):
            text = stream.decode("utf-8")  # Throws where it is no UTF-8.
            for character in text.replace("\n", ""):
                self.assertNotIn(unicodedata.category(character),
                                 ("Cc", "Cf", "Zl", "Zp"), repr(text))
                self.assertNotIn(character, "\ufffd", repr(text))
            texts.append(text)
        return texts

    def expect_names(self, text, escaped=ESCAPED):
        self.assertIn(escaped, text)
        self.assertIn("größe", text)

    def test_tables(self):
        out, _ = self.run_command("inspect", self.good)
        self.expect_names(out)
        out, _ = self.run_command("predict", self.good, "--verbose")
        self.expect_names(out)
        self.assertIn("MACs", out)

    def test_json(self):
        for command, *flags in (("predict", "--json"),
                                ("inspect", "--format", "json")):
            out, _ = self.run_command(command, self.good, *flags)
            self.expect_names(out, json.dumps(ESCAPED)[1:-1])
            json.loads(out)

    def test_dot(self):
        out, _ = self.run_command("inspect", self.good, "--format", "dot")
        self.expect_names(out, ESCAPED.replace("\\", "\\\\"))
        # Every quote inside of a string has a backslash.
        inside = out.replace("\\\\", "").replace('\\"', "")
        for line in inside.splitlines():
            self.assertEqual(line.count('"') % 2, 0, line)

    def test_graph_text(self):
        out, _ = self.run_command("inspect", self.good, "--format", "graph")
        self.expect_names(out, ESCAPED.replace(r"\x0a", r"\n"))

    def test_errors_of_a_model(self):
        bad = self.folder / "bad.onnx"
        bad.write_bytes(layer(b"No" + HOSTILE))
        out, err = self.run_command("predict", "--json", bad)
        self.expect_names(err)
        self.assertEqual(err.count("\n"), 1)
        (error,) = json.loads(out)["errors"]
        self.expect_names(error["message"])
        _, err = self.run_command("inspect", bad)
        self.expect_names(err)

    def test_names_of_files(self):
        folder = self.folder / "files"
        folder.mkdir()
        name = b"=cmd|calc!A1" + HOSTILE.replace(b"/", b"") + b".onnx"
        path = os.fsencode(folder) + b"/" + name
        pathlib.Path(os.fsdecode(path)).write_bytes(layer(b"Relu"))
        self.expect_names(self.run_command("predict", name, cwd=folder)[0])
        self.expect_names(
            self.run_command("fits", name, "--max-memory", "1", cwd=folder)[0])
        out, _ = self.run_command("predict", "--csv", name, name, cwd=folder)
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertTrue(rows[0]["model"].startswith("'=cmd|calc!A1\\x0a"),
                        rows[0])
        out, _ = self.run_command("predict", name, name, cwd=folder)
        self.expect_names(out)
        for form in ("table", "json", "kubernetes", "mig-parted"):
            out, _ = self.run_command("mig", "pack", name, "--format", form,
                                      cwd=folder)
            self.assertIn(r"\x1b[31m", out.replace("\\\\", "\\"), form)
        _, err = self.run_command("predict", b"missing" + name)
        self.expect_names(err)
        _, err = self.run_command("inspect", name, "--format", name)
        self.expect_names(err)

    def test_measurements(self):
        quick = ("--device", "cpu", "--warmup", "1", "--min-runs", "2",
                 "--min-seconds", "0")
        out, _ = self.run_command("measure", "--json", *quick, self.good)
        (row,) = json.loads(out)["measurements"]
        self.expect_names(row["inputs"][0]["name"])
        out, _ = self.run_command("measure", "--csv", *quick, self.good)
        (row,) = csv.DictReader(io.StringIO(out))
        self.expect_names(row["inputs"])


if __name__ == "__main__":
    unittest.main()
