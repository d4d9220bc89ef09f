#!/usr/bin/env python3
"""Tests of `train`."""

import json
import os
import pty
import signal
import struct
import subprocess
import sys
import time
import unittest

from training_calls import (BINARY, SOURCE, USAGE, FAILED, INTERRUPTED, run,
                            TrainingTest)

sys.path.insert(0, str(SOURCE / "tests" / "browser"))

from page_document import document_of  # noqa: E402


class Train(TrainingTest):
    def test_leaves_checkpoints_metrics_and_curves(self):
        folder = self.train("run", "--epochs", "3")
        lines = [json.loads(line) for line in
                 (folder / "metrics.jsonl").read_text().splitlines()]
        self.assertEqual([line["epoch"] for line in lines], [1, 2, 3])
        for key in ("loss", "mape", "mape_memory", "mape_energy"):
            self.assertGreater(lines[0]["train"][key], 0)
            self.assertGreater(lines[0]["validation"][key], 0)
        page = (folder / "curves.html").read_text()
        self.assertEqual(document_of(page)["epochs"], lines)

    def test_checkpoints_are_safetensors_by_the_rules_of_the_format(self):
        folder = self.train("run", "--epochs", "1")
        data = (folder / "best.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        info = json.loads(header.pop("__metadata__")["checkpoint"])
        self.assertEqual(info["schema_version"], 2)
        self.assertEqual(info["recipe"]["edges"], "data-flow")
        self.assertEqual(info["provenance"], {"simulated": 17})
        self.assertEqual([target["name"] for target in info["targets"]],
                         ["memory_mib", "latency_ms", "energy_j"])
        end = 0
        for tensor in sorted(header.values(),
                             key=lambda tensor: tensor["data_offsets"]):
            size = 4
            for dimension in tensor["shape"]:
                size *= dimension
            self.assertEqual(tensor["dtype"], "F32")
            self.assertEqual(tensor["data_offsets"], [end, end + size])
            end += size
        self.assertEqual(len(data), 8 + length + end)

    def test_python_opens_checkpoints(self):
        try:
            from safetensors import safe_open
        except ImportError:
            self.skipTest("safetensors for Python is not installed")
        folder = self.train("run", "--epochs", "1")
        with safe_open(folder / "best.safetensors", "np") as file:
            self.assertEqual(file.metadata()["format"], "foretell checkpoint")
            self.assertGreater(len(list(file.keys())), 4)

    def test_a_resumed_run_gives_the_same_bytes(self):
        whole = self.train("whole", "--epochs", "6")
        half = self.train("half", "--epochs", "3")
        self.ok("train", "--resume", half, "--epochs", "6", "--threads", "1")
        self.assertEqual(self.checkpoints(whole), self.checkpoints(half))
        lines = (half / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 6)

    def test_sigterm_saves_and_resumes_to_the_same_bytes(self):
        whole = self.train("whole", "--epochs", "400")
        cut = self.folder / "cut"
        process = subprocess.Popen(
            [BINARY, *map(str, self.train_arguments("cut", "--epochs",
                                                    "400"))],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (cut / "last.safetensors").exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, INTERRUPTED, errors)
        self.assertIn(f"--resume {cut}", errors)
        self.ok("train", "--resume", cut, "--threads", "1")
        self.assertEqual(self.checkpoints(whole), self.checkpoints(cut))

    def test_does_not_overwrite_a_run(self):
        self.train("run", "--epochs", "1")
        result = run(*self.train_arguments("run", "--epochs", "1"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--resume", result.stderr)

    def test_finds_a_learning_rate(self):
        folder = self.train("run", "--epochs", "1", "--find-lr")
        page = document_of((folder / "learning_rate.html").read_text())
        self.assertGreater(len(page["steps"]), 3)
        line = json.loads((folder / "metrics.jsonl").read_text())
        self.assertGreaterEqual(line["learning_rate"], 1e-7)

    def test_a_damaged_checkpoint_is_an_error_with_its_name(self):
        folder = self.train("run", "--epochs", "1")
        path = folder / "last.safetensors"
        path.write_bytes(path.read_bytes()[:-1])
        result = run("train", "--resume", folder)
        self.assertEqual(result.returncode, FAILED)
        self.assertIn("last.safetensors", result.stderr)

    def test_mixed_precision_needs_a_gpu(self):
        result = run(*self.train_arguments("run", "--amp"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("GPU", result.stderr)

    def test_says_what_is_missing(self):
        result = run("train")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--dataset", result.stderr)
        result = run(*self.train_arguments("run", "--device", "nothing"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("a100-sxm4-40gb", result.stderr)

    def test_without_validation_it_prints_no_table(self):
        arguments = list(self.train_arguments("whole", "--epochs", "1"))
        arguments[arguments.index("mine")] = "none"
        result = run(*arguments)
        self.assertIn("no validation samples", result.stdout)
        self.assertNotIn("MAPE", result.stdout)

    def test_progress_is_redrawn_on_a_terminal_only(self):
        arguments = self.train_arguments("quiet", "--epochs", "1")
        self.assertNotIn("\r", run(*arguments).stderr)
        leader, follower = pty.openpty()
        subprocess.run(
            [BINARY, *map(str, self.train_arguments("loud", "--epochs",
                                                    "1"))],
            stderr=follower, stdout=subprocess.DEVNULL, timeout=300)
        os.close(follower)
        shown = os.read(leader, 1 << 16).decode()
        os.close(leader)
        self.assertIn("loss", shown)
        self.assertIn("left", shown)


if __name__ == "__main__":
    unittest.main()
