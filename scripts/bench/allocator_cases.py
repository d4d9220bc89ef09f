"""The cases of measure_allocator.py: which models, at which settings.

Tables of models with their batch, combined with lists of settings that are
walked through in step (`cycle`), so the list is the same at every call. The
batches are for a peak of about 1 to 14 GB, hence four cases fit on a device
of 80 GB at once.
"""

import hashlib
import itertools
import json

DEFAULTS = {
    "source": None, "model": None, "config": {}, "task": None,
    "mode": "training", "loss": "own", "batch": 1, "size": None, "seq": None,
    "mask": None, "precision": "fp32", "optimizer": "adamw",
    "optimizer_options": {}, "set_to_none": True,
    "zero_grad": "before_forward", "outputs": "dropped", "checkpointing": None,
    "lora": None, "accumulation": 1, "clip": None, "attention": None,
    "use_cache": None, "channels_last": False, "cudnn_benchmark": False,
    "allocator": None, "construction": "device", "runtime": "eager",
    "steps": 4,
}

# name -> (optimizer, its options)
OPTIMIZERS = {
    "adamw": ("adamw", {}),
    "adamw_fused": ("adamw", {"fused": True}),
    "adamw_foreach": ("adamw", {"foreach": True}),
    "adamw_loop": ("adamw", {"foreach": False}),
    "adam": ("adam", {}),
    "adam_amsgrad": ("adam", {"amsgrad": True}),
    "sgd": ("sgd", {"lr": 1e-4}),
    "momentum": ("sgd", {"lr": 1e-4, "momentum": 0.9}),
    "momentum_fused": ("sgd", {"lr": 1e-4, "momentum": 0.9, "fused": True}),
    "momentum_loop": ("sgd", {"lr": 1e-4, "momentum": 0.9, "foreach": False}),
    "nesterov": ("sgd", {"lr": 1e-4, "momentum": 0.9, "nesterov": True}),
    "rmsprop": ("rmsprop", {"momentum": 0.9}),
    "adagrad": ("adagrad", {}),
    "nadam": ("nadam", {}),
    "adamax": ("adamax", {}),
    "adafactor_torch": ("adafactor_torch", {}),
    "adafactor_hf": ("adafactor_hf", {}),
    "adafactor_hf_fixed": ("adafactor_hf", {
        "scale_parameter": False, "relative_step": False, "lr": 1e-4}),
    "sparse_adam": ("sparse_adam", {}),
}


def optimizer(name):
    kind, options = OPTIMIZERS[name]
    return {"optimizer": kind, "optimizer_options": options}


def case(**fields):
    unknown = set(fields) - set(DEFAULTS)
    if unknown:
        raise ValueError(f"unknown fields of a case: {sorted(unknown)}")
    return dict(DEFAULTS, **fields)


def identity(definition):
    """A readable name with a digest of the whole definition."""
    digest = hashlib.sha256(json.dumps(
        definition, sort_keys=True).encode()).hexdigest()[:10]
    return "/".join((definition["source"], definition["model"],
                     definition["mode"], definition["runtime"], digest))


# --- vision ------------------------------------------------------------------

# model, image size, batch
TIMM = [
    ("resnet18", 224, 64), ("resnet50", 224, 48), ("resnet101d", 256, 24),
    ("resnext50_32x4d", 224, 40), ("seresnet50", 224, 37),
    ("wide_resnet50_2", 224, 32), ("resnetv2_50", 224, 40),
    ("resnest50d", 224, 24), ("ecaresnet26t", 256, 48),
    ("regnety_032", 224, 48), ("regnetx_008", 224, 96),
    ("regnety_160", 224, 24), ("efficientnet_b0", 224, 64),
    ("efficientnet_b3", 300, 20), ("tf_efficientnetv2_s", 300, 20),
    ("efficientnet_lite0", 224, 64), ("mobilenetv3_large_100", 224, 96),
    ("mobilenetv2_100", 224, 64), ("mobilenetv4_conv_small", 224, 128),
    ("mnasnet_100", 224, 64), ("ghostnet_100", 224, 96),
    ("densenet121", 224, 40), ("densenet201", 224, 20),
    ("convnext_tiny", 224, 40), ("convnext_base", 224, 20),
    ("convnextv2_nano", 224, 48), ("vit_tiny_patch16_224", 224, 96),
    ("vit_small_patch16_224", 224, 64), ("vit_base_patch16_224", 224, 48),
    ("vit_large_patch16_224", 224, 12), ("vit_base_patch32_224", 224, 96),
    ("vit_small_patch14_dinov2", 518, 6), ("deit3_small_patch16_224", 224, 64),
    ("deit_base_distilled_patch16_224", 224, 32),
    ("beit_base_patch16_224", 224, 24), ("cait_xxs24_224", 224, 24),
    ("swin_tiny_patch4_window7_224", 224, 48),
    ("swin_base_patch4_window7_224", 224, 16),
    ("swinv2_tiny_window8_256", 256, 24), ("nfnet_f0", 192, 32),
    ("dm_nfnet_f0", 192, 24), ("maxvit_tiny_rw_224", 224, 20),
    ("coatnet_0_rw_224", 224, 32), ("poolformer_s12", 224, 64),
    ("mixer_b16_224", 224, 48), ("gmlp_s16_224", 224, 48),
    ("resmlp_12_224", 224, 96), ("xcit_small_12_p16_224", 224, 32),
    ("pvt_v2_b1", 224, 48), ("twins_svt_small", 224, 40),
    ("mobilevit_s", 256, 40), ("levit_256", 224, 128),
    ("edgenext_small", 256, 48), ("focalnet_tiny_srf", 224, 32),
    ("davit_tiny", 224, 32), ("hrnet_w18", 224, 24), ("dla34", 224, 64),
    ("repvgg_a2", 224, 64), ("vgg16_bn", 224, 24), ("inception_v4", 299, 24),
    ("xception41", 299, 16), ("fastvit_t8", 256, 64),
    ("efficientformer_l1", 224, 64), ("rexnet_100", 224, 64),
    ("cspdarknet53", 256, 32), ("tinynet_a", 192, 96),
    ("convmixer_768_32", 224, 8), ("crossvit_small_240", 240, 24),
    ("volo_d1_224", 224, 16), ("tnt_s_patch16_224", 224, 24),
    ("hiera_tiny_224", 224, 32), ("eva02_tiny_patch14_224", 224, 48),
]
VISION_PRECISIONS = ["fp32", "bf16_autocast", "fp32", "fp16_autocast", "bf16",
                     "fp32", "bf16_autocast", "fp16"]
