"""Networks that strangers measured, by the names of the files in field_reports.csv.

`export(name, path)` writes one as torch.export does, on the meta device and so without
weights; `why_not(name)` says why one is not written. Losses are part of the module,
the network is its `net`. Sizes are those of the projects' own configurations. Needs
torch and, by the network, transformers, torchvision and timm.
"""

import functools
import importlib.util

import torch
from torch import nn
from torch.nn import functional

import language_models
import yolo_networks
from export_sources import declare_nms, tried_on_meta

BATCH, TOKENS = 2, 128
AUTO = torch.export.Dim.AUTO
UNKNOWN = "its network is not rebuilt here"


class Classified(nn.Module):
    """A network of images or texts with the mean cross entropy of its classes."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, labels):
        y = self.net(x)
        return functional.cross_entropy(getattr(y, "logits", y), labels)


class ShiftedLoss(nn.Module):
    """ForCausalLMLoss of transformers 4.46, a module so that the stacks of an export
    show its variables; its caller holds the logits that it casts."""

    def __init__(self, casts):
        super().__init__()
        self.casts = casts

    def forward(self, logits, labels):
        if self.casts:
            logits = logits.float()
        shifted = logits[:, :-1].contiguous()
        labels = labels[:, 1:].contiguous()
        shifted = shifted.view(-1, shifted.size(-1))
        labels = labels.view(-1)
        return functional.cross_entropy(shifted, labels)


class NextToken(nn.Module):
    """A causal language model with its loss; the labels are the tokens themselves.
    The model's code says where the logits become floats: "model", "loss", or None."""

    def __init__(self, net, caster):
        super().__init__()
        self.net, self.caster = net, caster
        self.loss = ShiftedLoss(caster == "loss")

    def forward(self, ids):
        logits = self.net(input_ids=ids, use_cache=False).logits
        if self.caster == "model":
            logits = logits.float()
        return self.loss(logits, ids)


class Summed(nn.Module):
    """yolov5's profile(): backward from the sum of all that comes out."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return sum(one.sum() for one in self.net(x))


class SmallGpt(nn.Module):
    """minGPT and nanoGPT: eager attention, a head that is tied or not."""

    def __init__(self, config, ties_head):
        super().__init__()
        self.body = language_models.LanguageModel(config)
        self.head = None if ties_head else nn.Linear(
            config.width, config.vocabulary, bias=False)

    def forward(self, ids, labels):
        states, _ = self.body.states(ids)
        weight = self.body.words.weight if self.head is None else self.head.weight
        logits = functional.linear(states, weight)
        return functional.cross_entropy(logits.view(-1, logits.size(-1)),
                                        labels.view(-1), ignore_index=-1)


def text(count, tokens=TOKENS):
    return tuple(torch.zeros(BATCH, tokens, dtype=torch.long) for _ in range(count))


def image(size=224):
    return torch.zeros(BATCH, 3, size, size)


def numbers():
    return torch.zeros(BATCH, dtype=torch.long)


def hugging_face(config, model, **fields):
    """A network of transformers in training mode; configured by its class's name."""
    import transformers
    attention = fields.pop("attention", "sdpa")
    made = getattr(transformers, config)(use_cache=False, **fields)
    made._attn_implementation = attention
    return getattr(transformers, model)(made)


def causal(config, model, caster="loss", dtype=torch.bfloat16, **fields):
    net = hugging_face(config, model, **fields)
    return NextToken(net, caster).to(dtype), text(1), True


def mistral():
    return causal("MistralConfig", "MistralForCausalLM", vocab_size=32000,
                  sliding_window=None)


def powerlm():
    return causal(
        "GraniteConfig", "GraniteForCausalLM", caster="model", vocab_size=49152,
        hidden_size=2304, intermediate_size=9216, num_hidden_layers=40,
        num_attention_heads=36, num_key_value_heads=36, tie_word_embeddings=True,
        embedding_multiplier=12.0, logits_scaling=9.0, residual_multiplier=0.22,
        attention_multiplier=0.015625)


def santacoder():
    return causal(
        "GPTBigCodeConfig", "GPTBigCodeForCausalLM", caster=None, vocab_size=49280,
        n_embd=2048, n_layer=24, n_head=16, n_positions=2048, multi_query=True)


def mixtral():
    net = hugging_face("MixtralConfig", "MixtralForCausalLM", sliding_window=None)
    net.config._experts_implementation = "grouped_mm"
    return NextToken(net, "loss").to(torch.bfloat16), text(1), True


def llama2(dtype):
    return causal("LlamaConfig", "LlamaForCausalLM", dtype=dtype)


