#!/usr/bin/env python3
"""Predicts each hostile file between two honest ones.

    attacks_test.py FORETELL [NAME…]

However the hostile file's process ends, the program must not: it exits with 0 or 3,
its errors are single lines without escapes that name the file, and the honest files
have the answers that they have alone. What would not be safe for memory is refused
without a sandbox, too.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import script_archive
from torchscript_cases import CASES, FLAGS, SECOND_LINE

FORETELL = sys.argv[1]
# The child's deadline; the program itself has far more, and would be hung.
FILE_SECONDS, HANG_SECONDS = 4, 240
HONEST = {
    "before": dict(body="return torch.relu(x)"),
    "after": dict(body="y = torch.mul(x, x)\nreturn torch.add(y, x)"),
}


def predict(files, flags):
    return subprocess.run(
        [FORETELL, "predict", *map(str, files), "--input", "x=f32[4]", "--json",
         "--mode", "training", "--timeout", str(FILE_SECONDS), *flags],
        capture_output=True, timeout=HANG_SECONDS, check=False)


def answers(run):
    """What is predicted, by the name of the file."""
    return {pathlib.Path(result["model"]).stem: result
            for result in json.loads(run.stdout)["results"]}


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="foretell_attacks_")
        cls.honest = {}
        for name, module in HONEST.items():
            cls.honest[name] = cls.write(name, module)
        cls.alone = answers(predict(cls.honest.values(), []))
        cls.alone_on_cpu = answers(
            predict(cls.honest.values(), ["--trace", "cpu"]))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, module):
        path = pathlib.Path(cls.folder.name, name + ".pt")
        script_archive.write(path, **module)
        return path

    def test_honest_files_are_answered(self):
        self.assertEqual(sorted(self.alone), sorted(HONEST))

    def check(self, case, sandbox="auto"):
        flags = [*FLAGS.get(case, []), "--sandbox", sandbox]
        hostile = self.write("hostile", CASES[case])
        run = predict([self.honest["before"], hostile, self.honest["after"]],
                      flags)
        self.assertIn(run.returncode, (0, 3), run.stderr)
        found = answers(run)
        expected = self.alone_on_cpu if case in FLAGS else self.alone
        for name in HONEST:
            self.assertEqual(found.get(name), expected[name], name)
        self.assertEqual("hostile" in found, run.returncode == 0)
        lines = run.stderr.decode("utf-8").splitlines()
        errors = [line for line in lines if ": error: " in line]
        self.assertEqual(len(errors), run.returncode == 3, lines)
        for line in errors:
            self.assertIn(str(hostile), line)
            self.assertTrue(line.isprintable(), line)
        return run

    def check_without_sandbox(self, case):
        run = self.check(case, "off")
        self.assertEqual(run.returncode, 3, "it is not refused")


def add_case(case):
    name = "test_" + case.replace(" ", "_")
    setattr(Attacks, name, lambda self: self.check(case))
    if case in SECOND_LINE:
        setattr(Attacks, name + "_without_sandbox",
                lambda self: self.check_without_sandbox(case))


for one in CASES:
    if len(sys.argv) < 3 or one in sys.argv[2:]:
        add_case(one)

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
