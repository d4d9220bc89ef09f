"""foretell.context: what is read of a GPU, which is a fake here, and what is made of
it."""

import contextlib
import csv
import dataclasses
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import foretell
import torch
from foretell import _reading
from small_networks import Convolutions

IMAGE = torch.zeros(2, 3, 16, 16)
TRAINING = {"mode": "training", "optimizer": "adamw", "device": "rtx-3090"}


class FakeGpu:
    """A device whose every step takes 8 ms, the first one 100, which holds 64 MiB."""

    index, name = 0, "NVIDIA GeForce RTX 3090"

    def __init__(self):
        self.now = 0
        self.resets = 0

    @staticmethod
    def is_there():
        return True

    def reset(self):
        self.resets += 1

    def allocated_mib(self):
        return 40.0

    def reserved_mib(self):
        return 64.0

    def held_mib(self):
        return 60.0

    def synchronize(self):
        pass

    def mark(self):
        self.now += 8 if self.now else 100
        return self.now

    def between_ms(self, start, end):
        return float(end - start)

    def process_mib(self):
        return 660.0, "nvidia-smi"


class NoGpu(FakeGpu):
    @staticmethod
    def is_there():
        return False


def train(steps, extra=None):
    """Real steps of a small network on the CPU."""
    net = Convolutions()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    other = torch.optim.SGD(Convolutions().parameters(), lr=0.1)
    for _ in range(steps):
        net(IMAGE)["logits"].sum().backward()
        optimizer.step()
        other.step()
        optimizer.zero_grad()
        if extra:
            extra()


