#!/usr/bin/env python3
"""Tests of how models of other frameworks are converted, with converters that are a
few lines of Python, so that nothing is downloaded.

    conversion_test.py BINARY SOURCE_DIR [unittest arguments]
"""

import io
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

BINARY = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
ONNX = SOURCE / "examples" / "resnet18.onnx"
OK, MODEL_FAILED = 0, 3
NAMES = ("tensorflow", "paddle", "huggingface")

# What a model says behind the mark is what the stub does.
STUB = """
import json, pathlib, shutil, socket, sys, time
model, output, note = sys.argv[1:4]
model = pathlib.Path(model)
if model.is_dir():
    words = json.loads((model / "config.json").read_text())["stub"].encode()
    network = model / "network.onnx"
    words += network.read_bytes() if network.exists() else b""
else:
    words = model.read_bytes().split(b"STUB ", 1)[1]

def tried(work):
    try:
        return work() or "done"
    except OSError as error:
        return type(error).__name__

if words.startswith(b"fail"):
    print("before")
    sys.exit("ValueError: layer 'x' of no known kind")
elif words.startswith(b"sleep"):
    pathlib.Path("junk").write_bytes(bytes(100000))
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
    pathlib.Path(output).write_bytes(words.removeprefix(b"onnx"))
    pathlib.Path(note).write_text("a sentence of the stub\\n")
"""

ONNX_WORDS = b"onnx" + ONNX.read_bytes()


def zip_archive():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("config.json", "{}")
    return archive.getvalue()


def message(content):
    """Field 1 of a message."""
    length, varint = len(content), b""
    while length >= 128:
        varint += bytes([length & 127 | 128])
        length >>= 7
    return b"\x0a" + varint + bytes([length]) + content


HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(5) + b"\x08\x08" + bytes(9)
HEADS = {
    "keras": zip_archive(),
    "h5": HDF5 + struct.pack("<QQQQ", 0, 2**64 - 1, 56, 2**64 - 1),
    "tflite": struct.pack("<I4s", 8, b"TFL3"),
    "json": b'{"base_code": {"magic": "pir"}}',
    "pdiparams": b"",
}