def gpt2(**fields):
    return causal("GPT2Config", "GPT2LMHeadModel", caster=None, dtype=torch.float32,
                  attention="eager", **fields)


class Hidden(nn.Module):
    """An encoder without a head, called with tokens alone."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, ids):
        return self.net(input_ids=ids).last_hidden_state


def bert(**fields):
    net = hugging_face("BertConfig", "BertModel", attention="eager", **fields)
    return Hidden(net).eval(), text(1), True


def roberta_large():
    net = hugging_face(
        "RobertaConfig", "RobertaForSequenceClassification", attention="eager",
        vocab_size=50265, hidden_size=1024, intermediate_size=4096,
        num_hidden_layers=24, num_attention_heads=16, max_position_embeddings=514,
        type_vocab_size=1)
    return Classified(net), (*text(1, 96), numbers()), False


def vit_l_16(dtype):
    import torchvision
    net = torchvision.models.vit_l_16(weights=None, num_classes=10)
    return Classified(net).to(dtype), (image().to(dtype), numbers()), False


def mingpt(**sizes):
    config = language_models.Model(
        vocabulary=3, positions=11, is_eager=True, has_mask_buffers=True, **sizes)
    return SmallGpt(config, ties_head=False), text(2, 11), False


def nanogpt():
    config = language_models.Model(
        vocabulary=50304, is_eager=True, has_mask_buffers=True, dropout=0.0,
        attention_dropout=0.0, activation="gelu")
    return SmallGpt(config, ties_head=True), text(2, 1024), False


def efficientnet_es():
    import timm
    net = timm.create_model("efficientnet_es")
    return Classified(net), (image(), numbers()), False


def yolov5(**sizes):
    return Summed(yolo_networks.YoloV5(**sizes)), (image(640),), False


def convolution(dtype):
    images = torch.zeros(512, 32, 84, 84, dtype=dtype)
    return nn.Conv2d(32, 32, 3).to(dtype), (images,), False


# What makes (module, inputs, whether the length of texts is open).
NETWORKS = {
    "vit_l_16_10": functools.partial(vit_l_16, torch.float32),
    "vit_l_16_10_bf16": functools.partial(vit_l_16, torch.bfloat16),
    "yolov5s": functools.partial(yolov5, width=0.5, depth=1 / 3),
    "yolov5m": functools.partial(yolov5, width=0.75, depth=2 / 3),
    "mistral_7b_bf16": mistral,
    "powerlm_3b_bf16": powerlm,
    "santacoder_bf16": santacoder,
    "mixtral_bf16": mixtral,
    "llama2_7b_bf16": functools.partial(llama2, torch.bfloat16),
    "llama2_7b_fp32": functools.partial(llama2, torch.float32),
    "gpt2_eager": gpt2,
    "gpt2_xl_eager": functools.partial(gpt2, n_embd=1600, n_layer=48, n_head=25),
    "bert_base_eager": bert,
    "bert_384_eager": functools.partial(bert, hidden_size=384),
    "bert_6lay_eager": functools.partial(bert, num_hidden_layers=6),
    "roberta_large_cls": roberta_large,
    "mingpt_gpt-nano_sort": functools.partial(
        mingpt, width=48, depth=3, heads=3, inner=192),
    "mingpt_gpt2-xl_sort": functools.partial(
        mingpt, width=1600, depth=48, heads=25, inner=6400),
    "nanogpt_manual": nanogpt,
    "efficientnet_es_ce": efficientnet_es,
    "conv50990_fp32": functools.partial(convolution, torch.float32),
    "conv50990_fp16": functools.partial(convolution, torch.float16),
}
LIBRARIES = {"vit_l_16": "torchvision", "efficientnet": "timm"}


def why_not(name):
    """Empty where the network can be exported, else the reason why not."""
    if name not in NETWORKS:
        return UNKNOWN
    for start, library in LIBRARIES.items():
        if name.startswith(start) and not importlib.util.find_spec(library):
            return f"needs {library}"
    return ""


def open_sizes(inputs, length_is_open):
    """The batch is open and, in texts where it may be, the length."""
    return tuple({0: AUTO, 1: AUTO} if length_is_open and one.dtype == torch.long
                 else {0: AUTO} for one in inputs)


def export(name, path):
    """Writes the network to `path`."""
    libraries = [declare_nms()]  # Lives until torchvision has been imported.
    with torch.device("meta"):
        module, inputs, length_is_open = NETWORKS[name]()
    program = tried_on_meta(lambda: torch.export.export(
        module, inputs, dynamic_shapes=open_sizes(inputs, length_is_open),
        strict=False))
    torch.export.save(program, path)
    libraries.clear()