VISION_OPTIMIZERS = ["momentum", "adamw", "adamw_fused", "sgd", "adam",
                     "momentum_fused", "rmsprop", "adamw_loop", "nesterov",
                     "momentum_loop", "adamw_foreach"]
CHECKPOINTED_VISION = ("vit_large_patch16_224", "swin_base_patch4_window7_224",
                       "convnext_base", "regnety_160", "resnet101d")
# Applied to every case, the last of all its settings, by position.
VISION_EXTRAS = [
    {}, {"channels_last": True}, {}, {"cudnn_benchmark": True},
    {"outputs": "kept"}, {"zero_grad": "after_step"}, {"construction": "to"},
    {"construction": "to", "channels_last": True},
    {"set_to_none": False}, {"clip": 1.0, "construction": "to"},
    {"accumulation": 2}, {"zero_grad": "before_backward", "outputs": "kept"},
    {"construction": "to", "cudnn_benchmark": True, "channels_last": True},
]
TORCHVISION = [
    # model, task, size, batch, config
    ("resnet50", "classification", 224, 64, {}),
    ("alexnet", "classification", 224, 512, {}),
    ("vgg11", "classification", 224, 48, {}),
    ("squeezenet1_1", "classification", 224, 128, {}),
    ("googlenet", "classification", 224, 64, {"init_weights": False}),
    ("inception_v3", "classification", 299, 32, {"init_weights": False}),
    ("shufflenet_v2_x1_0", "classification", 224, 128, {}),
    ("mobilenet_v3_small", "classification", 224, 192, {}),
    ("efficientnet_v2_s", "classification", 300, 16, {}),
    ("regnet_y_1_6gf", "classification", 224, 48, {}),
    ("swin_v2_t", "classification", 256, 24, {}),
    ("vit_b_16", "classification", 224, 32, {}),
    ("convnext_small", "classification", 224, 20, {}),
    ("maxvit_t", "classification", 224, 16, {}),
    ("deeplabv3_resnet50", "segmentation", 512, 4, {}),
    ("deeplabv3_resnet50", "segmentation", 321, 8, {"aux_loss": True}),
    ("deeplabv3_mobilenet_v3_large", "segmentation", 512, 12, {}),
    ("fcn_resnet50", "segmentation", 513, 4, {}),
    ("lraspp_mobilenet_v3_large", "segmentation", 512, 16, {}),
    ("fasterrcnn_resnet50_fpn", "detection", 640, 2, {}),
    ("fasterrcnn_mobilenet_v3_large_fpn", "detection", 800, 4, {}),
    ("maskrcnn_resnet50_fpn", "detection", 512, 2, {}),
    ("retinanet_resnet50_fpn", "detection", 512, 4, {}),
    ("ssd300_vgg16", "detection", 300, 16, {}),
    ("ssdlite320_mobilenet_v3_large", "detection", 320, 24, {}),
    ("fcos_resnet50_fpn", "detection", 512, 3, {}),
    ("r3d_18", "video", [3, 8, 112, 112], 8, {}),
    ("r2plus1d_18", "video", [3, 16, 112, 112], 4, {}),
    ("mvit_v2_s", "video", [3, 16, 224, 224], 2, {}),
    ("swin3d_t", "video", [3, 8, 224, 224], 4, {}),
]


def cycle(values):
    return itertools.cycle(values)


def timm_cases():
    precisions, optimizers = cycle(VISION_PRECISIONS), cycle(VISION_OPTIMIZERS)
    extras, losses = cycle(VISION_EXTRAS), cycle(
        ["cross_entropy", "label_smoothing", "cross_entropy", "bce"])
    for index, (model, size, batch) in enumerate(TIMM):
        fields = dict(source="timm", model=model, size=size, batch=batch,
                      task="classification")
        extra = next(extras)
        precision = next(precisions)
        # Pure fp16 cannot do without a scale: SGD alone stays sensible.
        name = "momentum" if precision == "fp16" else next(optimizers)
        yield case(**fields, loss=next(losses), precision=precision,
                   **optimizer(name), **extra)
        if model in CHECKPOINTED_VISION:
            yield case(**dict(fields, batch=2 * batch), loss="cross_entropy",
                       precision="bf16_autocast", checkpointing="timm",
                       **optimizer("adamw"))
        elif index % 3 == 1:
            yield case(**dict(fields, batch=4 * batch), mode="inference",
                       precision=("fp32", "fp16", "bf16_autocast", "bf16")[
                           index % 4],
                       channels_last=index % 2 == 0,
                       cudnn_benchmark=index % 5 == 0)