class WatchedCase(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.net = Convolutions()
        cls.p = foretell.predict(cls.net, IMAGE, **TRAINING)

    def watched(self, steps=10, gpu=FakeGpu, run=train, **options):
        with (mock.patch("foretell._context.Gpu", gpu),
              contextlib.redirect_stderr(io.StringIO()) as said):
            with foretell.context(self.p, **options) as watch:
                run(steps)
        self.said = said.getvalue()
        return watch


class Watches(WatchedCase):

    def test_read_the_gpu_after_ten_steps(self):
        watch = self.watched(steps=12)
        self.assertEqual(watch.reading.steps, 10)
        self.assertEqual(watch.reading.latency_ms, 8)
        self.assertEqual(watch.reading.context_mib, 600)
        self.assertEqual(watch.reading.total_mib, 664)
        self.assertEqual(watch.report().reading, foretell.context.report().reading)
        self.assertEqual(len(self.said.splitlines()), 1)
        self.assertRegex(self.said, r"\Aforetell: after 10 steps on NVIDIA GeForce RTX 3090: "
                                    r"664 MiB, predicted \d+ ")

    def test_read_fewer_where_the_block_ends(self):
        self.assertEqual(self.watched(steps=3).reading.steps, 3)
        self.assertIsNone(self.watched(steps=3).reading.latency_ms)
        self.assertEqual(self.watched(steps=5).reading.steps, 5)
        self.assertIsNone(self.watched(steps=0).reading)

    def test_leave_no_hooks(self):
        from torch.optim.optimizer import _global_optimizer_post_hooks as hooks

        self.watched(steps=12)
        self.watched(steps=1)
        with self.assertRaises(ZeroDivisionError):
            self.watched(run=lambda steps: train(1, lambda: 1 / 0))
        self.assertEqual(len(hooks), 0)

    def test_count_calls_of_a_module_in_inference(self):
        net = Convolutions().eval()
        with (mock.patch("foretell._context.Gpu", FakeGpu),
              contextlib.redirect_stderr(io.StringIO())):
            with foretell.context(net, IMAGE, steps=4, device="rtx-3090") as watch:
                for _ in range(6):
                    net(IMAGE)
        self.assertEqual(watch.reading.steps, 4)
        self.assertEqual(len(net._forward_hooks), 0)

    def test_count_by_hand(self):
        with (mock.patch("foretell._context.Gpu", FakeGpu),
              contextlib.redirect_stderr(io.StringIO())):
            with foretell.context(self.p, steps=2) as watch:
                watch.step()
                watch.step()
        self.assertEqual(watch.reading.steps, 2)

    def test_measure_nothing_without_a_gpu(self):
        with self.assertWarnsRegex(foretell.Warning, "no CUDA device"):
            watch = self.watched(gpu=NoGpu)
        with self.assertRaisesRegex(foretell.Error, "nothing is measured after 10 of 10"):
            watch.report()

    def test_say_which_part_differs(self):
        report = self.watched().report()
        rows = {row["part"]: row for row in report.rows}
        self.assertEqual(rows["allocator cache"]["measured_mib"], 24)
        self.assertEqual(rows["context"]["measured_mib"], 600)
        for name in ("predicted_mib", "measured_mib"):
            parts = sum(rows[part][name] for part in ("allocated", "allocator cache",
                                                      "context"))
            self.assertAlmostEqual(parts, rows["process"][name], places=3)
        missing = {part: abs(row["missing_mib"]) for part, row in rows.items()
                   if part != "process"}
        self.assertEqual(report.part, max(missing, key=missing.get))
        self.assertAlmostEqual(report.error, self.p.memory.total_mib / 664 - 1)
        self.assertIn("allocator cache", str(report))
        self.assertIn("<table>", report._repr_html_())

    def test_are_reported_only_after_one(self):
        from foretell._context import Context

        with self.assertRaisesRegex(foretell.Error, "nothing is watched yet"):
            Context().report()


class Rows(WatchedCase):

    def test_are_read_by_adapt(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "rows.csv")
            for batch in (1, 2, 4, 8, 16):
                self.p = foretell.predict("zoo:resnet18", batch=batch, **TRAINING)
                watch = self.watched()
                watch.reading = dataclasses.replace(watch.reading,
                                                    latency_ms=8.0 + batch)
                watch.report().append_to(table)
            with table.open() as file:
                rows = list(csv.DictReader(file))
            self.assertEqual([row["batch"] for row in rows], ["1", "2", "4", "8", "16"])
            self.assertEqual({row["memory_mib"] for row in rows}, {"664.0"})
            out = pathlib.Path(folder, "mine.json")
            foretell._command.run(["adapt", str(table), "--mode=training",
                                   "--optimizer=adamw", "--device=rtx-3090", "--force",
                                   f"--out={out}"])
            self.assertTrue(out.exists())

    def test_keep_the_file_of_a_module(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "rows.csv")
            self.watched(save_to=table)
            self.watched(save_to=table)
            with table.open() as file:
                names = [row["model"] for row in csv.DictReader(file)]
            self.assertEqual(len(names), 2)
            self.assertEqual(len(set(names)), 1)
            self.assertTrue(pathlib.Path(names[0]).is_relative_to(folder))
            p = foretell.predict(names[0], batch=2, **TRAINING)
            self.assertEqual(p.memory.total_mib, self.p.memory.total_mib)

    def test_are_not_saved_without_their_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder, "rows.csv")
            with self.assertWarnsRegex(foretell.Warning, "3 steps were measured"):
                self.watched(steps=3, save_to=table)

            class Shared(FakeGpu):
                def process_mib(self):
                    return 900.0, "device, with other processes"

            with self.assertWarnsRegex(foretell.Warning, "could not be read"):
                self.watched(gpu=Shared, save_to=table)
            table.write_text("a,b\n1,2\n")
            with self.assertWarnsRegex(foretell.Warning, "its columns are a, b, expected"):
                self.watched(save_to=table)


class NvidiaSmi(unittest.TestCase):

    def read(self, text, uuid="1234"):
        outcome = subprocess.CompletedProcess([], 0, text, "")
        with mock.patch("subprocess.run", lambda *words, **options: outcome):
            return _reading._by_nvidia_smi(uuid)

    def test_names_this_process_on_this_gpu(self):
        own = os.getpid()
        self.assertEqual(self.read(f"{own}, GPU-1234, 660\n{own}, GPU-5678, 100\n"
                                   "1, GPU-1234, 50\n"), 660)
        self.assertEqual(self.read(f"{own}, GPU-1234, 660\n{own}, GPU-5678, 100\n", ""), 760)
        self.assertIsNone(self.read("1, GPU-1234, 50\n"))
        self.assertIsNone(self.read(f"{own}, GPU-1234, [N/A]\n"))
        self.assertIsNone(self.read("No running processes found\n"))

    def test_may_be_missing(self):
        with mock.patch.dict(os.environ, PATH=""):
            self.assertIsNone(_reading._by_nvidia_smi(""))


class Import(unittest.TestCase):

    def test_needs_no_torch(self):
        code = "import sys, foretell; sys.exit('torch' in sys.modules)"
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
