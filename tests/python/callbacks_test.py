"""Callbacks of trainers: a warning before the first step, and only then."""

import contextlib
import io
import pathlib
import sys
import types
import unittest
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "fakes"))

import foretell  # noqa: E402
import foretell.lightning  # noqa: E402
import foretell.transformers  # noqa: E402
import torch  # noqa: E402
from small_networks import Convolutions, DependsOnData  # noqa: E402

IMAGE = torch.zeros(2, 3, 16, 16)


def given_by(call):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in given
            if issubclass(one.category, foretell.Warning)]


class Lightning(unittest.TestCase):

    def run_step(self, check, module, batch, times=1):
        trainer = types.SimpleNamespace(
            precision="32-true",
            optimizers=[torch.optim.AdamW(Convolutions().parameters())])
        return given_by(lambda: [check.on_train_batch_start(trainer, module, batch, i)
                                 for i in range(times)])

    def test_says_on_one_line_that_the_step_fits(self):
        check = foretell.lightning.MemoryCheck(device="a100-sxm4-40gb")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(self.run_step(check, Convolutions(), (IMAGE, None)), [])
        self.assertRegex(said.getvalue(), r"\Aforetell: .*Convolutions fits.*\n\Z")
        self.assertIs(check.fits, True)

    def test_warns_once_where_it_does_not(self):
        check = foretell.lightning.MemoryCheck(device="a100-sxm4-40gb",
                                               profile="1g.5gb")
        huge = torch.zeros(200_000, 3, 32, 32, device="meta")
        (text,) = self.run_step(check, Convolutions(), (huge, None), times=3)
        self.assertRegex(text, r"^foretell: .*Convolutions does not fit on "
                               r"a100-sxm4-40gb 1g.5gb: up to \d+ MiB, of 4864 MiB")
        self.assertIs(check.fits, False)

    def test_never_stops_a_training(self):
        check = foretell.lightning.MemoryCheck(device="a100-sxm4-40gb")
        (text,) = self.run_step(check, DependsOnData(), (torch.ones(3), None))
        self.assertIn("cannot be told", text)
        self.assertIsNone(check.fits)

    @unittest.skipIf(torch.cuda.is_available(), "there is a GPU here")
    def test_says_that_there_is_no_gpu(self):
        (text,) = self.run_step(foretell.lightning.MemoryCheck(), Convolutions(),
                                (IMAGE, None))
        self.assertRegex(text, "foretell: .*no CUDA device")


class Transformers(unittest.TestCase):

    def begin(self, check, batch, **arguments):
        args = types.SimpleNamespace(**{"bf16": False, "fp16": False, **arguments})
        module = Convolutions()
        optimizer = torch.optim.AdamW(module.parameters())
        wrapped = types.SimpleNamespace(optimizer=optimizer)
        return given_by(lambda: check.on_train_begin(
            args, None, None, model=module, optimizer=wrapped,
            train_dataloader=[batch]))

    def test_warns_where_the_step_does_not_fit(self):
        check = foretell.transformers.MemoryCheck(device="rtx-3060")
        (text,) = self.begin(check, {"image": torch.zeros(200_000, 3, 32, 32,
                                                          device="meta")})
        self.assertIn("does not fit on rtx-3060", text)
        self.assertEqual(self.begin(check, {"image": IMAGE}, bf16=True), [])
        self.assertIs(check.fits, True)

    def test_leaves_the_order_of_batches_alone(self):
        loader = torch.utils.data.DataLoader(
            [{"image": image} for image in torch.arange(8.)], shuffle=True)
        torch.manual_seed(0)
        expected = [float(batch["image"]) for batch in loader]
        torch.manual_seed(0)
        foretell.transformers._first_batch(loader)
        self.assertEqual([float(batch["image"]) for batch in loader], expected)


class Words(unittest.TestCase):

    def test_for_precision_become_flags(self):
        from foretell._check import precision_options

        self.assertEqual(precision_options("32-true"), {"precision": "fp32"})
        self.assertEqual(precision_options("bf16-mixed"),
                         {"autocast": True, "precision": "bf16"})
        self.assertEqual(precision_options("16-mixed"),
                         {"autocast": True, "precision": "fp16"})
        self.assertEqual(precision_options("bf16-true"), {"precision": "bf16"})

    def test_of_drivers_name_cards_of_the_catalogue(self):
        from foretell._local import _known

        self.assertEqual(_known("NVIDIA A100-SXM4-40GB", 40_400), "a100-sxm4-40gb")
        self.assertEqual(_known("NVIDIA GeForce RTX 3090", 24_100), "rtx-3090")
        self.assertIsNone(_known("NVIDIA GeForce RTX 3090", 12_000))
        self.assertIsNone(_known("NVIDIA GeForce GTX 970", 4_000))


if __name__ == "__main__":
    unittest.main()