def torchvision_cases():
    precisions, optimizers = cycle(
        ["fp32", "fp16_autocast", "bf16_autocast"]), cycle(VISION_OPTIMIZERS)
    extras = cycle(VISION_EXTRAS)
    for model, task, size, batch, config in TORCHVISION:
        extra = dict(next(extras))
        if task in ("detection", "video"):
            extra.pop("channels_last", None)
        yield case(source="torchvision", model=model, task=task, size=size,
                   batch=batch, config=config, loss="cross_entropy"
                   if task != "detection" else "own",
                   precision="fp32" if task == "detection"
                   else next(precisions),
                   **optimizer(next(optimizers)), **extra)
    for model, task, size, batch in (
            ("fasterrcnn_resnet50_fpn", "detection", 800, 4),
            ("deeplabv3_resnet101", "segmentation", 520, 8),
            ("r3d_18", "video", [3, 16, 112, 112], 16)):
        yield case(source="torchvision", model=model, task=task, size=size,
                   batch=batch, mode="inference")


# width, depth, dims, extent, batch, further options of UNet
UNETS = [
    (64, 4, 2, [256, 256], 8, {}),
    (32, 4, 2, [512, 512], 4, {"up": "interpolate"}),
    (48, 3, 2, [240, 320], 8, {"padding": "dilated", "dilation": 2}),
    (64, 3, 2, [256, 256], 6, {"groups": 8, "norm": "group"}),
    (16, 3, 3, [64, 96, 96], 2, {}),
    (32, 3, 3, [64, 64, 64], 2, {"norm": "group", "up": "interpolate"}),
    (32, 5, 1, [16384], 32, {}),
]


def unet_cases():
    settings = cycle([("fp32", "adam", {}), ("bf16_autocast", "adamw", {}),
                      ("fp16_autocast", "adam", {"outputs": "kept"}),
                      ("fp32", "momentum", {"cudnn_benchmark": True})])
    for width, depth, dims, extent, batch, options in UNETS:
        precision, name, extra = next(settings)
        yield case(source="module", model="unet", task="module", loss="mse",
                   batch=batch, precision=precision, **optimizer(name),
                   config=dict(width=width, depth=depth, dims=dims, channels=2,
                               extent=extent, **options), **extra)


# --- language ----------------------------------------------------------------


def llama(width, inner, layers, heads, kv, vocabulary, **more):
    return dict(hidden_size=width, intermediate_size=inner,
                num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=kv, vocab_size=vocabulary,
                max_position_embeddings=8192, **more)


