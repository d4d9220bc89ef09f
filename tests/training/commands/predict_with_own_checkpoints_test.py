#!/usr/bin/env python3
"""Tests of `predict` with checkpoints that the user trained."""

import json
import unittest

from training_calls import SOURCE, OK, USAGE, run, TrainingTest


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
                # Hardly trained: some figures are below what a step takes.
                if found["source"]["method"] == "analytic, uncalibrated":
                    self.assertTrue(any("takes at least" in warning
                                        for warning in result["warnings"]))
                    continue
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
        self.assertEqual(mixed["autocast"], "bf16")
        self.assertEqual(mixed["memory"]["parameters_mib"],
                         both["memory"]["parameters_mib"])
        other, = self.predict("--batch", "3", "--checkpoint", memory,
                              "--device", "h100-sxm5-80gb")
        # A network of two epochs may say less than the step takes at least.
        self.assertRegex(
            "\n".join(other["warnings"]),
            "memory: (no measurement of h100-sxm5-80gb was learned from, only "
            "of a100-sxm4-40gb|analytic, as the network says .* less than)")

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


if __name__ == "__main__":
    unittest.main()
