#!/usr/bin/env python3
"""Tests of what a prediction leaves behind that a signal ends: no process, and no file
once foretell has been started again.

    left_behind_test.py BINARY SOURCE_DIR [unittest arguments]

KILLS (200) says how many commands are ended in all; moments are drawn with a fixed seed.
"""

import io
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
KILLS = int(os.environ.get("KILLS", "200"))
ONNX = SOURCE / "examples" / "resnet18.onnx"
SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGINT)
# How long the kernel may take to end what was left, on a busy machine.
PATIENCE = 60
OK = 0

SLEEPY = """
import sys, time
open("junk", "wb").write(bytes(10 ** 7))
print("ready", flush=True)
time.sleep(600)
"""


def processes_of(session):
    """Those that have not ended, or that nobody has buried."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, _, its = (entry / "stat").read_text().rsplit(") ", 1)[1].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its) == session and state != "Z":
            found.append(int(entry.name))
    return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return condition()


class LeftBehind(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.place = self.folder / "tmp"
        self.place.mkdir()
        self.random = random.Random(20260301)
        self.environment = {**os.environ, "TMPDIR": str(self.place),
                            "XDG_CACHE_HOME": str(self.folder / "cache"),
                            "FORETELL_CONVERTERS": str(self.folder)}

    def start(self, *arguments):
        process = subprocess.Popen(
            [BINARY, *map(str, arguments)], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, env=self.environment)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def files_left(self):
        return [path for path in self.place.rglob("*")
                if path.is_file() and path.name != "place.lock"]

    def end_at_random(self, kills, arguments, delay):
        for number in range(kills):
            process = self.start(*arguments)
            time.sleep(delay())
            process.send_signal(SIGNALS[number % len(SIGNALS)])
            process.communicate(timeout=PATIENCE)
            self.assertTrue(wait_until(lambda: not processes_of(process.pid)),
                            processes_of(process.pid))
            next_one = self.start("version")
            _, errors = next_one.communicate(timeout=PATIENCE)
            self.assertEqual(next_one.returncode, OK, errors)
            self.assertEqual(self.files_left(), [])

    def test_of_sandboxed_files(self):
        files = []
        for number in range(20):
            files.append(self.folder / f"{number}.onnx")
            shutil.copy(ONNX, files[-1])
        arguments = ("predict", *files, "--batch", "1,2")
        began = time.monotonic()
        self.start(*arguments).communicate(timeout=PATIENCE)
        whole = time.monotonic() - began
        self.end_at_random(KILLS * 3 // 4, arguments,
                           lambda: self.random.uniform(0, whole))

    def test_of_a_conversion(self):
        (self.folder / "tensorflow.py").write_text(SLEEPY)
        (self.folder / "tensorflow.txt").write_text("# nothing\n")
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as out:
            out.writestr("config.json", "{}")
        model = self.folder / "net.keras"
        model.write_bytes(archive.getvalue())
        # Makes the environment, and finds that the converter does not end.
        _, errors = self.start("predict", model, "--convert", "--timeout",
                               "0.05").communicate(timeout=300)
        self.assertIn(b"deadline", errors)
        self.assertEqual(self.files_left(), [])
        self.end_at_random(max(KILLS // 4, 3), ("predict", model),
                           lambda: self.random.uniform(0, 1))


if __name__ == "__main__":
    unittest.main()