CAUSAL = {
    # name -> (class, config)
    "llama_125m": ("LlamaForCausalLM", llama(768, 2048, 12, 12, 12, 32000)),
    "llama_350m": ("LlamaForCausalLM", llama(1024, 2816, 24, 16, 16, 32000)),
    "llama_1b": ("LlamaForCausalLM", llama(2048, 5632, 22, 32, 4, 32000)),
    "llama32_1b": ("LlamaForCausalLM", llama(
        2048, 8192, 16, 32, 8, 128256, tie_word_embeddings=True)),
    "llama_3b": ("LlamaForCausalLM", llama(
        3072, 8192, 28, 24, 8, 128256, tie_word_embeddings=True)),
    "qwen2_05b": ("Qwen2ForCausalLM", llama(
        896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True)),
    "qwen3_06b": ("Qwen3ForCausalLM", llama(
        1024, 3072, 28, 16, 8, 151936, head_dim=128,
        tie_word_embeddings=True)),
    "mistral_300m": ("MistralForCausalLM", llama(
        1024, 3584, 16, 16, 8, 32768, sliding_window=1024)),
    "gemma2_400m": ("Gemma2ForCausalLM", llama(
        1024, 4096, 12, 8, 4, 256000, head_dim=128, sliding_window=512)),
    "phi3_200m": ("Phi3ForCausalLM", llama(
        1024, 2816, 12, 16, 16, 32064, pad_token_id=0)),
    "gpt2": ("GPT2LMHeadModel", dict(n_layer=12, vocab_size=50257)),
    "gpt2_medium": ("GPT2LMHeadModel", dict(
        n_embd=1024, n_layer=24, n_head=16, vocab_size=50257)),
    "pythia_160m": ("GPTNeoXForCausalLM", dict(
        hidden_size=768, intermediate_size=3072, num_hidden_layers=12,
        num_attention_heads=12, vocab_size=50304)),
    "pythia_410m": ("GPTNeoXForCausalLM", dict(
        hidden_size=1024, intermediate_size=4096, num_hidden_layers=24,
        num_attention_heads=16, vocab_size=50304)),
    "opt_125m": ("OPTForCausalLM", dict(num_hidden_layers=12,
                                        vocab_size=50272)),
    "opt_350m": ("OPTForCausalLM", dict(
        hidden_size=1024, ffn_dim=4096, num_hidden_layers=24,
        num_attention_heads=16, word_embed_proj_dim=512,
        do_layer_norm_before=False, vocab_size=50272)),
    "bloom_560m": ("BloomForCausalLM", dict(
        hidden_size=1024, n_layer=24, n_head=16, vocab_size=250880)),
    "mixtral_150m": ("MixtralForCausalLM", llama(
        512, 1024, 8, 8, 4, 32000, num_local_experts=8)),
    "qwen2moe_200m": ("Qwen2MoeForCausalLM", llama(
        512, 1408, 8, 8, 8, 151936, moe_intermediate_size=352,
        shared_expert_intermediate_size=1408, num_experts=16,
        num_experts_per_tok=4)),
    "mamba_40m": ("MambaForCausalLM", dict(
        hidden_size=512, num_hidden_layers=4, vocab_size=32000)),
}
# name, batch, sequence
CAUSAL_RUNS = [
    ("llama_125m", 8, 1024), ("llama_125m", 2, 4096), ("llama_125m", 16, 512),
    ("llama_125m", 3, 1000), ("llama_350m", 4, 1024), ("llama_350m", 2, 2048),
    ("llama_350m", 8, 256), ("qwen2_05b", 2, 512), ("qwen2_05b", 1, 2048),
    ("qwen2_05b", 4, 256), ("qwen3_06b", 1, 1024), ("qwen3_06b", 2, 512),
    ("mistral_300m", 4, 1024), ("mistral_300m", 1, 4096),
    ("mistral_300m", 6, 512), ("gemma2_400m", 2, 512),
    ("gemma2_400m", 1, 2048), ("gemma2_400m", 3, 384), ("gpt2", 8, 512),
    ("gpt2", 4, 1024), ("gpt2", 16, 256), ("gpt2_medium", 4, 512),
    ("gpt2_medium", 2, 1024), ("pythia_160m", 8, 512),
    ("pythia_160m", 2, 2048), ("pythia_410m", 4, 512), ("opt_125m", 8, 512),
    ("opt_125m", 3, 1500), ("opt_350m", 4, 512), ("phi3_200m", 4, 1024),
    ("phi3_200m", 2, 2048), ("bloom_560m", 1, 512), ("bloom_560m", 2, 256),
    ("mixtral_150m", 4, 512), ("mixtral_150m", 2, 1024),
    ("qwen2moe_200m", 2, 512), ("qwen2moe_200m", 4, 256),
    ("mamba_40m", 4, 256),
]
# precision, optimizer, further fields
TEXT_SETTINGS = [
    ("fp32", "adamw", {}),
    ("bf16", "adamw_fused", {}),
    ("bf16_autocast", "adamw", {"outputs": "kept"}),
    ("fp32", "adamw_foreach", {"checkpointing": "non_reentrant"}),
    ("bf16", "adafactor_hf", {"attention": "eager"}),
    ("fp16_autocast", "adamw_fused", {"clip": 1.0}),
    ("bf16_autocast", "momentum", {"checkpointing": "reentrant"}),
    ("fp32", "adamw_loop", {"clip": 1.0, "mask": "padded"}),
    ("bf16", "adamw", {"accumulation": 2, "use_cache": True}),
    ("bf16_autocast", "adafactor_torch", {"attention": "eager"}),
    ("bf16", "sgd", {"checkpointing": "non_reentrant", "mask": "full"}),
    ("fp32", "adamw_fused", {"zero_grad": "after_step", "mask": "full"}),
    ("bf16_autocast", "adamw_fused", {"set_to_none": False}),
    ("fp16", "momentum", {"mask": "padded"}),
    ("bf16", "adamw_loop", {"zero_grad": "before_backward",
                            "outputs": "kept"}),
    ("fp32", "adafactor_hf_fixed", {"accumulation": 4}),
    ("bf16_autocast", "adamw_foreach", {
        "clip": 1.0, "accumulation": 2, "checkpointing": "non_reentrant"}),
]
# For models of above half a billion parameters.
LIGHT_SETTINGS = [
    ("bf16", "adamw_fused", {"checkpointing": "non_reentrant"}),
    ("bf16", "adafactor_hf", {}),
    ("bf16", "adamw", {"clip": 1.0, "use_cache": True}),
    ("bf16", "sgd", {"outputs": "kept"}),
    ("bf16", "adafactor_torch", {"checkpointing": "reentrant"}),
    ("bf16", "momentum_loop", {"accumulation": 2}),
]
LIGHT_RUNS = [
    ("llama_1b", 1, 1024), ("llama_1b", 2, 1024), ("llama_1b", 1, 2048),
    ("llama32_1b", 1, 512), ("llama32_1b", 1, 1024), ("llama_1b", 4, 256),
]
# Both walks also take the allocator's options along.
ALLOCATORS = [None, None, "expandable_segments:True", None, None,
              "max_split_size_mb:64", None, None, None,
              "roundup_power2_divisions:4", None, "expandable_segments:True",
              None]
INFERENCE = [
    ("llama_350m", 8, 1024, "bf16"), ("llama_1b", 4, 1024, "bf16"),
    ("qwen2_05b", 4, 512, "fp16"), ("gpt2", 8, 1024, "fp32"),
    ("gemma2_400m", 2, 1024, "bf16_autocast"), ("bloom_560m", 2, 512, "bf16"),
    ("mixtral_150m", 4, 1024, "bf16"), ("pythia_410m", 8, 512, "fp32"),
]

BERT_LARGE = dict(hidden_size=1024, num_hidden_layers=24,
                  num_attention_heads=16, intermediate_size=4096)
DEBERTA = dict(vocab_size=128100, num_hidden_layers=12, hidden_size=768,
               relative_attention=True, pos_att_type=["p2c", "c2p"],
               position_buckets=256, share_att_key=True,
               norm_rel_ebd="layer_norm", max_relative_positions=-1,
               position_biased_input=False, type_vocab_size=0)
T5_BASE = dict(d_model=768, d_ff=2048, num_layers=12, num_decoder_layers=12,
               num_heads=12, feed_forward_proj="gated-gelu")
WHISPER_BASE = dict(d_model=512, encoder_layers=6, decoder_layers=6,
                    encoder_attention_heads=8, decoder_attention_heads=8,
                    encoder_ffn_dim=2048, decoder_ffn_dim=2048)
