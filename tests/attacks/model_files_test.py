#!/usr/bin/env python3
"""Predicts hostile models, many in one call, honest ones between them.

    model_files_test.py FORETELL FORMAT [REGEX]

FORMAT is torchscript, exported or onnx; REGEX chooses cases by name. However the process ends
that opens a hostile file, the program must not: it exits with 0 or 3, each file is
answered or has one error, which is a line that names it, and the honest files have
the answers that they have alone.
"""

import json
import pathlib
import re
import sys
import unittest

import bounded_run
import exported_archive
import exported_cases
import onnx_cases
import onnx_file
import operator_cases
import pickle_cases
import script_archive
import torchscript_cases
from onnx_cases import ANSWERED, EITHER, REFUSED

FORETELL, FORMAT = sys.argv[1:3]
CHOSEN = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
HONEST_EVERY = 15
OFF = ["--sandbox", "off"]
WITHOUT = " without a sandbox"


def archive_bytes(path, make, damage=None):
    script_archive.write_records(path, make())
    if damage:
        content = bytearray(path.read_bytes())
        damage(content)
        path.write_bytes(content)


def torchscript_rows():
    """name → expectation, flags, function that writes the file."""
    rows = {}
    for module in (torchscript_cases, operator_cases, pickle_cases):
        for name, case in module.CASES.items():
            rows[name] = (EITHER, module.FLAGS.get(name, []),
                          lambda path, case=case:
                          script_archive.write(path, **case))
    for name, case in torchscript_cases.SECOND_LINE.items():
        rows[name + WITHOUT] = (
            EITHER, [*torchscript_cases.FLAGS.get(name, []), *OFF],
            lambda path, case=case: script_archive.write(path, **case))
    for name, (make, damage) in pickle_cases.ARCHIVES.items():
        rows[name] = (EITHER, [], lambda path, make=make, damage=damage:
                      archive_bytes(path, make, damage))
    return rows


def exported_rows():
    rows = {}
    cases = {**exported_cases.ARCHIVES, **{
        name: (*case, None) for name, case in exported_cases.CASES.items()}}
    for name, (expected, make, damage) in cases.items():
        flags = exported_cases.FLAGS.get(name, [])
        rows[name] = (expected, flags, lambda path, make=make, damage=damage:
                      archive_bytes(path, make, damage))
        if name in exported_cases.SECOND_LINE:
            rows[name + WITHOUT] = (expected, [*flags, *OFF], rows[name][2])
    return rows


def onnx_rows():
    rows = {}
    for name, (expected, make) in onnx_cases.CASES.items():
        rows[name] = (expected, [], lambda path, make=make:
                      path.write_bytes(make()))
    for name, (expected, make) in onnx_cases.EXTERNAL.items():
        rows[name + " on the CPU"] = (
            expected, ["--trace", "cpu"],
            lambda path, make=make: path.write_bytes(make()))
    return rows


def in_own_process(rows):
    """The rows without the sandbox, so that what a sanitizer finds ends foretell."""
    return {name: (expected, flags if name.endswith(WITHOUT) else [*flags, *OFF],
                   write)
            for name, (expected, flags, write) in rows.items()
            if name + WITHOUT not in rows}


def script_writer(body):
    return lambda path: script_archive.write(path, body)


def exported_writer(*nodes):
    return lambda path: script_archive.write_records(
        path, exported_archive.records(exported_archive.model(*nodes)))


def onnx_writer(*operators):
    names = ["x", *[f"h{k}" for k in range(1, len(operators))], "y"]
    nodes = [onnx_file.node(operator, names[k], names[k + 1])
             for k, operator in enumerate(operators)]
    return lambda path: path.write_bytes(onnx_file.model(nodes))


