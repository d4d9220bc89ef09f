#!/usr/bin/env python3
"""Tests of `plan`."""

import json
import pathlib
import sys
import tempfile
import unittest

from calls import ONNX, BOUNDED, SOURCE, OK, DOES_NOT_FIT, USAGE, MODEL_FAILED, run


PATCHES = str(SOURCE / "tests/frontends/data/exported/patches.pt2")


class Plan(unittest.TestCase):
    def expect_refusal(self, words, *arguments, status=USAGE):
        outcome = run("plan", *arguments)
        self.assertEqual(outcome.returncode, status, outcome.stdout)
        self.assertEqual(len(outcome.stderr.splitlines()), 1, outcome.stderr)
        self.assertIn(words, outcome.stderr)

    def plan(self, *arguments):
        outcome = run("plan", *arguments, "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        return json.loads(outcome.stdout)

    def test_a_missing_model_is_no_matter_of_the_axis(self):
        self.expect_refusal("error: missing.onnx: no such file", "missing.onnx",
                            "--memory", "2GiB", status=MODEL_FAILED)

    def test_a_model_gets_the_batch_that_max_batch_names(self):
        found = self.plan(ONNX, "--memory", "2GiB", "--margin", "0.25")
        self.assertEqual(found["usable_mib"], 0.75 * 2048)
        most = run("max-batch", ONNX, "--max-memory", "1536").stdout
        self.assertEqual(f"{found['value']}\n", most)
        text = run("plan", ONNX, "--memory", "2GiB", "--margin", "0.25").stdout
        self.assertIn(f"batch {found['value']}\n", text)

    def test_a_tile_grows_in_steps_at_a_batch(self):
        found = self.plan("zoo:unet", "--axis", "resolution", "--batch", "1",
                          "--memory", "16GiB", "--step", "16")
        self.assertEqual(found["value"] % 16, 0)
        self.assertLessEqual(found["needed_mib"], found["usable_mib"])
        larger = self.plan("zoo:unet", "--axis", "resolution", "--batch",
                           "2", "--memory", "16GiB", "--step", "16")
        self.assertLess(larger["value"], found["value"])

    def test_a_resolution_leaves_what_follows_from_it_to_the_file(self):
        # The second input has half the edge of the image.
        found = self.plan(PATCHES, "--axis", "resolution", "--batch", "1", "--memory",
                          "2GiB", "--limit", "256")
        self.assertEqual(found["value"], 256)

    def test_a_search_keeps_to_the_batches_that_a_file_allows(self):
        found = self.plan(BOUNDED, "--memory", "16GiB")
        self.assertEqual(found["value"], 64)
        why = "dimension 0 is 65, the file allows batch = at most 64"
        self.assertIn(why, found["refusal"])
        self.assertIn(why, run("plan", BOUNDED, "--memory", "16GiB").stdout)
        found = self.plan(BOUNDED, "--memory", "16GiB", "--limit", "20",
                          "--step", "3")
        self.assertEqual((found["value"], found["is_limit"]), (18, True))
        self.assertIsNone(found["refusal"])
        most = run("max-batch", BOUNDED)
        self.assertEqual(most.stdout, "64\n")
        self.assertIn(f"note: the model accepts no larger batch: {BOUNDED}: ", most.stderr)
        self.assertIn(why, most.stderr)

    def test_begins_at_the_least_that_the_model_takes(self):
        # Five poolings leave nothing of less than 32 pixels.
        arguments = ("zoo:vgg11?width=4&hidden=16", "--axis", "resolution",
                     "--batch", "1", "--step", "1", "--limit", "100", "--memory", "16GiB")
        found = self.plan(*arguments)
        self.assertEqual((found["value"], found["smallest"]), (100, 32))
        self.assertIn("resolution=31", found["smallest_refusal"])
        self.assertIn("the model accepts none below 32: ",
                      run("plan", *arguments).stdout)
        found = self.plan(ONNX, "--memory", "2GiB")
        self.assertEqual((found["smallest"], found["smallest_refusal"]),
                         (1, None))
        self.expect_refusal("resolution 32 needs up to", *arguments[:-1],
                            "400MiB", status=DOES_NOT_FIT)

    def test_says_that_the_model_takes_nothing(self):
        arguments = ("zoo:vgg11?width=4&hidden=16", "--axis", "resolution",
                     "--batch", "1", "--step", "1", "--limit", "24", "--memory", "16GiB")
        self.expect_refusal("--axis resolution=1,batch=1: ", *arguments,
                            status=MODEL_FAILED)
        self.expect_refusal("; no doubling of it up to 24 was accepted either",
                            *arguments, status=MODEL_FAILED)

    def test_errors_are_json_too(self):
        for arguments, model, code in (
                (("missing.onnx", "--memory", "2GiB"), "missing.onnx",
                 "not_found"),
                ((ONNX,), ONNX, "invalid_argument"),
                (("stencil", "--shape", "9,9", "--memory", "2GiB"), "stencil",
                 "invalid_argument"),
                (("--footprint", "missing.json", "--shape", "9", "--memory",
                  "2GiB"), "", "not_found")):
            outcome = run("plan", *arguments, "--json")
            self.assertIn(outcome.returncode, (USAGE, MODEL_FAILED))
            document = json.loads(outcome.stdout)
            self.assertEqual(document["results"], [])
            (error,) = document["errors"]
            self.assertEqual((error["model"], error["code"]), (model, code))
            self.assertEqual(outcome.stderr,
                             f"foretell: error: {error['message']}\n")

    def test_says_where_the_device_is_smaller_than_the_memory(self):
        arguments = ("plan", ONNX, "--memory", "80GiB")
        found = json.loads(run(*arguments, "--json").stdout)
        self.assertLess(found["device_mib"], found["usable_mib"])
        self.assertLessEqual(found["needed_mib"], found["device_mib"])
        words = f"but {found['device_mib']:.1f} on the device"
        self.assertIn(words, run(*arguments).stdout)
        self.assertNotIn("on the device",
                         run("plan", ONNX, "--memory", "2GiB").stdout)

    def test_says_what_the_smallest_batch_needs(self):
        self.expect_refusal("batch 1 needs up to", ONNX, "--memory", "600MiB",
                            status=DOES_NOT_FIT)

    def test_refuses_memory_in_wrong_units(self):
        for size in ("16", "16Gigs", "GiB", "-1GiB", "0GiB", "nanGiB",
                     "1e30GiB"):
            with self.subTest(size=size):
                self.expect_refusal(f"--memory '{size}'", ONNX,
                                    f"--memory={size}")

    VOLUME = ("stencil", "--shape", "400,400,400", "--memory", "512MiB")

    def test_a_volume_gets_chunks(self):
        found = self.plan(*self.VOLUME, "--dtype", "f64")
        self.assertLessEqual(found["peak_mib"], found["usable_mib"])
        self.assertEqual(found["block"], [size + 2 for size in found["chunk"]])
        self.assertEqual(found["dask_chunks"], [str(tuple(found["chunk"]))])
        text = run("plan", *self.VOLUME, "--dtype", "f64").stdout
        self.assertIn(f"chunks={tuple(found['chunk'])}\n", text)
        self.assertIn("stencil f64", text)

    def test_elements_half_as_large_take_larger_chunks(self):
        for algorithm in ("convolution3d", "fft", "matmul", "sort", "stencil"):
            request = (algorithm, "--shape", "3000,1000,3000", "--memory",
                       "192MiB")
            chunks = [self.plan(*request, "--dtype", dtype)["chunk"]
                      for dtype in ("f64", "f32")]
            with self.subTest(algorithm=algorithm):
                for small, large in zip(*chunks):
                    self.assertLessEqual(small, large)
                self.assertNotEqual(*chunks)

    def test_more_memory_larger_chunks_and_a_margin_smaller_ones(self):
        chunks = [self.plan(*self.VOLUME[:-1], memory)["chunk"]
                  for memory in ("192MiB", "512MiB", "2GiB")]
        self.assertEqual(chunks, sorted(chunks))
        self.assertLess(chunks[0][0], chunks[2][0])
        self.assertLess(self.plan(*self.VOLUME, "--margin", "0.5")["chunk"],
                        self.plan(*self.VOLUME, "--margin", "0")["chunk"])

    def test_chunks_follow_storage_halo_and_whole_axes(self):
        aligned = self.plan(*self.VOLUME, "--align", "64,64,64")["chunk"]
        self.assertEqual([size % 64 for size in aligned], [0, 0, 0])
        wide = self.plan(*self.VOLUME, "--halo", "4,2,1")
        self.assertEqual([b - c for b, c in zip(wide["block"], wide["chunk"])],
                         [8, 4, 2])
        whole = self.plan(*self.VOLUME, "--whole", "x")
        self.assertEqual(whole["chunk"][2], 400)

    def test_a_product_has_chunks_of_two_arrays(self):
        found = self.plan("matmul", "--shape", "4000,500,4000", "--memory",
                          "192MiB")
        rows, inner, columns = found["chunk"]
        self.assertEqual(inner, 500)
        self.assertEqual(found["dask_chunks"],
                         [f"({rows}, 500)", f"(500, {columns})"])

    def test_learns_a_command_and_keeps_what_it_learned(self):
        # 10 MiB or so of Python and 2000 bytes per element, kept until somebody
        # must have looked.
        command = (f"{sys.executable} -c 'import time; a, b = {{shape}};"
                   " block = bytearray(2000 * a * b); time.sleep(0.5)'")
        with tempfile.TemporaryDirectory() as folder:
            stored = str(pathlib.Path(folder) / "mine.json")
            outcome = run("plan", "mine", "--run", command, "--axes",
                          "a=8..128,b=8..128", "--runs", "6", "--out", stored)
            self.assertEqual(outcome.returncode, OK, outcome.stderr)
            self.assertIn("6 runs", outcome.stdout)
            found = self.plan("--footprint", stored, "--shape", "2000,2000",
                              "--memory", "1GiB", "--margin", "0")
            rows, columns = found["block"]
            bare = 1024 - rows * columns * 2000 / 2 ** 20
            self.assertGreater(bare, -0.02 * 1024)
            self.assertAlmostEqual(
                found["peak_mib"] - rows * columns * 2000 / 2 ** 20, 10,
                delta=0.02 * 1024)
            self.expect_refusal("is of dtype ''", "--footprint", stored,
                                "--shape", "9,9", "--memory", "1GiB",
                                "--dtype", "f32")
            document = json.loads(pathlib.Path(stored).read_text())
            self.assertEqual(document["command"], command)
            document["schema_version"] = 2
            pathlib.Path(stored).write_text(json.dumps(document))
            self.expect_refusal("schema_version", "--footprint", stored,
                                "--shape", "9,9", "--memory", "1GiB",
                                status=MODEL_FAILED)

    def test_says_that_blocks_were_too_small(self):
        # 4 KiB at most, beside 10 MiB or so of Python.
        command = (f"{sys.executable} -c 'import time; a, b = {{shape}};"
                   " block = bytearray(a * b); time.sleep(0.3)'")
        outcome = run("plan", "--run", command, "--axes", "a=8..64,b=8..64",
                      "--runs", "4")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        self.assertIn("and the margin is 10 %", outcome.stderr)
        self.assertIn("run larger ones (--axes)", outcome.stderr)

    def test_keeps_the_runs_that_failed(self):
        command = (f"{sys.executable} -c 'import time; a, b = {{shape}};"
                   " assert a * b < 16000, a; block = bytearray(2000 * a * b);"
                   " time.sleep(0.5)'")
        outcome = run("plan", "--run", command, "--axes", "a=8..128,b=8..128",
                      "--runs", "8", "--json")
        self.assertEqual(outcome.returncode, OK, outcome.stderr)
        (failed, *_) = json.loads(outcome.stdout)["failed"]
        self.assertEqual(failed["shape"], [128, 128])
        self.assertIn("AssertionError: 128", failed["message"])
        self.expect_refusal("AssertionError: nothing", "--run",
                            f"{sys.executable} -c 'assert [{{shape}}] == 0,"
                            ' "nothing"\'', "--axes", "a=8..128", status=MODEL_FAILED)

    def test_refuses_what_makes_no_plan(self):
        for words, arguments in (
                ("algorithm 'warp' is unknown, expected one of convolution3d",
                 ("warp", "--shape", "8,8,8", "--memory", "1GiB")),
                ("dtype 'i8' has no footprint, expected one of f32, f64",
                 ("sort", "--shape", "8,8,8", "--memory", "1GiB", "--dtype",
                  "i8")),
                ("plan sort needs the --shape", ("sort", "--memory", "1GiB")),
                ("plan needs --memory", ("sort", "--shape", "8,8,8")),
                ("shape has 4 dimensions, expected 3: z, y, x",
                 ("sort", "--shape", "8,8,8,8", "--memory", "1GiB")),
                ("--halo has 2 numbers", (*self.VOLUME, "--halo", "1,2")),
                ("--whole w: no axis", (*self.VOLUME, "--whole", "w")),
                ("has no {shape}", ("--run", "python algo.py", "--axes",
                                    "a=8..128")),
                ("command ': {shape}': runs nothing",
                 ("--run", ": {shape}", "--axes", "a=8..128")),
                ("--run needs --axes", ("--run", "algo {shape}")),
                ("--axes 'a': ", ("--run", "algo {shape}", "--axes", "a")),
                ("plan needs a model", ("--memory", "1GiB"))):
            with self.subTest(words=words):
                self.expect_refusal(words, *arguments)

    def test_refuses_a_shape_of_nothing(self):
        outcome = run("plan", "sort", "--shape", "8,0,8", "--memory", "1GiB")
        self.assertEqual(outcome.returncode, USAGE)
        self.assertIn("--shape: '0': expected a number above 0",
                      outcome.stderr)

    def test_says_how_a_shape_is_written(self):
        for shape in (("400", "400", "400"), ("400x400x400",), ("400,400 400",)):
            with self.subTest(shape=shape):
                outcome = run("plan", "stencil", "--shape", *shape, "--memory",
                              "1GiB")
                self.assertEqual(outcome.returncode, USAGE)
                self.assertIn("separate sizes with commas: --shape 4000,4000",
                              outcome.stderr)

    def test_refuses_flags_of_a_volume_before_blocks_are_run(self):
        with tempfile.TemporaryDirectory() as folder:
            ran = pathlib.Path(folder) / "ran.txt"
            command = ("mine", "--run", f"echo {{shape}} >> {ran}", "--axes",
                       "z=8..64,y=8..64")
            for flags, words in (
                    (("--halo", "1,2,3"), "--halo has 3 numbers"),
                    (("--whole", "x"), "--whole x"),
                    (("--shape", "9,9,9", "--memory", "1GiB"),
                     "--shape has 3 dimensions, expected 2: z, y")):
                self.expect_refusal(words, *command, *flags)
            self.expect_refusal("cannot be created", *command, "--out",
                                f"{folder}/none/mine.json",
                                status=MODEL_FAILED)
            self.assertFalse(ran.exists())

    def test_flags_name_the_arrays_that_are_cut(self):
        found = self.plan(*self.VOLUME, "--array", "z,y", "--array", "x")
        z, y, x = found["chunk"]
        self.assertEqual(found["dask_chunks"], [f"({z}, {y})", f"({x},)"])
        self.expect_refusal("--array w: no axis of stencil", *self.VOLUME,
                            "--array", "z,w")

    def test_says_what_the_smallest_block_takes(self):
        self.expect_refusal("the smallest block, 3 x 3 x 3, needs",
                            *self.VOLUME[:-1], "16MiB", status=DOES_NOT_FIT)
        outcome = run("plan", *self.VOLUME[:-1], "16MiB", "--json")
        self.assertEqual(outcome.returncode, DOES_NOT_FIT)
        found = json.loads(outcome.stdout)
        self.assertEqual((found["chunk"], found["block"], found["chunks"],
                          found["dask_chunks"], found["peak_mib"]),
                         (None, None, 0, [], None))
        self.assertAlmostEqual(found["usable_mib"], 0.9 * 16, places=3)

    def test_refuses_an_axis_that_a_model_lacks(self):
        self.expect_refusal("--axis frames", ONNX, "--memory", "1GiB",
                            "--axis", "frames")


if __name__ == "__main__":
    unittest.main()