# class, task, batch, sequence, image size or samples, config
ENCODERS = [
    ("BertForSequenceClassification", "sequence_classification", 32, 128,
     None, dict(num_hidden_layers=12)),
    ("BertForSequenceClassification", "sequence_classification", 16, 384,
     None, dict(num_hidden_layers=12)),
    ("BertForMaskedLM", "masked_lm", 16, 256, None,
     dict(num_hidden_layers=12)),
    ("BertForMaskedLM", "masked_lm", 8, 512, None, BERT_LARGE),
    ("BertForQuestionAnswering", "question_answering", 8, 384, None,
     BERT_LARGE),
    ("BertForTokenClassification", "token_classification", 24, 200, None,
     dict(num_hidden_layers=12)),
    ("RobertaForSequenceClassification", "sequence_classification", 32, 128,
     None, dict(vocab_size=50265, max_position_embeddings=514)),
    ("RobertaForMaskedLM", "masked_lm", 8, 512, None,
     dict(vocab_size=50265, max_position_embeddings=514)),
    ("XLMRobertaForMaskedLM", "masked_lm", 4, 256, None,
     dict(vocab_size=250002, max_position_embeddings=514)),
    ("XLMRobertaForSequenceClassification", "sequence_classification", 16,
     256, None, dict(vocab_size=250002, max_position_embeddings=514)),
    ("DebertaV2ForSequenceClassification", "sequence_classification", 8, 256,
     None, DEBERTA),
    ("DebertaV2ForSequenceClassification", "sequence_classification", 16, 128,
     None, DEBERTA),
    ("DebertaV2ForTokenClassification", "token_classification", 4, 400, None,
     DEBERTA),
    ("ElectraForSequenceClassification", "sequence_classification", 64, 128,
     None, dict(num_hidden_layers=12)),
    ("ElectraForMaskedLM", "masked_lm", 32, 256, None,
     dict(num_hidden_layers=12)),
    ("DistilBertForSequenceClassification", "sequence_classification", 64,
     128, None, dict(n_layers=6)),
    ("DistilBertForMaskedLM", "masked_lm", 16, 512, None, dict(n_layers=6)),
    ("AlbertForSequenceClassification", "sequence_classification", 24, 256,
     None, dict(hidden_size=768, num_attention_heads=12,
                intermediate_size=3072, num_hidden_layers=12)),
    ("ModernBertForMaskedLM", "masked_lm", 8, 512, None,
     dict(num_hidden_layers=22, vocab_size=50368)),
    ("T5ForConditionalGeneration", "seq2seq", 16, 256, None,
     dict(num_layers=6, num_decoder_layers=6)),
    ("T5ForConditionalGeneration", "seq2seq", 8, 512, None, T5_BASE),
    ("T5ForConditionalGeneration", "seq2seq", 4, 1024, None, T5_BASE),
    ("MT5ForConditionalGeneration", "seq2seq", 8, 256, None,
     dict(num_layers=8, num_decoder_layers=8, vocab_size=250112)),
    ("BartForConditionalGeneration", "seq2seq", 16, 256, None,
     dict(d_model=768, encoder_layers=6, decoder_layers=6,
          encoder_ffn_dim=3072, decoder_ffn_dim=3072,
          encoder_attention_heads=12,
          decoder_attention_heads=12)),
    ("BartForConditionalGeneration", "seq2seq", 4, 1024, None,
     dict(d_model=1024, encoder_layers=12, decoder_layers=12)),
    ("WhisperForConditionalGeneration", "speech_seq2seq", 8, 64, None,
     dict(encoder_layers=4, decoder_layers=4)),
    ("WhisperForConditionalGeneration", "speech_seq2seq", 8, 200, None,
     WHISPER_BASE),
    ("CLIPModel", "contrastive", 32, 77, None, {}),
    ("CLIPModel", "contrastive", 64, 77, None, {}),
    ("ViTForImageClassification", "image_classification", 32, None, 224, {}),
    ("SwinForImageClassification", "image_classification", 32, None, 224, {}),
    ("DeiTForImageClassification", "image_classification", 48, None, 224, {}),
    ("ConvNextForImageClassification", "image_classification", 32, None, 224,
     {}),
    ("ResNetForImageClassification", "image_classification", 48, None, 224,
     {}),
    ("Wav2Vec2ForCTC", "ctc", 6, None, 96000, {}),
    ("Wav2Vec2ForCTC", "ctc", 12, None, 40000, {}),
    ("HubertForCTC", "ctc", 6, None, 80000, {}),
]
EAGER_ONLY = ("Deberta", "T5", "MT5", "Swin", "ConvNext", "ResNet", "Mamba",
              "Bloom")
NO_CHECKPOINTING = ("CLIP", "ConvNext", "ResNet", "Mamba")
NO_MASK = ("Mamba",)
NO_CACHE_FIELD = ("T5", "MT5", "Bart", "Whisper")


def text_fields(model, settings):
    """`settings` less what `model` does not offer."""
    precision, name, more = settings
    more = dict(more)
    if model.startswith(EAGER_ONLY):
        more.pop("attention", None)
    if model.startswith(NO_CHECKPOINTING):
        more.pop("checkpointing", None)
    if model.startswith(NO_MASK):
        more.pop("mask", None)
    more.setdefault("use_cache", False)
    if more.get("checkpointing"):
        more["use_cache"] = False
    if not model.endswith("ForCausalLM") and model != "GPT2LMHeadModel" and (
            not model.startswith(NO_CACHE_FIELD)):
        more["use_cache"] = None
    return dict(precision=precision, **optimizer(name), **more)


def causal_cases():
    settings, allocators = cycle(TEXT_SETTINGS), cycle(ALLOCATORS)
    for name, batch, seq in CAUSAL_RUNS * 2:
        model, config = CAUSAL[name]
        yield case(source="transformers", model=model, config=config,
                   task="causal_lm", batch=batch, seq=seq,
                   allocator=next(allocators),
                   **text_fields(model, next(settings)))
    for (name, batch, seq), setting in zip(LIGHT_RUNS, LIGHT_SETTINGS):
        model, config = CAUSAL[name]
        yield case(source="transformers", model=model, config=config,
                   task="causal_lm", batch=batch, seq=seq,
                   allocator=next(allocators), **text_fields(model, setting))
    for name, batch, seq, precision in INFERENCE:
        model, config = CAUSAL[name]
        yield case(source="transformers", model=model, config=config,
                   task="causal_lm", mode="inference", batch=batch, seq=seq,
                   precision=precision, use_cache=seq != 512)


