#!/usr/bin/env python3
"""Hostile checkpoints, device files and environment files.

    reader_files_test.py FORETELL SOURCE_DIR [unittest arguments]

foretell reads them in its own process: each is refused with one line that names it,
at once and within little memory.
"""

import copy
import json
import pathlib
import re
import struct
import sys
import unittest

import bounded_run
import onnx_file

FORETELL = sys.argv.pop(1)
SOURCE = pathlib.Path(sys.argv.pop(1))
CHECKPOINT = SOURCE / "data/predictors/latency-autocast.safetensors"
DEVICE = json.loads((SOURCE / "data/devices/a100-sxm4-40gb.json").read_text())
MOST_MIB = 700


def safetensors(header, data=b"", length=None):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    size = len(header) if length is None else length
    return struct.pack("<Q", size) + header + data


def entry(begin, end, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def members(count):
    """So many objects that a quadratic reader never ends."""
    return b"{" + b",".join(b'"%06d":{}' % k for k in range(count)) + b"}"


SAFETENSORS = {
    "header of 2^60": lambda: safetensors({}, length=1 << 60),
    "header of 2^64": lambda: safetensors({}, length=(1 << 64) - 1),
    "overlap": lambda: safetensors({"a": entry(0, 8), "b": entry(4, 12)},
                                   bytes(12)),
    "gap": lambda: safetensors({"a": entry(8, 16)}, bytes(16)),
    "below 0": lambda: safetensors({"a": entry(-8, 0)}),
    "beyond 64 bits": lambda: safetensors(
        {"a": entry(0, 8, (1 << 40, 1 << 40))}, bytes(8)),
    "lists in lists": lambda: safetensors(
        b'{"a":' + b"[" * 5000000 + b"]" * 5000000 + b"}"),
    "objects in objects": lambda: safetensors(
        b'{"a":' * 2000000 + b"1" + b"}" * 2000000),
    "lists in metadata": lambda: safetensors(
        {"__metadata__": {"foretell": "[" * 3000000 + "]" * 3000000}}),
    "a name twice": lambda: safetensors(b'{"a":1,"a":2}'),
    "NaN": lambda: safetensors(b'{"a":NaN}'),
    "nothing": lambda: b"",
    "odd type": lambda: safetensors({"a": entry(0, 8, (2,), "F99\x1b[31m")},
                                    bytes(8)),
    "900,000 members": lambda: safetensors(members(900000)),
    "huge numbers": lambda: safetensors(
        b'{"a":{"dtype":"F32","shape":[1e999,-0],"data_offsets":[0,1e400]}}'),
    "a name of 10 MB": lambda: safetensors({"a" * 10000000: entry(0, 8)}),
}


# ---- Checkpoints that are almost whole --------------------------------------


def divided():
    content = CHECKPOINT.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return json.loads(content[8:8 + size]), bytearray(content[8 + size:])


def weights_of_nan(header, data):
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            begin, end = tensor["data_offsets"]
            data[begin:end] = struct.pack("<f", float("nan")) * (
                (end - begin) // 4)


def metadata(pattern, replacement):
    def change(header, _):
        for key, value in header["__metadata__"].items():
            header["__metadata__"][key] = re.sub(pattern, replacement, value)
    return change


def without_last(header, data):
    last = max((name for name in header if name != "__metadata__"),
               key=lambda name: header[name]["data_offsets"][1])
    del data[header.pop(last)["data_offsets"][0]:]


# What is done to it, and a part of what is said of it.
CHECKPOINTS = {
    "weights of NaN": (weights_of_nan, "predicts latency of nan ms"),
    "deviation of 1e308": (metadata(r'"deviation":\s*[0-9.e+-]+',
                                    '"deviation":1e308'),
                           "predicts latency of "),
    "width of 16384": (metadata('"hidden":', '"hidden":16384,"x":'), ""),
    "lists in its description": (metadata("(?s).+", "[" * 3000000),
                                 "nested deeper than"),
    "a tensor less": (without_last, "no tensor"),
}


class Readers(unittest.TestCase):
    def setUp(self):
        scratch = bounded_run.scratch()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.model = self.write("ok.onnx", onnx_file.model(
            [onnx_file.node("MatMul", "x w", "y")], [onnx_file.ones("w", 4, 4)],
            [onnx_file.value_info("x", ("batch", 4))]))

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes)
                         else content.encode())
        return path

    def predict(self, *flags):
        return bounded_run.run(FORETELL, "predict", self.model, "--batch", "1",
                               *flags)

    def check_refused(self, path, *flags, part=""):
        outcome = self.predict(*flags)
        self.assertIn(outcome.status, (2, 3))
        self.assertEqual(outcome.out, "")
        self.assertEqual(len(outcome.err.splitlines()), 1, outcome.err[:500])
        self.assertTrue(outcome.err.startswith(f"foretell: error: {path}: "),
                        outcome.err[:500])
        self.assertIn(part, outcome.err)
        self.assertLess(len(outcome.err), 10000)
        if not bounded_run.SANITIZED:
            self.assertLess(outcome.resident_mib, MOST_MIB)


