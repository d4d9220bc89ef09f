"""Files and names of the zoo: the package says what the program prints."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import foretell
from foretell import _command

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONNX = str(ROOT / "examples" / "resnet18.onnx")
PROGRAM = str(pathlib.Path(sys.executable).parent / "foretell")
NOTHING = ROOT / "examples" / "missing.onnx"


def printed(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


class KvCache(unittest.TestCase):

    def test_is_what_the_program_prints(self):
        found = foretell.kv_cache("zoo:llama3_8b", device="a100-80gb", context=4096)
        self.assertRegex(repr(found), r"^<foretell.KvCache zoo:llama3_8b: 0\.5 GiB for "
                         r"4096 tokens, \d+ at once on a100-sxm4-80gb>$")
        self.assertEqual(found.token_bytes, 131072)
        self.assertEqual(found.sequence_bytes, 2**29)
        self.assertEqual(found.concurrency, found.gpu["concurrency"])
        self.assertGreater(found.concurrency, 100)

    def test_a_failure_is_an_error(self):
        with self.assertRaisesRegex(foretell.Error, "expected a decoder"):
            foretell.kv_cache("zoo:resnet50")


class Predict(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.p = foretell.predict(ONNX, batch=8, mode="training",
                                 optimizer="adamw", device="a100-sxm4-80gb")
        outcome = printed("predict", ONNX, "--batch", "8", "--mode", "training",
                          "--optimizer", "adamw", "--device", "a100-sxm4-80gb",
                          "--json")
        (cls.result,) = json.loads(outcome.stdout)["results"]

    def test_has_every_field_of_the_json(self):
        self.assertEqual(self.p.to_dict(), self.result)
        for part in ("memory", "latency", "energy"):
            for field, value in self.result[part].items():
                if field != "source":
                    self.assertEqual(getattr(getattr(self.p, part), field), value)
        for field in set(self.result) - {"memory", "latency", "energy", "mig"}:
            self.assertEqual(getattr(self.p, field), self.result[field])

    def test_names_mig_profiles(self):
        verdicts = self.result["mig"]["profiles"]
        self.assertEqual([one.profile for one in self.p.mig],
                         [one["profile"] for one in verdicts])
        self.assertEqual(self.p.mig["1G.10GB"].fits, verdicts[0]["fits"])
        self.assertEqual(self.p.mig.profile, self.result["mig"]["profile"])
        with self.assertRaisesRegex(KeyError, "9g.9gb.*expected one of: 1g.10gb"):
            self.p.mig["9g.9gb"]

    def test_parts_add_up_to_what_is_allocated(self):
        memory = self.p.memory
        self.assertAlmostEqual(sum(memory.parts().values()), memory.allocated_mib,
                               delta=0.01)

    def test_prints_a_line_per_figure(self):
        text = str(self.p)
        for line in (" memory ", " speed ", " energy ", "MIG", "training with adamw"):
            self.assertIn(line, text)
        self.assertIn("a100-sxm4-80gb", repr(self.p))

    def test_has_the_page_of_report(self):
        page = self.p.to_html(batches=False)
        (data,) = re.findall('id="data">(.*?)</script>', page, re.DOTALL)
        document = json.loads(data)
        self.assertEqual(document["result"], self.result)
        self.assertNotIn("batches", document)

    def test_html_keeps_names_as_text(self):
        name = "<script>alert(1)</script>.onnx"
        answer = foretell._prediction.prediction(
            {**self.result, "model": name,
             "verdict": {**self.result["verdict"], "title": name}}, None, {})
        self.assertNotIn("<script>", answer._repr_html_())
        self.assertIn("&lt;script&gt;", answer._repr_html_())
        self.assertIn("7g.80gb", answer._repr_html_())


class Others(unittest.TestCase):

    def test_fits_is_true_or_false(self):
        self.assertTrue(foretell.fits(ONNX, batch=8, profile="1g.5gb"))
        answer = foretell.fits(ONNX, batch=8, max_memory=100)
        self.assertFalse(answer)
        self.assertEqual(answer.fit, "does not fit")
        self.assertEqual(answer.checks[-1]["limit"], 100)

    def test_fits_prints_what_the_program_prints(self):
        for limits in ({"max_memory": 750, "max_latency": 0.5},
                       {"max_memory": 768, "tight": True}, {"profile": "1g.5gb"}):
            words = [word for name, value in limits.items() for word in
                     (["--tight"] if value is True else
                      ["--" + name.replace("_", "-"), str(value)])]
            self.assertEqual(f"{foretell.fits(ONNX, batch=8, **limits)}\n",
                             printed("fits", ONNX, "--batch", "8", *words).stdout)

    def test_fits_gives_warnings_of_the_trace(self):
        with self.assertWarnsRegex(foretell.Warning, "batch norm"):
            foretell.fits(ONNX, batch=8, mode="training")

    def test_max_batch_is_a_number(self):
        self.assertEqual(
            foretell.max_batch(ONNX, profile="1g.5gb"),
            int(printed("max-batch", ONNX, "--profile", "1g.5gb").stdout))
        self.assertEqual(foretell.max_batch(ONNX, limit=3), 3)
        self.assertEqual(foretell.max_batch(ONNX, max_memory=1), 0)

    def test_advise_says_what_would_make_it_fit(self):
        advice = foretell.advise("zoo:resnet18", batch=256, mode="training",
                                 optimizer="adam", max_memory=6000)
        self.assertTrue(advice)
        self.assertFalse(advice.unchanged["fits"])
        self.assertLessEqual(advice.smallest.needed_mib, 6000)
        saved = [one.saved_mib for one in advice.remedies]
        order = [(not one.keeps_numerics, -one.saved_mib) for one in advice.remedies]
        self.assertEqual(order, sorted(order))
        self.assertEqual(len(advice.rows), sum(one > 0 for one in saved))
        self.assertFalse(foretell.advise("zoo:resnet18", batch=2, max_memory=1))

    def test_prices_put_the_cheapest_first(self):
        compared = foretell.compare("zoo:resnet18", batches=8,
                                    devices=["a100-sxm4-40gb", "a30", "a40"])
        rows = compared.priced({"a100-sxm4-40gb": 1000, "a30": 0.01})
        self.assertEqual([row["device"] for row in rows],
                         ["a30", "a100-sxm4-40gb", "a40"])
        self.assertAlmostEqual(rows[0]["usd_per_thousand_batches"],
                               0.01 * rows[0]["latency_ms"] / 3600)
        self.assertIsNone(rows[2]["usd_per_thousand_batches"])
        for price in (0, -1, float("nan"), "2"):
            with self.assertRaisesRegex(foretell.Error, r"usd_per_hour\['a30'\] is"):
                compared.priced({"a30": price})

    def test_inspect_has_a_row_per_operator(self):
        rows = foretell.inspect(ONNX, batch=2)
        p = foretell.predict(ONNX, batch=2)
        self.assertEqual(len(rows), p.operators)
        self.assertEqual(sum(row["macs"] for row in rows),
                         p.static_features["macs"])
        self.assertAlmostEqual(max(row["peak_mib"] for row in rows),
                               p.memory.allocated_mib, places=3)
        self.assertEqual(rows[0]["operator"], "conv2d")
        self.assertEqual(rows[0]["shape"], (2, 64, 112, 112))

    def test_rows_are_ready_for_pandas(self):
        import pandas

        table = pandas.DataFrame(foretell.inspect(ONNX, batch=2))
        self.assertEqual(table["macs"].sum(), 2 * 1_814_073_344)
        self.assertEqual(table["gpu_us"].dtype, float)

    def test_plots_memory_over_the_step(self):
        import matplotlib
        matplotlib.use("agg")

        p = foretell.predict("zoo:resnet18", batch=2, mode="training")
        axes = p.plot_memory()
        (steps,) = axes.get_lines()[:1]
        self.assertEqual(len(steps.get_ydata()), p.operators)
        self.assertAlmostEqual(max(steps.get_ydata()), p.memory.reserved_mib,
                               places=3)
        phases = [text.get_text().strip() for text in axes.texts]
        self.assertEqual(phases, ["forward", "backward", "optimizer"])

    def test_compares_models_batches_and_devices(self):
        table = foretell.compare(["zoo:resnet18", ONNX], batches=[1, 8],
                                 devices=["a100-sxm4-40gb", "rtx-4090"])
        self.assertEqual([(row["model"], row["device"], row["batch"])
                          for row in table.rows],
                         [(model, device, batch)
                          for model in ("zoo:resnet18", ONNX)
                          for device in ("a100-sxm4-40gb", "rtx-4090")
                          for batch in (1, 8)])
        alone = foretell.predict(ONNX, batch=8, device="rtx-4090")
        self.assertEqual(table[-1].to_dict()["latency"],
                         alone.to_dict()["latency"])
        self.assertIn("samples_per_s", str(table))

    def test_compares_runtimes_with_eager(self):
        table = foretell.compare(ONNX, batches=[1, 8], devices="a30",
                                 runtimes=["eager", "tensorrt,int8"])
        self.assertEqual([(row["runtime"], row["batch"]) for row in table.rows],
                         [("eager", 1), ("eager", 8),
                          ("tensorrt,int8", 1), ("tensorrt,int8", 8)])
        alone = foretell.predict(ONNX, batch=8, device="a30", runtime="tensorrt,int8")
        self.assertEqual(table[-1].latency, alone.latency)
        self.assertEqual(table.rows[1]["speed_up"], 1)
        self.assertAlmostEqual(table.rows[3]["speed_up"],
                               table[1].latency.ms / alone.latency.ms)

    def test_without_eager_there_is_no_speed_up(self):
        table = foretell.compare(ONNX, batches=1, devices="a30", runtimes="compile")
        self.assertEqual([row["speed_up"] for row in table.rows], [None])
        self.assertNotIn("runtime", foretell.compare(ONNX, batches=1,
                                                     devices="a30").rows[0])

    def test_leaves_out_runtimes_that_cannot_run_a_model(self):
        step = dict(batches=1, devices="a30", mode="training")
        with self.assertWarnsRegex(foretell.Warning,
                                   "left out: runtime='tensorrt': trains in eager"):
            table = foretell.compare(ONNX, runtimes=["tensorrt", "eager"], **step)
        self.assertEqual([row["runtime"] for row in table.rows], ["eager"])
        with self.assertRaisesRegex(foretell.Error, "runtime='tensorrt'"):
            foretell.compare(ONNX, runtimes=["tensorrt"], **step)

    def test_compares_all_devices_of_the_catalogue(self):
        two = [{"name": "a30"}, {"name": "rtx-4090"}]
        with mock.patch("foretell._compare.catalogue", lambda: two):
            compared = foretell.compare("zoo:resnet18", batches=1, devices="all")
        self.assertEqual([p.device for p in compared], ["a30", "rtx-4090"])

    def test_measures_on_the_cpu(self):
        (row,) = foretell.measure(ONNX, batch=1, device="cpu", warmup=0,
                                  min_runs=1, min_seconds=0)
        self.assertEqual(row.status, "ok")
        self.assertGreater(row.latency["median_ms"], 0)
        self.assertIn("on cpu: ok", str(row))

    def test_dippm_answers_as_the_paper_asks(self):
        answer = foretell.dippm.predict("onnx", ONNX, 8, "3,224,224")
        p = foretell.predict(ONNX, batch=8, mig_rule="dippm")
        self.assertEqual(answer, (p.memory.total_mib, p.latency.ms, p.energy.j,
                                  p.mig.profile))
        with self.assertRaisesRegex(foretell.Error, "'caffe': expected one of"):
            foretell.dippm.predict("caffe", ONNX, 8, "3,224,224")


# A file that begins as one of TensorFlow Lite does, and a converter that takes the rest
# of it for what it makes.
TFLITE = struct.pack("<I4s", 8, b"TFL3")
COPY = ("import sys; model, output = sys.argv[1:3]; "
        f"open(output, 'wb').write(open(model, 'rb').read()[{len(TFLITE)}:])")


class Frameworks(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("tensorflow", "paddle"):
            (self.folder / f"{name}.py").write_text(COPY)
            (self.folder / f"{name}.txt").write_text("# nothing\n")
        _command.environment.cache_clear()
        self.addCleanup(_command.environment.cache_clear)
        variables = mock.patch.dict(os.environ, FORETELL_CONVERTERS=str(self.folder),
                                    XDG_CACHE_HOME=str(self.folder))
        variables.start()
        self.addCleanup(variables.stop)

    def test_are_converted_by_the_program(self):
        path = str(self.folder / "net.tflite")
        pathlib.Path(path).write_bytes(TFLITE + pathlib.Path(ONNX).read_bytes())
        with self.assertRaisesRegex(foretell.Error, "convert"):
            foretell.predict(path, batch=8)
        p = foretell.predict(path, batch=8, convert=True)
        self.assertEqual(p.parameters, foretell.predict(ONNX, batch=8).parameters)
        self.assertIn("converted by", p.warnings[0])
        self.assertEqual(foretell.dippm.predict("tensorflow", path, 8, "3,224,224"),
                         foretell.dippm.predict("onnx", ONNX, 8, "3,224,224"))
        with self.assertRaisesRegex(foretell.Error, "is not allowed here"):
            foretell.predict(path, batch=8, no_convert=True)


class Errors(unittest.TestCase):

    def expect(self, code, call):
        with self.assertRaises(foretell.Error) as caught:
            call()
        self.assertEqual(caught.exception.code, code)
        return str(caught.exception)

    def test_have_the_programs_text_and_code(self):
        for call in (foretell.predict, foretell.fits, foretell.max_batch,
                     foretell.inspect):
            with self.subTest(call=call.__name__):
                text = self.expect("not_found", lambda: call(NOTHING))
                outcome = printed("predict", str(NOTHING))
                self.assertEqual(f"foretell: error: {text}\n", outcome.stderr)

    def test_name_unknown_devices_and_flags(self):
        self.assertIn("'zzz' is unknown", self.expect(
            "not_found", lambda: foretell.predict(ONNX, device="zzz")))
        self.assertIn("no_such_flag=", self.expect(
            "invalid_argument", lambda: foretell.predict(ONNX, no_such_flag=1)))

    def test_leave_unknown_devices_out_of_a_comparison(self):
        with self.assertWarnsRegex(foretell.Warning, "left out: .*'zzz' is unknown"):
            compared = foretell.compare("zoo:resnet18", batches=1,
                                        devices=["a30", "zzz"])
        self.assertEqual([p.device for p in compared], ["a30"])
        self.assertIn("'zzz' is unknown", self.expect(
            "not_found", lambda: foretell.compare("zoo:resnet18", batches=1,
                                                  devices=["zzz"])))

    def test_refuse_several_batches_for_one_answer(self):
        for call in (foretell.predict, foretell.fits):
            for batch in ([1, 2], "1,2"):
                with self.subTest(call=call.__name__, batch=batch):
                    self.assertIn("compare takes several", self.expect(
                        "invalid_argument", lambda: call(ONNX, batch=batch)))

    def test_refuse_one_device_or_batch_for_a_comparison(self):
        for option in ({"device": "a30"}, {"batch": 8}, {"runtime": "compile"}):
            (name,) = option
            with self.assertRaisesRegex(foretell.Error, f"{name}=.*compare takes {name}"):
                foretell.compare("zoo:resnet18", **option)

    def test_refuse_what_is_no_model(self):
        self.assertIn("expected an nn.Module", self.expect(
            "invalid_argument", lambda: foretell.predict(3)))

    def test_a_path_never_becomes_a_flag(self):
        self.assertEqual(
            self.expect("not_found", lambda: foretell.predict("--version")),
            "--version: no such file")

    def test_a_batch_that_fails_does_not_end_a_comparison(self):
        static = str(ROOT / "examples" / "resnet18.pt")
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            self.assertEqual(len(foretell.compare(
                [static], batches=[1], input="f32[8,3,224,224]")), 1)
            with self.assertRaises(foretell.Error):
                foretell.compare([static], batches=[1])
        self.assertEqual(given, [])


class Package(unittest.TestCase):

    def test_needs_no_torch_for_files(self):
        code = ("import sys, foretell; foretell.predict('zoo:resnet18', batch=1); "
                "sys.exit('torch' in sys.modules)")
        self.assertEqual(subprocess.run([sys.executable, "-c", code]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