def encoder_cases():
    settings, allocators = cycle(TEXT_SETTINGS), cycle(ALLOCATORS)
    constructions = cycle(["device", "to", "device"])
    for model, task, batch, seq, size, config in ENCODERS:
        fields = text_fields(model, next(settings))
        if seq is None or task in ("speech_seq2seq",):
            fields.pop("mask", None)
        yield case(source="transformers", model=model, config=config,
                   task=task, batch=batch, seq=seq, size=size,
                   allocator=next(allocators),
                   construction=next(constructions), **fields)


# --- LoRA -----------------------------------------------------------------

ALL_LINEAR = "all-linear"
QV = ["q_proj", "v_proj"]
QKVO = ["q_proj", "k_proj", "v_proj", "o_proj"]
# name, batch, sequence, attention's own targets
LORA_RUNS = [
    ("llama_1b", 2, 1024, QV), ("llama_1b", 1, 2048, QKVO),
    ("llama32_1b", 2, 512, QKVO), ("llama32_1b", 1, 1024, QV),
    ("llama_3b", 1, 512, QV), ("llama_3b", 1, 1024, QKVO),
    ("qwen2_05b", 2, 512, QKVO), ("qwen3_06b", 2, 512, QV),
    ("mistral_300m", 4, 1024, QKVO), ("gemma2_400m", 2, 512, QV),
    ("gpt2_medium", 4, 512, ["c_attn"]), ("phi3_200m", 4, 512, ["qkv_proj"]),
    ("pythia_410m", 4, 512, ["query_key_value"]),
    ("opt_350m", 4, 512, QV), ("bloom_560m", 2, 256, ["query_key_value"]),
    ("llama_350m", 4, 1024, QKVO), ("qwen2_05b", 1, 1536, QV),
    ("llama_125m", 8, 1024, QV), ("llama_1b", 4, 512, QKVO),
]
# r, all linear, adapters, base precision, checkpointing, further
LORA_SETTINGS = [
    (8, False, "fp32", "bf16", None, {}),
    (16, True, "fp32", "bf16", "non_reentrant", {}),
    (64, True, "bf16", "bf16", None, {}),
    (32, False, "bf16", "bf16", "reentrant", {}),
    (16, True, "fp32", "bf16_autocast", None, {}),
    (8, True, "bf16", "bf16", "non_reentrant", {"accumulation": 2}),
    (16, False, "fp32", "fp16", "reentrant", {}),
    (32, True, "fp32", "bf16", "reentrant", {"clip": 1.0}),
    (8, True, "fp32", "bf16", None, {"modules": "head"}),
    (64, False, "fp32", "fp32", None, {"dropout": 0.05}),
    (16, True, "bf16", "bf16", None, {"outputs": "kept", "dropout": 0.1}),
]
LORA_OPTIMIZERS = ["adamw", "adamw_fused", "adamw_loop", "adafactor_hf",
                   "momentum"]
HEADS = {"GPTNeoXForCausalLM": "embed_out"}
LORA_OTHERS = [
    ("BertForSequenceClassification", "sequence_classification", 32, 128, None,
     BERT_LARGE, ["query", "value"]),
    ("RobertaForSequenceClassification", "sequence_classification", 16, 256,
     None, dict(vocab_size=50265, max_position_embeddings=514),
     ["query", "value"]),
    ("T5ForConditionalGeneration", "seq2seq", 8, 512, None, T5_BASE,
     ["q", "v"]),
    ("ViTForImageClassification", "image_classification", 48, None, 224, {},
     None),
    ("WhisperForConditionalGeneration", "speech_seq2seq", 8, 64, None,
     WHISPER_BASE, QV),
]


def lora_fields(targets, setting, head):
    r, everything, adapter, precision, checkpointing, more = setting
    more = dict(more)
    options = dict(r=r, lora_alpha=2 * r, adapter_dtype=adapter,
                   target_modules=ALL_LINEAR if everything or not targets
                   else targets,
                   lora_dropout=more.pop("dropout", 0.0))
    if more.pop("modules", None):
        options["modules_to_save"] = [head]
    return dict(lora=options, precision=precision,
                checkpointing=checkpointing, **more)


def lora_cases():
    settings, optimizers = cycle(LORA_SETTINGS), cycle(LORA_OPTIMIZERS)
    allocators = cycle(ALLOCATORS)
    for name, batch, seq, targets in LORA_RUNS * 3:
        model, config = CAUSAL[name]
        setting = next(settings)
        if name == "llama_3b" and setting[3] in ("fp32", "bf16_autocast"):
            setting = LORA_SETTINGS[1]
        yield case(source="transformers", model=model, config=config,
                   task="causal_lm", batch=batch, seq=seq, use_cache=False,
                   allocator=next(allocators),
                   **lora_fields(targets, setting, HEADS.get(model, "lm_head")),
                   **optimizer(next(optimizers)))
    for model, task, batch, seq, size, config, targets in LORA_OTHERS:
        head = "classifier" if task.endswith("classification") else "lm_head"
        fields = lora_fields(targets, next(settings), head)
        if task.endswith("classification"):
            fields["lora"]["modules_to_save"] = ["classifier"]
        yield case(source="transformers", model=model, config=config,
                   task=task, batch=batch, seq=seq, size=size,
                   use_cache=False if task.endswith("seq2seq") else None,
                   **fields, **optimizer(next(optimizers)))


# --- small modules ---------------------------------------------------------


