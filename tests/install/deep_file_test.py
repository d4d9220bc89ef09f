#!/usr/bin/env python3
"""A file that crashes LibTorch is an error to a program of somebody else.

    deep_file_test.py CONSUMER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "attacks"))
import script_archive

CONSUMER = sys.argv.pop(1)


class DeepFile(unittest.TestCase):
    def test_it_is_an_error_that_names_file_and_cause(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "deep.pt")
            brackets = "(" * 100000 + "1" + ")" * 100000
            script_archive.write(path, body=f"return torch.add(x, {brackets})")
            run = subprocess.run([CONSUMER, path], capture_output=True,
                                 text=True, timeout=120)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual(run.stderr,
                         f"{path}: the process that opened it was ended by "
                         "SIGSEGV (11): the file is damaged, or nests too deep "
                         "for LibTorch\n")


if __name__ == "__main__":
    unittest.main()
