"""Modules in memory: answered as their TorchScript traces are, and left alone."""

import gc
import json
import pathlib
import re
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import foretell
import torch
from small_networks import (Autoencoder, Blocks, Cache, Convolutions, Converting,
                            Decoder, DependsOnData, Flattening, Frozen, Language,
                            Named, OnlyLoss, Recorded, Stateful, TakesARecord,
                            TimeFirst, Towers)

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = torch.zeros(2, 3, 16, 16)


def traced(module, inputs, folder):
    """foretell's name of a trace with weights, as a user would make it."""
    path = pathlib.Path(folder) / "traced.pt"
    torch.jit.trace(module, inputs, check_trace=False, strict=False).save(str(path))
    return path


class LikeATrace(unittest.TestCase):

    def expect(self, module, inputs, mode, types):
        module.train(mode == "training")
        with tempfile.TemporaryDirectory() as folder:
            there = foretell.predict(traced(module, inputs, folder), mode=mode,
                                     input=types)
        here = foretell.predict(module, inputs, mode=mode)
        for figure in ("total_mib", "allocated_mib", "reserved_mib",
                       "activations_mib", "parameters_mib", "gradients_mib"):
            # Within two blocks of 512 bytes, which a trace of frozen norms has more.
            self.assertAlmostEqual(getattr(here.memory, figure),
                                   getattr(there.memory, figure), delta=0.001,
                                   msg=figure)
        self.assertEqual(here.static_features, there.static_features)
        self.assertEqual(here.parameters, there.parameters)

    def test_convolutions(self):
        for mode in ("inference", "training"):
            with self.subTest(mode=mode):
                self.expect(Flattening(), IMAGE, mode, "f32[2,3,16,16]")

    def test_norms_that_stay_frozen(self):
        for mode in ("inference", "training"):
            with self.subTest(mode=mode), warnings.catch_warnings():
                warnings.simplefilter("error", foretell.Warning)
                self.expect(Frozen(), IMAGE, mode, "f32[2,3,16,16]")

    def test_the_network_of_the_examples(self):
        sys.path.append(str(ROOT / "scripts" / "generate"))
        from make_example import ResNet18

        inputs = torch.zeros(8, 3, 224, 224, device="meta")
        with torch.device("meta"):
            module = ResNet18()
        here = foretell.predict(module.eval(), inputs)
        there = foretell.predict(ROOT / "examples" / "resnet18.pt",
                                 input="f32[8,3,224,224]")
        self.assertEqual(here.memory.total_mib, there.memory.total_mib)
        self.assertEqual(here.latency.ms, there.latency.ms)
        self.assertEqual(here.operators, there.operators)


