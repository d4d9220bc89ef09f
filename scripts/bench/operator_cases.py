"""The operators that measure_kernels.py --suite kinds runs, of every kind.

`operators()` lists (operator, shape, precision, layout, options) in a fixed
pseudo-random order: any prefix is a fair sample. `build(row, calls)` makes the
functions of one forward and one backward pass (None without gradient).
Extents are such that most rows are bound by the GPU; some are awkward on
purpose: unaligned, tiny or huge in one dimension.
"""

import hashlib
import itertools
import json
import math

import torch
from torch import nn
from torch.nn import functional

FLOATS = ("fp32", "bf16")
PRODUCTS = ("fp32", "tf32", "bf16", "fp16")

# shape, outputs, kernel, and what differs from stride 1, no padding
CONVOLUTIONS = [
    ([16, 64, 65536], 128, [3], {}),
    ([16, 64, 65536], 128, [3], dict(stride=3, dilation=4)),
    ([32, 128, 4096], 128, [9], dict(padding=[4])),
    ([32, 256, 2048], 256, [3], dict(padding=[1], groups=256)),
    ([16, 1, 160000], 512, [10], dict(stride=5)),
    ([16, 32, 256, 256], 64, [3, 5], {}),
    ([16, 32, 128, 256], 64, [5, 7], {}),
    ([16, 64, 256, 256], 64, [3, 3], dict(padding=[2, 4], dilation=[2, 3])),
    ([16, 64, 512, 512], 128, [1, 1], {}),
    ([4, 3, 1024, 1024], 64, [1, 1], {}),
    ([16, 512, 64, 64], 48, [1, 1], {}),
    ([16, 3, 512, 512], 64, [7, 7], dict(padding=[3, 3])),
    ([32, 64, 256, 256], 64, [3, 3], dict(padding=[1, 1], groups=64)),
    ([32, 64, 256, 256], 64, [3, 1], dict(groups=64)),
    ([32, 128, 128, 256], 128, [3, 7], dict(groups=128)),
    ([8, 96, 112, 112], 96, [31, 31], dict(padding=[15, 15], groups=96)),
    ([16, 64, 128, 128], 128, [3, 3], dict(padding=[1, 1], groups=4)),
    ([16, 240, 112, 112], 240, [3, 3], dict(padding=[1, 1], groups=15)),
    ([10, 3, 224, 224], 96, [11, 11], dict(stride=4, padding=[2, 2])),
    ([64, 20, 31, 29], 50, [5, 5], {}),
    ([16, 3, 32, 64, 64], 64, [3, 3, 3], {}),
    ([8, 32, 32, 64, 64], 64, [3, 3, 3], dict(padding=[1, 1, 1])),
    ([8, 64, 16, 56, 56], 64, [1, 3, 3], dict(padding=[0, 1, 1])),
    ([8, 64, 16, 56, 56], 64, [3, 1, 1], dict(padding=[1, 0, 0])),
    ([8, 3, 16, 224, 224], 24, [3, 5, 7], {}),
    ([16, 8, 16, 64, 64], 16, [3, 3, 3], {}),
    ([2, 32, 64, 64, 64], 32, [3, 3, 3], dict(padding=[1, 1, 1], groups=32)),
    ([2, 128, 32, 32, 32], 256, [3, 3, 3], dict(padding=[1] * 3, stride=2)),
    ([8, 64, 16, 28, 28], 256, [1, 1, 1], {}),
    ([4, 32, 32, 32, 32], 32, [3, 3, 3], dict(padding=[2] * 3, dilation=2)),
    ([4, 1, 64, 64, 64], 16, [5, 5, 5], dict(padding=[2] * 3)),
    ([8, 3, 16, 224, 224], 768, [2, 16, 16], dict(stride=[2, 16, 16])),
]
TRANSPOSED = [
    ([16, 64, 32768], 128, [3], {}),
    ([16, 32, 65536], 64, [5], dict(stride=2, padding=[1], dilation=2)),
    ([16, 64, 128, 128], 64, [3, 3], {}),
    ([16, 64, 128, 128], 32, [2, 2], dict(stride=2)),
    ([32, 512, 7, 7], 256, [4, 4], dict(stride=2, padding=[1, 1])),
    ([64, 100, 1, 1], 512, [4, 4], {}),
    ([16, 128, 64, 64], 64, [4, 4], dict(stride=2, padding=[1, 1])),
    ([16, 32, 64, 128], 64, [3, 7], dict(padding=[1, 3])),
    ([16, 32, 128, 256], 64, [3, 5], dict(stride=[2, 3], padding=[1, 2],
                                          dilation=[2, 1], groups=4)),
    ([16, 3, 32, 64, 64], 16, [3, 3, 3], dict(stride=2, padding=[1] * 3)),
    ([8, 32, 16, 32, 32], 64, [3, 3, 3], {}),
    ([8, 32, 16, 32, 32], 64, [3, 3, 3], dict(stride=2, padding=[1] * 3,
                                              output_padding=[1] * 3)),
    ([4, 32, 12, 24, 48], 32, [3, 5, 7], dict(
        stride=2, padding=[1, 2, 3], output_padding=[1] * 3, groups=4)),
    ([16, 32, 16, 32, 32], 16, [2, 2, 2], dict(stride=2)),
    ([4, 256, 8, 8, 8], 128, [2, 2, 2], dict(stride=2)),
    ([2, 64, 20, 64, 64], 64, [3, 3, 3], dict(padding=[1] * 3, dilation=2)),
]
# name of torch.nn.functional, shape, arguments
POOLS = [
    ("max_pool1d", [64, 192, 65536], dict(kernel_size=8, dilation=3, padding=4,
                                          stride=1)),
    ("max_pool1d", [64, 128, 16384], dict(kernel_size=2)),
    ("avg_pool1d", [64, 128, 65536], dict(kernel_size=8, padding=4, stride=1)),
    ("avg_pool1d", [64, 512, 4096], dict(kernel_size=4)),
    ("max_pool2d", [32, 64, 512, 512], dict(kernel_size=4, padding=1, stride=1)),
    ("max_pool2d", [32, 64, 112, 112], dict(kernel_size=3, stride=2, padding=1)),
    ("max_pool2d", [64, 256, 56, 56], dict(kernel_size=2)),
    ("max_pool2d", [32, 512, 13, 13], dict(kernel_size=5, stride=1, padding=2)),
    ("avg_pool2d", [16, 64, 1024, 1024], dict(kernel_size=11)),
    ("avg_pool2d", [64, 256, 56, 56], dict(kernel_size=2)),
    ("avg_pool2d", [64, 96, 56, 56], dict(kernel_size=3, stride=1, padding=1)),
    ("max_pool3d", [16, 32, 64, 128, 128], dict(kernel_size=3, padding=1,
                                                stride=2)),
    ("max_pool3d", [8, 32, 32, 64, 64], dict(kernel_size=2)),
    ("avg_pool3d", [16, 32, 64, 128, 128], dict(kernel_size=3, padding=1,
                                                stride=2)),
    ("avg_pool3d", [8, 64, 32, 32, 32], dict(kernel_size=2)),
    ("adaptive_avg_pool1d", [64, 256, 16384], dict(output_size=1)),
    ("adaptive_avg_pool2d", [64, 2048, 7, 7], dict(output_size=1)),
    ("adaptive_avg_pool2d", [16, 64, 512, 512], dict(output_size=1)),
    ("adaptive_avg_pool2d", [32, 512, 37, 41], dict(output_size=7)),
    ("adaptive_max_pool2d", [32, 512, 37, 41], dict(output_size=7)),
    ("adaptive_avg_pool3d", [16, 64, 16, 56, 56], dict(output_size=1)),
    ("adaptive_max_pool3d", [16, 64, 16, 28, 28], dict(output_size=[4, 7, 7])),
    ("lp_pool2d", [32, 64, 112, 112], dict(norm_type=2, kernel_size=3)),
]
# name, shape, number of normalised trailing dimensions or of groups
NORMS = [
    ("layer_norm", [16, 64, 256, 256], 3), ("layer_norm", [64, 96, 56, 56], 3),
    ("layer_norm", [8, 4194304], 1), ("layer_norm", [1048576, 16], 1),
    ("layer_norm", [262144, 64], 1), ("layer_norm", [65536, 1000], 1),
    ("layer_norm", [8192, 12288], 1), ("layer_norm", [100352, 97], 1),
    ("layer_norm", [32, 64, 64, 64, 64], 1), ("rms_norm", [8192, 4096], 1),
    ("rms_norm", [262144, 128], 1), ("rms_norm", [16384, 5120], 1),
    ("group_norm", [16, 64, 256, 256], 8), ("group_norm", [32, 512, 28, 28], 32),
    ("group_norm", [4096, 1024], 16), ("group_norm", [8, 320, 64, 64], 32),
    ("group_norm", [4, 32, 32, 64, 64], 4), ("group_norm", [64, 96, 56, 56], 1),
    ("instance_norm", [16, 64, 256, 256], 0),
    ("instance_norm", [4, 16, 64, 128, 128], 0),
    ("instance_norm", [512, 1, 32768], 0), ("instance_norm", [64, 512, 14, 14], 0),
    ("batch_norm", [16384, 1024], 0), ("batch_norm", [1024, 16384], 0),
    ("batch_norm", [64, 64, 512, 512], 0), ("batch_norm", [16, 32, 16, 64, 64], 0),
    ("batch_norm", [64, 256, 2048], 0), ("batch_norm", [8, 1280, 7, 7], 0),
    ("local_response_norm", [16, 96, 55, 55], 5),
]
# shape, dimensions (None: all)
REDUCED = [
    ([128, 4096, 4095], 1), ([128, 4096, 4095], 2), ([128, 4096, 4095], 0),
    ([512, 65536], None), ([512, 65536], 1), ([512, 65536], 0),
    ([65536, 512], 1), ([65536, 512], 0), ([4194304, 8], 1), ([8, 4194304], 1),
    ([8, 4194304], 0), ([64, 256, 56, 56], [2, 3]), ([64, 256, 56, 56], 1),
    ([16, 64, 128, 128], [1, 2]), ([1000003], None), ([97, 1009, 1013], 1),
]
REDUCTIONS = {
    "sum": lambda x, d: x.sum(d) if d is not None else x.sum(),
    "mean": lambda x, d: x.mean(d) if d is not None else x.mean(),
    "amax": lambda x, d: x.amax(d) if d is not None else x.amax(),
    "max": lambda x, d: x.max(d)[0] if isinstance(d, int) else x.amax(d or ()),
    "argmax": lambda x, d: x.argmax(d) if isinstance(d, int) else x.argmax(),
    "prod": lambda x, d: x.prod(d) if isinstance(d, int) else x.prod(),
    "var": lambda x, d: x.var(d) if d is not None else x.var(),
    "logsumexp": lambda x, d: x.logsumexp(d if d is not None else tuple(
        range(x.dim()))),
    "norm1": lambda x, d: torch.linalg.vector_norm(x, 1, d),
    "norm2": lambda x, d: torch.linalg.vector_norm(x, 2, d),
    "all": lambda x, d: (x > 0).all() if not isinstance(d, int)
    else (x > 0).all(d),
}
ALONG = {
    "softmax": functional.softmax, "log_softmax": functional.log_softmax,
    "cumsum": torch.cumsum, "cumprod": torch.cumprod,
    "logcumsumexp": torch.logcumsumexp, "cummax": lambda x, d: x.cummax(d)[0],
    "sort": lambda x, d: x.sort(d)[0],
    "topk": lambda x, d: x.topk(min(8, x.shape[d]), d)[0],
    "flip": lambda x, d: x.flip(d), "glu": functional.glu,
    "normalize": lambda x, d: functional.normalize(x, dim=d),
}
ALONG_SHAPES = [
    ([32768, 4096], 1), ([4096, 32768], 1), ([128, 1048576], 1),
    ([2097152, 32], 1), ([4096, 8192], 0), ([64, 1000], 1), ([16, 64, 65536], 1),
    ([12288, 197, 197], 2), ([16, 16, 16, 64, 64], 1), ([64, 4096, 64], 2),
]
# m, k, n
MATRICES = [
    (4096, 4096, 4096), (8192, 8192, 8192), (16384, 32, 16384),
    (32, 16384, 32), (256, 524288, 256), (8205, 2949, 5921), (32768, 64, 64),
    (1, 4096, 16384), (4, 4096, 4096), (16, 8192, 8192), (2048, 1048, 1),
    (2048, 1048576, 1), (65536, 768, 3072), (6304, 768, 2304), (1024, 1000, 7),
    (197, 384, 1536), (50176, 96, 384), (3001, 3001, 3001), (128, 8192, 8192),
    (1024, 65536, 1024), (32768, 16, 32768), (4096, 128, 50257),
]
# batch, m, k, n
BATCHES = [
    (384, 197, 64, 197), (384, 197, 197, 64), (128, 512, 1024, 2048),
    (1024, 49, 32, 49), (16, 4096, 64, 4096), (4096, 16, 16, 16),
    (65536, 4, 4, 4), (8, 1, 4096, 4096), (64, 1024, 1, 1024), (96, 333, 77, 211),
]
POINTWISE_SHAPES = [[64, 256, 56, 56], [4096, 393216 // 8], [1024, 1000],
                    [16777259]]
POINTWISE = {
    "relu": functional.relu, "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu, "mish": functional.mish, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "softplus": functional.softplus,
    "elu": functional.elu, "selu": functional.selu,
    "leaky_relu": functional.leaky_relu, "hardswish": functional.hardswish,
    "hardsigmoid": functional.hardsigmoid, "hardtanh": functional.hardtanh,
    "softsign": functional.softsign, "logsigmoid": functional.logsigmoid,
    "exp": torch.exp, "log1p": lambda x: torch.log1p(x.abs()),
    "sqrt": lambda x: x.abs().sqrt(), "rsqrt": lambda x: x.abs().rsqrt(),
    "pow3": lambda x: x**3, "erf": torch.erf, "sin": torch.sin,
    "add_scalar": lambda x: x + 1.5, "mul_scalar": lambda x: x * 1.5,
    "clamp": lambda x: x.clamp(-1, 1), "clamp_min": lambda x: x.clamp_min(0),
    "add": lambda x: x + x, "mul": lambda x: x * x, "div": lambda x: x / (x + 3),
    "where": lambda x: torch.where(x > 0, x, 0.5),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1.0),
    "dropout": lambda x: functional.dropout(x, 0.1, True),
    "to_half": lambda x: x.to(torch.float16), "to_float": lambda x: x.double()
    if x.dtype == torch.float32 else x.float(), "neg": torch.neg,
    "clone": torch.clone, "zeros_like": torch.zeros_like,
    "rand_like": torch.rand_like, "bernoulli": lambda x: torch.bernoulli(
        torch.sigmoid(x)), "abs": torch.abs, "sign": torch.sign,
}
# name -> (shape, function): data moved, with or without a pattern
MOVES = {
    "transpose_last": ([64, 2048, 1024], lambda x: x.transpose(1, 2).contiguous()),
    "permute_heads": ([32, 12, 512, 64],
                      lambda x: x.permute(0, 2, 1, 3).contiguous()),
    "permute_qkv": ([32, 512, 3, 12, 64],
                    lambda x: x.permute(2, 0, 3, 1, 4).contiguous()),
    "nchw_to_nhwc": ([32, 256, 56, 56],
                     lambda x: x.permute(0, 2, 3, 1).contiguous()),
    "nhwc_to_nchw": ([32, 56, 56, 256],
                     lambda x: x.permute(0, 3, 1, 2).contiguous()),
    "windows": ([64, 56, 56, 96], lambda x: x.view(64, 8, 7, 8, 7, 96).permute(
        0, 1, 3, 2, 4, 5).contiguous()),
    "slice_last": ([8192, 8192], lambda x: x[:, :4096].contiguous()),
    "slice_step": ([8192, 8192], lambda x: x[:, ::2].contiguous()),
    "expand": ([8192, 1], lambda x: x.expand(8192, 8192).contiguous()),
    "roll": ([64, 56, 56, 96], lambda x: x.roll((3, 3), (1, 2))),
    "cat_channels": ([32, 128, 56, 56], lambda x: torch.cat([x, x, x], 1)),
    "cat_last": ([8192, 1536], lambda x: torch.cat([x, x], 1)),
    "cat_tokens": ([64, 196, 768], lambda x: torch.cat([x[:, :1], x], 1)),
    "cat_many": ([64, 32, 28, 28], lambda x: torch.cat([x] * 16, 1)),
    "stack": ([4096, 4096], lambda x: torch.stack([x, x])),
    "chunk_mul": ([8192, 8192], lambda x: x[:, :4096] * x[:, 4096:]),
    "pad_zero": ([32, 64, 112, 112], lambda x: functional.pad(x, (1, 1, 1, 1))),
    "pad_reflect": ([32, 64, 112, 112],
                    lambda x: functional.pad(x, (3, 3, 3, 3), "reflect")),
    "tril": ([32, 4096, 1024], torch.tril),
    "bias_channel": ([32, 256, 56, 56], lambda x: x + x[:1, :, :1, :1]),
    "bias_last": ([65536, 768], lambda x: x + x[:1]),
    "scale_gate": ([32, 256, 56, 56], lambda x: x * x[:, :, :1, :1]),
    "outer": ([8192], lambda x: x[:, None] * x[None]),
    "add_transposed": ([8192, 8192], lambda x: x + x.t()),
    "nearest": ([16, 64, 128, 128],
                lambda x: functional.interpolate(x, scale_factor=2)),
    "bilinear": ([16, 64, 128, 128], lambda x: functional.interpolate(
        x, scale_factor=2, mode="bilinear")),
    "bicubic": ([16, 64, 128, 128], lambda x: functional.interpolate(
        x, scale_factor=2, mode="bicubic")),
    "trilinear": ([4, 32, 32, 32, 32], lambda x: functional.interpolate(
        x, scale_factor=2, mode="trilinear")),
    "nearest3d": ([4, 32, 32, 32, 32],
                  lambda x: functional.interpolate(x, scale_factor=2)),
    "bilinear_down": ([16, 64, 256, 256], lambda x: functional.interpolate(
        x, scale_factor=0.5, mode="bilinear")),
    "pixel_shuffle": ([16, 256, 128, 128],
                      lambda x: functional.pixel_shuffle(x, 2)),
    "unfold": ([16, 64, 56, 56], lambda x: functional.unfold(x, 3, padding=1)),
    "fold": ([16, 576, 3136], lambda x: functional.fold(
        x, (56, 56), 3, padding=1)),
    "rfft": ([4096, 8192], lambda x: torch.fft.rfft(x).abs()),
    "rfft2": ([64, 64, 128, 128], lambda x: torch.fft.rfft2(x).abs()),
    "grid_sample": ([16, 64, 128, 128], lambda x: functional.grid_sample(
        x, torch.tanh(x[:, :2]).permute(0, 2, 3, 1), align_corners=False)),
    "cdist": ([2048, 128], lambda x: torch.cdist(x, x + 1)),
    "cosine": ([8192, 4096], lambda x: functional.cosine_similarity(x, x + 1)),
    "einsum": ([64, 256, 768], lambda x: torch.einsum("bld,bmd->blm", x, x)),
}
FP32_MOVES = ("rfft", "rfft2", "cdist", "grid_sample")
# name -> (shape of the table, count of indices, function of table and indices)
INDEXED = {
    "embedding": ([50257, 768], [16, 1024], lambda t, i: functional.embedding(i, t)),
    "embedding_large": ([128256, 4096], [4, 2048],
                        lambda t, i: functional.embedding(i, t)),
    "embedding_bag": ([1000000, 64], [16384, 20],
                      lambda t, i: functional.embedding_bag(i, t, mode="sum")),
    "index_select": ([65536, 512], [131072], lambda t, i: t.index_select(0, i)),
    "index": ([65536, 512], [131072], lambda t, i: t[i]),
    "gather": ([65536, 512], [65536, 16], lambda t, i: t.gather(1, i % 512)),
    "scatter_add": ([65536, 64], [1048576],
                    lambda t, i: torch.zeros_like(t).index_add(
                        0, i, t.repeat(16, 1))),
    "take_along": ([16, 65536], [16, 4096], lambda t, i: t.gather(1, i)),
    "bias_table": ([169, 12], [49, 49], lambda t, i: t[i.view(-1)].view(
        49, 49, -1).permute(2, 0, 1).contiguous()),
}
# name -> (shape, function)
LOSSES = {
    "cross_entropy": ([8192, 50257], lambda x: functional.cross_entropy(
        x, torch.arange(x.shape[0], device=x.device) % x.shape[1])),
    "cross_entropy_small": ([32768, 10], lambda x: functional.cross_entropy(
        x, torch.arange(x.shape[0], device=x.device) % 10)),
    "cross_entropy_pixels": ([16, 21, 256, 256], lambda x:
                             functional.cross_entropy(
                                 x, torch.zeros_like(x[:, 0]).long())),
    "mse": ([32768, 4096], lambda x: functional.mse_loss(x, x.detach() + 1)),
    "huber": ([32768, 4096], lambda x: functional.smooth_l1_loss(
        x, x.detach() + 1)),
    "kl": ([8192, 16384], lambda x: functional.kl_div(
        x.log_softmax(-1), x.detach().softmax(-1), reduction="batchmean")),
    "bce": ([32768, 1000], lambda x: functional.binary_cross_entropy_with_logits(
        x, x.detach().sigmoid())),
    "triplet": ([32768, 4096], lambda x: functional.triplet_margin_loss(
        x, x.detach() + 1, x.detach() - 1)),
    "hinge": ([32768, 1024], lambda x: (1 - x * x.detach().sign()).clamp(
        min=0).mean()),
}
# kind, batch, length, inputs, width, layers, both directions
RECURRENT = [
    ("LSTM", 10, 512, 128, 256, 6, False), ("LSTM", 32, 128, 512, 512, 1, False),
    ("LSTM", 64, 50, 300, 1024, 2, True), ("LSTM", 1, 256, 256, 256, 2, False),
    ("LSTM", 256, 32, 64, 64, 1, False), ("GRU", 10, 512, 128, 256, 6, False),
    ("GRU", 10, 512, 128, 256, 6, True), ("GRU", 64, 100, 512, 512, 2, False),
    ("GRU", 16, 64, 1024, 2048, 1, False), ("RNN", 64, 128, 256, 256, 2, False),
    ("LSTM", 8, 1000, 40, 640, 3, False), ("LSTM", 128, 20, 650, 1500, 2, False),
]
# batch, heads, queries, keys, width
ATTENTION = [(32, 32, 512, 512, 1024), (16, 16, 1024, 1024, 64),
             (4, 8, 4096, 4096, 64), (128, 12, 197, 197, 64),
             (8, 16, 577, 577, 64), (8, 16, 1000, 77, 40)]
