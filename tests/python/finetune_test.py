"""foretell.finetune: what may stand for the model and its configurations."""

import dataclasses
import enum
import importlib.util
import json
import os
import pathlib
import subprocess
import tempfile
import types
import unittest
import warnings
from unittest import mock

import foretell
import torch
from foretell import _command, _configs
from small_networks import Decoder, Flattening

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = {name: importlib.util.find_spec(name) is not None
        for name in ("transformers", "peft")}
SIZES = {"vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
         "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4,
         "max_position_embeddings": 512}
QUICK = {"answer_only": True, "device": "rtx-3090"}


class Config:
    """As much of transformers.PretrainedConfig as is needed."""

    model_type = "llama"

    def to_dict(self):
        return {"model_type": "llama", "dtype": torch.bfloat16, **SIZES}


class Strategy(enum.Enum):
    EPOCH = "epoch"


class Arguments:
    """As much of transformers.TrainingArguments as is needed."""

    bf16 = True

    def to_dict(self):
        return {"output_dir": "out", "per_device_train_batch_size": 4, "bf16": True,
                "save_strategy": Strategy.EPOCH, "hub_token": "hf_secret",
                "warmup_ratio": float("nan"), "callback": print}


@dataclasses.dataclass
class Adapters:
    peft_type: str = "LORA"
    r: int = 8
    target_modules: set = dataclasses.field(default_factory=lambda: {"v", "q"})


class Asked:
    """Runs the program without its --config flags, of which it keeps words and
    contents."""

    def __init__(self):
        self.real = _command._call
        self.configs = []

    notes = ""

    def __call__(self, words):
        self.words = list(words)
        paths = [word.removeprefix("--config=") for word in words
                 if word.startswith("--config=")]
        self.configs += [(pathlib.Path(path).name, pathlib.Path(path).read_text())
                         for path in paths]
        self.paths = paths
        outcome = self.real([word for word in words
                             if not word.startswith("--config=")])
        outcome.stderr += self.notes
        return outcome


def asked_with(*args, **options):
    """The answer, and what the program was asked."""
    with mock.patch.object(_command, "_call", Asked()) as asked:
        answer = foretell.finetune(*args, **QUICK, **options)
    return answer, asked


