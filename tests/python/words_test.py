"""Options and inputs in the words of PyTorch and of other tools."""

import inspect
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import foretell
import torch
from foretell import _flags, _meanings
from foretell._words import in_our_words
from small_networks import Convolutions, Flattening, Towers

IMAGE = torch.zeros(2, 3, 16, 16)


class Options(unittest.TestCase):

    def test_have_the_names_of_other_libraries(self):
        for said, meant in (
                ({"batch_size": 8}, {"batch": 8}),
                ({"dtype": torch.bfloat16}, {"precision": "bf16"}),
                ({"precision": torch.float16}, {"precision": "fp16"}),
                ({"precision": "bfloat16"}, {"precision": "bf16"}),
                ({"amp": True}, {"autocast": True}),
                ({"autocast": "bf16"}, {"autocast": True, "precision": "bf16"}),
                ({"mixed_precision": "no"}, {"autocast": False}),
                ({"training": True}, {"mode": "training"}),
                ({"mode": "train"}, {"mode": "training"}),
                ({"training": False}, {"mode": "inference"}),
                ({"gradient_checkpointing": True}, {"recompute": "auto"}),
                ({"gpu": "a30"}, {"device": "a30"})):
            self.assertEqual(in_our_words(said), meant)

    def test_that_contradict_each_other_are_refused(self):
        self.assertEqual(in_our_words({"batch": 4, "batch_size": 4}), {"batch": 4})
        with self.assertRaisesRegex(foretell.Error, "batch=4 and batch_size=5 both"):
            foretell.predict("zoo:resnet18", batch=4, batch_size=5)
        with self.assertRaisesRegex(foretell.Error, "precision='bf16'.*autocast='bf16'"):
            foretell.predict("zoo:resnet18", bf16=True)
        with self.assertRaisesRegex(foretell.Error, "torch.int8.*expected one of"):
            foretell.predict("zoo:resnet18", dtype=torch.int8)

    def test_of_devices_may_be_torchs(self):
        with (mock.patch("torch.cuda.is_available", lambda: True),
              mock.patch("torch.cuda.device_count", lambda: 2),
              mock.patch("torch.cuda.get_device_properties") as properties):
            properties.return_value.name = "NVIDIA GeForce RTX 4090"
            properties.return_value.total_memory = 24217 * 2**20
            for device in ("cuda", "cuda:1", 1, torch.device("cuda", 1)):
                answer = foretell.predict("zoo:resnet18", batch=1, device=device)
                self.assertEqual(answer.device, "rtx-4090")
            properties.return_value.name = "NVIDIA Something Else"
            with self.assertRaisesRegex(foretell.Error, "no card of this name"):
                foretell.predict("zoo:resnet18", batch=1, device="cuda")
        with self.assertRaisesRegex(foretell.Error, "device='cpu'.*NVIDIA GPU"):
            foretell.predict("zoo:resnet18", batch=1, device="cpu")

    def test_of_optimizers_may_be_classes_and_their_names(self):
        for optimizer in ("AdamW", torch.optim.AdamW):
            answer = foretell.predict("zoo:resnet18", batch=1, training=True,
                                      optimizer=optimizer)
            self.assertEqual(answer.optimizer, "adamw")

    def test_are_explained_by_help(self):
        for function in (foretell.predict, foretell.fits, foretell.compare):
            for name in ("batch", "mode", "optimizer", "device", "precision"):
                self.assertRegex(function.__doc__, rf"(?m)^ +{name}: \S+")
        self.assertIn("max_latency: ms", foretell.fits.__doc__)

    def test_all_have_a_meaning(self):
        ours = {next(iter(in_our_words({name: None})))
                for name in _flags.FitOptions.__annotations__}
        self.assertEqual(ours - {"inputs"}, {*_meanings.OPTIONS, *_meanings.LIMITS})


class Messages(unittest.TestCase):

    def test_name_keywords_for_flags(self):
        for text, words in (
                ("(use --batch N or --dim batch=N)",
                 "(use batch=N or dim={'batch': N})"),
                ("add --mode training", "add mode='training'"),
                ("--optimizer needs --mode training", "optimizer= needs mode='training'"),
                ("keep their type at --precision fp32", "at precision='fp32'"),
                ("leave --autocast out", "leave autocast=True out"),
                ("no flag '--batc=8'; near: --cache; see foretell predict --help",
                 "no option batc=; did you mean batch=?"),
                ("no flag '--zzz=8'; near: --csv", "no option zzz=; help(foretell"),
                ("· --fused on · --lora r=8,targets=q|v,kbit · --quantize nf4,double",
                 "· fused=True · lora='r=8,targets=q|v,kbit' · quantize='nf4,double'"),
                ("--set-to-none off", "set_to_none=False"),
                ("a - b -- c", "a - b -- c")):
            self.assertIn(words, _meanings.in_python(text))

    def test_of_the_program_are_translated(self):
        with self.assertRaises(foretell.Error) as caught:
            foretell.predict("zoo:resnet18", batch=1, optimizer="adam", no_such_thing=3)
        self.assertNotIn("--", str(caught.exception))


