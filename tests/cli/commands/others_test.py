#!/usr/bin/env python3
"""Tests of `devices`, `doctor`, `completion`, manual pages, `time-operators`, `version`."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from calls import BINARY, ONNX, run


class Others(unittest.TestCase):
    def test_devices_are_listed(self):
        names = [d["name"] for d in
                 json.loads(run("devices", "--json").stdout)["devices"]]
        for name in ("a100-sxm4-40gb", "a100-sxm4-80gb", "a30", "b200-sxm-180gb"):
            self.assertIn(name, names)

    def test_a_doctor_tries_what_is_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder)
            parts = self.examined(config)
            self.assertEqual(parts["hosts"]["health"], "note")
            hosts = config / "foretell" / "hosts"
            hosts.mkdir(parents=True)
            (hosts / "mine.json").write_text("{}")
            self.assertEqual(self.examined(config)["hosts"],
                             {"part": "hosts", "health": "ok", "text": "mine"})
        self.assertEqual(parts["trial"]["health"], "ok")
        self.assertRegex(parts["trial"]["text"], "resnet18.*[0-9] MiB, [0-9.]+ ms")
        self.assertIn("2.", parts["LibTorch"]["text"])
        self.assertRegex(parts["data"]["text"], "[5-9][0-9] devices")

    def examined(self, config):
        result = subprocess.run([BINARY, "doctor", "--json"], text=True,
                                capture_output=True, timeout=120,
                                env={**os.environ, "XDG_CONFIG_HOME": str(config)})
        parts = {part["part"]: part
                 for part in json.loads(result.stdout)["parts"]}
        broken = any(p["health"] == "broken" for p in parts.values())
        self.assertEqual(result.returncode, 3 if broken else 0, result.stdout)
        return parts

    def test_a_doctor_misses_the_other_program(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = pathlib.Path(folder) / "foretell"
            shutil.copy(BINARY, alone)
            result = subprocess.run([alone, "doctor"], capture_output=True,
                                    text=True, timeout=120)
        self.assertRegex(result.stdout, "note +foretell-lab .*missing")

    def test_manual_pages_are_of_every_command(self):
        with tempfile.TemporaryDirectory() as folder:
            pages = pathlib.Path(folder) / "new" / "man1"
            self.assertEqual(run("manual", str(pages)).returncode, 0)
            names = {page.name for page in pages.iterdir()}
            self.assertLessEqual({"foretell.1", "foretell-predict.1",
                                  "foretell-mig-pack.1"}, names)
            self.assertNotIn("foretell-manual.1", names)
            page = (pages / "foretell-predict.1").read_text()
            for name, synopsis in (
                    ("foretell", "foretell\\fR [options] COMMAND"),
                    ("foretell-predict", "foretell predict\\fR [options] MODEL..."),
                    ("foretell-advise", "foretell advise\\fR [options] MODEL"),
                    ("foretell-mig-pack", "foretell mig pack\\fR [options] [MODEL...]"),
                    ("foretell-doctor", "foretell doctor\\fR [options]")):
                written = (pages / f"{name}.1").read_text()
                self.assertIn(f".SH SYNOPSIS\n\\fB{synopsis}\n", written)
        self.assertIn(r"\fB\-p,\-\-precision\fR", page)
        self.assertFalse([line for line in page.splitlines()
                          if line.startswith(".")
                          and line.split()[0] not in
                          (".TH", ".SH", ".TP", ".nf", ".fi")])

    def test_completion_knows_every_command_and_flag(self):
        script = run("completion", "bash").stdout
        for word in ("predict", "mig pack", "--precision", "--max-memory",
                     "dataset measure", "--learning-rate"):
            self.assertIn(word, script)
        check = subprocess.run(["bash", "-n"], input=script, text=True)
        self.assertEqual(check.returncode, 0)

    def test_a_device_is_added_from_what_nvidia_smi_states(self):
        with tempfile.TemporaryDirectory() as folder:
            stated = pathlib.Path(folder) / "gpu.csv"
            written = pathlib.Path(folder) / "gpu.json"
            stated.write_text("name, memory.total [MiB], power.limit [W], compute_cap\n"
                              "NVIDIA RTX A4000, 16376 MiB, 140.00 W, 8.6\n")
            add = ("devices", "add", "--from-nvidia-smi", str(stated))
            missing = run(*add)
            self.assertEqual(missing.returncode, 2, missing.stderr)
            self.assertIn("also give --sms, --bandwidth", missing.stderr)
            added = run(*add, "--sms", "48", "--bandwidth", "448",
                        "--out", str(written))
            self.assertEqual(added.returncode, 0, added.stderr)
            self.assertEqual(added.stdout, "")
            listed = run("devices", "--json", "--device-file", str(written))
            self.assertIn("rtx-a4000", [one["name"] for one in
                                        json.loads(listed.stdout)["devices"]])
            stated.write_text("name, memory.total [MiB]\nNVIDIA L4, much\n")
            wrong = run(*add)
            self.assertNotEqual(wrong.returncode, 0)
            self.assertIn("gpu.csv:2: memory.total is 'much'", wrong.stderr)

    def test_a_full_disk_is_no_success(self):
        for command in (["version"], ["devices", "--json"],
                        ["predict", ONNX, "--batch", "8"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([BINARY, *command], stdout=full,
                                        stderr=subprocess.PIPE, text=True,
                                        timeout=120)
            self.assertEqual(result.returncode, 3)
            self.assertIn("cannot write to stdout", result.stderr)

    def test_operators_in_text_form_are_timed_one_by_one(self):
        relu = ("graph\n%x = input f32[1000000]\n"
                "%y = relu(%x) : f32[1000000]\noutput %y\n")
        convolution = ("graph\n%x = input f32[8,64,56,56]\n%y = conv2d(%x, "
                       "weight f32[64,64,3,3]) {padding=[1, 1]} : "
                       "f32[8,64,56,56]\noutput %y\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "two.graphs"
            path.write_text(relu + convolution)
            both = json.loads(run("time-operators", str(path)).stdout)
            slow = json.loads(run("time-operators", str(path),
                                  "--no-tf32").stdout)
            steps = {runtime: json.loads(run(
                "time-operators", str(path), "--host", "typical",
                "--runtime", runtime).stdout) for runtime in ("eager", "compile")}
            slow_steps = json.loads(run(
                "time-operators", str(path), "--host", "typical",
                "--no-tf32").stdout)
            path.write_text(relu + "graph\n%x = input f32[1]\nnonsense\n")
            wrong = run("time-operators", str(path))
        self.assertEqual(len(both), 2)
        # 8 MB at 0.87 of 1,555 GB/s, and a launch.
        self.assertAlmostEqual(both[0], 8 / 0.87 / 1.555 + 3, delta=0.01)
        self.assertEqual(slow[0], both[0])
        self.assertGreater(slow[1], both[1])
        # A call of a compiled step takes longer than one operator of PyTorch's.
        self.assertLess(both[0], steps["eager"][0])
        self.assertLess(steps["eager"][0], steps["compile"][0])
        self.assertGreater(slow_steps[1], steps["eager"][1])
        self.assertIn("graph 1", wrong.stderr)

    def test_version_names_libtorch(self):
        self.assertIn("LibTorch 2.", run("version").stdout)


if __name__ == "__main__":
    unittest.main()