class Answer(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.answer = foretell.finetune("zoo:gpt2?depth=2", method="lora", seq_len=64, batch=2,
                                       device="rtx-3090")

    def test_has_the_verdict_and_the_outlook(self):
        one = self.answer
        self.assertTrue(one)
        self.assertEqual(one.method, "lora")
        self.assertGreaterEqual(one.largest_batch, 2)
        self.assertGreaterEqual(one.longest_sequence, 64)
        low, high = one.interval_mib
        self.assertTrue(low <= one.peak_mib <= high)
        self.assertLessEqual(len(one.savings), 3)
        saved = [saving.saved_mib for saving in one.savings]
        self.assertEqual(saved, sorted(saved, reverse=True))

    def test_is_a_text_and_a_table(self):
        text = str(self.answer)
        for words in ("FITS", "batch        at most", "length       at most", "would save"):
            self.assertIn(words, text)
        self.assertIn("largest batch", repr(self.answer))
        self.assertIn("would save", self.answer._repr_html_())

    def test_has_a_prediction_that_answers_further_questions(self):
        p = self.answer.prediction
        again = foretell.predict("zoo:gpt2?depth=2", **p._options)
        self.assertEqual(again.memory.total_mib, p.memory.total_mib)

    def test_keeps_limits(self):
        answer, _ = asked_with("zoo:gpt2?depth=2", seq_len=64, max_memory=100)
        self.assertFalse(answer)
        self.assertIsNone(answer.largest_batch)
        self.assertEqual(answer.savings, [])

    def test_says_what_is_wrong(self):
        with self.assertRaisesRegex(foretell.Error, "method"):
            foretell.finetune("zoo:gpt2", method="analytic")
        with self.assertRaisesRegex(foretell.Error, "finetune answers one batch"):
            foretell.finetune("zoo:gpt2", batch=[1, 2])


class Networks(unittest.TestCase):

    def test_are_configurations_in_memory(self):
        answer, asked = asked_with(Config(), seq_len=64)
        self.assertEqual(answer.prediction.format, "zoo")
        self.assertIn("Config?seq=64", answer.prediction.model)
        self.assertFalse(pathlib.Path(asked.words[1]).is_relative_to(ROOT))
        folder = pathlib.Path(answer.prediction._opened.path)
        self.assertEqual(json.loads((folder / "config.json").read_text())["dtype"],
                         "bfloat16")
        del answer
        self.assertFalse(folder.exists())

    def test_are_folders_and_names_in_the_cache(self):
        fields = _configs.fields_of(Config())
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, "models--some--net", "snapshots", "1")
            place.mkdir(parents=True)
            (place / "config.json").write_text(json.dumps(fields))
            with mock.patch.dict(os.environ, HF_HUB_CACHE=folder):
                for name in (str(place), place / "config.json", "some/net"):
                    answer, _ = asked_with(name, seq_len=64)
                    self.assertEqual(answer.prediction.format, "zoo")
                self.assertIn("some/net", answer.prediction.model)

    def test_in_memory_count_as_they_are(self):
        ids = torch.zeros(2, 16, dtype=torch.long)
        inputs = {"ids": ids, "labels": ids}
        answer, asked = asked_with(Decoder(), inputs=inputs)
        self.assertIn("--method=full", asked.words)
        self.assertIn("--precision=fp32", asked.words)
        self.assertIn("--no-checkpointing", asked.words)
        self.assertEqual(answer.prediction.setup, ["--loss-in-function"])
        answer, asked = asked_with(Decoder(checkpoints=True).to(torch.bfloat16),
                                   inputs=inputs)
        self.assertIn("--precision=bf16", asked.words)
        self.assertIn("--recompute blocks.*", answer.prediction.setup)

    def test_in_memory_whose_code_fixes_the_batch_are_not_searched(self):
        class Fixed(Flattening):
            def forward(self, image):
                return self.head(self.conv(image).view(2, -1))

        with self.assertWarnsRegex(foretell.Warning, "larger batches are not searched"):
            answer = foretell.finetune(Fixed(), inputs=torch.zeros(2, 3, 16, 16),
                                       device="rtx-3090")
        self.assertIsNone(answer.largest_batch)

    def test_in_memory_need_inputs(self):
        with self.assertRaisesRegex(foretell.Error, "Decoder: .* give an example as inputs"):
            foretell.finetune(Decoder())


