#!/usr/bin/env python3
"""Tests of `report`, `diff`, and of `predict` on a terminal, as users call them;
what a browser makes of pages: tests/browser."""

import fcntl
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unicodedata
import unittest

from calls import BINARY, SOURCE, ONNX, SCRIPT, OK, USAGE, MODEL_FAILED, run

COLOR = re.compile(r"\033\[[\d;]+m")
SHADES = re.compile("[▓▒░]")


class PicturesTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ok(self, *arguments, **options):
        outcome = run(*arguments, **options)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        return outcome.stdout

    def document(self, *arguments):
        return json.loads(self.ok("report", "--json", *arguments))


class Report(PicturesTest):

    def test_holds_the_answer_of_predict(self):
        document = self.document(ONNX, "--batch", "8", "--batches", "none")
        (answer,) = json.loads(
            self.ok("predict", "--json", ONNX, "--batch", "8"))["results"]
        self.assertEqual(document["result"], answer)
        self.assertNotIn("batches", document)

    def test_divides_the_step_by_module(self):
        document = self.document(SCRIPT, "-i", "f32[8,3,224,224]", "--mode",
                                 "training", "--optimizer", "adam",
                                 "--batches", "none")
        modules = document["modules"]
        self.assertEqual(sum(module["parameters"] for module in modules),
                         document["result"]["parameters"])
        paths = [module["path"] for module in modules]
        self.assertIn("(optimizer)", paths)
        self.assertIn("blocks.0.conv1", paths)
        # Three passes of the same work, but the first layer's input needs no
        # gradient.
        macs = sum(module["macs"] for module in modules)
        forward = document["result"]["static_features"]["macs"]
        self.assertGreater(macs, 2.8 * forward)
        self.assertLess(macs, 3 * forward)

    def test_follows_memory_to_its_peak(self):
        document = self.document(ONNX, "--batch", "8", "--batches", "none")
        moments = document["memory_over_step"]["moments"]
        memory = document["result"]["memory"]
        self.assertAlmostEqual(max(moments["allocated_mib"]),
                               memory["allocated_mib"], delta=0.1)
        self.assertAlmostEqual(max(moments["reserved_mib"]),
                               memory["reserved_mib"], delta=0.1)
        self.assertEqual(len(moments["name"]), document["result"]["operators"])

    def test_goes_beyond_the_device_by_batch(self):
        points = self.document(ONNX, "--batch", "3")["batches"]["points"]
        sizes = [point["batch"] for point in points]
        self.assertEqual(sizes[:4], [1, 2, 3, 4])
        whole = [point["places"][-1]["fit"] for point in points]
        self.assertNotIn("does not fit", whole[:-1])
        self.assertNotEqual(whole[-1], "fits")

    def test_writes_report_html_where_nothing_else_is_said(self):
        outcome = run("report", pathlib.Path(ONNX).resolve(), "--batch", "8",
                      "--batches", "none", cwd=self.folder)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("report.html", outcome.stderr)
        self.assertIn("<html", (self.folder / "report.html").read_text())

    def test_shows_one_batch(self):
        outcome = run("report", ONNX, "--batch", "1,8", "--json")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--batch names 2 sizes", outcome.stderr)

    def test_leaves_no_page_of_a_model_that_fails(self):
        page = self.folder / "page.html"
        outcome = run("report", self.folder / "none.onnx", "--out", page,
                      "--json")
        self.assertEqual(outcome.returncode, MODEL_FAILED)
        self.assertEqual(len(json.loads(outcome.stdout)["errors"]), 1)
        self.assertFalse(page.exists())