# Suffix, flags, rows, seconds that a file may take, honest files. Training,
# because a TorchScript file that turns gradients off changes that; a reader of
# ONNX never gets near its deadline.
FORMATS = {
    "torchscript": (".pt", ["--input", "x=f32[4]", "--mode", "training"],
                    torchscript_rows, 4, {
        "relu": script_writer("return torch.relu(x)"),
        "square": script_writer("y = torch.mul(x, x)\n"
                                "return torch.add(y, x)")}),
    "exported": (".pt2", ["--mode", "training"], exported_rows, 15, {
        "linear": exported_writer(),
        "two": exported_writer(
            exported_archive.linear("a"),
            exported_archive.aten("tanh", "y", self="a"))}),
    "onnx": (".onnx", [], onnx_rows, 60, {
        "relu": onnx_writer("Relu"), "two": onnx_writer("Tanh", "Relu")}),
}
SUFFIX, FORMAT_FLAGS, MAKE_ROWS, SECONDS, HONEST = FORMATS[FORMAT]
# Ended by their deadline or their memory, which a sanitizer says nothing of.
ENDLESS = re.compile("without end|CPU$|long|factorial|combinations|dictionar|"
                     "statements|140,000|in a loop|in maps|itself|meta kernel|letters|"
                     "levels|records of|for ever|2\\^40|1e9")
ROWS = {name: row for name, row in MAKE_ROWS().items() if CHOSEN.search(name)}
if bounded_run.SANITIZED:
    SECONDS *= 15
    ROWS = {name: row for name, row in in_own_process(ROWS).items()
            if FORMAT == "onnx" or not ENDLESS.search(name)}


def predict(files, flags):
    return bounded_run.run(
        FORETELL, "predict", *files, *FORMAT_FLAGS, "--json", *flags,
        *([] if "off" in flags else ["--timeout", str(SECONDS)]),
        seconds=bounded_run.HANG_SECONDS + len(files) * SECONDS)


def answers(outcome):
    """What is predicted, by the name of the file; always the same of one."""
    found = {}
    for result in json.loads(outcome.out)["results"]:
        name = pathlib.Path(result["model"]).name
        assert found.setdefault(name, result) == result, name
    return found


class ModelFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = bounded_run.scratch()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.paths, cls.outcomes, cls.alone = {}, {}, {}
        for flags in sorted({tuple(row[1]) for row in ROWS.values()}):
            cls.run_all(flags)

    @classmethod
    def write(cls, name, writer):
        path = pathlib.Path(cls.scratch.name, name + SUFFIX)
        writer(path)
        return path

    @classmethod
    def run_all(cls, flags):
        """One call for all cases of the same flags."""
        honest = [cls.write(name, writer) for name, writer in HONEST.items()]
        cls.alone[flags] = answers(predict(honest, flags))
        files = []
        for name in (name for name, row in ROWS.items()
                     if tuple(row[1]) == flags):
            if len(files) % HONEST_EVERY == 0:
                files.append(honest[len(files) // HONEST_EVERY % len(honest)])
            cls.paths[name] = cls.write(f"case{len(cls.paths):03}",
                                        ROWS[name][2])
            files.append(cls.paths[name])
        outcome = predict(files + honest, flags)
        cls.outcomes[flags] = outcome, answers(outcome)

    def test_honest_files_have_their_answers(self):
        for flags, alone in self.alone.items():
            self.assertEqual(len(alone), len(HONEST))
            outcome, found = self.outcomes[flags]
            for name, answer in alone.items():
                self.assertEqual(found.get(name), answer, outcome.err)

    def test_status_says_whether_all_were_answered(self):
        for outcome, _ in self.outcomes.values():
            self.assertEqual(outcome.status, 3 if outcome.errors() else 0)

    def check(self, name):
        expected, flags, _ = ROWS[name]
        outcome, found = self.outcomes[tuple(flags)]
        path = self.paths[name]
        errors = [line for line in outcome.errors() if str(path) in line]
        self.assertEqual(len(errors) + (path.name in found), 1, errors)
        if "off" not in flags:
            self.assertNotIn("bad_alloc", " ".join(errors))
        if expected == REFUSED:
            self.assertEqual(len(errors), 1)
        if expected == ANSWERED:
            self.assertEqual(errors, [])


bounded_run.add_cases(ModelFiles, "", ROWS, "check")

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
