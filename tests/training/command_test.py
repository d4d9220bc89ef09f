#!/usr/bin/env python3
"""Tests of `foretell train`, `evaluate`, `compare` and `cross-validate` as
their users call them.

    command_test.py BINARY SOURCE_DIR [unittest arguments]
"""

import csv
import json
import math
import os
import pathlib
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(SOURCE / "tests" / "browser"))

from page_document import document_of  # noqa: E402

OK, USAGE, FAILED, INTERRUPTED = 0, 2, 3, 5

SMALL = ("--hidden", "8", "--graph-blocks", "1", "--head-blocks", "1",
         "--learning-rate", "3e-3", "--threads", "1")


def run(*arguments, **options):
    return subprocess.run([BINARY, *map(str, arguments)], capture_output=True,
                          text=True, timeout=300, **options)


def make_dataset(folder):
    """ResNet-18 at 24 batch sizes with simulated labels."""
    path = folder / "d.sqlite"
    batches = ",".join(str(batch) for batch in range(1, 25))
    for arguments in (
            ("generate", SOURCE / "examples" / "resnet18.onnx", "--batch",
             batches, "--out", path),
            ("simulate", path, "--device", "a100-sxm4-40gb"),
            ("split", path, "--kind", "random", "--name", "mine")):
        result = run("dataset", *arguments)
        assert result.returncode == OK, result.stderr
    return path


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.shared.cleanup)
        cls.dataset = make_dataset(pathlib.Path(cls.shared.name))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ok(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def train_arguments(self, name="run", *arguments, batch_size=4):
        return ("train", "--dataset", self.dataset, "--split", "mine", "--out",
                self.folder / name, "--batch-size", batch_size, *SMALL,
                *arguments)

    def train(self, name="run", *arguments, batch_size=4):
        self.ok(*self.train_arguments(name, *arguments,
                                      batch_size=batch_size))
        return self.folder / name

    def rows(self, path):
        with path.open() as file:
            return list(csv.DictReader(file))

    def checkpoints(self, folder):
        return [(folder / name).read_bytes()
                for name in ("last.safetensors", "best.safetensors")]


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

    def test_progress_shows_on_a_terminal_only(self):
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


class Evaluate(TrainingTest):
    def test_judges_a_checkpoint(self):
        folder = self.train("run", "--epochs", "2")
        arguments = ("evaluate", "--dataset", self.dataset, "--split", "mine",
                     "--checkpoint", folder / "best.safetensors")
        text = self.ok(*arguments)
        self.assertIn("3 simulated", text)
        self.assertIn("1g.5gb", text)
        predictions = self.folder / "p.csv"
        result = json.loads(self.ok(*arguments, "--json", "--csv",
                                    predictions))
        self.assertEqual(result["provenance"], {"simulated": 3})
        self.assertEqual([one["target"] for one in result["targets"]],
                         ["memory", "latency", "energy"])
        rows = self.rows(predictions)
        self.assertEqual(len(rows), 9)
        errors = [abs(float(row["prediction"]) / float(row["label"]) - 1)
                  for row in rows]
        self.assertAlmostEqual(sum(errors) / 9, result["pooled_mape"])
        self.assertIn("| memory | 3 |", self.ok(*arguments, "--markdown"))

    def test_the_analytic_model_explains_what_it_simulated(self):
        result = json.loads(self.ok(
            "evaluate", "--dataset", self.dataset, "--split", "none",
            "--analytic", "--json"))
        self.assertEqual(result["samples"], 24)
        for target in result["targets"]:
            self.assertLess(target["mape"], 1e-9)
        for fit in result["fits"]:
            self.assertEqual(fit["fits"], fit["both"])

    def test_a_network_corrects_a_prior(self):
        folder = self.train("run", "--epochs", "1", "--prior", "analytic",
                            "--prior-features", "--device-features")
        result = json.loads(self.ok(
            "evaluate", "--dataset", self.dataset, "--split", "mine",
            "--checkpoint", folder / "best.safetensors", "--json"))
        self.assertIn("analytic", result["method"])
        # The labels are the prior: the network has nothing to correct, and
        # even an untrained one is near them.
        self.assertLess(result["pooled_mape"], 10)

    def test_needs_one_thing_to_judge(self):
        result = run("evaluate", "--dataset", self.dataset)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("--analytic", result.stderr)

    def test_a_missing_checkpoint_is_named(self):
        result = run("evaluate", "--dataset", self.dataset, "--checkpoint",
                     "/nowhere.safetensors")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("/nowhere.safetensors", result.stderr)


class Compare(TrainingTest):
    def arguments(self, *more):
        return ("compare-networks", "--dataset", self.dataset, "--split", "mine",
                "--networks", "gcn,pmgns", "--seeds", "0,1", "--epochs", "2",
                "--out", self.folder / "c", *SMALL, *more)

    def test_repeats_nothing(self):
        text = self.ok(*self.arguments())
        self.assertIn("17 simulated", text)
        self.assertIn("±", text)
        cells = sorted((self.folder / "c" / "cells").iterdir())
        self.assertEqual(len(cells), 4)
        times = [cell.stat().st_mtime_ns for cell in cells]
        cells[0].unlink()
        self.assertEqual(self.ok(*self.arguments()), text)
        self.assertEqual([cell.stat().st_mtime_ns for cell in cells[1:]],
                         times[1:])

    def test_prints_json_and_markdown(self):
        result = json.loads(self.ok(*self.arguments("--json")))
        self.assertEqual([one["network"] for one in result["networks"]],
                         ["gcn", "pmgns"])
        self.assertGreater(
            result["networks"][0]["test"]["pooled"]["deviation"], 0)
        self.assertIn("| gcn |", self.ok(*self.arguments("--markdown")))


class CrossValidate(TrainingTest):
    def test_predicts_every_sample_once(self):
        arguments = ("cross-validate", "--dataset", self.dataset, "--folds",
                     "random", "--k", "3", "--epochs", "2", "--out",
                     self.folder / "v", "--targets", "latency", *SMALL)
        result = json.loads(self.ok(*arguments, "--json"))
        self.assertEqual(result["targets"][0]["count"], 24)
        rows = self.rows(self.folder / "v" / "predictions.csv")
        self.assertEqual(sorted(int(row["batch"]) for row in rows),
                         list(range(1, 25)))
        self.assertEqual({row["target"] for row in rows}, {"latency_ms"})
        again = json.loads(self.ok(*arguments, "--json"))
        self.assertEqual(again, result)

    def test_a_network_over_kernels_becomes_a_checkpoint(self):
        checkpoint = self.folder / "kernels.safetensors"
        output = self.ok(
            "cross-validate", "--dataset", self.dataset, "--split", "none",
            "--folds", "random", "--k", "2", "--network", "kernels",
            "--epochs", "2", "--threads", "1", "--out", self.folder / "cv",
            "--checkpoint", checkpoint, "--json")
        self.assertEqual(
            [one["target"] for one in json.loads(output)["targets"]],
            ["latency"])
        judged = self.ok("evaluate", "--dataset", self.dataset, "--checkpoint",
                         checkpoint, "--split", "none", "--json")
        (latency,) = json.loads(judged)["targets"]
        self.assertEqual(latency["count"], 24)
        # Two epochs of 24 samples teach little; the sum itself is near.
        self.assertLess(latency["median_ape"], 0.6)
        self.assertIsNotNone(latency["coverage"])

    def test_a_network_over_terms_takes_its_own_target_only(self):
        result = run(*self.train_arguments("run", "--network", "replay",
                                           "--targets", "latency"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("network 'replay' predicts memory alone", result.stderr)

    def test_names_the_number_of_groups(self):
        result = run("cross-validate", "--dataset", self.dataset, "--folds",
                     "family", "--k", "3", "--out", self.folder / "v")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("3 folds by family", result.stderr)


class ScorePairs(unittest.TestCase):
    """scripts/published/score_pairs.py, on predictions made up here."""

    def write(self, folder, predictions):
        folder.mkdir(parents=True)
        with (folder / "predictions.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("model", "family", "batch", "device",
                             "environment", "label", "prediction"))
            for i, prediction in enumerate(predictions):
                writer.writerow([f"net{i}", f"family{i % 2}", 1, "gpu", "{}",
                                 100, prediction])

    def score(self, *seeds):
        return subprocess.run(
            [sys.executable, SOURCE / "scripts" / "published" /
             "score_pairs.py", "--first", "a", "--second", "b", *seeds],
            capture_output=True, text=True, timeout=60)

    def test_compares_row_by_row(self):
        with tempfile.TemporaryDirectory() as name:
            seed = pathlib.Path(name) / "seed0"
            self.write(seed / "a", (110, 90, 120, 100))
            self.write(seed / "b", (104, 94, 119, 98))
            result = self.score(seed)
            self.assertEqual(result.returncode, 0, result.stderr)
            _, _, line, over_all = result.stdout.splitlines()
            # Differences -6, -4, -1, +2: family0 -3.5, family1 -1 on average.
            self.assertEqual(
                line, "| seed0 | 10.00 / 10.00 | 5.00 / 7.75 | "
                "-2.25 (-3.50 to -1.00) | 75 % |")
            self.assertEqual(
                over_all, "| all | | | -2.25 (-3.50 to -1.00) | 75 % |")

    def test_refuses_other_labels(self):
        with tempfile.TemporaryDirectory() as name:
            seed = pathlib.Path(name) / "seed0"
            self.write(seed / "a", (110, 90))
            self.write(seed / "b", (110, 90, 100))
            result = self.score(seed)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("not judged on the same labels", result.stderr)


class ScoreLeftOutDevices(TrainingTest):
    """scripts/published/score_left_out_devices.py, on what cross-validate writes."""

    def score(self, folder):
        result = subprocess.run(
            [sys.executable, SOURCE / "scripts" / "published" /
             "score_left_out_devices.py", folder],
            capture_output=True, text=True, timeout=300,
            env=dict(os.environ, FORETELL=BINARY))
        self.assertEqual(result.returncode, OK, result.stderr)
        lines = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in result.stdout.splitlines()]
        return lines[0], lines[2:]

    def test_reads_the_predictions_of_a_cross_validation(self):
        self.ok("cross-validate", "--dataset", self.dataset, "--folds",
                "random", "--k", "3", "--epochs", "1", "--out",
                self.folder / "v", "--targets", "latency", *SMALL)
        _, (device, everything) = self.score(self.folder / "v")
        self.assertEqual(device[0], "a100-sxm4-40gb")
        self.assertEqual([device[2], everything[2]], ["24", "24"])
        self.assertEqual(device[3], everything[3])

    def write_predictions(self, label_of):
        """101 networks of rate exp(x), x from -2 to 2, all predicted as 1."""
        with (self.folder / "predictions.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("model", "label", "prediction", "macs", "device",
                             "environment"))
            for i in range(101):
                x = (i - 50) / 25
                for device, label in label_of.items():
                    writer.writerow(
                        [f"net{i}", label(i, x), 1, round(1e9 * math.exp(x)),
                         device, json.dumps({"format": device})])

    def test_two_factors_undo_an_error_that_grows_with_the_rate(self):
        self.write_predictions(
            {"bent": lambda i, x: math.exp(-0.1 - 0.1 * x),
             "scaled": lambda i, x: 0.8})
        header, (bent, scaled, _) = self.score(self.folder)
        self.assertEqual(bent[1], "bent")
        median = {(row[0], name): float(cell.split("/")[0])
                  for row in (bent, scaled)
                  for name, cell in zip(header[3:], row[3:])}
        # y = 0.1 + 0.1 x: around its median, half of |x| is above 1.
        self.assertAlmostEqual(median["bent", "one factor of all"], 10, delta=1)
        self.assertLess(median["bent", "two factors of five"], 2)
        self.assertEqual(median["scaled", "median / mean"], 25)
        self.assertEqual(median["scaled", "one factor of five"], 0)
        # The ridge takes a twentieth of log(1.25).
        self.assertAlmostEqual(median["scaled", "two factors of five"], 1.2,
                               delta=0.15)

    def test_known_networks_are_those_predicted_well_elsewhere(self):
        # Two in five are wrong by up to 40 % either way, as on the other device.
        def label(i, _):
            return 0.9 * math.exp(0.35 * (i % 5 == 1) - 0.35 * (i % 5 == 3))

        self.write_predictions({"first": label, "second": label})
        header, rows = self.score(self.folder)
        for row in rows[:2]:
            mean = {name: float(cell.split("/")[1])
                    for name, cell in zip(header[3:], row[3:])}
            # Of 101 labels 40 stay wrong: 0.2 * (41.9 % + 29.5 %), and the
            # twentieth of log(1 / 0.9) that the ridge takes.
            self.assertAlmostEqual(mean["one of five known"], 14.8, delta=0.5)
            self.assertGreater(mean["one factor of five"], 16)
            self.assertLess(mean["two of five known"],
                            mean["two factors of five"])