def rnn(kind, width, hidden, layers, bidirectional=False, proj=0,
        batch_first=True, dropout=0.0):
    return dict(kind=kind, width=width, hidden=hidden, layers=layers,
                bidirectional=bidirectional, proj=proj,
                batch_first=batch_first, dropout=dropout)


def mha(width, heads, need_weights, average=True, dropout=0.0):
    return dict(width=width, heads=heads, need_weights=need_weights,
                average=average, dropout=dropout)


def encoder(kind, width, heads, layers, feedforward, norm_first=False,
            activation="relu"):
    return dict(kind=kind, width=width, heads=heads, layers=layers,
                feedforward=feedforward, norm_first=norm_first,
                activation=activation)


def conv(kind, channels, kernel, extent, **options):
    return dict(kind=kind, channels=channels, kernel=kernel, extent=extent,
                **options)


# module, config, batch, sequence
SMALL = [
    ("recurrent", rnn("LSTM", 256, 512, 1), 64, 512),
    ("recurrent", rnn("LSTM", 512, 1024, 2, bidirectional=True), 32, 400),
    ("recurrent", rnn("LSTM", 512, 1024, 3, proj=256), 48, 256),
    ("recurrent", rnn("LSTM", 320, 640, 4, dropout=0.2, batch_first=False),
     64, 300),
    ("recurrent", rnn("GRU", 512, 768, 2, bidirectional=True), 64, 256),
    ("recurrent", rnn("GRU", 1024, 1024, 4, dropout=0.1), 32, 200),
    ("recurrent", rnn("RNN", 512, 2048, 2), 64, 256),
    ("recurrent", rnn("RNN", 256, 1000, 1, bidirectional=True,
                      batch_first=False), 100, 300),
    ("transformer", encoder("pair", 512, 8, 6, 2048), 32, 256),
    ("transformer", encoder("pair", 768, 12, 4, 3072, True, "gelu"), 16, 400),
    ("transformer", encoder("encoder", 1024, 16, 6, 4096), 16, 512),
    ("transformer", encoder("encoder", 256, 4, 3, 1024, True, "gelu"), 128,
     200),
    ("attention", mha(1024, 16, True), 16, 512),
    ("attention", mha(1024, 16, False), 32, 1024),
    ("attention", mha(512, 8, True, average=False, dropout=0.1), 16, 768),
    ("attention", mha(512, 8, False, dropout=0.1), 32, 1024),
    ("bag", dict(vocabulary=1000000, width=128, how="mean", sparse=False),
     8192, 32),
    ("bag", dict(vocabulary=2000000, width=64, how="sum", sparse=True), 16384,
     20),
    ("bag", dict(vocabulary=300000, width=256, how="max", sparse=False), 4096,
     50),
    ("perceptron", dict(width=[4096, 8192, 8192, 4096], bias=True,
                        activation="ReLU"), 4, 2048),
    ("perceptron", dict(width=[1000, 3000, 5000, 3000, 1000], bias=False,
                        activation="GELU"), 16, 1000),
    ("perceptron", dict(width=[12288, 12288, 12288], bias=True,
                        activation="SiLU"), 1, 1024),
    ("perceptron", dict(width=[513, 257, 129, 65], bias=True,
                        activation="Tanh"), 512, 999),
    ("perceptron", dict(width=[256] * 40, bias=True, activation="ReLU"), 64,
     512),
    ("product", dict(kind="matmul", width=1024), 16, 2048),
    ("product", dict(kind="bmm", width=512), 24, 2048),
    ("product", dict(kind="einsum", width=768, heads=12), 8, 1024),
    ("product", dict(kind="outer", width=2048), 32, 1024),
    ("norm", dict(kind="LayerNorm", extent=[1024, 1023]), 128, None),
    ("norm", dict(kind="LayerNorm", extent=[333, 4096]), 64, None),
    ("norm", dict(kind="BatchNorm2d", extent=[65, 127, 129]), 64, None),
    ("norm", dict(kind="BatchNorm3d", extent=[32, 17, 63, 65]), 32, None),
    ("norm", dict(kind="GroupNorm", extent=[96, 111, 113], groups=6), 64,
     None),
    ("norm", dict(kind="InstanceNorm2d", extent=[48, 200, 201]), 32, None),
    ("elementwise", dict(kind="cumsum", width=1000), 64, 1000),
    ("elementwise", dict(kind="sort", width=512), 64, 1024),
    ("elementwise", dict(kind="logsumexp", width=2000), 32, 1500),
    ("elementwise", dict(kind="gather", width=768), 64, 700),
    ("elementwise", dict(kind="where", width=1536), 48, 600),
    ("ctc", dict(width=512, vocabulary=5000), 32, 400),
    ("ctc", dict(width=256, vocabulary=32), 256, 800),
    ("token_loss", dict(width=1024, vocabulary=128256, upcast=True), 2, 1024),
    ("token_loss", dict(width=512, vocabulary=256000, upcast=True), 2, 700),
    ("token_loss", dict(width=768, vocabulary=50257, upcast=False), 8, 1024),
    ("convolution", conv("Conv1d", [128, 256], 9, [16000], padding="same"),
     16, None),
    ("convolution", conv("Conv1d", [64, 128], 3, [20000], dilation=4,
                         groups=4), 32, None),
    ("convolution", conv("Conv2d", [64, 128], 5, [128, 129], padding="same",
                         groups=2), 24, None),
    ("convolution", conv("Conv2d", [32, 96], 3, [200, 200], dilation=3,
                         padding=3), 24, None),
    ("convolution", conv("Conv3d", [16, 48], 3, [32, 64, 64],
                         padding="same"), 8, None),
    ("convolution", conv("ConvTranspose2d", [64, 32], 4, [48, 48], stride=2,
                         padding=1), 16, None),
    ("convolution", conv("ConvTranspose3d", [32, 16], 3, [12, 16, 16],
                         stride=2, padding=1, output_padding=1), 4, None),
    ("resampling", dict(kind="grid_sample", how="bilinear", channels=32,
                        extent=[256, 256]), 24, None),
    ("resampling", dict(kind="interpolate", how="bicubic", factor=2,
                        channels=16, extent=[200, 201]), 24, None),
    ("resampling", dict(kind="interpolate", how="bilinear", factor=0.5,
                        antialias=True, channels=64, extent=[256, 256]), 24,
     None),
    ("resampling", dict(kind="unfold", how=None, channels=32,
                        extent=[128, 128]), 24, None),
    ("resampling", dict(kind="pixel_shuffle", how=None, channels=64,
                        extent=[180, 180]), 32, None),
    ("fourier", dict(channels=32, modes=16, layers=4, extent=[256, 256]), 16,
     None),
    ("fourier", dict(channels=24, modes=12, layers=3, extent=[243, 250]), 16,
     None),
]
SMALL_SETTINGS = [
    ("fp32", "adam", {}), ("fp32", "momentum", {"outputs": "kept"}),
    ("bf16_autocast", "adamw", {}), ("fp32", "nadam", {}),
    ("fp32", "adam_amsgrad", {"zero_grad": "before_backward"}),
    ("fp16_autocast", "adamw_fused", {"clip": 0.5}),
    ("fp32", "adamax", {"construction": "to"}),
    ("bf16", "adamw_loop", {"construction": "to"}),
    ("fp32", "adagrad", {"set_to_none": False}),
    ("fp32", "sgd", {"allocator": "expandable_segments:True"}),
]
FP32_ONLY = ("ctc", "fourier", "bag")