# optimizer, options, parameters' shapes
STEPS = [
    (name, options, shapes)
    for name, options in (
        ("AdamW", {}), ("AdamW", dict(fused=True)), ("AdamW", dict(foreach=False)),
        ("Adam", {}), ("SGD", dict(momentum=0.9)), ("SGD", {}), ("RMSprop", {}),
        ("Adagrad", {}), ("Adafactor", {}))
    for shapes in (
        [[4096, 4096]] * 8, [[768, 768], [768], [3072, 768], [3072]] * 24,
        [[256, 256, 3, 3], [256], [256]] * 40)
]


def operators():
    rows = []

    def add(op, shape, precision, layout="contiguous", **options):
        rows.append((op, list(shape), precision, layout, options))

    for (shape, outputs, kernel, how), precision in itertools.product(
            CONVOLUTIONS, ("fp32", "fp32_no_tf32", "bf16")):
        add("any_convolution", shape, precision, outputs=outputs, kernel=kernel,
            **how)
        if len(shape) > 3 and precision != "fp32_no_tf32":
            add("any_convolution", shape, precision, "channels_last",
                outputs=outputs, kernel=kernel, **how)
    for (shape, outputs, kernel, how), precision in itertools.product(
            TRANSPOSED, ("fp32", "fp32_no_tf32", "bf16")):
        add("any_convolution", shape, precision, outputs=outputs, kernel=kernel,
            transposed=True, **how)
    for (name, shape, how), precision in itertools.product(POOLS, FLOATS):
        add("pool", shape, precision, name=name, **how)
        if len(shape) == 4:
            add("pool", shape, precision, "channels_last", name=name, **how)
    for (name, shape, count), precision in itertools.product(NORMS, FLOATS):
        add("norm", shape, precision, name=name, count=count)
    for name, (shape, dim), precision in itertools.product(
            REDUCTIONS, REDUCED, FLOATS):
        if precision == "fp32" or name in ("sum", "mean", "amax", "norm2"):
            add("reduction", shape, precision, name=name, dim=dim)
    for name, (shape, dim), precision in itertools.product(
            ALONG, ALONG_SHAPES, FLOATS):
        if (name != "glu" or shape[dim] % 2 == 0) and (
                name not in ("sort", "topk", "cummax") or
                math.prod(shape) <= 1 << 27 and shape[dim] <= 1 << 17):
            add("along", shape, precision, name=name, dim=dim)
    for (m, k, n), precision, how in itertools.product(
            MATRICES, PRODUCTS, ("nn", "nt", "tn")):
        add("product", [m, k, n], precision, how=how)
    for (b, m, k, n), precision, how in itertools.product(
            BATCHES, PRODUCTS, ("nn", "nt")):
        add("batched", [b, m, k, n], precision, how=how)
    for name, shape, precision in itertools.product(
            POINTWISE, POINTWISE_SHAPES, FLOATS):
        add("pointwise", shape, precision, name=name)
    for name, precision in itertools.product(MOVES, FLOATS):
        if precision == "fp32" or name not in FP32_MOVES:
            add("move", MOVES[name][0], precision, name=name)
    for name, precision in itertools.product(INDEXED, FLOATS):
        add("indexed", INDEXED[name][0], precision, name=name)
    for name, precision in itertools.product(LOSSES, FLOATS):
        add("loss", LOSSES[name][0], precision, name=name)
    for (kind, batch, length, inputs, width, layers, both), precision in (
            itertools.product(RECURRENT, ("fp32", "fp32_no_tf32", "bf16"))):
        add("recurrent", [batch, length, inputs], precision, name=kind,
            width=width, layers=layers, both=both)
    for shape, precision in itertools.product(ATTENTION, ("fp32", "bf16")):
        add("heads", shape, precision)
    for name, options, shapes in STEPS:
        add("optimizer", [], "fp32", name=name, options=options, shapes=shapes)
    return sorted(rows, key=lambda row: hashlib.sha256(
        json.dumps(row).encode()).digest())


