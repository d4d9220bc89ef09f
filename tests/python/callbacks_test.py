"""Callbacks of trainers: a warning before the first step, and only then."""

import contextlib
import io
import pathlib
import sys
import types
import unittest
import warnings
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "fakes"))

import foretell  # noqa: E402
import foretell.lightning  # noqa: E402
import foretell.transformers  # noqa: E402
import torch  # noqa: E402
from small_networks import Convolutions, DependsOnData  # noqa: E402

class Adapted(torch.nn.Module):
    """Two frozen layers of one kind, each with trained adapters, and a frozen head."""

    def __init__(self, kind):
        super().__init__()
        self.bases = torch.nn.ModuleList(kind(256, 256) for _ in range(2))
        self.lora_A = torch.nn.ModuleList(torch.nn.Linear(256, 4) for _ in range(2))
        self.lora_B = torch.nn.ModuleList(torch.nn.Linear(4, 256) for _ in range(2))
        self.head = torch.nn.Linear(256, 8)
        for name, parameter in self.named_parameters():
            parameter.requires_grad_("lora" in name)

    def forward(self, x):
        for base, first, second in zip(self.bases, self.lora_A, self.lora_B):
            x = base(x) + second(first(x))
        return self.head(x)


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

    def test_raises_where_that_is_asked_for(self):
        huge = {"image": torch.zeros(200_000, 3, 32, 32, device="meta")}
        check = foretell.transformers.MemoryCheck(device="rtx-3060", stop=True)
        with self.assertRaisesRegex(foretell.DoesNotFit, "does not fit on rtx-3060"):
            self.begin(check, huge)

    def asked(self, module=None, optimizer=None, **arguments):
        """The options of the question, which is not answered."""
        args = types.SimpleNamespace(**{"bf16": False, "fp16": False, **arguments})
        module = module or Convolutions()
        optimizer = optimizer or torch.optim.AdamW(module.parameters())
        check = foretell.transformers.MemoryCheck(device="rtx-3090")
        with mock.patch("foretell._check.fits") as fits:
            fits.side_effect = foretell.Error("not asked")
            given_by(lambda: check.on_train_begin(
                args, None, None, model=module, optimizer=optimizer,
                train_dataloader=[{"image": IMAGE}]))
        return fits.call_args.kwargs if fits.call_args else None

    def test_reads_the_arguments(self):
        options = self.asked(fp16=True, gradient_accumulation_steps=4)
        self.assertEqual(options["precision"], "fp16")
        self.assertEqual(options["accumulate"], 4)
        self.assertIs(options["loss_in_function"], True)
        self.assertNotIn("parallel", options)
        self.assertIsNone(self.asked(local_process_index=1))

    def test_reads_how_gpus_share_the_step(self):
        make = types.SimpleNamespace
        for arguments, expected in (
                ({}, "ddp:4"),
                ({"deepspeed_plugin": make(zero_stage=1)}, "zero1:4"),
                ({"deepspeed_plugin": make(zero_stage=2)}, "zero2:4"),
                ({"deepspeed_plugin": make(zero_stage=3)}, "fsdp:4"),
                ({"fsdp_plugin": make(fsdp_version=2)}, "fsdp:4"),
                ({"fsdp_plugin": make(fsdp_version=2, reshard_after_forward=False)},
                 "zero2:4"),
                ({"fsdp_plugin": make(fsdp_version=1)}, "fsdp1:4"),
                ({"fsdp_plugin": make(sharding_strategy=make(name="NO_SHARD"))},
                 "ddp:4")):
            options = self.asked(world_size=4, gradient_accumulation_steps=2, **arguments)
            self.assertEqual(options["parallel"], expected)
            self.assertEqual("accumulate" in options, expected == "ddp:4")
        options = self.asked(world_size=1, fsdp_plugin=make(activation_checkpointing=True))
        self.assertEqual(options["recompute"], "auto")

    def test_warns_of_offloading(self):
        make = types.SimpleNamespace
        from foretell._sharing import sharing_options

        for arguments, count in (
                ({"deepspeed_plugin": make(zero_stage=3, offload_param_device="cpu")}, 1),
                ({"deepspeed_plugin": make(zero_stage=3, offload_param_device="none")}, 0),
                ({"fsdp_plugin": make(cpu_offload=make(offload_params=True))}, 1),
                ({"fsdp_plugin": make(cpu_offload=make(offload_params=False))}, 0)):
            args = make(world_size=4, **arguments)
            self.assertEqual(len(given_by(lambda: sharing_options(args))), count)

    def test_reads_the_optimizer_inside_of_others(self):
        module = Convolutions()
        inner = torch.optim.SGD(module.parameters(), momentum=0.9)
        wrapped = types.SimpleNamespace(optimizer=types.SimpleNamespace(optimizer=inner))
        self.assertIs(self.asked(module, wrapped)["optimizer"], inner)
        unknown = type("FusedAdam", (), {"param_groups": []})()
        options = self.asked(module, unknown, optim="adamw_torch_fused")
        self.assertEqual((options["optimizer"], options["fused"]), ("adamw_torch", True))

    def test_takes_packed_layers_for_quantized_ones(self):
        from bitsandbytes.nn import Linear4bit, Linear8bitLt

        for kind, quantize in ((Linear4bit, "nf4,double"), (Linear8bitLt, "int8")):
            p = foretell.predict(Adapted(kind), torch.zeros(4, 256), device="rtx-3090",
                                 mode="training", optimizer="adamw")
            plain = foretell.predict(Adapted(torch.nn.Linear), torch.zeros(4, 256),
                                     device="rtx-3090", mode="training", optimizer="adamw")
            self.assertTrue(any(one.startswith(f"--quantize {quantize},skip=")
                                for one in p.setup), p.setup)
            self.assertLess(p.memory.parameters_mib, plain.memory.parameters_mib / 2)
            self.assertEqual(p.memory.optimizer_mib, plain.memory.optimizer_mib)

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
