#!/usr/bin/env python3
"""Tests of what a release is made of.

    packaging_test.py FORETELL-LAB [unittest arguments]
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = REPOSITORY / "packaging"
LICENSES = PACKAGING / "licenses"
PROGRAM = sys.argv.pop(1)


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=120,
                          **options)


class Version(unittest.TestCase):

    def test_is_one_everywhere(self):
        project = re.search(r"^  VERSION (\S+)$",
                            (REPOSITORY / "CMakeLists.txt").read_text(), re.M)
        header = re.search(r'kVersion\[\] = "(.*)"',
                           (REPOSITORY / "include/foretell/version.h").read_text())
        changes = re.search(r"^## (\S+) ",
                            (REPOSITORY / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual({project.group(1)}, {header.group(1), changes.group(1)})


class Release(unittest.TestCase):

    def in_clone(self, *arguments):
        """What packaging/release says in a clone that has one more file."""
        with tempfile.TemporaryDirectory() as folder:
            clone = pathlib.Path(folder) / "foretell"
            subprocess.run(["git", "init", "-q", clone], check=True)
            (clone / "packaging").mkdir()
            script = clone / "packaging" / "release"
            script.write_text((REPOSITORY / "packaging/release").read_text())
            return run("bash", script, *arguments)

    def test_needs_a_version(self):
        for words in ((), ("v1",), ("1.2",)):
            result = self.in_clone(*words)
            self.assertEqual(result.returncode, 2)
            self.assertIn("packaging/release VERSION", result.stderr)

    def test_refuses_a_tree_with_changes(self):
        result = self.in_clone("0.1.0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the tree has changes", result.stderr)


class Licenses(unittest.TestCase):

    def test_name_all_that_is_linked(self):
        result = run(sys.executable, LICENSES, PROGRAM,
                     env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["creationInfo"]["created"],
                         "1970-01-02T00:00:00Z")
        licenses = {p["name"]: p["licenseConcluded"]
                    for p in document["packages"]}
        self.assertEqual(licenses["foretell"], "Apache-2.0")
        self.assertIn("BSD-3-Clause", licenses["torch"])
        self.assertEqual(licenses["libseccomp2"], "LGPL-2.1-only")
        self.assertEqual(len(document["relationships"]),
                         len(document["packages"]))

    def test_refuse_what_is_not_known(self):
        with tempfile.TemporaryDirectory() as folder:
            ldd = pathlib.Path(folder) / "ldd"
            ldd.write_text("#!/bin/sh\necho 'libodd.so.1 => /lib/libodd.so.1 (0x1)'\n")
            ldd.chmod(0o755)
            path = folder + os.pathsep + os.environ["PATH"]
            result = run(sys.executable, LICENSES, PROGRAM,
                         env={**os.environ, "PATH": path})
        self.assertEqual(result.returncode, 1)
        self.assertIn("libodd.so.1", result.stderr)


class Wheel(unittest.TestCase):

    def test_refuses_to_hold_a_libtorch_with_cuda(self):
        """CUDA's own libraries, which it needs, would stay outside."""
        with tempfile.TemporaryDirectory() as folder:
            result = run("cmake", "-G", "Ninja", "-S", REPOSITORY,
                         "-B", f"{folder}/build", "-DFORETELL_WITH_CUDA=ON",
                         "-DFORETELL_LIBTORCH_INSIDE=ON")
        self.assertEqual(result.returncode, 1)
        said = " ".join(result.stderr.split())
        self.assertIn("FORETELL_WITH_CUDA needs those for CUDA", said)


class Image(unittest.TestCase):

    DOCKERFILE = (PACKAGING / "Dockerfile").read_text()

    def test_is_made_of_nothing_that_git_ignores(self):
        left_out = (REPOSITORY / ".dockerignore").read_text().split("\n")
        for line in (REPOSITORY / ".gitignore").read_text().split():
            name = line.strip("/")
            self.assertIn(name if line.startswith("/") else f"**/{name}", left_out)

    def test_takes_nothing_but_the_wheel(self):
        """Which has every library that the programs need."""
        runtime = self.DOCKERFILE.rpartition("\nFROM ")[2]
        self.assertIn("pip install", runtime)
        self.assertNotIn("apt-get", runtime)


class Workflows(unittest.TestCase):

    def test_call_scripts_that_are_there(self):
        called = set()
        for workflow in (REPOSITORY / ".github/workflows").glob("*.yml"):
            called |= set(re.findall(r"(?:\.ci|scripts|packaging)/\w+",
                                     workflow.read_text()))
        self.assertLessEqual({".ci/run", "scripts/attack", "scripts/fuzz"}, called)
        for script in called:
            self.assertTrue(os.access(REPOSITORY / script, os.X_OK), script)


if __name__ == "__main__":
    unittest.main()