@unittest.skipUnless(HERE["transformers"], "transformers is not installed")
class NetworksOfTransformers(unittest.TestCase):

    def setUp(self):
        context = warnings.catch_warnings()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def made(self):
        import transformers

        with torch.device("meta"):
            return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES))

    def test_need_only_a_length(self):
        answer = foretell.finetune(self.made(), seq_len=64, batch=2, device="rtx-3090")
        self.assertEqual([one["shape"] for one in answer.prediction.inputs], 2 * [[2, 64]])
        self.assertGreaterEqual(answer.largest_batch, 2)
        with self.assertRaisesRegex(foretell.Error, "seq_len= is missing"):
            foretell.finetune(self.made())

    def test_of_one_configuration_need_the_same_memory(self):
        """The network of the zoo and the exported one: independent traces."""
        module = self.made()
        options = {"method": "full", "seq_len": 128, "batch": 8, "precision": "fp32",
                   "gradient_checkpointing": False, **QUICK}
        exported = foretell.finetune(module, **options).prediction.memory
        listed = foretell.finetune(module.config, **options).prediction.memory
        self.assertLess(abs(exported.allocated_mib / listed.allocated_mib - 1), 0.05)

    @unittest.skipUnless(HERE["peft"], "peft is not installed")
    def test_of_peft_train_their_adapters(self):
        import peft

        module = peft.get_peft_model(self.made(), peft.LoraConfig(
            r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
        answer = foretell.finetune(module, seq_len=64, batch=2, **QUICK)
        trained = sum(one.numel() for one in module.parameters() if one.requires_grad)
        self.assertAlmostEqual(answer.prediction.memory.optimizer_mib,
                               2 * 4 * trained / 2**20, places=2)


class Configurations(unittest.TestCase):

    def test_are_written_for_the_program_and_deleted(self):
        _, asked = asked_with("zoo:gpt2?depth=2", Arguments(), Adapters(), seq_len=64)
        (first, arguments), (second, adapters) = asked.configs
        self.assertEqual((first, second), ("training_args.json", "adapter_config.json"))
        self.assertEqual(json.loads(arguments), {
            "output_dir": "out", "per_device_train_batch_size": 4, "bf16": True,
            "save_strategy": "epoch"})
        self.assertEqual(json.loads(adapters),
                         {"peft_type": "LORA", "r": 8, "target_modules": ["q", "v"]})
        self.assertFalse(any(map(os.path.exists, asked.paths)))

    def test_never_hold_secrets(self):
        secret = {"hub_token": "x", "push_to_hub_token": "x", "wandb_api_key": "x",
                  "token": "x", "nested": [{"HF_TOKEN": "x", "kept": 1}]}
        self.assertEqual(_configs.fields_of(secret), {"nested": [{"kept": 1}]})
        fields = {"scale_key": True, "image_token": 7}
        self.assertEqual(_configs.fields_of(fields), fields)

    def test_are_dicts_and_paths_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "adapter_config.json")
            path.write_text('{"peft_type": "LORA"}')
            _, asked = asked_with("zoo:gpt2?depth=2", {"bf16": False}, path, seq_len=64)
            self.assertEqual(asked.configs, [("training_args.json", '{\n "bf16": false\n}'),
                                             (path.name, path.read_text())])
            self.assertTrue(path.exists())

    def test_leave_the_method_to_the_program(self):
        _, asked = asked_with("zoo:gpt2?depth=2", {}, seq_len=64)
        self.assertFalse([word for word in asked.words if "--method" in word])
        _, asked = asked_with("zoo:gpt2?depth=2", {}, seq_len=64, method="qlora")
        self.assertIn("--method=qlora", asked.words)

    def test_of_adapters_are_those_of_a_module(self):
        ids = {"ids": torch.zeros(2, 16, dtype=torch.long)}
        _, asked = asked_with(Decoder(), peft_config=Adapters(), inputs=ids,
                              lora="r=4,targets=head")
        self.assertFalse([word for word in asked.words if "--method" in word])

    def test_that_are_not_modelled_are_warnings(self):
        notes = ("foretell: training_args.json (transformers 5.24.0): --batch 8\n"
                 "foretell: not modelled: torch_compile=true\n")
        with (mock.patch.object(Asked, "notes", notes),
              self.assertWarnsRegex(foretell.Warning, "^not modelled: torch_compile=true$")):
            asked_with("zoo:gpt2?depth=2", {}, seq_len=64)

    def test_are_named_without_their_folder(self):
        def refuse(words):
            path = words[-2].removeprefix("--config=")
            return subprocess.CompletedProcess(
                words, 2, "", f"foretell: error: {path}: optim is 3, expected text")

        with (mock.patch.object(_command, "_call", refuse),
              self.assertRaisesRegex(foretell.Error, "^training_args.json: optim is 3")):
            foretell.finetune("zoo:gpt2?depth=2", {"optim": 3})

    def test_keep_the_types_of_a_module(self):
        ids = {"ids": torch.zeros(2, 16, dtype=torch.long)}
        for settings, module, expected in (
                ({"bf16": True}, Decoder(), ["--autocast", "--precision=bf16"]),
                ({"bf16": False}, Decoder(), ["--precision=fp32"]),
                (Arguments(), Decoder(), ["--autocast", "--precision=bf16"]),
                ({}, Decoder().half(), ["--precision=fp16"])):
            _, asked = asked_with(module, settings, inputs=ids, method="full")
            said = [word for word in asked.words
                    if word.startswith(("--precision", "--autocast"))]
            self.assertEqual(sorted(said), expected)
            self.assertNotIn("--no-checkpointing", asked.words)

    def test_of_other_kinds_are_refused(self):
        with self.assertRaisesRegex(foretell.Error, "a configuration is a int, expected"):
            foretell.finetune("zoo:gpt2", 3)

    @unittest.skipUnless(all(HERE.values()), "transformers or peft is not installed")
    def test_of_the_real_classes_are_json(self):
        import peft
        import transformers

        arguments = transformers.TrainingArguments("out", hub_token="secret", use_cpu=True)
        fields = _configs.fields_of(arguments)
        self.assertNotIn("secret", json.dumps(fields))
        self.assertEqual(fields["per_device_train_batch_size"], 8)
        adapters = _configs.fields_of(peft.LoraConfig(target_modules=["q", "v"]))
        self.assertEqual(adapters["peft_type"], "LORA")
        self.assertEqual(adapters["target_modules"], ["q", "v"])


if __name__ == "__main__":
    unittest.main()