class Diff(PicturesTest):

    def difference(self, *arguments):
        return json.loads(self.ok("diff", "--json", *arguments))

    def test_compares_batches(self):
        found = self.difference(ONNX, "--batch", "8,16")
        figures = {one["name"]: (one["a"], one["b"])
                   for one in found["figures"]}
        before, after = figures["MACs"]
        self.assertEqual(after, 2 * before)
        self.assertEqual(*figures["parameters"])
        by_path = {one["path"]: one for one in found["modules"]}
        conv = by_path["blocks.0.conv1"]
        self.assertEqual(conv["b"]["macs"], 2 * conv["a"]["macs"])
        changes = [abs(one["b"]["gpu_us"] - one["a"]["gpu_us"])
                   for one in found["modules"]]
        self.assertEqual(changes, sorted(changes, reverse=True))

    def test_warns_of_batches_that_differ(self):
        inside = self.folder / "fixed.json"
        inside.write_text(json.dumps(self.document(ONNX, "--batch", "8")))
        self.assertIn("the batches differ: A has 8, B has 1",
                      run("diff", inside, ONNX).stderr)
        self.assertNotIn("differ", run("diff", ONNX, "--batch", "8,16").stderr)

    def test_finds_nothing_between_the_same(self):
        found = self.difference(ONNX, ONNX, "--batch", "8")
        self.assertEqual(found["modules"], [])
        for one in found["figures"]:
            self.assertEqual(one["a"], one["b"])
        self.assertIn("no module changed",
                      self.ok("diff", ONNX, ONNX, "--batch", "8"))

    def test_says_null_where_there_is_no_such_module(self):
        saved = self.folder / "a.json"
        document = self.document(ONNX, "--batch", "8", "--batches", "none")
        (gone,) = [one for one in document["modules"]
                   if one["path"] == "blocks.3.conv1"]
        document["modules"].remove(gone)
        saved.write_text(json.dumps(document))
        (row,) = self.difference(saved, ONNX, "--batch", "8")["modules"]
        self.assertEqual((row["path"], row["a"]), ("blocks.3.conv1", None))
        self.assertEqual(row["b"]["macs"], gone["macs"])
        text = self.ok("diff", saved, ONNX, "--batch", "8")
        self.assertRegex(text, r"blocks.3.conv1 +\+ ")

    def test_compares_saved_answers(self):
        saved = self.folder / "half.json"
        saved.write_text(self.ok("report", ONNX, "--batch", "8", "--precision",
                                 "fp16", "--batches", "none", "--json"))
        found = self.difference(saved, ONNX, "--batch", "8")
        self.assertEqual(found["a"]["precision"], "fp16")
        figures = {one["name"]: one for one in found["figures"]}
        self.assertGreater(figures["  parameters"]["b"],
                           1.9 * figures["  parameters"]["a"])

    def test_refuses_what_is_no_answer(self):
        for text, message in (("{}", "result is missing"), ("[1]", "result"),
                              ('{"result": {"model": "x"}}', "result.format"),
                              ("{", "none.json")):
            bad = self.folder / "none.json"
            bad.write_text(text)
            with self.subTest(text=text):
                outcome = run("diff", bad, ONNX, "--batch", "8")
                self.assertEqual(outcome.returncode, MODEL_FAILED)
                self.assertIn(message, outcome.stderr)

    def test_needs_two_steps(self):
        for arguments in ((ONNX,), (ONNX, "--batch", "8"),
                          (ONNX, "--batch", "1,2,3")):
            outcome = run("diff", *arguments)
            self.assertEqual(outcome.returncode, USAGE)
            self.assertIn("expected exactly two", outcome.stderr)

    def test_keeps_to_80_columns(self):
        text = self.ok("diff", "examples/resnet18.onnx", "--batch", "8,16",
                       cwd=SOURCE)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)


class Terminal(PicturesTest):
    """Commands with stdout on a terminal of 80 columns."""

    def predict(self, *flags, **options):
        return self.show("predict", ONNX, "--batch", "8", *flags, **options)

    def show(self, *arguments, columns=80, with_progress=False, **environment):
        """What the terminal gets; the lines of stderr too `with_progress`."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))
        inherited = {name: value for name, value in os.environ.items()
                     if name != "NO_COLOR"}
        process = subprocess.Popen(
            [BINARY, *arguments], stdout=follower,
            stderr=follower if with_progress else subprocess.DEVNULL,
            env={**inherited, "TERM": "xterm", **environment})
        os.close(follower)
        text = b""
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        self.assertEqual(process.wait(), OK)
        os.close(leader)
        return text.decode().replace("\r\n", "\n")

    def test_has_color_and_bars(self):
        text = self.predict()
        # The bar of what the memory is, in the colors of its parts.
        self.assertRegex(text, r"\n +(\033\[38;5;\d+m█+\033\[0m){2,}\n")
        self.assertRegex(text, r"\033\[38;5;67mparameters\033\[0m [0-9.]+ GiB")
        self.assertIn("\033[32m", text)

    def test_has_no_color_where_it_is_unwanted(self):
        colorless = COLOR.sub("", self.predict())
        self.assertIn("█", colorless)
        for flags, environment in ((("--no-color",), {}),
                                   ((), {"NO_COLOR": "1"}),
                                   ((), {"TERM": "dumb"})):
            with self.subTest(flags=flags, environment=environment):
                plain = self.predict(*flags, **environment)
                self.assertRegex(plain, "█+[▓▒░█]+")
                self.assertEqual(SHADES.sub("█", plain), colorless)

    def test_keeps_to_the_width(self):
        for columns in (80, 60):
            text = COLOR.sub("", self.predict("--verbose", columns=columns))
            table = text.index("\nprofile ")
            for line in text[:table].splitlines():
                self.assertLessEqual(len(unicodedata.normalize("NFC", line)),
                                     columns, line)
        self.assertLessEqual(
            max(map(len, COLOR.sub("", self.predict()).splitlines())), 80)

    def test_progress_leaves_nothing_in_answers(self):
        for command in ("classify", "fits", "inspect"):
            with self.subTest(command=command):
                text = self.show(command, "zoo:resnet18", "--batch", "2,4",
                                 with_progress=True)
                self.assertIn("] 0/2", text)
                for line in text.split("\n"):
                    left = line.split("\033[K")[-1]
                    self.assertNotRegex(left, r"\] \d/2")

    def test_is_plain_in_a_pipe(self):
        text = self.ok("predict", ONNX, "--batch", "8")
        self.assertNotIn("\033", text)
        self.assertNotIn("█", text)


if __name__ == "__main__":
    unittest.main()
