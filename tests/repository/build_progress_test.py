#!/usr/bin/env python3
"""Tests of the line of progress that scripts/build shows."""

import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

LIB = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "lib"
sys.path.insert(0, str(LIB))

import build_progress  # noqa: E402

UNIT = "Building CXX object a.o"
LINK = "Linking CXX executable a"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Progress(unittest.TestCase):

    def test_weighs_units_more_than_links(self):
        progress = build_progress.Progress([UNIT, LINK], 0)
        progress.finish(LINK)
        self.assertLess(progress.share(), 0.1)
        progress.finish(UNIT)
        self.assertEqual(progress.share(), 1)

    def test_extrapolates_from_the_work_done(self):
        progress = build_progress.Progress([UNIT] * 4, 100)
        self.assertEqual(progress.text(130), "building, 30 s so far")
        progress.finish(UNIT)
        self.assertEqual(progress.text(130),
                         "building  25%, about 1 min 30 s left")

    def test_is_one_line_on_a_terminal(self):
        stream = Terminal()
        display = build_progress.Display(stream)
        progress = build_progress.Progress([UNIT] * 100, 0)
        for second in range(100):
            display.show(progress, second)
            progress.finish(UNIT)
        display.wipe()
        self.assertNotIn("\n", stream.getvalue())
        self.assertTrue(stream.getvalue().endswith("\r\033[K"))

    def test_is_a_line_per_tenth_elsewhere(self):
        stream = io.StringIO()
        display = build_progress.Display(stream)
        progress = build_progress.Progress([UNIT] * 100, 0)
        for second in range(101):
            display.show(progress, second)
            progress.finish(UNIT)
        self.assertEqual(len(stream.getvalue().splitlines()), 10)


class Build(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, rules, *targets):
        (self.folder / "build.ninja").write_text(rules)
        return subprocess.run(
            [sys.executable, LIB / "build_progress.py", self.folder, *targets],
            capture_output=True, text=True)

    def rules(self, command, *outputs):
        return ("build build.ninja: phony\nrule unit\n"
                f"  command = {command}\n"
                "  description = Building CXX object $out\n" +
                "".join(f"build {output}: unit\n" for output in outputs))

    def test_makes_the_targets_that_are_named(self):
        outcome = self.build(self.rules("touch $out", "a.o", "b.o"), "a.o")
        self.assertEqual((outcome.returncode, outcome.stdout), (0, ""))
        self.assertEqual(outcome.stderr, "foretell: building 100%, about 0 s left\n")
        self.assertTrue((self.folder / "a.o").exists())
        self.assertFalse((self.folder / "b.o").exists())

    def test_says_nothing_where_all_is_built(self):
        rules = self.rules("touch $out", "a.o")
        self.build(rules)
        self.assertEqual(self.build(rules).stderr, "")

    def test_shows_errors_in_full_and_logs_the_command(self):
        command = "printf 'one\\ntwo\\n'; exit 1"
        outcome = self.build(self.rules(command, "a.o"))
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("FAILED: a.o\none\ntwo\n", outcome.stderr)
        self.assertNotIn("printf", outcome.stderr)
        self.assertIn("printf", (self.folder / "build.log").read_text())

    def test_shows_warnings_of_steps_that_succeed(self):
        command = "echo warning: odd; touch $out"
        outcome = self.build(self.rules(command, "a.o"))
        self.assertIn("warning: odd\n", outcome.stderr)

    def test_names_a_target_that_there_is_not(self):
        outcome = self.build(self.rules("touch $out", "a.o"), "c.o")
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("unknown target 'c.o'", outcome.stderr)

    def test_can_plan_what_is_configured(self):
        """Ninja's dry run ends at globs that it would have to look at first."""
        root = pathlib.Path(__file__).parents[2]
        folders = [folder for folder in root.iterdir() if folder.is_dir()
                   and folder.name != "build" and folder.name[0] != "."]
        for path in (root / "CMakeLists.txt", *root.glob("cmake/*.cmake"),
                     *(path for folder in folders
                       for path in folder.rglob("CMakeLists.txt"))):
            with self.subTest(path.relative_to(root)):
                self.assertNotRegex(path.read_text(),
                                    r"file\(GLOB(_RECURSE)?\s+\w+\s+CONFIGURE_DEPENDS")


if __name__ == "__main__":
    unittest.main()