class Inputs(unittest.TestCase):

    def test_may_be_sizes(self):
        there = foretell.predict(Flattening(), IMAGE)
        for inputs in ((2, 3, 16, 16), [2, 3, 16, 16], IMAGE.shape, [(2, 3, 16, 16)],
                       {"image": (2, 3, 16, 16)}):
            here = foretell.predict(Flattening(), inputs)
            self.assertEqual(here.inputs, there.inputs)
            self.assertEqual(here.memory, there.memory)
        named = foretell.predict(Flattening(), input_size=(1, 3, 16, 16), batch_size=2)
        self.assertEqual(named.memory, there.memory)

    def test_may_be_sizes_of_several(self):
        answer = foretell.predict(Towers(), [(2, 8), (2, 12)])
        self.assertEqual([one["shape"] for one in answer.inputs], [[2, 8], [2, 12]])
        mixed = foretell.predict(Convolutions(), (IMAGE, (2, 8)))
        self.assertEqual([one["shape"] for one in mixed.inputs],
                         [[2, 3, 16, 16], [2, 8]])

    def test_of_tokens_are_integers(self):
        module = torch.nn.Sequential(torch.nn.Embedding(100, 8), torch.nn.Linear(8, 4))
        self.assertEqual(foretell.predict(module, (4, 16)).inputs[0]["dtype"], "i64")

    def test_are_given_once(self):
        with self.assertRaisesRegex(foretell.Error, "given twice"):
            foretell.predict(Flattening(), IMAGE, input_size=(2, 3, 16, 16))


NET = """
import helper
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(helper.WIDTH, 4)
    def forward(self, x):
        return self.head(x)

def narrow():
    return nn.Linear(2, 4)

class Other:
    pass
"""


class Files(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.net = pathlib.Path(scratch.name) / "net.py"
        self.net.write_text(NET)
        (self.net.parent / "helper.py").write_text("WIDTH = 8\n")
        self.addCleanup(sys.modules.pop, "helper", None)

    def test_of_python_have_classes_and_functions(self):
        answer = foretell.predict(f"{self.net}:Net", (3, 8))
        self.assertEqual((answer.parameters, answer.batch), (8 * 4 + 4, 3))
        answer = foretell.predict(f"{self.net}:narrow", (3, 2))
        self.assertEqual(answer.parameters, 2 * 4 + 4)

    def test_of_python_say_what_is_missing(self):
        for name, words in (("", "name the class.*net.py:Net'"),
                            (":Nett", "no 'Nett'; its classes are: Net, Other"),
                            (":Other", r"Other\(\) gives a Other, expected"),
                            (":helper", "expected a class or function")):
            with self.assertRaisesRegex(foretell.Error, words):
                foretell.predict(f"{self.net}{name}", (3, 8))
        self.net.write_text("x = 1 / 0\n")
        with self.assertRaisesRegex(foretell.Error, "net.py: ZeroDivisionError"):
            foretell.predict(f"{self.net}:Net", (3, 8))


class Answers(unittest.TestCase):

    def test_say_whether_the_step_fits(self):
        self.assertIn("FITS", str(foretell.predict("zoo:resnet18", batch=1)))
        answer = foretell.fits("zoo:resnet18", batch=1, max_latency=1e-6)
        self.assertRegex(repr(answer), "Fit zoo:resnet18 on .*does not fit.*latency")
        self.assertIn("<td>False</td>", answer._repr_html_())

    def test_of_estimate_memory_have_parts_that_add_up(self):
        estimate = foretell.estimate_memory("zoo:resnet18", batch=8, optimizer="adam")
        self.assertAlmostEqual(sum(estimate.parts().values()), estimate.total_mb)
        self.assertIn("context", str(estimate))

    def test_of_advise_hide_what_saves_nothing(self):
        advice = foretell.advise("zoo:resnet18", batch=64, mode="training",
                                 optimizer="sgd", max_memory=1500)
        self.assertTrue(any(one.saved_mib <= 0 for one in advice.remedies))
        self.assertTrue(all(row["saved_mib"] > 0 for row in advice.rows))


if __name__ == "__main__":
    unittest.main()
