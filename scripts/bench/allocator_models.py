"""Builds what a case of measure_allocator.py runs: module, inputs, loss.

`build(case, device, tiny)` is the one entry. One builder per source (timm,
torchvision, transformers, and the modules of this file), all with random
weights. The module is made on the device under its default type
(construction "device") or on the CPU and then moved ("to").
"""

import contextlib
import dataclasses
import typing

import torch
from torch import nn
from torch.nn import functional

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
TINY_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers",
               "num_decoder_layers", "encoder_layers", "decoder_layers")
TINY_SEQ, TINY_BATCH, TINY_VOCABULARY = 32, 2, 2048
FIXED_VOCABULARY = ("Whisper", "CLIP", "Wav2Vec2", "Bart")


@dataclasses.dataclass
class Workload:
    """`loss` takes the module's output; inputs are on the device."""
    module: nn.Module
    args: tuple
    kwargs: dict
    loss: typing.Callable
    notes: dict


def weights_dtype(case):
    return DTYPES.get(case["precision"], torch.float32)


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def build(case, device):
    """The workload of `case` on `device`."""
    dtype = weights_dtype(case)
    where = device if case["construction"] == "device" else "cpu"
    make_module, make_inputs = BUILDERS[case["source"]]
    with default_dtype(dtype), torch.device(where):
        module = make_module(case)
    if where != device:
        module = module.to(device)
    if case["channels_last"]:
        module = module.to(memory_format=torch.channels_last)
    module.train(case["mode"] == "training")
    with default_dtype(dtype), torch.device(device):
        args, kwargs, loss = make_inputs(case, module)
    if case["channels_last"]:
        args = tuple(x.contiguous(memory_format=torch.channels_last)
                     if torch.is_tensor(x) and x.dim() == 4 else x
                     for x in args)
    notes = {}
    if hasattr(module, "config"):
        notes["attention_used"] = getattr(
            module.config, "_attn_implementation", None)
    return Workload(module, args, kwargs, loss, notes)