class Modules(unittest.TestCase):

    def test_stay_as_they_were(self):
        module = Convolutions()
        module.head.weight.requires_grad_(False)
        before = {name: value.clone() for name, value in module.state_dict().items()}
        foretell.predict(module, IMAGE, mode="inference")
        foretell.predict(module, IMAGE, mode="training")
        self.assertTrue(module.training)
        self.assertFalse(module.head.weight.requires_grad)
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
            self.assertEqual(value.device.type, "cpu")

    def test_take_tensors_tuples_and_dicts(self):
        module = Convolutions()
        alone = foretell.predict(module, IMAGE)
        self.assertEqual(alone.latency, foretell.predict(module, (IMAGE,)).latency)
        named = foretell.predict(module, {"image": IMAGE, "mask": torch.ones(2, 8)})
        self.assertEqual([one["name"] for one in named.inputs], ["image", "mask"])
        self.assertEqual(named.operators, alone.operators + 1)

    def test_leave_their_batch_open_where_one_is_named(self):
        for batch in (1, 7):
            answer = foretell.predict(Flattening(), torch.zeros(1, 3, 16, 16),
                                      batch=batch)
            self.assertEqual(answer.inputs[0]["shape"], [batch, 3, 16, 16])
            self.assertEqual(answer.batch, batch)

    def test_have_a_largest_batch(self):
        answer = foretell.max_batch(Flattening(), IMAGE, max_memory=1000)
        fits = [foretell.fits(Flattening(), IMAGE, batch=batch, max_memory=1000)
                for batch in (answer, answer + 1)]
        self.assertEqual(list(map(bool, fits)), [True, False])

    def test_are_compared_at_many_batches(self):
        table = foretell.compare([Flattening(), "zoo:resnet18"], IMAGE,
                                 batches=[1, 4])
        self.assertEqual([(p.model, p.batch) for p in table],
                         [("Flattening", 1), ("Flattening", 4),
                          ("zoo:resnet18", 1), ("zoo:resnet18", 4)])

    def test_keep_the_names_of_their_tensors(self):
        module = torch.nn.Sequential(Flattening(), torch.nn.Linear(5, 2))
        module.register_parameter("lambda", torch.nn.Parameter(torch.ones(2)))
        answer = foretell.predict(module, IMAGE)
        labels = {one["label"] for one in answer.memory.largest_tensors
                  if one["role"] == "parameter"}
        self.assertEqual(labels, {"0.conv.weight", "0.conv.bias", "0.head.weight",
                                  "0.head.bias", "1.weight", "1.bias", "lambda"})

    def test_may_be_language_models(self):
        ids = torch.zeros(2, 7, dtype=torch.int64)
        answer = foretell.predict(Language(), ids, mode="training",
                                  optimizer=torch.optim.Adam([torch.ones(1)]))
        # The head is the embedding, and counted once.
        unique = sum(one.numel() for one in Language().parameters())
        self.assertEqual(answer.parameters, unique)
        self.assertEqual(answer.optimizer, "adam")

    def test_may_share_weights_under_names_that_nobody_reads(self):
        answer = foretell.predict(Autoencoder(), torch.zeros(2, 7, dtype=torch.int64))
        self.assertEqual(answer.parameters, 2 * 50 * 8)

    def test_may_have_inputs_that_share_only_their_batch(self):
        inputs = torch.zeros(2, 8), torch.zeros(2, 12)
        answer = foretell.predict(Towers(), inputs, batch=1)
        self.assertEqual([one["shape"] for one in answer.inputs], [[1, 8], [1, 12]])

    def test_may_make_tensors_without_saying_where(self):
        answer = foretell.predict(Stateful(), torch.ones(2, 8), batch=5)
        self.assertEqual(answer.batch, 5)
        self.assertEqual(answer.parameters, 3 * 16 * (8 + 16 + 2))

    def test_may_have_a_named_tuple_of_results(self):
        self.assertEqual(foretell.predict(Named(), torch.ones(2, 8)).operators, 2)

    def test_may_have_a_dataclass_of_results(self):
        answer = foretell.predict(Recorded(), torch.ones(2, 8), batch=3)
        self.assertEqual([one["shape"] for one in answer.outputs], [[3, 4], [3]])

    def test_may_be_asked_about_in_threads(self):
        stderr, totals = sys.stderr, []

        def ask():
            totals.append(foretell.predict(Flattening(), IMAGE).memory.total_mib)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(totals, 4 * totals[:1])
        self.assertIs(sys.stderr, stderr)

    def test_with_checkpoints_compute_blocks_again_and_say_so(self):
        x = torch.zeros(64, 32)
        plain = foretell.predict(Blocks(), x, mode="training", recompute="blocks.*")
        for reentrant in (True, False):
            with self.assertWarnsRegex(foretell.Warning, r"recompute='blocks\.\*'") as got:
                answer = foretell.predict(Blocks(reentrant), x, mode="training")
            self.assertEqual(got.filename, __file__)
            self.assertEqual(answer.setup, ["--recompute blocks.*"])
            self.assertEqual(answer.operators, plain.operators)
            self.assertEqual(answer.memory.total_mib, plain.memory.total_mib)
        module = Blocks(True)
        module(x.requires_grad_()).sum().backward()
        self.assertIsNotNone(module.blocks[0][0].weight.grad)

    def test_are_named_beside_their_operators(self):
        rows = foretell.inspect(Flattening(), IMAGE)
        found = {row["operator"]: row["module"] for row in rows}
        self.assertEqual((found["conv2d"], found["linear"]), ("conv", "head"))
        self.assertRegex(str(rows).splitlines()[0], r"operator +phase +module")

    def test_train_only_in_training(self):
        dropouts = [sum(row["operator"] == "dropout" and row["gpu_us"] > 0
                        for row in foretell.inspect(Convolutions(), IMAGE, mode=mode))
                    for mode in ("inference", "training")]
        self.assertEqual(dropouts, [0, 1])

    def test_are_trusted_when_they_are_measured(self):
        for model in (Flattening().eval(),
                      torch.export.export(Flattening().eval(), (IMAGE,))):
            inputs = IMAGE if isinstance(model, torch.nn.Module) else None
            (row,) = foretell.measure(model, inputs, device="cuda:0", warmup=0,
                                      min_runs=1, min_seconds=0)
            self.assertNotIn("--trust", row.message or "")

    def test_have_a_page_that_names_no_file_of_ours(self):
        page = foretell.predict(Flattening(), IMAGE).to_html()
        (data,) = re.findall('id="data">(.*?)</script>', page, re.DOTALL)
        self.assertRegex(json.loads(data)["batches"]["ended"],
                         "^Flattening: input 'image': dimension 0")
        self.assertNotIn("/foretell-", data)
        with self.assertRaises(TypeError):
            foretell.predict(Flattening(), IMAGE).to_html("page.html")

    def test_may_be_exported_already(self):
        program = torch.export.export(Convolutions().eval(), (IMAGE,))
        self.assertEqual(foretell.predict(program).latency,
                         foretell.predict(Convolutions(), IMAGE).latency)

    def test_of_any_size_need_no_memory_or_disk(self):
        with torch.device("meta"):
            module = torch.nn.Linear(100_000, 100_000)
        answer = foretell.predict(module, torch.zeros(1, 100_000, device="meta"))
        self.assertEqual(answer.parameters, 100_000 * 100_001)
        self.assertGreater(answer.memory.parameters_mib, 38_000)
        self.assertLess(pathlib.Path(answer._opened.path).stat().st_size, 10_000)

    def test_leave_no_file_behind(self):
        answer = foretell.predict(Convolutions(), IMAGE)
        path = pathlib.Path(answer._opened.path)
        self.assertTrue(path.is_file())
        del answer
        gc.collect()
        self.assertFalse(path.parent.exists())


