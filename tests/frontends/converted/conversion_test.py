#!/usr/bin/env python3
"""Tests of how models of other frameworks are converted, with converters that are a
few lines of Python, so that nothing is downloaded.

    conversion_test.py BINARY SOURCE_DIR [unittest arguments]
"""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
ONNX = SOURCE / "examples" / "resnet18.onnx"
OK, MODEL_FAILED = 0, 3
NAMES = ("tensorflow", "paddle", "huggingface")

# What a model says is what the stub does.
STUB = """
import pathlib, shutil, socket, sys, time
model, output, note = sys.argv[1:4]
model = pathlib.Path(model)
file = model / "config.json" if model.is_dir() else model
words = file.read_bytes()

def tried(work):
    try:
        return work() or "done"
    except OSError as error:
        return type(error).__name__

if words.startswith(b"fail"):
    print("before")
    sys.exit("ValueError: layer 'x' of no known kind")
elif words.startswith(b"sleep"):
    time.sleep(600)
elif words.startswith(b"rubbish"):
    pathlib.Path(output).write_text("rubbish")
elif words.startswith(b"beside"):
    beside = pathlib.Path(__file__).parent.glob("*.py")
    sys.exit("Error: " + " ".join(sorted(path.name for path in beside)))
elif words.startswith(b"reach "):
    secret = words.split()[1].decode()
    pathlib.Path("made").write_text("in its folder")
    sys.exit("Error: " + ", ".join([
        "read " + tried(lambda: open(secret).close()),
        "write " + tried(lambda: open(secret, "a").close()),
        "connect " + tried(lambda: socket.socket().close()),
        "home " + str(pathlib.Path.home() == pathlib.Path.cwd())]))
else:
    shutil.copyfile(file, output)
    pathlib.Path(note).write_text("a sentence of the stub\\n")
"""


class Case(unittest.TestCase):
    """A folder with models, and one for environments that all tests share."""

    @classmethod
    def setUpClass(cls):
        cls.shared = tempfile.TemporaryDirectory()
        cls.cache = pathlib.Path(cls.shared.name, "cache")

    @classmethod
    def tearDownClass(cls):
        cls.shared.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.converters = self.folder / "converters"
        self.converters.mkdir()
        for name in NAMES:
            (self.converters / f"{name}.py").write_text(STUB)
            (self.converters / f"{name}.txt").write_text("# nothing\n")

    def model(self, name, words):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(words)
        return path

    def environment(self, **others):
        return {**os.environ, "FORETELL_CONVERTERS": str(self.converters),
                "XDG_CACHE_HOME": str(self.cache), **others}

    def predict(self, *words, **others):
        return subprocess.run([BINARY, "predict", *map(str, words)],
                              capture_output=True, text=True, timeout=300,
                              env=self.environment(**others))

    def environments(self):
        return sorted(path.name for path in
                      (self.cache / "foretell" / "converters").glob("*-????????"))


class Convert(Case):
    """What is converted, and what is said of it."""

    def answer(self, path, *words):
        run = self.predict(path, "--batch", "2", "--json", *words)
        document = json.loads(run.stdout)
        self.assertEqual(document["errors"], [], run.stderr)
        return document["results"][0], run.stderr

    def test_a_file_is_converted_and_the_environment_named(self):
        path = self.folder / "net.keras"
        shutil.copy(ONNX, path)
        result, said = self.answer(path)
        self.assertEqual(result["model"], str(path))
        self.assertEqual(result["parameters"], 11_689_512 - 4_800)
        (note,) = [line for line in result["warnings"]
                   if line.startswith("converted by")]
        (name,) = [name for name in self.environments() if "tensorflow" in name]
        self.assertIn(str(self.cache / "foretell" / "converters" / name), note)
        self.assertIn("a sentence of the stub", note)
        self.assertIn("TensorFlow itself runs other kernels", note)
        self.assertIn(f"{path}: making ", said)
        self.assertIn("about 1700 MiB", said)
        # It is made once.
        self.assertNotIn("making", self.answer(path)[1])
        self.assertEqual(self.answer(path, "--sandbox", "off")[0]["parameters"],
                         result["parameters"])

    def test_endings_and_what_lies_beside_choose_the_converter(self):
        cases = {"a.tflite": "tensorflow", "b.h5": "tensorflow",
                 "c.pdmodel": "paddle", "d.json": "paddle"}
        for name, converter in cases.items():
            path = self.folder / name
            shutil.copy(ONNX, path)
            path.with_suffix(".pdiparams").write_text("weights")
            result, _ = self.answer(path)
            self.assertIn(f"/{converter}-", result["warnings"][0], name)

    def test_a_file_of_a_folder_means_the_folder(self):
        folder = self.folder / "bert"
        folder.mkdir()
        shutil.copy(ONNX, folder / "config.json")
        weights = folder / "model.safetensors"
        weights.write_text("never read")
        for path in (folder, f"{folder}/", folder / "config.json", weights):
            result, _ = self.answer(path)
            self.assertIn("/huggingface-", result["warnings"][0], path)

    def test_the_exporter_has_its_module_of_the_package_beside_it(self):
        folder = self.folder / "bert"
        for path, files in ((self.model("net.keras", "beside"), "convert.py"),
                            (self.model("bert/config.json", "beside"),
                             "_on_meta.py convert.py")):
            self.assertIn(f": Error: {files}\n", self.predict(path).stderr)
        self.assertTrue(folder.is_dir())

    def test_python_and_others_go_on_after_a_failure(self):
        good = self.folder / "good.keras"
        shutil.copy(ONNX, good)
        run = self.predict(self.model("bad.keras", "fail"), good, "--batch", "1",
                           "--json")
        document = json.loads(run.stdout)
        self.assertEqual(run.returncode, MODEL_FAILED)
        self.assertEqual([r["model"] for r in document["results"]], [str(good)])
        self.assertEqual([e["code"] for e in document["errors"]], ["unsupported"])


