#!/usr/bin/env python3
"""Tests of `host` and `--host`."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from calls import BINARY, ONNX, OK, DOES_NOT_FIT, USAGE


class Host(unittest.TestCase):
    """What `foretell host` prints and keeps; how fast this machine is does not
    matter."""
    QUICK = ("--batches", "2", "--calls", "3")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hosts = self.folder / "foretell" / "hosts"

    def call(self, *arguments):
        return subprocess.run(
            [BINARY, *arguments], capture_output=True, text=True, timeout=120,
            env={**os.environ, "XDG_CONFIG_HOME": str(self.folder)})

    def put(self, name, factor, spread=1.2):
        self.hosts.mkdir(parents=True, exist_ok=True)
        path = self.hosts / f"{name}.json"
        path.write_text(json.dumps(
            {"name": name, "factor": factor, "spread": spread}))
        return path

    def predict(self, *flags):
        outcome = self.call("predict", ONNX, "--batch", "1", "--json", *flags)
        (result,) = json.loads(outcome.stdout)["results"]
        return result

    def test_json_has_times_of_every_operator_beside_the_reference(self):
        outcome = self.call("host", "--json", *self.QUICK)
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        document = json.loads(outcome.stdout)
        self.assertEqual(document["schema_version"], 1)
        self.assertIsNone(document["path"])
        host, reference = document["host"], document["reference"]
        self.assertGreater(host["factor"], 0)
        self.assertGreaterEqual(host["spread"], 1)
        calls = {(probe["probe"], probe["tensors"], probe["grad"])
                 for probe in host["probes"]}
        self.assertEqual(len(calls), len(host["probes"]))
        self.assertEqual(calls, {
            (probe["probe"], probe["tensors"], probe["grad"])
            for probe in reference["probes"]})
        self.assertFalse(self.hosts.exists())

    def test_text_is_the_factor_and_where_it_is_from(self):
        lines = self.call("host", *self.QUICK).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines],
                         ["host", "reference", "factor", "stored"])
        self.assertIn("--name", lines[-1])

    def test_a_name_is_stored_and_taken(self):
        stored = json.loads(self.call("host", "--json", "--name", "mine",
                                      *self.QUICK).stdout)
        path = self.hosts / "mine.json"
        self.assertEqual(stored["path"], str(path))
        self.assertEqual(json.loads(path.read_text()), stored["host"])
        self.assertEqual(list(self.hosts.iterdir()), [path])
        latency = self.predict("--host", "mine")["latency"]
        self.assertEqual((latency["host"], latency["host_name"]),
                         ("python", "mine"))
        self.assertAlmostEqual(
            latency["host_factor"] / stored["host"]["factor"], 1, delta=1e-5)

    def test_bad_names_store_nothing(self):
        for name in ("../x", "a/b", "", "python", ".x"):
            outcome = self.call("host", "--name", name, *self.QUICK)
            self.assertEqual(outcome.returncode, USAGE, name)
            self.assertEqual(outcome.stderr.count("\n"), 1)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_host_changes_dispatch_time_alone(self):
        self.put("slow", 3)
        plain, slow = self.predict(), self.predict("--host", "slow")
        self.assertGreater(slow["latency"]["ms"], 2 * plain["latency"]["ms"])
        self.assertLess(slow["latency"]["ms"], 3.1 * plain["latency"]["ms"])
        for part in ("compute_ms", "memory_ms"):
            self.assertEqual(slow["latency"][part], plain["latency"][part])
        self.assertEqual(slow["memory"], plain["memory"])
        self.assertIsNone(plain["latency"]["host_name"])
        self.assertEqual(plain["latency"]["host_factor"], 1)
        self.assertEqual(slow["latency"]["host_factor"], 3)
        text = self.call("predict", ONNX, "--batch", "1", "--host", "slow",
                         "--verbose").stdout
        self.assertIn("PyTorch on slow, host factor 3", text)

    def test_the_interval_is_wider_where_no_host_is_named(self):
        def width(*flags):
            low, high = self.predict(*flags)["latency"]["interval_ms"]
            return high / low

        self.put("known", 1, spread=1)
        known = width("--host", "known")
        self.assertGreater(known, 1.4)
        self.assertLess(known, 3)
        self.assertGreater(width(), 1.2 * known)
        self.assertLess(width(), 6)

    def test_published_hosts_are_faster_and_slower_than_the_default(self):
        plain, typical, fast, slow = (
            self.predict(*flags)["latency"] for flags in
            ((), ("--host", "typical"), ("--host", "fast"), ("--host", "slow")))
        self.assertEqual(plain["ms"], typical["ms"])
        self.assertLess(fast["ms"], plain["ms"])
        self.assertLess(plain["ms"], slow["ms"])
        self.assertEqual(fast["host_name"], "fast")

    def test_newer_gpus_are_expected_on_faster_hosts(self):
        def plain(device, *flags):
            return self.predict("--device", device, *flags)["latency"]

        newer, older = (plain(device) for device in ("h100-sxm5-80gb", "a100-sxm4-80gb"))
        self.assertLess(newer["host_factor"], older["host_factor"])
        self.assertLess(newer["ms"], older["ms"])
        typical = plain("h100-sxm5-80gb", "--host", "typical")
        self.assertEqual(typical["host_factor"], older["host_factor"])

    def test_every_command_that_predicts_takes_a_host(self):
        path = self.put("slow", 20)
        limit = ("--max-latency", "30")
        fits = ("fits", ONNX, "--batch", "1", *limit)
        self.assertEqual(self.call(*fits).returncode, OK)
        for host in ("slow", str(path)):
            self.assertEqual(self.call(*fits, "--host", host).returncode,
                             DOES_NOT_FIT)
        self.assertEqual(self.call("max-batch", ONNX, *limit, "--host",
                                   "slow").stdout, "0\n")

    def test_unknown_and_damaged_hosts_are_one_error(self):
        self.put("mine", 3)
        unknown = self.call("predict", ONNX, "--batch", "1", "--host", "his")
        self.assertEqual(unknown.returncode, USAGE)
        self.assertIn("host 'his' is unknown; known are: python, cpp, fast, typical, "
                      "slow, mine;", unknown.stderr)
        path = self.put("slow", -1)
        damaged = self.call("predict", ONNX, "--batch", "1", "--host", "slow")
        self.assertNotEqual(damaged.returncode, OK)
        self.assertIn(f"{path}: factor", damaged.stderr)
        self.assertEqual(damaged.stderr.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
