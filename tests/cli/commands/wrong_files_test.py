#!/usr/bin/env python3
"""Tests of flags that are given a document of another kind."""

import pathlib
import sys
import tempfile
import unittest

from calls import SOURCE, MODEL_FAILED, run

DATA = SOURCE / "data"
ADAPTATION = ('{"format": "foretell-adaptation", "schema_version": 1, "device": "a30", '
              '"networks": 3, "host": {}}')
FOOTPRINT = DATA / "footprints/sort-f32.json"
DEVICE = DATA / "devices/a30.json"
HOST = DATA / "hosts/reference.json"
ENVIRONMENTS = DATA / "environments.json"
NETWORK = DATA / "predictors/memory-training.safetensors"
PREDICT = ("predict", "zoo:vgg11", "--batch", "1")


class WrongFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.adaptation = self.folder / "adaptation.json"
        self.adaptation.write_text(ADAPTATION)

    def classes(self):
        """A checkpoint of `memory-classes train`."""
        table, inputs, out = (self.folder / name
                              for name in ("runs.csv", "inputs.jsonl", "classes"))
        table.write_text("name,set,model,input,batch,optimizer,memory_mib\n"
                         "a,mine,zoo:mlp,,8,adam,1000\n"
                         "b,mine,zoo:mlp,,16,adam,9000\n")
        run("memory-classes", "inputs", table, "--out", inputs)
        run("memory-classes", "train", inputs, "--out", out, "--members", "1",
            "--epochs", "1", "--edges", "8000")
        return out

    def test_are_named_beside_what_is_expected(self):
        adapted = "an adaptation of `foretell adapt`"
        footprint = "a footprint of `foretell plan`"
        for arguments, path, words in (
                ((*PREDICT, "--adaptation"), FOOTPRINT,
                 f"is {footprint}, expected {adapted} or a calibration"),
                ((*PREDICT, "--adaptation"), DEVICE, "is a device, expected"),
                ((*PREDICT, "--device-file"), HOST,
                 "is a host of `foretell host`, expected a device"),
                ((*PREDICT, "--environment-file"), DEVICE,
                 "is a device, expected environments for a device"),
                ((*PREDICT, "--host"), self.adaptation,
                 f"is {adapted}, expected a host of `foretell host`"),
                ((*PREDICT, "--checkpoint"), FOOTPRINT, "is not a checkpoint"),
                ((*PREDICT, "--checkpoint"), self.classes(),
                 "is classes of `foretell memory-classes`, expected a checkpoint"),
                (("memory-classes", "classify", "zoo:vgg11", "--checkpoint"), NETWORK,
                 "is a checkpoint of `foretell train`, expected classes"),
                (("plan", "--shape", "9,9", "--memory", "1GiB", "--footprint"),
                 ENVIRONMENTS, f"is environments for a device, expected {footprint}"),
                (("fit", "rows.csv", "--judge"), self.adaptation,
                 f"is {adapted}, expected a formula of `foretell fit`"),
                (("diff", "zoo:vgg11"), FOOTPRINT,
                 f"is {footprint}, expected a document of `foretell report`")):
            with self.subTest(arguments=arguments):
                outcome = run(*arguments, path)
                self.assertEqual(outcome.returncode, MODEL_FAILED, outcome.stderr)
                self.assertIn(f"{path}: {words}", outcome.stderr)


if __name__ == "__main__":
    unittest.main()
