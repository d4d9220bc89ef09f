#!/usr/bin/env python3
"""Tests of `train` by several processes."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from training_calls import BINARY, OK, USAGE, FAILED, run, TrainingTest


class Workers(TrainingTest):
    """Two processes on this machine, started by torchrun."""

    def setUp(self):
        super().setUp()
        try:
            import torch.distributed.run  # noqa: F401
        except ImportError:
            self.skipTest("torchrun is not installed")

    def torchrun(self, *arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "torch.distributed.run", "--no-python",
             "--nproc-per-node", "2", "--rdzv-backend", "c10d",
             "--rdzv-endpoint", "localhost:0", "--local-addr", "localhost",
             BINARY, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            **options)

    def curves(self, folder):
        rows = []
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            epoch = json.loads(line)
            rows.append([epoch["gradient_norm"], epoch["train"]["loss"],
                         epoch["train"]["mape"], epoch["validation"]["loss"],
                         epoch["validation"]["mape"]])
        return rows

    def test_two_give_the_curve_of_one_with_twice_the_batch(self):
        arguments = ("--epochs", "5", "--dropout", "0", "--clip", "0.5",
                     "--weight-decay", "1e-3")
        one = self.train("one", *arguments, batch_size=8)
        two = self.folder / "two"
        process = self.torchrun(*self.train_arguments("two", *arguments))
        _, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, OK, errors)
        alone, together = self.curves(one), self.curves(two)
        self.assertEqual(len(together), 5)
        for expected, found in zip(alone, together):
            for a, b in zip(expected, found):
                self.assertAlmostEqual(a, b, delta=1e-5)

    def wait_for_checkpoint(self, process, folder):
        while not (folder / "last.safetensors").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.05)

    def test_a_lost_worker_ends_the_job_and_its_checkpoint_resumes(self):
        folder = self.folder / "run"
        process = self.torchrun(*self.train_arguments("run", "--epochs",
                                                      "100000"))
        self.wait_for_checkpoint(process, folder)
        workers = [int(pid) for pid in subprocess.run(
            ["pgrep", "-P", str(process.pid)], capture_output=True,
            text=True).stdout.split()]
        self.assertEqual(len(workers), 2)
        os.kill(workers[1], signal.SIGKILL)
        _, errors = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, OK)
        epochs = len((folder / "metrics.jsonl").read_text().splitlines())
        self.ok("train", "--resume", folder, "--epochs", epochs + 2,
                "--threads", "1")
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["epoch"] for line in lines],
                         list(range(1, epochs + 3)))

    def test_sigterm_ends_all_workers_with_a_checkpoint(self):
        folder = self.folder / "run"
        process = self.torchrun(*self.train_arguments("run", "--epochs",
                                                      "100000"))
        self.wait_for_checkpoint(process, folder)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, OK)
        process = self.torchrun(
            "train", "--dataset", self.dataset, "--out", folder, "--continue",
            "--epochs", "1", "--threads", "1")
        output, errors = process.communicate(timeout=300)
        self.assertEqual(process.returncode, OK, errors)

    def test_variables_that_make_no_sense_are_named(self):
        environment = dict(os.environ, RANK="2", WORLD_SIZE="2",
                           MASTER_ADDR="localhost", MASTER_PORT="1")
        result = run(*self.train_arguments(), env=environment)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("RANK is 2", result.stderr)

    def test_a_worker_that_never_comes_is_an_error(self):
        environment = dict(os.environ, RANK="0", WORLD_SIZE="2",
                           MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
        result = run(*self.train_arguments("run", "--worker-timeout", "2"),
                     env=environment)
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("other workers", result.stderr)


if __name__ == "__main__":
    unittest.main()