def small_cases():
    settings = cycle(SMALL_SETTINGS)
    for index, (model, config, batch, seq) in enumerate(SMALL):
        precision, name, more = next(settings)
        if model in FP32_ONLY or config.get("antialias"):
            precision = "fp32"
        if config.get("sparse"):
            name, more = "sparse_adam", {}
        fields = dict(source="module", model=model, config=config,
                      task="module", batch=batch, seq=seq,
                      loss="own" if model in ("ctc", "token_loss") else
                      ("mean", "mse")[index % 2])
        if index % 6 == 5:
            yield case(**fields, mode="inference", precision=precision)
        else:
            yield case(**fields, precision=precision, **optimizer(name),
                       **more)


# --- compiled -----------------------------------------------------------------


def compiled_pairs():
    """Cases run eagerly with the others and, last, through torch.compile."""
    vision = [("resnet50", 224, 48), ("vit_base_patch16_224", 224, 32),
              ("convnext_tiny", 224, 32),
              ("swin_tiny_patch4_window7_224", 224, 32),
              ("efficientnet_b0", 224, 64),
              ("mobilenetv3_large_100", 224, 64)]
    for index, (model, size, batch) in enumerate(vision):
        fields = dict(source="timm", model=model, size=size,
                      task="classification", loss="cross_entropy")
        yield case(**fields, batch=batch, **optimizer("adamw"),
                   precision=("bf16_autocast", "fp32")[index % 2])
        if index < 5:
            yield case(**fields, batch=4 * batch, mode="inference",
                       precision=("fp32", "fp16")[index % 2])
    text = [
        ("BertForSequenceClassification", "sequence_classification", 32, 128,
         dict(num_hidden_layers=12)),
        ("GPT2LMHeadModel", "causal_lm", 8, 512, CAUSAL["gpt2"][1]),
        ("LlamaForCausalLM", "causal_lm", 4, 1024, CAUSAL["llama_125m"][1]),
        ("Qwen3ForCausalLM", "causal_lm", 2, 512, llama(
            1024, 3072, 8, 16, 8, 151936, head_dim=128,
            tie_word_embeddings=True)),
        ("T5ForConditionalGeneration", "seq2seq", 16, 256,
         dict(num_layers=6, num_decoder_layers=6)),
        ("DistilBertForMaskedLM", "masked_lm", 16, 256, dict(n_layers=6)),
    ]
    for index, (model, task, batch, seq, config) in enumerate(text):
        # Inference needs no label: T5's is dropped, so it is left out there.
        fields = dict(source="transformers", model=model, config=config,
                      task=task, seq=seq, use_cache=False if task in (
                          "causal_lm", "seq2seq") else None)
        yield case(**fields, batch=batch, **optimizer("adamw"),
                   precision=("bf16_autocast", "fp32", "bf16")[index % 3])
        if task != "seq2seq":
            yield case(**fields, batch=2 * batch, mode="inference",
                       precision=("bf16", "fp32")[index % 2])
    yield case(source="module", model="perceptron", task="module", loss="mse",
               batch=8, seq=1024, **optimizer("adamw"),
               config=dict(width=[2048, 8192, 2048], bias=True,
                           activation="GELU"))
    yield case(source="module", model="transformer", task="module",
               loss="mean", batch=16, seq=512, **optimizer("adam"),
               config=encoder("encoder", 512, 8, 6, 2048))


def hashed(cases):
    """(id, case) in a fixed pseudo-random order: any prefix is a sample."""
    pairs = {identity(c): c for c in cases}
    return sorted(pairs.items(), key=lambda pair: hashlib.sha256(
        pair[0].encode()).digest())


def eager_cases():
    return hashed(itertools.chain(
        timm_cases(), torchvision_cases(), unet_cases(), causal_cases(),
        encoder_cases(), lora_cases(), small_cases(), compiled_pairs()))


def compiled_cases():
    return hashed(dict(c, runtime="compile") for c in compiled_pairs())
