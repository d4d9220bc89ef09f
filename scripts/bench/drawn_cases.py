"""The operators that measure_kernels.py --suite drawn runs.

The extents of operator_cases.py were chosen; these are drawn at random with a
fixed seed: convolutions of volumes and large images, transposed ones, scans,
sorts and softmax over any dimension, norms, pools, resampling, attention, losses,
recurrent layers, products of any proportions. Most have as many elements as keep a
GPU busy for 0.05 to 10 ms. The order is fixed: any prefix is a fair sample.
"""

import hashlib
import json
import math
import random

import torch
from torch.nn import functional

import operator_cases

SEED = 20261128
PRECISIONS = ("fp32", "fp32", "fp32_no_tf32", "bf16", "fp16")
FLOATS = ("fp32", "bf16")
MOST_MACS = 6e10
# Direct kernels take about ten times as long for one.
MOST_DEPTHWISE_MACS = 6e9
# Extents of an image by its number of dimensions.
EXTENTS = {1: (128, 131072), 2: (8, 320), 3: (6, 72)}
CHANNEL_STEPS = (1, 8, 8, 16, 64)


def near(rng, low, high, step=1):
    """A whole number, its logarithm even between those of `low` and `high`."""
    value = math.exp(rng.uniform(math.log(low), math.log(high)))
    return max(low, int(value) // step * step)


def channels(rng, low, high):
    return near(rng, low, high, rng.choice(CHANNEL_STEPS))


def batch_for(rng, per_sample, macs=1, most_macs=MOST_MACS):
    """Samples for a drawn number of elements, or None if one is too many."""
    batch = min(near(rng, 1 << 21, 1 << 28) // per_sample,
                int(most_macs / macs), 256)
    return batch if batch >= 1 else None


def result_extents(extents, how):
    """Extents of a convolution's result; None where one is empty."""
    found = []
    for i, n in enumerate(extents):
        span = how["dilation"][i] * (how["kernel"][i] - 1)
        if how.get("transposed"):
            n = ((n - 1) * how["stride"][i] - 2 * how["padding"][i] + span +
                 how["output_padding"][i] + 1)
        else:
            n = (n + 2 * how["padding"][i] - span - 1) // how["stride"][i] + 1
        found.append(n)
    return found if min(found) > 0 else None


def convolution(rng, inputs, extents, how, layouts=("contiguous",)):
    """A row, with as many samples as fit; None where it has no result."""
    result = result_extents(extents, how)
    if result is None:
        return None
    swept = extents if how.get("transposed") else result
    macs = (math.prod(swept) * inputs * how["outputs"] // how["groups"] *
            math.prod(how["kernel"]))
    most = MOST_DEPTHWISE_MACS if how["groups"] == inputs > 1 else MOST_MACS
    elements = inputs * math.prod(extents) + how["outputs"] * math.prod(result)
    batch = 1 if how.pop("single", False) else batch_for(
        rng, elements, macs, most)
    if batch is None or macs * batch > most or elements * batch > 1 << 29:
        return None
    return ("any_convolution", [batch, inputs, *extents],
            rng.choice(PRECISIONS), rng.choice(layouts), how)


def window(rng, count, sizes, square=0.5):
    """Kernel, stride, padding and dilation; the same in all dimensions or not."""
    same = rng.random() < square

    def drawn(values):
        value = rng.choice(values)
        return [value if same else rng.choice(values) for _ in range(count)]
    kernel, dilation = drawn(sizes), drawn((1, 1, 1, 1, 2, 3))
    wide = rng.random() < 0.6
    return {"kernel": kernel, "dilation": dilation, "stride": drawn((1, 1, 2, 3)),
            "padding": [d * (k // 2) if wide else 0
                        for k, d in zip(kernel, dilation)]}


def grouped(rng, how, low=3, high=512):
    """Draws inputs, and sets outputs and groups; returns the inputs."""
    inputs, outputs = channels(rng, low, high), channels(rng, 8, high)
    groups = rng.choice((1, 1, 1, 1, 2, 4, 8))
    how.update(outputs=math.ceil(outputs / groups) * groups, groups=groups)
    return math.ceil(inputs / groups) * groups


def layouts_of(count):
    return ("contiguous",) if count == 1 else (
        "contiguous", "contiguous", "contiguous", "channels_last")


def draw_transposed(rng):
    count = rng.choice((1, 2, 2, 3, 3, 3))
    how = window(rng, count, (2, 3, 3, 4, 5, 7)[:6 if count < 3 else 5], 0.6)
    how["transposed"] = True
    how["output_padding"] = [
        rng.randrange(max(s, d)) if rng.random() < 0.3 else 0
        for s, d in zip(how["stride"], how["dilation"])]
    inputs = grouped(rng, how)
    low, high = EXTENTS[count]
    return convolution(rng, inputs, [near(rng, low, high) for _ in range(count)],
                       how, layouts_of(count))


def draw_volume(rng):
    how = window(rng, 3, (1, 2, 3, 3, 5, 7), 0.4)
    inputs = grouped(rng, how)
    return convolution(rng, inputs, [near(rng, *EXTENTS[3]) for _ in range(3)],
                       how, layouts_of(3))


def draw_depthwise(rng):
    count = rng.choice((1, 2, 2, 3, 3))
    how = window(rng, count, (3, 3, 5, 7), 0.6)
    inputs = channels(rng, 8, 512)
    how.update(outputs=inputs * rng.choice((1, 1, 1, 2)), groups=inputs)
    low, high = EXTENTS[count]
    return convolution(rng, inputs, [near(rng, low, high) for _ in range(count)],
                       how, layouts_of(count))


def draw_pointwise_convolution(rng):
    how = {"kernel": [1, 1], "stride": [rng.choice((1, 1, 1, 2))] * 2,
           "padding": [0, 0], "dilation": [1, 1], "groups": 1,
           "outputs": channels(rng, 16, 1024)}
    extent = near(rng, 56, 1024, rng.choice((1, 8)))
    return convolution(rng, channels(rng, 3, 1024), [extent] * 2, how,
                       ("contiguous", "channels_last"))


def draw_large_kernel(rng):
    kernel = rng.choice((7, 9, 11, 13, 15, 21, 31))
    how = {"kernel": rng.choice(([kernel] * 2, [kernel, 1], [1, kernel],
                                 [kernel, 3])),
           "stride": [rng.choice((1, 1, 2, 4))] * 2, "dilation": [1, 1]}
    how["padding"] = [k // 2 for k in how["kernel"]]
    inputs = channels(rng, 3, 128)
    if rng.random() < 0.5:
        how.update(outputs=inputs, groups=inputs)
    else:
        how.update(outputs=channels(rng, 8, 128), groups=1)
    extent = near(rng, 32, 256)
    return convolution(rng, inputs, [extent] * 2, how, layouts_of(2))


def draw_single_image(rng):
    """Batch 1, as segmentation and generation of images have it."""
    how = window(rng, 2, (1, 3, 3, 3, 5), 0.9)
    inputs = grouped(rng, how, 3, 320)
    how["single"] = True
    return convolution(rng, inputs, [near(rng, 256, 1024, 32)] * 2, how,
                       layouts_of(2))


def draw_image(rng):
    how = window(rng, 2, (1, 3, 3, 5, 7), 0.6)
    inputs = grouped(rng, how)
    return convolution(rng, inputs, [near(rng, *EXTENTS[2]) for _ in range(2)],
                       how, layouts_of(2))


def shape_of(rng, most=1 << 28):
    """Two to five dimensions of any proportions."""
    count = rng.choice((2, 3, 4, 4, 4, 5))
    target = near(rng, 1 << 21, most)
    shares = [0.3 + rng.expovariate(1) for _ in range(count)]
    shape = [max(2, round(target ** (s / sum(shares)))) for s in shares]
    step = rng.choice((1, 1, 4, 16))
    return [max(2, n // step * step) for n in shape]


def draw_softmax(rng):
    shape = shape_of(rng)
    return ("along", shape, rng.choice(FLOATS), "contiguous",
            {"name": rng.choice(("softmax", "log_softmax")),
             "dim": rng.randrange(len(shape))})


def draw_along(rng):
    name = rng.choice(("cumsum", "cumprod", "logcumsumexp", "cummax", "sort",
                       "topk", "topk", "flip", "normalize"))
    shape = shape_of(rng, 1 << (25 if name in ("sort", "topk") else 27))
    return ("along", shape, rng.choice(FLOATS), "contiguous",
            {"name": name, "dim": rng.randrange(len(shape))})


def draw_reduction(rng):
    shape = shape_of(rng)
    dim = rng.randrange(len(shape))
    if len(shape) > 3 and rng.random() < 0.3:
        dim = sorted(rng.sample(range(len(shape)), 2))
    names = ("sum", "mean", "amax", "var", "norm2") + (
        () if isinstance(dim, list) else ("argmax", "argmax", "max", "prod"))
    return ("reduction", shape, rng.choice(FLOATS), "contiguous",
            {"name": rng.choice(names), "dim": dim})


def image_shape(rng, count=None, most=64):
    count = count or rng.choice((1, 2, 2, 3, 3))
    low, high = EXTENTS[count]
    extents = [near(rng, low, high) for _ in range(count)]
    images = near(rng, 1 << 21, 1 << 28) // math.prod(extents)
    width = min(channels(rng, 3, 512), max(images, 1))
    return [max(1, min(images // width, most)), width, *extents]


def draw_norm(rng):
    name = rng.choice(("group_norm", "group_norm", "instance_norm", "batch_norm",
                       "layer_norm"))
    shape = image_shape(rng)
    count = 0
    if name == "layer_norm":
        count = rng.randrange(1, len(shape))
    elif name == "group_norm":
        count = rng.choice([n for n in (1, 2, 4, 8, 16, 32)
                            if shape[1] % n == 0])
    return "norm", shape, rng.choice(FLOATS), "contiguous", {"name": name,
                                                             "count": count}


def draw_pool(rng):
    shape = image_shape(rng)
    count = len(shape) - 2
    kind = rng.choice(("max", "avg", "adaptive_avg", "adaptive_max", "fractional"))
    if kind == "fractional":
        shape, count = (shape, count) if count > 1 else (image_shape(rng, 2), 2)
        options = {"name": f"fractional_max_pool{count}d", "kernel_size": 2,
                   "output_size": [max(1, int(n * rng.uniform(0.4, 0.8)))
                                   for n in shape[2:]]}
    elif kind.startswith("adaptive"):
        options = {"name": f"{kind}_pool{count}d", "output_size": [
            rng.choice((1, 2, 4, 7, max(1, n // 2))) for n in shape[2:]]}
    else:
        kernel = rng.choice((2, 2, 3, 3, 4, 5))
        options = {"name": f"{kind}_pool{count}d", "kernel_size": kernel,
                   "stride": rng.choice((1, 2, kernel)),
                   "padding": rng.choice((0, kernel // 2))}
    return "pool", shape, rng.choice(FLOATS), rng.choice(
        layouts_of(count)), options


MODES = {1: ("nearest", "linear"),
         2: ("nearest", "bilinear", "bilinear", "bicubic", "nearest-exact"),
         3: ("nearest", "trilinear")}


def draw_resample(rng):
    shape = image_shape(rng, rng.choice((1, 2, 2, 3)))
    count = len(shape) - 2
    mode = rng.choice(MODES[count])
    scale = rng.choice((0.5, 0.75, 1.5, 2, 2, 3))
    if scale > 1:
        shape[0] = max(1, int(shape[0] / scale**count))
    options = {"mode": mode, "scale": scale}
    if mode.endswith(("linear", "bicubic")):
        options["align_corners"] = rng.random() < 0.5
    if mode in ("bilinear", "bicubic") and rng.random() < 0.25:
        options["antialias"] = True
    return "resample", shape, rng.choice(FLOATS), rng.choice(
        layouts_of(count)), options


def draw_grid_sample(rng):
    shape = image_shape(rng, rng.choice((2, 2, 3)))
    return "grid_sample", shape, "fp32", "contiguous", {
        "mode": rng.choice(("bilinear", "nearest")),
        "padding": rng.choice(("zeros", "border")),
        "align_corners": rng.random() < 0.5}


def draw_attention(rng):
    width = rng.choice((32, 40, 64, 64, 80, 96, 128, 128, 160, 256))
    queries = near(rng, 16, 4096, rng.choice((1, 64)))
    keys = queries if rng.random() < 0.7 else near(rng, 16, 4096)
    heads = rng.choice((1, 2, 4, 8, 12, 16, 32))
    target = near(rng, 1 << 25, 1 << 31)
    batch = max(1, min(target // (heads * queries * keys), 256))
    how = rng.choice(("full", "full", "causal", "bool_mask", "float_mask"))
    if queries != keys and how == "causal":
        how = "full"
    return ("attention", [batch, heads, heads, queries, keys, width],
            rng.choice(("fp32", "tf32", "bf16", "fp16")), "contiguous",
            {"how": how})


def draw_loss(rng):
    shape = [near(rng, 1 << 10, 1 << 17), near(rng, 8, 1 << 14)]
    while math.prod(shape) > 1 << 28:
        shape[0] //= 2
    return ("pair_loss", shape, rng.choice(FLOATS), "contiguous",
            {"name": rng.choice(tuple(PAIR_LOSSES))})


def draw_recurrent(rng):
    width = near(rng, 32, 1536, rng.choice((1, 1, 32)))
    return ("recurrent", [near(rng, 1, 256), near(rng, 8, 200),
                          near(rng, 16, 1024, rng.choice((1, 8)))],
            rng.choice(PRECISIONS), "contiguous",
            {"name": rng.choice(("LSTM", "GRU", "RNN")), "width": width,
             "layers": rng.choice((1, 1, 2, 3)), "both": rng.random() < 0.3})


def draw_product(rng):
    """m, k and n of any proportions, up to the work of a convolution."""
    step = rng.choice((1, 8, 64))
    sides = [near(rng, 1, 1 << 17, step) for _ in range(3)]
    while (math.prod(sides) > MOST_MACS or max(
            sides[i] * sides[j] for i, j in ((0, 1), (1, 2), (0, 2))) > 1 << 28):
        largest = sides.index(max(sides))
        sides[largest] = max(1, sides[largest] // 2)
    elements = sides[0] * sides[1] + sides[1] * sides[2] + sides[0] * sides[2]
    if elements < 1 << 20:
        return None
    return ("product", sides, rng.choice(("fp32", "tf32", "bf16", "fp16")),
            "contiguous", {"how": rng.choice(("nn", "nt", "tn"))})


def draw_batched(rng):
    step = rng.choice((1, 8, 32))
    m, k, n = (near(rng, 1, 2048, step) for _ in range(3))
    batch = batch_for(rng, m * k + k * n + m * n, m * k * n)
    return batch and ("batched", [min(batch * 4, 4096), m, k, n],
                      rng.choice(("fp32", "tf32", "bf16", "fp16")), "contiguous",
                      {"how": rng.choice(("nn", "nt"))})


def draw_special_product(rng):
    name = rng.choice(tuple(SPECIAL_PRODUCTS))
    return ("special_product", [near(rng, 512, 6144, rng.choice((1, 64)))],
            rng.choice(FLOATS), "contiguous", {"name": name})


# Function and rows to draw.
FAMILIES = (
    (draw_transposed, 260), (draw_volume, 180), (draw_depthwise, 80),
    (draw_pointwise_convolution, 110), (draw_large_kernel, 60),
    (draw_single_image, 70), (draw_image, 80), (draw_softmax, 80),
    (draw_along, 80), (draw_reduction, 60), (draw_norm, 70), (draw_pool, 90),
    (draw_resample, 70), (draw_grid_sample, 20), (draw_attention, 90),
    (draw_loss, 50), (draw_recurrent, 45), (draw_product, 80),
    (draw_batched, 50), (draw_special_product, 25),
)


def operators():
    rows = []
    for number, (draw, count) in enumerate(FAMILIES):
        rng, found = random.Random(SEED + number), []
        while len(found) < count:
            row = draw(rng)
            if row:
                found.append(row)
        rows += found
    return sorted(rows, key=lambda row: hashlib.sha256(
        json.dumps(row).encode()).digest())


def build(row, calls):
    """(forward, backward or None) of one row."""
    op, shape, precision, layout, options = row
    make = globals().get("make_" + op)
    return (make(calls, shape, layout, options) if make
            else operator_cases.build(row, calls))


def make_resample(calls, shape, layout, options):
    x = calls.random(*shape).requires_grad_()
    how = {key: value for key, value in options.items() if key != "scale"}
    return operator_cases.differentiable(
        calls, lambda x: functional.interpolate(
            x, scale_factor=options["scale"], **how), x)


def make_grid_sample(calls, shape, layout, options):
    x = calls.random(*shape).requires_grad_()
    grid = torch.tanh(calls.random(shape[0], *shape[2:], len(shape) - 2))
    return operator_cases.differentiable(
        calls, lambda x, grid: functional.grid_sample(
            x, grid, options["mode"], options["padding"],
            options["align_corners"]), x, grid.requires_grad_())


PAIR_LOSSES = {
    "triplet": lambda x, y: functional.triplet_margin_loss(x, y, y),
    "cosine": lambda x, y: (1 - functional.cosine_similarity(x, y, 1)).mean(),
    "kl": lambda x, y: functional.kl_div(x.log_softmax(1), y.softmax(1),
                                         reduction="batchmean"),
    "kl_plain": lambda x, y: functional.kl_div(x, y.abs(),
                                               reduction="batchmean"),
    "hinge": lambda x, y: torch.clamp(1 - x * y, min=0).mean(),
    "mse": functional.mse_loss, "l1": functional.l1_loss,
    "huber": functional.smooth_l1_loss,
    "bce": lambda x, y: functional.binary_cross_entropy_with_logits(
        x, y.sigmoid()),
    "poisson": functional.poisson_nll_loss,
    "soft_cross_entropy": lambda x, y: functional.cross_entropy(
        x, y.softmax(1)),
    "cross_entropy": lambda x, y: functional.cross_entropy(
        x, y[:, 0].abs().long() % x.shape[1]),
    "smoothed": lambda x, y: functional.cross_entropy(
        x, y[:, 0].abs().long() % x.shape[1], label_smoothing=0.1),
    "multi_margin": lambda x, y: functional.multi_margin_loss(
        x, y[:, 0].abs().long() % x.shape[1]),
    "pairwise": lambda x, y: functional.pairwise_distance(x, y).mean(),
}


def make_pair_loss(calls, shape, layout, options):
    return operator_cases.differentiable(
        calls, PAIR_LOSSES[options["name"]],
        calls.random(*shape).requires_grad_(), calls.random(*shape))


SPECIAL_PRODUCTS = {
    "lower": lambda x, y: torch.tril(torch.tril(x) @ torch.tril(y)),
    "upper": lambda x, y: torch.triu(torch.triu(x) @ torch.triu(y)),
    "diagonal": lambda x, y: torch.diag(x[0]) @ y,
    "scaled_rows": lambda x, y: x[0].unsqueeze(1) * y,
    "symmetric": lambda x, y: (x + x.t()) @ (y + y.t()),
    "gram": lambda x, y: x @ x.t(),
    "vector": lambda x, y: x @ y[0],
    "einsum": lambda x, y: torch.einsum("ab,cb->ca", x, y),
}


def make_special_product(calls, shape, layout, options):
    x, y = (calls.random(shape[0], shape[0]) for _ in range(2))
    return (lambda: SPECIAL_PRODUCTS[options["name"]](x, y)), None


def shrink(row):
    """`row` at a toy extent, for a try on a CPU."""
    op, shape, precision, layout, options = row
    if op == "any_convolution":
        return op, [1, shape[1], *(min(n, 24) for n in shape[2:])], precision, \
            layout, options
    if op == "pool" and options["name"].startswith("fractional"):
        options = dict(options, output_size=[min(n, 8) for n in
                                             options["output_size"]])
    if op in ("pool", "norm", "resample", "grid_sample"):
        small = [1, shape[1], *(min(n, 24) for n in shape[2:])]
        return op, small, precision, layout, options
    if op == "attention":
        small = [1, *shape[1:3], min(shape[3], 16), min(shape[4], 16), shape[5]]
        return op, small, precision, layout, options
    small = [min(n, 16) for n in shape]
    if op == "recurrent":
        options = dict(options, width=16)
    return op, small, precision, layout, options