def shrink(case):
    """`case` at a toy extent, in fp32: half types are slow on a CPU."""
    case = dict(case, batch=min(case["batch"], TINY_BATCH), precision="fp32",
                config=dict(case["config"]))
    if case["seq"]:
        case["seq"] = min(case["seq"], TINY_SEQ)
    if case["source"] == "transformers":
        for key in TINY_LAYERS:
            if key in case["config"]:
                case["config"][key] = min(case["config"][key], 2)
        if not case["model"].startswith(FIXED_VOCABULARY):
            if "vocab_size" in case["config"]:
                case["config"]["vocab_size"] = TINY_VOCABULARY
    if case["source"] == "module":
        for key, value in case["config"].items():
            if key == "extent" and case["model"] != "norm":
                # A multiple of what the deepest UNet halves.
                case["config"][key] = [max(32, v // 256 * 32) for v in value]
            if key == "width" and isinstance(value, list):
                case["config"][key] = [max(16, v // 8) for v in value]
    return case


# --- classification, segmentation, detection, video -----------------------


def make_timm(case):
    import timm
    module = timm.create_model(case["model"], pretrained=False,
                               **case["config"])
    if case["checkpointing"]:
        module.set_grad_checkpointing(True)
    return module


def make_torchvision(case):
    import torchvision
    options = dict(case["config"], weights=None)
    if case["task"] in ("segmentation", "detection"):
        options["weights_backbone"] = None
    return torchvision.models.get_model(case["model"], **options)


def classification_loss(case, classes=1000):
    labels = torch.randint(0, classes, (case["batch"],))
    if case["loss"] == "bce":
        target = functional.one_hot(labels, classes).to(torch.float32)
        one = lambda out: functional.binary_cross_entropy_with_logits(
            out, target.to(out.dtype))
    else:
        smoothing = 0.1 if case["loss"] == "label_smoothing" else 0.0
        one = lambda out: functional.cross_entropy(
            out, labels, label_smoothing=smoothing)

    def loss(out):
        if not isinstance(out, (tuple, list)):
            return one(out)
        return one(out[0]) + sum(0.4 * one(o) for o in out[1:])
    return loss


def image_inputs(case, module):
    size = case["size"]
    shape = size if isinstance(size, list) else [3, size, size]
    images = torch.randn(case["batch"], *shape)
    if case["task"] == "detection":
        return detection_inputs(case, images)
    if case["task"] == "segmentation":
        labels = torch.randint(0, 21, (case["batch"], *shape[1:]))

        def loss(out):
            total = functional.cross_entropy(out["out"], labels)
            if "aux" in out:
                total = total + 0.5 * functional.cross_entropy(
                    out["aux"], labels)
            return total
        return (images,), {}, loss
    classes = 400 if case["task"] == "video" else 1000
    return (images,), {}, classification_loss(case, classes)


def detection_inputs(case, images):
    height, width = images.shape[2:]
    targets = []
    for _ in range(case["batch"]):
        corner = torch.rand(7, 2) * 0.5
        boxes = torch.cat([corner, corner + 0.1 + 0.35 * torch.rand(7, 2)], 1)
        boxes = boxes * torch.tensor([width, height, width, height])
        target = {"boxes": boxes.float(), "labels": torch.randint(1, 90, (7,))}
        if "mask" in case["model"]:
            target["masks"] = torch.randint(
                0, 2, (7, height, width), dtype=torch.uint8)
        targets.append(target)
    args = (list(images),)
    if case["mode"] == "training":
        args += (targets,)
    return args, {}, lambda out: sum(out.values())


# --- transformers and peft -------------------------------------------------


def make_transformers(case):
    import transformers
    cls = getattr(transformers, case["model"])
    config = cls.config_class(**case["config"])
    if (getattr(config, "is_encoder_decoder", False)
            and getattr(config, "decoder_start_token_id", None) is None):
        config.decoder_start_token_id = 0
    if case["use_cache"] is not None and hasattr(config, "use_cache"):
        config.use_cache = case["use_cache"]
    options = {"dtype": weights_dtype(case)}
    if case["attention"]:
        options["attn_implementation"] = case["attention"]
    module = cls._from_config(config, **options)
    if case["checkpointing"]:
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={
            "use_reentrant": case["checkpointing"] == "reentrant"})
    return add_lora(case, module) if case["lora"] else module


def add_lora(case, module):
    import peft
    options = dict(case["lora"])
    cast = options.pop("adapter_dtype") == "fp32"
    if case["checkpointing"] == "reentrant":
        module.enable_input_require_grads()
    return peft.get_peft_model(module, peft.LoraConfig(**options),
                               autocast_adapter_dtype=cast)


def attention_mask(case, seq):
    if not case["mask"]:
        return {}
    mask = torch.ones(case["batch"], seq, dtype=torch.int64)
    if case["mask"] == "padded":
        for i in range(1, case["batch"]):
            mask[i, seq - (i * seq) // (2 * case["batch"]):] = 0
    return {"attention_mask": mask}


def text_inputs(case, module):
    config = module.config
    batch, seq, task = case["batch"], case["seq"], case["task"]
    vocabulary = config.get_text_config().vocab_size
    ids = torch.randint(5, vocabulary - 5, (batch, seq))
    inputs = dict(input_ids=ids, **attention_mask(case, seq))
    if task in ("causal_lm", "masked_lm"):
        inputs["labels"] = ids.clone()
    elif task == "seq2seq":
        inputs["labels"] = torch.randint(5, vocabulary - 5, (
            batch, max(8, seq // 4)))
    elif task == "sequence_classification":
        inputs["labels"] = torch.randint(0, 2, (batch,))
    elif task == "token_classification":
        inputs["labels"] = torch.randint(0, 2, (batch, seq))
    elif task == "question_answering":
        for name in ("start_positions", "end_positions"):
            inputs[name] = torch.randint(0, seq, (batch,))
    elif task == "contrastive":
        size = config.vision_config.image_size
        inputs["pixel_values"] = torch.randn(batch, 3, size, size)
        inputs["return_loss"] = True
    return inputs


def transformers_inputs(case, module):
    batch, task, config = case["batch"], case["task"], module.config
    if task == "image_classification":
        size = case["size"]
        inputs = {"pixel_values": torch.randn(batch, 3, size, size),
                  "labels": torch.randint(0, 2, (batch,))}
    elif task == "speech_seq2seq":
        frames = 2 * config.max_source_positions
        inputs = {"input_features": torch.randn(
                      batch, config.num_mel_bins, frames),
                  "labels": torch.randint(0, 1000, (batch, case["seq"]))}
    elif task == "ctc":
        inputs = {"input_values": torch.randn(batch, case["size"]),
                  "labels": torch.randint(1, 30, (batch, 20))}
    else:
        inputs = text_inputs(case, module)
    if case["mode"] == "inference":
        inputs.pop("labels", None)
    return (), inputs, lambda out: out.loss


# --- modules of this file --------------------------------------------------


class Apply(nn.Module):
    """A module whose forward is `function(layers, *inputs)`."""

    def __init__(self, function, **layers):
        super().__init__()
        self.layers = nn.ModuleDict(layers)
        self.function = function

    def forward(self, *inputs):
        return self.function(self.layers, *inputs)


class UNet(nn.Module):
    """Encoder and decoder with skip connections over `dims` dimensions;
    transposed convolutions upwards, or interpolation."""

    def __init__(self, dims, width, depth, norm="batch", up="transposed",
                 padding="same", dilation=1, groups=1):
        super().__init__()
        conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[dims - 1]
        transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d,
                      nn.ConvTranspose3d)[dims - 1]
        batch_norm = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[dims - 1]
        self.pool = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[dims - 1](2)

        def block(a, b):
            layers = []
            for i, (c, d) in enumerate(((a, b), (b, b))):
                layers += [
                    conv(c, d, 3, padding=padding if padding == "same"
                         else dilation, dilation=dilation,
                         groups=groups if i else 1),
                    batch_norm(d) if norm == "batch" else nn.GroupNorm(8, d),
                    nn.ReLU(inplace=i == 0)]
            return nn.Sequential(*layers)

        sizes = [width * 2**i for i in range(depth + 1)]
        self.first = block(2, width)
        self.down = nn.ModuleList(
            block(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList(
            transposed(b, a, 2, stride=2) if up == "transposed"
            else nn.Sequential(nn.Upsample(scale_factor=2), conv(b, a, 1))
            for a, b in zip(sizes[:-1], sizes[1:]))
        self.merge = nn.ModuleList(block(2 * a, a) for a in sizes[:-1])
        self.last = conv(width, 3, 1)

    def forward(self, x):
        skips = [self.first(x)]
        for block in self.down:
            skips.append(block(self.pool(skips[-1])))
        x = skips.pop()
        for up, merge in zip(reversed(self.up), reversed(self.merge)):
            x = merge(torch.cat([up(x), skips.pop()], 1))
        return self.last(x)


class Fourier(nn.Module):
    """Layers of a Fourier neural operator: a product in frequency space."""

    def __init__(self, channels, modes, layers):
        super().__init__()
        self.modes = modes
        self.weights = nn.ParameterList(
            nn.Parameter(0.02 * torch.randn(channels, channels, modes, modes,
                                            dtype=torch.complex64))
            for _ in range(layers))
        self.mix = nn.ModuleList(
            nn.Conv2d(channels, channels, 1) for _ in range(layers))

    def forward(self, x):
        for weight, mix in zip(self.weights, self.mix):
            f = torch.fft.rfft2(x)
            out = torch.zeros_like(f)
            m = self.modes
            out[:, :, :m, :m] = torch.einsum(
                "bixy,ioxy->boxy", f[:, :, :m, :m], weight)
            x = functional.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + mix(x))
        return x


def recurrent(c):
    cls = getattr(nn, c["kind"])
    return Apply(lambda m, x: m["rnn"](x)[0], rnn=cls(
        c["width"], c["hidden"], c["layers"], batch_first=c["batch_first"],
        bidirectional=c["bidirectional"], dropout=c["dropout"],
        **({"proj_size": c["proj"]} if c["proj"] else {})))


def attention(c):
    def function(m, x):
        out, weights = m["a"](x, x, x, need_weights=c["need_weights"],
                              average_attn_weights=c["average"])
        return out if weights is None else out + weights.mean()
    return Apply(function, a=nn.MultiheadAttention(
        c["width"], c["heads"], dropout=c["dropout"], batch_first=True))


def norm(c):
    channels = c["extent"][0]
    kind = c["kind"]
    if kind == "LayerNorm":
        layer = nn.LayerNorm(c["extent"][-1])
    elif kind == "GroupNorm":
        layer = nn.GroupNorm(c["groups"], channels)
    else:
        layer = getattr(nn, kind)(channels, affine=True)
    return Apply(lambda m, x: functional.silu(m["b"](m["a"](x))),
                 a=layer, b=nn.Dropout(0.1))


def perceptron(c):
    widths = c["width"]
    layers = []
    for a, b in zip(widths, widths[1:]):
        layers += [nn.Linear(a, b, bias=c["bias"]),
                   getattr(nn, c["activation"])()]
    return nn.Sequential(*layers)


def convolution(c):
    options = {k: c[k] for k in ("padding", "dilation", "groups", "stride",
                                 "output_padding") if k in c}
    layers = [getattr(nn, c["kind"])(c["channels"][0], c["channels"][1],
                                     c["kernel"], **options),
              nn.ReLU(),
              getattr(nn, c["kind"])(c["channels"][1], c["channels"][0],
                                     c["kernel"], **options)]
    return nn.Sequential(*layers)


def token_loss(c):
    def function(m, x, target):
        logits = m["head"](x)
        logits = logits.float() if c["upcast"] else logits
        return functional.cross_entropy(logits.flatten(0, 1), target.flatten(),
                                        reduction="none")
    return Apply(function, head=nn.Linear(c["width"], c["vocabulary"],
                                          bias=False))


def ctc(c):
    def function(m, x, target, lengths, target_lengths):
        scores = m["head"](x).float().log_softmax(-1).transpose(0, 1)
        return functional.ctc_loss(scores, target, lengths, target_lengths)
    return Apply(function, head=nn.Linear(c["width"], c["vocabulary"]))


def product(c):
    width = c["width"]

    def function(m, x):
        y = m["a"](x)
        if c["kind"] == "bmm":
            return torch.bmm(torch.bmm(y, x.transpose(1, 2)).softmax(-1), x)
        if c["kind"] == "einsum":
            h = y.unflatten(-1, (c["heads"], -1))
            s = torch.einsum("bqhd,bkhd->bhqk", h, h).softmax(-1)
            return torch.einsum("bhqk,bkhd->bqhd", s, h).flatten(2)
        if c["kind"] == "outer":
            return torch.einsum("bti,btj->bij", y, x)
        return y @ x.transpose(1, 2) @ x
    return Apply(function, a=nn.Linear(width, width))


def elementwise(c):
    def function(m, x):
        y = m["a"](x)
        if c["kind"] == "cumsum":
            return y.cumsum(1) * y.cumsum(-1)
        if c["kind"] == "sort":
            return y.sort(dim=1).values + y.topk(4, dim=-1).values.sum()
        if c["kind"] == "logsumexp":
            return y.logsumexp(-1) + y.std(-1) + y.amax(-1)
        if c["kind"] == "gather":
            index = torch.arange(y.shape[1], device=y.device).flip(0)
            out = torch.zeros_like(y).index_add(1, index, y)
            return out[:, index] + y.roll(1, 1)
        return torch.where(y > 0, y, y.exp() - 1).pow(2).clamp(max=4)
    return Apply(function, a=nn.Linear(c["width"], c["width"]))


def resampling(c):
    def function(m, x):
        y = m["a"](x)
        if c["kind"] == "grid_sample":
            theta = torch.eye(2, 3, device=x.device, dtype=x.dtype)
            grid = functional.affine_grid(
                theta.expand(len(x), 2, 3), list(x.shape), False)
            return functional.grid_sample(y, grid, align_corners=False,
                                          mode=c["how"])
        if c["kind"] == "unfold":
            return functional.unfold(y, 3, padding=1)
        if c["kind"] == "pixel_shuffle":
            return functional.pixel_shuffle(y, 2)
        return functional.interpolate(
            y, scale_factor=c["factor"], mode=c["how"],
            antialias=c.get("antialias", False))
    channels = c["channels"]
    return Apply(function, a=nn.Conv2d(channels, channels, 3, padding=1))


def bag(c):
    return Apply(lambda m, x: m["b"](m["a"](x)),
                 a=nn.EmbeddingBag(c["vocabulary"], c["width"], mode=c["how"],
                                   sparse=c["sparse"]),
                 b=nn.Linear(c["width"], c["width"]))


def transformer(c):
    options = dict(d_model=c["width"], nhead=c["heads"],
                   dim_feedforward=c["feedforward"], batch_first=True,
                   norm_first=c["norm_first"], activation=c["activation"])
    if c["kind"] == "pair":
        return nn.Transformer(num_encoder_layers=c["layers"],
                              num_decoder_layers=c["layers"], **options)
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(**options),
                                 c["layers"], enable_nested_tensor=False)


def sequence(case, c):
    order = (case["batch"], case["seq"])
    if c.get("batch_first") is False:
        order = order[::-1]
    width = c["width"][0] if isinstance(c["width"], list) else c["width"]
    return (torch.randn(*order, width),)


def extent(case, c):
    return (torch.randn(case["batch"], *c["extent"]),)


def channels_extent(case, c):
    channels = c["channels"]
    channels = channels[0] if isinstance(channels, list) else channels
    return (torch.randn(case["batch"], channels, *c["extent"]),)


def labelled_sequence(case, c):
    return sequence(case, c) + (torch.randint(
        0, c["vocabulary"], (case["batch"], case["seq"])),)


def ctc_inputs(case, c):
    batch, seq = case["batch"], case["seq"]
    return sequence(case, c) + (
        torch.randint(1, c["vocabulary"], (batch, 12)),
        torch.full((batch,), seq), torch.full((batch,), 12))


def tokens(case, c):
    return (torch.randint(0, c["vocabulary"], (case["batch"], case["seq"])),)


def twice(case, c):
    return sequence(case, c) * 2 if c["kind"] == "pair" else sequence(case, c)


MODULES = {
    # name           module of a config                    inputs
    "recurrent":     (recurrent, sequence),
    "attention":     (attention, sequence),
    "transformer":   (transformer, twice),
    "norm":          (norm, extent),
    "perceptron":    (perceptron, sequence),
    "convolution":   (convolution, channels_extent),
    "token_loss":    (token_loss, labelled_sequence),
    "ctc":           (ctc, ctc_inputs),
    "product":       (product, sequence),
    "elementwise":   (elementwise, sequence),
    "resampling":    (resampling, channels_extent),
    "bag":           (bag, tokens),
    "unet":          (lambda c: UNet(**{k: v for k, v in c.items() if k not in
                                        ("extent", "channels")}),
                      channels_extent),
    "fourier":       (lambda c: Fourier(c["channels"], c["modes"],
                                        c["layers"]), channels_extent),
}


def make_own(case):
    return MODULES[case["model"]][0](case["config"])


def own_inputs(case, module):
    args = MODULES[case["model"]][1](case, case["config"])
    if case["loss"] == "mse":
        return args, {}, lambda out: functional.mse_loss(
            out, torch.zeros_like(out))
    return args, {}, lambda out: out.float().mean()


BUILDERS = {
    "timm": (make_timm, image_inputs),
    "torchvision": (make_torchvision, image_inputs),
    "transformers": (make_transformers, transformers_inputs),
    "module": (make_own, own_inputs),
}