def model_file(name, words):
    """The bytes of a model of the format that its ending says, with words for the stub."""
    said = b"STUB " + words
    ending = name.rsplit(".", 1)[1]
    return message(said) if ending == "pdmodel" else HEADS[ending] + said


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

    def model(self, name, words=ONNX_WORDS):
        words = words if isinstance(words, bytes) else words.encode()
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(model_file(name, words))
        return path

    def folder_model(self, name, words="onnx"):
        """A Hugging Face folder."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "config.json").write_text(
            json.dumps({"model_type": "stub", "stub": words}))
        (folder / "network.onnx").write_bytes(ONNX.read_bytes())
        return folder

    def environment(self, **others):
        return {**os.environ, "FORETELL_CONVERTERS": str(self.converters),
                "XDG_CACHE_HOME": str(self.cache), **others}

    def predict(self, *words, install=("--convert",), **others):
        return subprocess.run([BINARY, "predict", *map(str, words), *install],
                              stdin=subprocess.DEVNULL,
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
        path = self.model("net.keras")
        result, said = self.answer(path)
        self.assertEqual(result["model"], str(path))
        self.assertEqual(result["parameters"], 11_689_512 - 4_800)
        (note,) = [line for line in result["warnings"]
                   if line.startswith("converted by")]
        (name,) = [name for name in self.environments() if "tensorflow" in name]
        self.assertIn(str(self.cache / "foretell" / "converters" / name), note)
        self.assertIn("a sentence of the stub", note)
        self.assertIn("TensorFlow itself runs other kernels", note)
        self.assertIn(f"{path}: creating ", said)
        self.assertIn("about 1700 MiB", said)
        # It is made once.
        self.assertNotIn("creating", self.answer(path)[1])
        self.assertEqual(self.answer(path, "--sandbox", "off")[0]["parameters"],
                         result["parameters"])

    def test_endings_and_what_lies_beside_choose_the_converter(self):
        cases = {"a.tflite": "tensorflow", "b.h5": "tensorflow",
                 "c.pdmodel": "paddle", "d.json": "paddle"}
        for name, converter in cases.items():
            path = self.model(name)
            path.with_suffix(".pdiparams").write_text("weights")
            result, _ = self.answer(path)
            self.assertIn(f"/{converter}-", result["warnings"][0], name)

    def test_a_file_of_a_folder_means_the_folder(self):
        folder = self.folder_model("bert")
        weights = folder / "model.safetensors"
        weights.write_text("never read")
        for path in (folder, f"{folder}/", folder / "config.json", weights):
            result, _ = self.answer(path)
            self.assertIn("/huggingface-", result["warnings"][0], path)

    def test_a_configuration_of_the_zoo_needs_no_converter(self):
        folder = self.folder_model("bert")
        (folder / "config.json").write_text(json.dumps({
            "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 128, "vocab_size": 50}))
        result, said = self.answer(folder, "--seq-len", "64")
        self.assertEqual(result["model"], f"{folder}?seq=64")
        self.assertEqual(result["inputs"][0]["shape"], [2, 64])
        self.assertNotIn("convert", said)

    def test_the_exporter_has_its_module_of_the_package_beside_it(self):
        for path, files in ((self.model("net.keras", "beside"), "convert.py"),
                            (self.folder_model("bert", "beside"),
                             "_on_meta.py convert.py")):
            self.assertIn(f": Error: {files}", self.predict(path).stderr)

    def test_python_and_others_go_on_after_a_failure(self):
        good = self.model("good.keras")
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
        said = self.refusal(path, "--no-convert", install=())
        self.assertIn(f"{path}: needs conversion by", said)
        self.assertEqual(self.environments(), before)

    def test_a_configuration_outside_of_the_zoo_is_named(self):
        folder = self.folder_model("net")
        said = self.refusal(folder, "--no-convert", install=())
        self.assertIn(f"{folder}: needs conversion by", said)
        self.assertIn('config.json: model_type is "stub", and the zoo has llama,', said)

    def test_a_failure_ends_with_the_last_words_of_the_converter(self):
        path = self.model("net.keras", "fail")
        said = self.refusal(path)
        self.assertTrue(said.startswith(f"{path}: cannot be converted in "), said)
        self.assertTrue(said.endswith("ValueError: layer 'x' of no known kind"), said)

    def test_a_converter_is_locked(self):
        secret = self.folder / "secret"
        secret.write_text("text")
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
        self.assertIn("with no-such-package-of-foretell 1: ERROR: "
                      "No matching distribution found", said)
        self.assertIn("pip needs a network", said)
        log = said.rsplit("full log: ", 1)[1].split()[0]
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
        self.assertIn("holds weights but no network: 2 tensors with 17 elements "
                      "(5 of BF16, 12 of F32)", said)
        self.assertIn("config.json", said)
        self.assertIn("holds weights but no network",
                      self.refusal(self.model("w.pdiparams")))

    def test_a_header_that_lies_is_refused(self):
        huge = json.dumps({"a": {"dtype": "F32", "shape": [1 << 40, 1 << 40]}}).encode()
        cases = {"short": b"1234", "long": struct.pack("<Q", 1 << 60) + b"{}",
                 "text": struct.pack("<Q", 2) + b"{x",
                 "huge": struct.pack("<Q", len(huge)) + huge}
        for name, content in cases.items():
            path = self.folder / f"{name}.safetensors"
            path.write_bytes(content)
            self.assertTrue(self.refusal(path).startswith(f"{path}: "), name)


    def test_what_is_of_no_format_is_refused_before_anything_is_made(self):
        superblock = b"\x89HDF\r\n\x1a\n"
        cases = {
            "zeros.h5": superblock + bytes(100), "text.h5": superblock + b"x" * 100,
            "cut.h5": HEADS["h5"][:50], "empty.h5": b"", "noise.hdf5": b"noise" * 99,
            "cut.keras": zip_archive()[:40], "text.keras": b"{}", "empty.keras": b"",
            "noise.tflite": b"noise" * 9, "cut.tflite": struct.pack("<I4s", 99, b"TFL3"),
            "noise.pdmodel": b"noise" * 9, "cut.pdmodel": b"\x0a\x7f123",
            "empty.pdmodel": b"", "other.json": b'{"a": 1}', "text.json": b"x",
            "sm/saved_model.pb": b"\x08\x01", "noise/saved_model.pb": b"noise",
            "hf/config.json": b"[]", "kindless/config.json": b"{}",
            "code/config.json": b'{"model_type": "stub", "auto_map": {}}',
            "text/config.json": b"model_type"}
        cache = self.folder / "nothing"
        for name, content in cases.items():
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            path.with_suffix(".pdiparams").write_bytes(b"")
            said = self.refusal(path, XDG_CACHE_HOME=str(cache))
            self.assertTrue(said.startswith(f"{path}: "), said)
            self.assertNotIn("pip", said)
        self.assertFalse(cache.exists())

    def test_nothing_is_installed_unasked(self):
        cache = self.folder / "nothing"
        for path, mib in ((self.model("net.keras"), 1700),
                          (self.folder_model("bert"), 1200)):
            said = self.refusal(path, install=(), XDG_CACHE_HOME=str(cache))
            self.assertIn("--convert", said)
            self.assertIn(f"{mib} MiB", said)
        self.assertFalse(cache.exists())

    def test_a_terminal_is_asked(self):
        path = self.model("net.keras")
        for answer, status in (("n", MODEL_FAILED), ("y", OK)):
            cache = self.folder / answer
            ours, its = pty.openpty()
            process = subprocess.Popen(
                [BINARY, "predict", str(path), "--batch", "1"], stdin=its,
                stdout=subprocess.DEVNULL, stderr=its,
                env=self.environment(XDG_CACHE_HOME=str(cache)))
            os.close(its)
            said = b""
            while b"[y/N]" not in said:
                said += os.read(ours, 1000)
            self.assertIn(b"1700 MiB", said)
            os.write(ours, answer.encode() + b"\n")
            try:
                while os.read(ours, 1000):
                    pass
            except OSError:
                pass  # The other end is closed.
            os.close(ours)
            self.assertEqual(process.wait(300), status)
            self.assertEqual(cache.exists(), status == OK)


class Locked(Case):
    """What a converter can do that its file has taken over."""

    # Files cannot be hidden from stat, and the folder and memory are its own.
    COULD = {"size of a secret", "a file in its folder", "code", "some threads",
             "its own memory map", "its own limits"}

    def could(self, path, **others):
        hostile = pathlib.Path(__file__).with_name("hostile_converter.py")
        for name in NAMES:
            shutil.copy(hostile, self.converters / f"{name}.py")
        run = self.predict(path, TOKEN="hunter2", **others)
        self.assertEqual(run.returncode, MODEL_FAILED, run.stderr)
        words = run.stderr.rsplit("Error: could: ", 1)[1].strip()
        # Behind it stands why the folder is no network of the zoo.
        return {word for word in words.split("; ") if word and str(path) not in word}

    def setUp(self):
        super().setUp()
        victim = self.folder / "victim"
        victim.mkdir()
        (victim / "secret").write_text("secret")

    def test_it_could_do_little(self):
        self.assertEqual(self.could(self.model("net.keras")), self.COULD)

    def test_a_link_to_a_folder_opens_nothing(self):
        path = self.model("net.pdmodel")
        path.with_suffix(".pdiparams").symlink_to("/")
        self.assertEqual(self.could(path), self.COULD)
        folder = self.folder_model("bert")
        (folder / "all").symlink_to("/")
        self.assertEqual(self.could(folder), self.COULD)

    def test_a_python_in_a_home_folder_opens_no_more(self):
        program = pathlib.Path(shutil.which("python3")).resolve()
        home = self.folder / "home"
        (home / "bin").mkdir(parents=True)
        (home / "secret").write_text("secret")
        (home / "lib").symlink_to(program.parent.parent / "lib")
        shutil.copy(program, home / "bin" / "python3")
        could = self.could(self.model("net.keras"),
                           XDG_CACHE_HOME=str(self.folder / "cache"),
                           FORETELL_PYTHON=str(home / "bin" / "python3"))
        self.assertEqual(could, self.COULD)

    def test_too_many_threads_are_its_end(self):
        for name in NAMES:
            (self.converters / f"{name}.py").write_text(
                "import threading, time\n"
                "threading.stack_size(65536)\n"
                "for i in range(10 ** 5):\n"
                "    threading.Thread(target=time.sleep, args=(600,)).start()\n")
        run = self.predict(self.model("net.keras"))
        self.assertIn("killed for starting too many threads", run.stderr)


class Environment(Case):
    """Making environments."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.path = self.model("net.keras")

    def only(self):
        (name,) = self.environments()
        return self.cache / "foretell" / "converters" / name

    def test_two_makers_at_once_make_one(self):
        runs = [subprocess.Popen([BINARY, "predict", str(self.path), "--batch", "1",
                                  "--convert"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True, env=self.environment())
                for _ in range(2)]
        said = [run.communicate(timeout=300)[1] for run in runs]
        self.assertEqual([run.returncode for run in runs], [OK, OK], said)
        self.assertEqual(sum(": creating " in words for words in said), 1, said)

    def test_one_that_is_half_made_is_made_anew(self):
        self.assertEqual(self.predict(self.path, "--batch", "1").returncode, OK)
        (self.only() / "foretell-complete.txt").unlink()
        (self.only() / "bin" / "python").unlink()
        run = self.predict(self.path, "--batch", "1")
        self.assertEqual(run.returncode, OK, run.stderr)
        self.assertIn("creating", run.stderr)

    def test_other_requirements_have_another(self):
        self.predict(self.path, "--batch", "1")
        (self.converters / "tensorflow.txt").write_text("# another\n")
        self.predict(self.path, "--batch", "1")
        self.assertEqual(len(self.environments()), 2)


if __name__ == "__main__":
    unittest.main()
