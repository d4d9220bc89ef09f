"""Networks of transformers, PEFT's too, as their users make them."""

import importlib.util
import os
import pathlib
import tempfile
import unittest
import warnings
from unittest import mock

import foretell
import torch

HERE = importlib.util.find_spec("transformers") is not None
IDS = torch.zeros(2, 16, dtype=torch.long)
SMALL = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
         "num_attention_heads": 4, "vocab_size": 100}
GROUPED = SMALL | {"num_key_value_heads": 2}
CODER = {"d_model": 64, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
         "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "vocab_size": 100}
CAUSAL = (("Llama", GROUPED), ("Qwen2", GROUPED), ("Qwen3", GROUPED | {"head_dim": 16}),
          ("Mistral", GROUPED), ("Gemma", GROUPED | {"head_dim": 16}), ("Phi", SMALL),
          ("OPT", {"hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 2,
                   "num_attention_heads": 4, "vocab_size": 100,
                   "word_embed_proj_dim": 64}))


def made(network, kind, sizes):
    """A network of transformers on the meta device."""
    import transformers

    config = getattr(transformers, f"{kind}Config")(**sizes)
    with torch.device("meta"):
        return getattr(transformers, network)(config)


def causal(kind="Llama", sizes=GROUPED):
    return made(f"{kind}ForCausalLM", kind, sizes)


@unittest.skipUnless(HERE, "transformers is not installed")
class Networks(unittest.TestCase):

    def setUp(self):
        context = warnings.catch_warnings()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def expect(self, module, inputs, labels):
        name = type(module).__name__
        with self.subTest(network=name):
            self.assertEqual(foretell.predict(module, inputs).parameters,
                             sum(one.numel() for one in module.parameters()))
        for options in ({}, {"precision": "bf16"}):
            with self.subTest(network=name, labels=True, **options):
                answer = foretell.predict(module, inputs | labels, mode="training",
                                          optimizer="adamw", **options)
                self.assertGreater(answer.memory.optimizer_mib, 0)

    def test_of_causal_language_are_answered(self):
        for kind, sizes in CAUSAL:
            self.expect(causal(kind, sizes), {"input_ids": IDS}, {"labels": IDS})
        self.expect(made("GPT2LMHeadModel", "GPT2", {"n_embd": 64, "n_layer": 2,
                                                     "n_head": 4, "vocab_size": 100}),
                    {"input_ids": IDS}, {"labels": IDS})

    def test_of_experts_are_answered_in_16_bits(self):
        """In 32 bits transformers runs an operator of its own, which has no kernel."""
        module = causal("Mixtral", GROUPED | {"num_local_experts": 4})
        inputs = {"input_ids": IDS, "labels": IDS}
        answer = foretell.predict(module, inputs, mode="training", precision="bf16")
        self.assertEqual(answer.precision, "bf16")

    def test_of_other_tasks_are_answered(self):
        classes = {"labels": torch.zeros(2, dtype=torch.long)}
        self.expect(made("BertForSequenceClassification", "Bert", SMALL),
                    {"input_ids": IDS, "attention_mask": torch.ones_like(IDS)}, classes)
        self.expect(made("ViTForImageClassification", "ViT",
                         {**SMALL, "image_size": 32, "patch_size": 8}),
                    {"pixel_values": torch.zeros(2, 3, 32, 32)}, classes)
        self.expect(made("T5ForConditionalGeneration", "T5",
                         {"d_model": 64, "d_ff": 128, "num_layers": 2, "num_heads": 4,
                          "d_kv": 16, "vocab_size": 100}),
                    {"input_ids": IDS, "decoder_input_ids": IDS}, {"labels": IDS})
        self.expect(made("WhisperForConditionalGeneration", "Whisper",
                         {**CODER, "max_source_positions": 50, "num_mel_bins": 16,
                          "max_target_positions": 40, "pad_token_id": 0,
                          "bos_token_id": 1, "eos_token_id": 2,
                          "decoder_start_token_id": 1}),
                    {"input_features": torch.zeros(2, 16, 100),
                     "decoder_input_ids": IDS}, {"labels": IDS})

    def test_whose_forward_looks_at_labels_take_them_for_classes(self):
        classes = torch.zeros(2, dtype=torch.long)
        for kind in ("DebertaV2", "Deberta"):
            module = made(f"{kind}ForSequenceClassification", kind, SMALL)
            self.expect(module, {"input_ids": IDS}, {"labels": classes})
            self.assertIsNone(module.config.problem_type)

    def test_that_give_their_loss_on_demand_are_trained_by_it(self):
        text = SMALL | {"projection_dim": 32, "max_position_embeddings": 32,
                        "bos_token_id": 0, "eos_token_id": 1}
        vision = {**SMALL, "image_size": 32, "patch_size": 8}
        module = made("CLIPModel", "CLIP", {"text_config": text, "projection_dim": 32,
                                            "vision_config": vision})
        inputs = {"input_ids": IDS, "pixel_values": torch.zeros(2, 3, 32, 32)}
        asked = foretell.predict(module, inputs | {"return_loss": True}, mode="training")
        answer = foretell.predict(module, inputs, mode="training")
        self.assertEqual(answer.loss, "first output, a scalar")
        self.assertEqual(answer.memory.total_mib, asked.memory.total_mib)
        refused = foretell.predict(module, inputs | {"return_loss": False},
                                   mode="training")
        self.assertIn("means", refused.loss)

    def test_with_checkpoints_compute_layers_again(self):
        inputs = {"input_ids": IDS, "labels": IDS}
        module = causal()
        whole = foretell.predict(module, inputs, mode="training",
                                 recompute="model.layers.*")
        module.gradient_checkpointing_enable()
        answer = foretell.predict(module, inputs, mode="training")
        self.assertEqual(answer.setup, ["--recompute model.layers.*"])
        self.assertEqual(answer.memory.total_mib, whole.memory.total_mib)

    def test_with_caches_as_arguments_are_answered(self):
        import transformers

        module = causal().to_empty(device="cpu")
        with torch.no_grad():
            cache = module(IDS, use_cache=True).past_key_values
        answer = foretell.predict(module, {"input_ids": IDS[:, :1],
                                           "past_key_values": cache})
        self.assertEqual([one["shape"] for one in answer.inputs],
                         [[2, 1]] + 4 * [[2, 2, 16, 16]])

    def test_of_peft_train_their_adapters(self):
        if importlib.util.find_spec("peft") is None:
            self.skipTest("peft is not installed")
        import peft

        module = peft.get_peft_model(causal(), peft.LoraConfig(
            r=4, target_modules=["q_proj", "v_proj"]))
        module.gradient_checkpointing_enable()
        answer = foretell.predict(module, {"input_ids": IDS, "labels": IDS},
                                  mode="training", optimizer="adamw")
        trained = sum(one.numel() for one in module.parameters() if one.requires_grad)
        self.assertAlmostEqual(answer.memory.optimizer_mib, 2 * 4 * trained / 2**20,
                               places=2)

    def test_are_named_by_their_configuration(self):
        module = causal()
        module.config.architectures = ["LlamaForCausalLM"]
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder, "models--some--net", "snapshots", "1")
            module.config.save_pretrained(place)
            with mock.patch.dict(os.environ, HF_HUB_CACHE=folder):
                for name in (str(place), "some/net"):
                    answer = foretell.predict(name, batch=4, dim={"sequence": 32})
                    self.assertEqual(answer.inputs[0]["shape"], [4, 32])
                with self.assertRaisesRegex(foretell.Error, "hf download some/other"):
                    foretell.predict("some/other", batch=4)


if __name__ == "__main__":
    unittest.main()