IDS = torch.zeros(2, 8, dtype=torch.long)


def given(call):
    """The answer, and the texts of the warnings that came with it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        answer = call()
    return answer, [str(one.message) for one in seen
                    if issubclass(one.category, foretell.Warning)]


class Results(unittest.TestCase):

    def test_may_lie_in_objects_that_nobody_registered(self):
        answer = foretell.predict(Decoder(), IDS)
        self.assertEqual([one["shape"] for one in answer.outputs],
                         [[2, 8, 100]] + 3 * [[2, 8, 32]])

    def test_of_a_cache_are_switched_off_in_training(self):
        module = Decoder()
        answer = foretell.predict(module, IDS, mode="training")
        self.assertEqual([one["shape"] for one in answer.outputs], [[2, 8, 100]])
        self.assertTrue(module.config.use_cache)

    def test_objects_may_be_arguments_too(self):
        cache = Cache()
        cache.add(torch.zeros(2, 8, 32))
        answer = foretell.predict(Decoder(), {"ids": IDS, "cache": cache}, batch=4)
        self.assertEqual([one["shape"] for one in answer.inputs], [[4, 8], [4, 8, 32]])

    def test_beside_a_loss_get_no_gradient(self):
        inputs = {"ids": IDS, "labels": IDS}
        backward = [[row["operator"] for row in foretell.inspect(
            module, inputs, mode="training") if row["phase"] == "backward"]
                    for module in (Decoder(), OnlyLoss())]
        self.assertEqual(backward[0], backward[1])

    def test_of_checkpoints_by_partial_functions_are_found(self):
        inputs = {"ids": IDS, "labels": IDS}
        answer, (text,) = given(lambda: foretell.predict(
            Decoder(checkpoints=True), inputs, mode="training"))
        self.assertEqual(answer.setup, ["--recompute blocks.*"])
        self.assertIn("activation checkpointing is on", text)


class Types(unittest.TestCase):

    def test_are_those_of_a_module_that_was_cast_before(self):
        x = torch.zeros(16, 32)
        cast = Converting().to(torch.bfloat16)
        there = foretell.predict(cast, x.to(torch.bfloat16))
        self.assertEqual(there.precision, "bf16")
        for name in ("bf16", torch.bfloat16):
            here, texts = given(lambda: foretell.predict(Converting(), x, dtype=name))
            self.assertEqual(here.memory, there.memory)
            self.assertEqual(here.latency.ms, there.latency.ms)
            self.assertEqual(here.warnings + texts, [])

    def test_of_weights_stay_under_autocast(self):
        module = Converting()
        answer = foretell.predict(module, torch.zeros(16, 32), autocast="bf16")
        self.assertEqual((answer.precision, answer.autocast), ("fp32", "bf16"))


class Wrappers(unittest.TestCase):

    def expect(self, wrapped, note):
        plain = foretell.predict(Flattening(), IMAGE, mode="training")
        answer, texts = given(lambda: foretell.predict(wrapped, IMAGE, mode="training"))
        self.assertEqual(answer.memory, plain.memory)
        self.assertEqual(answer.operators, plain.operators)
        self.assertEqual(len(texts), 1, texts)
        self.assertRegex(texts[0], note)

    def test_of_compile_are_left_out(self):
        self.expect(torch.compile(Flattening()), "torch.compile is not modelled")
        inside, in_place = Flattening(), Flattening()
        inside.conv = torch.compile(inside.conv)
        in_place.compile()
        for module in (inside, in_place):
            self.expect(module, "torch.compile is not modelled")

    def test_of_data_parallel_classes_are_left_out(self):
        self.expect(torch.nn.DataParallel(Flattening()), "DataParallel is left out")
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group(
                "gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
            self.addCleanup(torch.distributed.destroy_process_group)
            self.expect(torch.nn.parallel.DistributedDataParallel(Flattening()),
                        "DistributedDataParallel is left out")


class Exports(unittest.TestCase):

    def count(self, *calls):
        """How many exports the calls cost."""
        from foretell import _export

        with mock.patch.object(_export, "_export_quietly",
                               side_effect=_export._export_quietly) as exports:
            for call in calls:
                call()
        return exports.call_count

    def test_are_made_once_for_several_questions(self):
        module = Flattening()
        devices = ("a30", "rtx-4090", "a100-sxm4-40gb")
        self.assertEqual(self.count(*(
            lambda device=device: foretell.fits(module, IMAGE, device=device)
            for device in devices)), 1)

    def test_are_made_again_after_a_change(self):
        module = Convolutions()
        changes = (lambda: None, lambda: None, module.eval,
                   lambda: module.conv.weight.requires_grad_(False),
                   lambda: setattr(module.dropout, "p", 0.5),
                   lambda: setattr(module, "head", torch.nn.Linear(8, 4)))
        asked = 0
        for change in changes:
            change()
            asked += self.count(
                lambda: foretell.predict(module, IMAGE, mode="training"))
        self.assertEqual(asked, len(changes) - 1)
        self.assertEqual(foretell.predict(module, IMAGE).outputs[0]["shape"], [2, 4])

    def test_are_made_for_other_inputs_and_modes(self):
        module = Flattening()
        wide = torch.zeros(3, 3, 16, 16)
        self.assertEqual(self.count(
            lambda: foretell.predict(module, IMAGE),
            lambda: foretell.predict(module, wide),
            lambda: foretell.predict(module, wide, mode="training")), 3)


class Refusals(unittest.TestCase):

    def test_say_what_is_missing(self):
        with self.assertRaisesRegex(foretell.Error, "Flattening: .* give an example"):
            foretell.predict(Flattening())

    def test_name_the_module_that_cannot_be_exported(self):
        with self.assertRaisesRegex(foretell.Error, "DependsOnData: torch.export"):
            foretell.predict(DependsOnData(), torch.ones(2))

    def test_of_the_program_name_the_module_instead_of_a_file(self):
        with self.assertRaises(foretell.Error) as caught:
            foretell.predict(Flattening(), IMAGE, input="x=f32[2,3,16,16]")
        self.assertIn("Flattening", str(caught.exception))
        self.assertNotIn("/", str(caught.exception).split(":")[0])

    def test_of_inputs_that_forward_does_not_take(self):
        for inputs, words in (({"picture": IMAGE}, "missing a required argument"),
                              ((IMAGE, IMAGE, IMAGE), "too many positional"),
                              ((2.0, 3.0), "no tensor, only float"),
                              (IMAGE.numpy(), "no tensor, only ndarray")):
            with self.assertRaisesRegex(foretell.Error, f"Convolutions: .*{words}"):
                foretell.predict(Convolutions(), inputs)

    def test_name_inputs_as_the_caller_does(self):
        x = torch.zeros(8, 16)
        for inputs in (({"x": x},), {"record": {"x": x}}):
            with self.assertRaisesRegex(
                    foretell.Error, r"leading dimension of record\['x'\], which"):
                foretell.predict(TakesARecord(), inputs, batch=4)
        with self.assertRaisesRegex(
                foretell.Error, r"'record' itself stands in a tuple: \(\{'x': …\},\)"):
            foretell.predict(TakesARecord(), {"x": x})
        with self.assertRaisesRegex(
                foretell.Error, r"give an example, e.g. \{'image': torch.empty"):
            foretell.predict(Flattening(), {"image": 3})

    def test_of_a_batch_that_the_code_fixes(self):
        with self.assertRaisesRegex(foretell.Error, "TimeFirst: its code fixes .* 5: "
                                    "leave batch"):
            foretell.predict(TimeFirst(), torch.zeros(5, 2, 8), batch=3)
        for batch in (None, 5):
            answer = foretell.predict(TimeFirst(), torch.zeros(5, 2, 8), batch=batch)
            self.assertEqual(answer.batch, 5)

    def test_of_lazy_layers_that_have_no_shape(self):
        with self.assertRaisesRegex(foretell.Error, "LazyLinear: 'weight' has no shape"):
            foretell.predict(torch.nn.LazyLinear(4), torch.zeros(2, 8))

    def test_of_torchscript_say_what_to_do(self):
        with self.assertRaisesRegex(foretell.Error, r"model.save\('model.pt'\)"):
            foretell.predict(torch.jit.trace(torch.nn.ReLU(), IMAGE), IMAGE)

    def test_of_batches_that_are_no_numbers(self):
        for batch in (True, 8.0, iter([1])):
            with self.assertRaisesRegex(foretell.Error, "expected a whole number"):
                foretell.predict("zoo:resnet18", batch=batch)
        with self.assertRaisesRegex(foretell.Error, "at least one batch"):
            foretell.compare("zoo:resnet18", batches=[])

    def test_an_empty_batch(self):
        with self.assertRaisesRegex(foretell.Error, "the batch, .*, is 0, expected"):
            foretell.predict(Flattening(), torch.zeros(0, 3, 16, 16))

    def test_of_inputs_for_a_file(self):
        with self.assertRaisesRegex(foretell.Error, "inputs are for modules"):
            foretell.predict(ROOT / "examples" / "resnet18.pt", IMAGE)


class Optimizers(unittest.TestCase):
    WEIGHT = [torch.nn.Parameter(torch.ones(3))]

    def test_are_named_by_their_class_and_options(self):
        from foretell._optimizers import optimizer_name

        optim = torch.optim
        for made, name in ((optim.SGD(self.WEIGHT), "sgd"),
                           (optim.SGD(self.WEIGHT, momentum=0.9), "momentum"),
                           (optim.AdamW(self.WEIGHT), "adamw"),
                           (optim.RMSprop(self.WEIGHT), "rmsprop"),
                           (optim.Adagrad(self.WEIGHT), "adagrad"),
                           (optim.Adam(self.WEIGHT, amsgrad=True), "amsgrad"),
                           (optim.Adafactor(self.WEIGHT), "adafactor")):
            self.assertEqual(optimizer_name(made), name)
        for refused in (optim.RMSprop(self.WEIGHT, centered=True),
                        optim.Adafactor(self.WEIGHT, foreach=True),
                        optim.Rprop(self.WEIGHT)):
            with self.assertRaises(foretell.Error):
                optimizer_name(refused)

    def test_of_other_libraries_are_named_by_library_and_options(self):
        from foretell._optimizers import optimizer_name

        def made(library, name, bits=32, is_paged=False):
            kind = type(name, (), {"__module__": library, "is_paged": is_paged})
            one = kind()
            one.args = mock.Mock(optim_bits=bits)
            return one

        for one, name in (
                (made("bitsandbytes.optim.adamw", "AdamW", 8), "adamw8bit"),
                (made("bitsandbytes.optim.adam", "PagedAdam8bit", 8, True),
                 "paged_adamw8bit"),
                (made("bitsandbytes.optim.adamw", "AdamW", 32, True), "paged_adamw"),
                (type(made("bitsandbytes.optim.lion", "Lion8bit")), "lion8bit"),
                (made("torchao.optim.adam", "AdamW4bit"), "torchao_adamw4bit"),
                (made("transformers.optimization", "Adafactor"), "hf_adafactor")):
            self.assertEqual(optimizer_name(one), name)

    def test_estimate_memory_divides_the_step(self):
        module = Convolutions()
        optimizer = torch.optim.AdamW(module.parameters())
        estimate = foretell.estimate_memory(module, IMAGE, optimizer=optimizer)
        answer = foretell.predict(module, IMAGE, mode="training", optimizer="adamw")
        self.assertEqual(estimate.total_mb, answer.memory.total_mib)
        self.assertEqual(estimate.optimizer_mb, answer.memory.optimizer_mib)
        self.assertAlmostEqual(
            estimate.total_mb, estimate.context_mb + estimate.params_mb
            + estimate.gradients_mb + estimate.optimizer_mb
            + estimate.activations_mb + estimate.other_mb)
        self.assertEqual(
            foretell.estimate_memory(module, IMAGE).prediction.mode, "inference")

    def test_groups_say_what_is_trained(self):
        module = torch.nn.Sequential(torch.nn.Linear(512, 4096),
                                     torch.nn.Linear(4096, 512))
        example = torch.empty(8, 512)
        last = torch.optim.AdamW(module[1].parameters(), foreach=False)
        with self.assertWarnsRegex(foretell.Warning, "2 of 4 parameters"):
            estimate = foretell.estimate_memory(module, example, optimizer=last)
        of_last = (4096 * 512 + 512) * 4 / 2**20
        self.assertAlmostEqual(estimate.optimizer_mb, 2 * of_last, places=4)
        same = foretell.predict(module, example, mode="training", optimizer="adamw",
                                foreach=False, trainable="^1")
        self.assertEqual(estimate.total_mb, same.memory.total_mib)
        frozen = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))])
        with self.assertRaisesRegex(foretell.Error, "its groups hold no parameter"):
            foretell.estimate_memory(module, example, optimizer=frozen)

    def test_switches_are_words(self):
        from foretell._flags import to_words

        one_by_one = torch.optim.SGD(self.WEIGHT, foreach=False)
        self.assertEqual(to_words({"optimizer": one_by_one}),
                         ["--foreach=off", "--optimizer=sgd"])
        self.assertEqual(to_words({"optimizer": one_by_one, "foreach": True}),
                         ["--foreach=on", "--optimizer=sgd"])
        fused = torch.optim.AdamW(self.WEIGHT, fused=True)
        self.assertEqual(to_words({"optimizer": fused}),
                         ["--fused=on", "--optimizer=adamw"])
        self.assertEqual(to_words({"set_to_none": False, "grad": False}),
                         ["--set-to-none=off"])

    def test_estimates_fit_devices_by_name(self):
        big = foretell.estimate_memory("zoo:vgg16", optimizer="adam", batch=128)
        self.assertTrue(big.fits("a100-sxm4-40gb"))
        self.assertFalse(big.fits("rtx-3060"))
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(foretell.Error, "no CUDA device"):
                big.fits(0)


if __name__ == "__main__":
    unittest.main()