def build(row, calls):
    """(forward, backward or None) of one row."""
    op, shape, precision, layout, options = row
    return globals()["make_" + op](calls, shape, layout, options)


def differentiable(calls, function, *inputs):
    """The pass forward, and backward to `inputs` where there is a gradient."""
    forward = lambda: function(*inputs)
    return forward, calls.gradient(
        forward, [x for x in inputs if x.requires_grad])


def spread(value, count):
    return list(value) if isinstance(value, list) else [value] * count


def make_any_convolution(calls, shape, layout, options):
    count, kernel = len(shape) - 2, options["kernel"]
    groups = options.get("groups", 1)
    transposed = options.get("transposed", False)
    x = calls.random(*shape)
    sizes = ([shape[1], options["outputs"] // groups] if transposed
             else [options["outputs"], shape[1] // groups])
    weight = calls.random(*sizes, *kernel)
    arguments = (spread(options.get("stride", 1), count),
                 spread(options.get("padding", 0), count),
                 spread(options.get("dilation", 1), count), transposed,
                 spread(options.get("output_padding", 0), count), groups)

    def forward():
        return torch.ops.aten.convolution(x, weight, None, *arguments)
    gradient = torch.randn_like(forward())

    def backward():
        return torch.ops.aten.convolution_backward(
            gradient, x, weight, None, *arguments, [True, True, False])
    return forward, backward


def make_pool(calls, shape, layout, options):
    options = dict(options)
    function = getattr(functional, options.pop("name"))
    x = calls.random(*shape).requires_grad_()
    return differentiable(calls, lambda x: function(x, **options), x)


def make_norm(calls, shape, layout, options):
    name, count = options["name"], options["count"]
    x = calls.random(*shape).requires_grad_()
    if name == "local_response_norm":
        return differentiable(
            calls, lambda x: functional.local_response_norm(x, count), x)
    sizes = shape[-count:] if name in ("layer_norm", "rms_norm") else [shape[1]]
    weight, bias, mean, variance = (
        torch.rand(sizes, device=calls.device, dtype=calls.dtype)
        for _ in range(4))
    weight.requires_grad_(), bias.requires_grad_()
    function = {
        "layer_norm": lambda x, w, b: functional.layer_norm(x, sizes, w, b),
        "rms_norm": lambda x, w, b: functional.rms_norm(x, sizes, w),
        "group_norm": lambda x, w, b: functional.group_norm(x, count, w, b),
        "instance_norm": lambda x, w, b: functional.instance_norm(
            x, None, None, w, b),
        "batch_norm": lambda x, w, b: functional.batch_norm(
            x, mean, variance, w, b, True),
    }[name]
    if name == "rms_norm":
        return differentiable(
            calls, lambda x, w: function(x, w, None), x, weight)
    return differentiable(calls, function, x, weight, bias)


def make_reduction(calls, shape, layout, options):
    function, dim = REDUCTIONS[options["name"]], options["dim"]
    if isinstance(dim, list):
        dim = tuple(dim)
    return (lambda x=calls.random(*shape): function(x, dim)), None


def make_along(calls, shape, layout, options):
    function, dim = ALONG[options["name"]], options["dim"]
    x = calls.random(*shape)
    if options["name"] in ("softmax", "log_softmax", "glu", "cumsum"):
        return differentiable(calls, lambda x: function(x, dim),
                              x.requires_grad_())
    return (lambda: function(x, dim)), None


def make_product(calls, shape, layout, options):
    m, k, n = shape
    how = options["how"]
    a = calls.random(k, m).t() if how == "tn" else calls.random(m, k)
    b = calls.random(n, k).t() if how == "nt" else calls.random(k, n)
    return (lambda: a @ b), None


def make_batched(calls, shape, layout, options):
    batch, m, k, n = shape
    a = calls.random(batch, m, k)
    b = calls.random(batch, *((n, k) if options["how"] == "nt" else (k, n)))
    b = b.transpose(1, 2) if options["how"] == "nt" else b
    return (lambda: torch.bmm(a, b)), None


def make_pointwise(calls, shape, layout, options):
    x = calls.random(*shape).requires_grad_()
    return differentiable(calls, POINTWISE[options["name"]], x)


def make_move(calls, shape, layout, options):
    _, function = MOVES[options["name"]]
    x = calls.random(*shape).requires_grad_()
    return differentiable(calls, function, x)


def make_indexed(calls, shape, layout, options):
    _, count, function = INDEXED[options["name"]]
    table = calls.random(*shape).requires_grad_()
    indices = torch.randint(0, shape[0], count, device=calls.device)
    return differentiable(calls, lambda t: function(t, indices), table)


def make_loss(calls, shape, layout, options):
    _, function = LOSSES[options["name"]]
    return differentiable(calls, function, calls.random(*shape).requires_grad_())


def make_recurrent(calls, shape, layout, options):
    module = getattr(nn, options["name"])(
        shape[2], options["width"], options["layers"], batch_first=True,
        bidirectional=options["both"], device=calls.device, dtype=calls.dtype)
    x = calls.random(*shape).requires_grad_()
    forward = lambda: module(x)[0]
    return forward, calls.gradient(forward, [x, *module.parameters()])


def make_heads(calls, shape, layout, options):
    batch, heads, queries, keys, width = shape
    q, k, v = (calls.random(batch, heads, length, width).requires_grad_()
               for length in (queries, keys, keys))
    return differentiable(
        calls, functional.scaled_dot_product_attention, q, k, v)


def make_optimizer(calls, shape, layout, options):
    parameters = [nn.Parameter(torch.randn(s, device=calls.device))
                  for s in options["shapes"]]
    for p in parameters:
        p.grad = torch.randn_like(p)
    optimizer = getattr(torch.optim, options["name"])(
        parameters, lr=1e-4, **options["options"])
    return optimizer.step, None


def shrink(row):
    """`row` at a toy extent, for a try on a CPU."""
    op, shape, precision, layout, options = row
    keep = 2 if op == "any_convolution" else 0
    most = {1: 64, 2: 16, 3: 24, 4: 24, 5: 16}.get(len(shape), 16)
    small = [n if i and i < keep or op in ("move", "norm", "heads") else
             min(n, most) for i, n in enumerate(shape)]
    if op == "indexed":  # The indices fit the table.
        small = shape
    if op == "optimizer":
        options = dict(options, shapes=[[4] * len(s) for s in options["shapes"]])
    if op == "recurrent":
        options = dict(options, width=16)
    return op, small, precision, layout, options