class Checkpoints(Readers):
    def write_hashed(self, header, data):
        """With the right hash in it, which the refusal of another tells."""
        path = self.write("a.safetensors", safetensors(header, bytes(data)))
        said = re.search("has the hash ([0-9a-f]+),",
                         self.predict("--autocast", "--checkpoint", path).err)
        if said:
            header["__metadata__"]["hash"] = said[1]
        return self.write("a.safetensors", safetensors(header, bytes(data)))

    def test_an_honest_one_is_taken(self):
        path = self.write_hashed(*divided())
        outcome = self.predict("--autocast", "--checkpoint", path)
        self.assertEqual(outcome.status, 0, outcome.err)

    def check(self, name):
        path = self.write("a.safetensors", SAFETENSORS[name]())
        self.check_refused(path, "--checkpoint", path)

    def check_changed(self, name):
        change, part = CHECKPOINTS[name]
        header, data = divided()
        change(header, data)
        path = self.write_hashed(header, data)
        self.check_refused(path, "--autocast", "--checkpoint", path, part=part)


# ---- Devices ----------------------------------------------------------------


def evil_device():
    return {**copy.deepcopy(DEVICE), "name": "evil", "aliases": [],
            "display_name": "Evil"}


def numbers_in(value, place=()):
    """Where there are numbers in a document."""
    items = (value.items() if isinstance(value, dict) else
             enumerate(value) if isinstance(value, list) else ())
    for key, part in items:
        yield from numbers_in(part, (*place, key))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield place


def replaced(place, text):
    """The device with other text where one number is."""
    device = evil_device()
    part = device
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = "@@"
    return json.dumps(device).replace('"@@"', text)


# No number of a device may be any of these.
NEVER = ["NaN", "-1", "1e308", "1e999", "99999999999999999999", '"x"', "null"]

DEVICES = {
    "lists in lists": lambda: "[" * 5000000,
    "objects in objects": lambda: '{"a":' * 3000000,
    "odd name": lambda: json.dumps({**evil_device(), "name": "evil\x1b[31m"}),
    "turned name": lambda: json.dumps(
        {**evil_device(), "display_name": "A\u202eB"}),
    "a field twice": lambda: json.dumps(evil_device()).replace(
        "{", '{"name":"a","name":"b",', 1),
    "900,000 members": lambda: members(900000),
    **{f"{value} at {'.'.join(map(str, place))}":
       lambda place=place, value=value: replaced(place, value)
       for k, place in enumerate(numbers_in(DEVICE))
       for value in [NEVER[k % len(NEVER)]]
       if k < 14 or k % 40 == 0},
}


class Devices(Readers):
    def check(self, name):
        path = self.write("a.json", DEVICES[name]())
        self.check_refused(path, "--device-file", path, "--device", "evil")

    def test_an_honest_one_is_taken(self):
        path = self.write("a.json", json.dumps(evil_device()))
        outcome = self.predict("--device-file", path, "--device", "evil")
        self.assertEqual(outcome.status, 0, outcome.err)

    def test_environments(self):
        path = self.write("a.json", json.dumps(
            {"environments": [{"name": "e", "context_mib": 1e308}]}))
        self.check_refused(path, "--environment-file", path)


class NoFiles(Readers):
    """Pipes, devices and folders in the place of files."""

    def test_none_is_read(self):
        for flag in ("--checkpoint", "--device-file", "--environment-file"):
            for path in (bounded_run.pipe(self.folder), "/dev/zero",
                         self.folder):
                with self.subTest(flag=flag, path=path):
                    self.check_refused(path, flag, path,
                                       part="expected a regular file")


bounded_run.add_cases(Checkpoints, "file_with_", SAFETENSORS, "check")
bounded_run.add_cases(Checkpoints, "checkpoint_with_", CHECKPOINTS, "check_changed")
bounded_run.add_cases(Devices, "device_with_", DEVICES, "check")

if __name__ == "__main__":
    unittest.main()