class PredictWithOwnCheckpoints(TrainingTest):
    """predict --checkpoint must say what evaluate says of the same graph."""

    RESNET = SOURCE / "examples" / "resnet18.onnx"

    def predict(self, *arguments, status=OK):
        result = run("predict", self.RESNET, *arguments, "--json")
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)["results"] if status == OK else result

    def judged(self, checkpoint):
        """Predictions of the analytic labels by batch and target."""
        table = self.folder / "answers.csv"
        self.ok("evaluate", "--dataset", self.dataset, "--split", "none",
                "--checkpoint", checkpoint, "--csv", table)
        return {(int(row["batch"]), row["target"]): row
                for row in self.rows(table)}

    def assert_agree(self, checkpoint, figures):
        judged = self.judged(checkpoint)
        for result in self.predict("--batch", "3,17", "--checkpoint",
                                   checkpoint):
            for target, (part, field, interval) in figures.items():
                row = judged[result["batch"], target]
                found = result[part]
                self.assertAlmostEqual(
                    found[field] / float(row["prediction"]), 1, delta=1e-5)
                # Too few labels are held out for an interval.
                self.assertEqual(row["lo"], "")
                low, high = found[interval]
                self.assertTrue(low < found[field] < high)
                self.assertTrue(any("has no interval" in warning
                                    for warning in result["warnings"]))
                self.assertEqual(found["source"]["method"],
                                 "learned from simulated labels of foretell "
                                 "analytic")

    MEMORY = {"memory_mib": ("memory", "total_mib", "interval_mib")}
    LATENCY = {"latency_ms": ("latency", "ms", "interval_ms")}
    ENERGY = {"energy_j": ("energy", "j", "interval_j")}

    def test_networks_over_operators(self):
        folder = self.train("plain", "--epochs", "2")
        self.assert_agree(folder / "best.safetensors",
                          {**self.MEMORY, **self.LATENCY, **self.ENERGY})

    def test_networks_with_everything_beside_the_graph(self):
        folder = self.train("rich", "--epochs", "2", "--prior", "analytic",
                            "--prior-features", "--node-costs", "--pooling",
                            "prior", "--edges", "chain", "--device-features",
                            "--targets", "latency")
        self.assert_agree(folder / "best.safetensors", self.LATENCY)
        plain, = self.predict("--batch", "3")
        mine, = self.predict("--batch", "3", "--checkpoint",
                             folder / "best.safetensors")
        self.assertEqual(plain["memory"], mine["memory"])

    def test_networks_over_kernels_and_two_checkpoints(self):
        kernels = self.folder / "kernels" / "best.safetensors"
        self.ok("train", "--dataset", self.dataset, "--split", "mine", "--out",
                kernels.parent, "--network", "kernels", "--epochs", "2",
                "--threads", "1")
        self.assert_agree(kernels, self.LATENCY)
        memory = self.train("memory", "--epochs", "2", "--targets",
                            "memory") / "best.safetensors"
        alone, = self.predict("--batch", "3", "--checkpoint", memory)
        both, = self.predict("--batch", "3", "--checkpoint", memory,
                             "--checkpoint", kernels)
        self.assertEqual(both["memory"]["total_mib"],
                         alone["memory"]["total_mib"])
        self.assertNotEqual(both["latency"]["ms"], alone["latency"]["ms"])
        mixed, = self.predict("--batch", "3", "--checkpoint", kernels,
                              "--autocast")
        self.assertEqual(mixed["autocast"], "f16")
        self.assertEqual(mixed["memory"]["parameters_mib"],
                         both["memory"]["parameters_mib"])
        other, = self.predict("--batch", "3", "--checkpoint", memory,
                              "--device", "h100-sxm5-80gb")
        self.assertIn("memory: no measurement of h100-sxm5-80gb was learned "
                      "from, only of a100-sxm4-40gb", other["warnings"])

    def test_a_network_without_operators_takes_nothing(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        tensor = onnx.helper.make_tensor_value_info(
            "x", onnx.TensorProto.FLOAT, [2, 3])
        path = self.folder / "empty.onnx"
        onnx.save(onnx.helper.make_model(
            onnx.helper.make_graph([], "empty", [tensor], [tensor]),
            opset_imports=[onnx.helper.make_opsetid("", 17)]), path)
        folder = self.train("run", "--epochs", "1")
        result, = json.loads(self.ok("predict", path, "--json", "--checkpoint",
                                     folder / "best.safetensors"))["results"]
        self.assertEqual(result["latency"]["ms"], 0)

    def test_refuses_what_it_cannot_use(self):
        memory = self.train("memory", "--epochs", "1", "--targets",
                            "memory") / "best.safetensors"
        twice = self.predict("--checkpoint", memory, "--checkpoint", memory,
                             status=USAGE)
        self.assertIn("both predict memory", twice.stderr)
        self.predict("--checkpoint", memory, "--method", "learned",
                     status=USAGE)
        missing = self.predict("--checkpoint", "nowhere.safetensors",
                               status=USAGE)
        self.assertIn("nowhere.safetensors", missing.stderr)


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