class Refuse(Case):
    """What goes wrong, in words."""

    def refusal(self, path, *words, **others):
        run = self.predict(path, *words, **others)
        self.assertEqual(run.returncode, MODEL_FAILED, run.stderr)
        self.assertEqual(run.stdout, "")
        error = [line for line in run.stderr.splitlines()
                 if line.startswith("foretell: error: ")]
        self.assertEqual(len(error), 1, run.stderr)
        return error[0].removeprefix("foretell: error: ")

    def test_no_convert_makes_and_runs_nothing(self):
        path = self.model("net.keras", "")
        before = self.environments()
        said = self.refusal(path, "--no-convert")
        self.assertIn(f"{path}: would be converted by", said)
        self.assertEqual(self.environments(), before)

    def test_a_failure_ends_with_the_last_words_of_the_converter(self):
        path = self.model("net.keras", "fail")
        said = self.refusal(path)
        self.assertTrue(said.startswith(f"{path}: cannot be converted in "), said)
        self.assertTrue(said.endswith("ValueError: layer 'x' of no known kind"), said)

    def test_a_converter_is_locked(self):
        secret = self.model("secret", "text")
        path = self.model("net.keras", f"reach {secret}")
        self.assertIn("read PermissionError, write PermissionError, "
                      "connect PermissionError, home True", self.refusal(path))
        self.assertIn("read done, write done, connect done, home True",
                      self.refusal(path, "--sandbox", "off"))

    def test_a_converter_that_never_ends_is_killed(self):
        said = self.refusal(self.model("net.keras", "sleep"), "--timeout", "0.1")
        self.assertIn("killed at its deadline", said)

    def test_what_it_writes_is_read_as_a_strangers_file(self):
        path = self.model("net.keras", "rubbish")
        self.assertTrue(self.refusal(path).startswith(f"{path}: "))

    def test_an_environment_that_pip_cannot_make_is_not_kept(self):
        (self.converters / "paddle.txt").write_text("no-such-package-of-foretell==1\n")
        said = self.refusal(self.model("net.pdmodel", ""), PIP_NO_INDEX="1")
        self.assertIn("with no-such-package-of-foretell 1 cannot be made: ERROR: "
                      "No matching distribution found", said)
        self.assertIn("pip needs a network", said)
        log = said.rsplit("; ", 1)[1].split(" has all of it")[0]
        self.assertIn("No matching distribution", pathlib.Path(log).read_text())
        self.assertFalse(pathlib.Path(log).with_suffix("").exists())

    def test_a_python_that_is_missing_is_named(self):
        said = self.refusal(self.model("net.keras", ""),
                            FORETELL_PYTHON="/no/such/python")
        self.assertIn("/no/such/python: No such file", said)

    def test_a_directory_without_a_model(self):
        folder = self.folder / "empty"
        folder.mkdir()
        self.assertIn("is a directory with neither saved_model.pb",
                      self.refusal(folder))

    def test_weights_alone_are_counted_and_refused(self):
        header = json.dumps({
            "__metadata__": {"format": "pt"},
            "a": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]},
            "b": {"dtype": "BF16", "shape": [5], "data_offsets": [48, 58]}}).encode()
        path = self.folder / "w.safetensors"
        path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(58))
        said = self.refusal(path)
        self.assertIn("holds weights and no network: 2 tensors with 17 elements "
                      "(5 of BF16, 12 of F32)", said)
        self.assertIn("config.json", said)
        self.assertIn("holds weights and no network",
                      self.refusal(self.model("w.pdiparams", "")))

    def test_a_header_that_lies_is_refused(self):
        huge = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40]}}).encode()
        cases = {"short": b"1234", "long": struct.pack("<Q", 1 << 60) + b"{}",
                 "text": struct.pack("<Q", 2) + b"{x",
                 "huge": struct.pack("<Q", len(huge)) + huge}
        for name, content in cases.items():
            path = self.folder / f"{name}.safetensors"
            path.write_bytes(content)
            self.assertTrue(self.refusal(path).startswith(f"{path}: "), name)


class Environment(Case):
    """Making environments."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.path = self.folder / "net.keras"
        shutil.copy(ONNX, self.path)

    def only(self):
        (name,) = self.environments()
        return self.cache / "foretell" / "converters" / name

    def test_two_makers_at_once_make_one(self):
        runs = [subprocess.Popen([BINARY, "predict", str(self.path), "--batch", "1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=self.environment())
                for _ in range(2)]
        said = [run.communicate(timeout=300)[1] for run in runs]
        self.assertEqual([run.returncode for run in runs], [OK, OK], said)
        self.assertEqual(sum("making" in words for words in said), 1, said)

    def test_one_that_is_half_made_is_made_anew(self):
        self.assertEqual(self.predict(self.path, "--batch", "1").returncode, OK)
        (self.only() / "foretell-complete.txt").unlink()
        (self.only() / "bin" / "python").unlink()
        run = self.predict(self.path, "--batch", "1")
        self.assertEqual(run.returncode, OK, run.stderr)
        self.assertIn("making", run.stderr)

    def test_other_requirements_have_another(self):
        self.predict(self.path, "--batch", "1")
        (self.converters / "tensorflow.txt").write_text("# another\n")
        self.predict(self.path, "--batch", "1")
        self.assertEqual(len(self.environments()), 2)


if __name__ == "__main__":
    unittest.main()
