#!/usr/bin/env python3
"""Tests of what is left when a command is killed, out of disk, or not alone.

    kill_test.py BINARY SOURCE_DIR [unittest arguments]

KILLS (200) says how many processes are ended with SIGKILL in all, spread over
`dataset generate`, `dataset measure` and `train`. Moments are drawn with a fixed seed
from the times that the command took undisturbed: half of them from all of it, of which
most is the start, half from what comes after its first change on the disk, however long
a busy machine takes to get there.
"""

import os
import pathlib
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
KILLS = int(os.environ.get("KILLS", "200"))
SHARES = {"generate": 0.55, "measure": 0.05, "train": 0.4}
MODEL = SOURCE / "tests" / "frontends" / "data" / "vit_tiny.onnx"
OK, FAILED = 0, 3
PATIENCE = 600

SMALL = ("--hidden", "8", "--graph-blocks", "1", "--head-blocks", "1",
         "--learning-rate", "3e-3", "--threads", "1", "--batch-size", "4")

# What a point or label is, whatever its row and the time it was stored.
POINTS = ("SELECT model, points.batch, status, inputs, attempts, reason, "
          "warnings, num_nodes, n.data, e.data, t.data FROM points "
          "LEFT JOIN graphs ON graphs.id = graph "
          "LEFT JOIN blobs n ON n.id = nodes LEFT JOIN blobs e ON e.id = edges "
          "LEFT JOIN blobs t ON t.id = text")
LABELS = ("SELECT model, batch, device, source, labels.status, latency_ms, "
          "memory_mib, measured_at, details FROM labels "
          "JOIN points ON points.id = point")


def full_from(size):
    """Options of `start` for a disk on which no file grows beyond `size`.
    Writing more is a signal, too, which ends a program that does not ignore
    it."""
    return {"preexec_fn": lambda: resource.setrlimit(
        resource.RLIMIT_FSIZE, (size, size))}


def on_disk(path):
    """What a writer leaves of a file with its journal, or of a folder, to be compared."""
    found = path.iterdir() if path.is_dir() else path.parent.glob(path.name + "*")
    try:
        return sorted((file.name, file.stat().st_mtime_ns) for file in found)
    except FileNotFoundError:
        return None  # A journal went while it was looked at.


def group_lives(group):
    try:
        os.killpg(group, 0)
        return True
    except ProcessLookupError:
        return False


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.002)
    return condition()


class KillTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.random = random.Random(20260131)

    def start(self, *arguments, program=(BINARY,), **options):
        """The command in a session of its own, so that its workers can be
        found."""
        process = subprocess.Popen(
            [*program, *map(str, arguments)], start_new_session=True, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def finish(self, process, expected=OK):
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, expected, errors)
        return errors

    def ok(self, *arguments):
        self.finish(self.start(*arguments))

    def wait_for_change(self, process, path, before):
        wait_until(lambda: process.poll() is not None or on_disk(path) != before)

    def seconds_of(self, path, *arguments):
        """Of the whole run, and of what follows the first change at `path`."""
        began, before = time.monotonic(), on_disk(path)
        process = self.start(*arguments)
        self.wait_for_change(process, path, before)
        changed = time.monotonic()
        self.finish(process)
        ended = time.monotonic()
        return ended - began, ended - changed

    def kill_within(self, seconds, path, arguments):
        """Ends the command at a random moment. `seconds` are those of seconds_of.
        Returns whether it was killed: it may have been faster."""
        before = on_disk(path)
        process = self.start(*arguments)
        whole, written = seconds
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0, whole))
        else:
            self.wait_for_change(process, path, before)
            time.sleep(self.random.uniform(0, written))
        process.kill()
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertIn(process.returncode, (OK, -signal.SIGKILL), errors)
        self.assertTrue(wait_until(lambda: not group_lives(process.pid), 60),
                        "workers outlive the command")
        return process.returncode != OK

    def rows(self, path, sql):
        """All rows, sorted; none where there is no dataset yet."""
        if not path.exists() or path.stat().st_size == 0:
            return []
        connection = sqlite3.connect(path)
        try:
            self.assertEqual(connection.execute(
                "PRAGMA integrity_check").fetchall(), [("ok",)])
            return sorted(connection.execute(sql).fetchall(), key=repr)
        except sqlite3.OperationalError as error:
            self.assertIn("no such table", str(error))
            return []
        finally:
            connection.close()

    def kill_dataset_writer(self, name, path_of, arguments_of, sql, seconds):
        """Kills a writer of datasets over and over, each dataset until it is
        complete; `check` sees no damage. Returns the datasets."""
        kills, paths = 0, []
        while kills < KILLS * SHARES[name]:
            paths.append(path_of(len(paths)))
            arguments = arguments_of(paths[-1])
            committed, killed = [], True
            while killed and kills < KILLS * SHARES[name]:
                killed = self.kill_within(seconds, paths[-1], arguments)
                kills += killed
                now = self.rows(paths[-1], sql)
                self.assertLessEqual(set(committed), set(now),
                                     "committed rows are lost or changed")
                committed = now
            if killed:
                self.ok(*arguments)
            self.ok("dataset", "check", paths[-1])
        return paths


