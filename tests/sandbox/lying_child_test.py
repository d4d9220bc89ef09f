#!/usr/bin/env python3
"""What foretell makes of a child that lies: the answer of a process that a file has
taken over costs the one that reads it neither memory nor time without bound, steers no
terminal and leaves nothing behind.

    lying_child_test.py BINARY SOURCE_DIR LIBRARY [unittest arguments]

LIBRARY is lying_child.cc with its lies, which is preloaded.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
LIBRARY = sys.argv.pop(1)
MODEL = SOURCE / "examples" / "resnet18.onnx"
TIMEOUT_S = 5
# Of the process that reads, above an honest run.
MOST_MIB = 256
MOST_CPU_S = TIMEOUT_S + 1
ANSWERED, FAILED = 0, 3


def names():
    library = ctypes.CDLL(LIBRARY)
    library.LieName.restype = ctypes.c_char_p
    row = 0
    while (name := library.LieName(row)) is not None:
        yield name.decode()
        row += 1


def living_in(session):
    """Processes of a session that have not ended."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and int(entry.name) != session:
            found.append((entry.name, fields[0]))
    return found


class Run:
    """One predict; what wait4 says counts the process and the child that it has waited
    for, which shares its pages."""

    def __init__(self, lie):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY}
        if lie is not None:
            environment["FORETELL_LIE"] = lie
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                [BINARY, "predict", MODEL, "--batch", "1", "--json",
                 "--timeout", str(TIMEOUT_S)],
                stdout=out, stderr=err, start_new_session=True, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.left = living_in(process.pid)
            for pid, _ in self.left:
                os.kill(int(pid), signal.SIGKILL)
            self.status = process.returncode
            self.mib = usage.ru_maxrss / 1024
            self.cpu_s = usage.ru_utime + usage.ru_stime
            out.seek(0)
            err.seek(0)
            self.text = out.read() + err.read()


class LyingChild(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.honest = Run(None)

    def test_an_honest_child_is_believed(self):
        self.assertEqual(self.honest.status, ANSWERED, self.honest.text)
        self.assertEqual(self.honest.left, [])

    def check(self, lie):
        run = Run(lie)
        self.assertIn(run.status, (ANSWERED, FAILED), run.text[:1000])
        self.assertNotIn(b"\x1b", run.text)
        self.assertNotIn(b"\nforetell: error: forged", run.text)
        self.assertNotIn(b"ESCAPED", run.text)
        self.assertEqual(run.left, [])
        self.assertLess(run.mib - self.honest.mib, MOST_MIB)
        self.assertLess(run.cpu_s - self.honest.cpu_s, MOST_CPU_S)


for NAME in names():
    setattr(LyingChild, "test_" + NAME.replace(" ", "_"),
            lambda self, name=NAME: self.check(name))

if __name__ == "__main__":
    unittest.main()