class Generate(KillTest):
    def arguments(self, path, *more, points=200):
        batches = ",".join(map(str, range(1, points + 1)))
        return ("dataset", "generate", MODEL, "--batch", batches, "--out", path,
                "--commit-every", "0.01", *more)

    def test_killed_anywhere_it_loses_nothing_and_ends_the_same(self):
        whole = self.folder / "whole.sqlite"
        seconds = self.seconds_of(whole, *self.arguments(whole))
        expected = self.rows(whole, POINTS)
        self.assertEqual(len(expected), 200)
        paths = self.kill_dataset_writer(
            "generate", lambda i: self.folder / f"{i}.sqlite", self.arguments,
            POINTS, seconds)
        for path in paths:
            self.assertEqual(self.rows(path, POINTS), expected)

    def test_two_writers_at_once_do_the_work_of_one(self):
        whole, both = self.folder / "whole.sqlite", self.folder / "both.sqlite"
        self.ok(*self.arguments(whole))
        writers = [self.start(*self.arguments(both, "--jobs", "1"))
                   for _ in range(2)]
        for writer in writers:
            self.finish(writer)
        self.assertEqual(self.rows(both, POINTS), self.rows(whole, POINTS))

    def test_a_full_disk_is_an_error_and_loses_nothing(self):
        whole, path = self.folder / "whole.sqlite", self.folder / "d.sqlite"
        self.ok(*self.arguments(whole))
        self.ok(*self.arguments(path, points=20))
        committed = self.rows(path, POINTS)
        self.assertEqual(len(committed), 20)
        errors = self.finish(
            self.start(*self.arguments(path),
                       **full_from(path.stat().st_size)), FAILED)
        self.assertIn(str(path), errors)
        self.assertLessEqual(set(committed), set(self.rows(path, POINTS)))
        self.ok(*self.arguments(path))
        self.assertEqual(self.rows(path, POINTS), self.rows(whole, POINTS))


class Measure(KillTest):
    def test_killed_anywhere_it_keeps_every_label(self):
        traced = self.folder / "traced.sqlite"
        self.ok("dataset", "generate", MODEL, "--batch", "1,2", "--out", traced)

        def copy(i):
            path = self.folder / f"{i}.sqlite"
            path.write_bytes(traced.read_bytes())
            return path

        def arguments(path):
            return "dataset", "measure", path, "--device", "cpu"

        timed = copy("timed")
        seconds = self.seconds_of(timed, *arguments(timed))
        for path in self.kill_dataset_writer("measure", copy, arguments, LABELS,
                                             seconds):
            labels = self.rows(path, LABELS)
            self.assertEqual([(label[1], label[4]) for label in labels],
                             [(1, "ok"), (2, "ok")])


class Train(KillTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.folder / "d.sqlite"
        self.ok("dataset", "generate", MODEL, "--batch",
                ",".join(map(str, range(1, 25))), "--out", self.dataset)
        self.ok("dataset", "simulate", self.dataset, "--device",
                "a100-sxm4-40gb")
        self.ok("dataset", "split", self.dataset, "--kind", "random", "--name",
                "mine")

    def arguments(self, out, *more):
        return ("train", "--dataset", self.dataset, "--split", "mine", "--out",
                out, *SMALL, *more)

    def results(self, out):
        return [(out / name).read_bytes()
                for name in ("last.safetensors", "best.safetensors")]

    def test_killed_anywhere_it_resumes_to_the_same_bytes(self):
        epochs = 60
        whole = self.folder / "whole"
        seconds = self.seconds_of(whole, *self.arguments(whole, "--epochs", epochs))
        kills, runs = 0, 0
        while kills < KILLS * SHARES["train"]:
            out = self.folder / f"run{runs}"
            runs += 1
            arguments = self.arguments(out, "--epochs", epochs, "--continue")
            killed = True
            while killed and kills < KILLS * SHARES["train"]:
                killed = self.kill_within(seconds, out, arguments)
                kills += killed
            if killed:
                self.ok(*arguments)
            self.assertEqual(self.results(out), self.results(whole))
            self.assertEqual(
                (out / "metrics.jsonl").read_text().count("\n"), epochs)

    def test_a_full_disk_leaves_the_last_checkpoint_whole(self):
        whole, out = self.folder / "whole", self.folder / "run"
        self.ok(*self.arguments(whole, "--epochs", "20"))
        self.ok(*self.arguments(out, "--epochs", "10"))
        before = self.results(out)[0]
        size = (out / "last.safetensors").stat().st_size
        errors = self.finish(
            self.start("train", "--resume", out, "--epochs", "20", "--threads",
                       "1", **full_from(size // 2)), FAILED)
        self.assertIn(str(out), errors)
        self.assertEqual(self.results(out)[0], before)
        self.ok("train", "--resume", out, "--epochs", "20", "--threads", "1")
        self.assertEqual(self.results(out), self.results(whole))

    def test_a_lost_worker_costs_no_bytes(self):
        try:
            import torch.distributed.run  # noqa: F401
        except ImportError:
            self.skipTest("torchrun is not installed")
        whole, out = self.folder / "whole", self.folder / "run"
        self.finish(self.torchrun(*self.arguments(whole, "--epochs", "40")))
        process = self.torchrun(*self.arguments(out, "--epochs", "40"))
        self.assertTrue(wait_until((out / "last.safetensors").exists))
        time.sleep(self.random.uniform(0, 0.2))
        workers = subprocess.run(["pgrep", "-P", str(process.pid)],
                                 capture_output=True, text=True).stdout.split()
        if workers:
            os.kill(int(workers[-1]), signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        self.finish(self.torchrun("train", "--dataset", self.dataset, "--out",
                                  out, "--continue", "--epochs", "40",
                                  "--threads", "1"))
        self.assertEqual(self.results(out), self.results(whole))

    def torchrun(self, *arguments):
        return self.start(*arguments, program=(
            sys.executable, "-m", "torch.distributed.run", "--no-python",
            "--nproc-per-node", "2", "--rdzv-backend", "c10d",
            "--rdzv-endpoint", "localhost:0", "--local-addr", "localhost",
            BINARY))


if __name__ == "__main__":
    unittest.main()
