"""Measured rows of operators of every kind as graphs of one operator.

`written(row)` takes a row of kinds.jsonl.gz or drawn.jsonl.gz (datasets/labels, as
scripts/bench/measure_kernels.py writes them) and gives what kind of operator it is and
the graph in text form that runs it, or None where one operator does not.
"""

import gzip
import json

from operator_text import shape

DTYPES = {"fp32": "f32", "tf32": "f32", "fp32_no_tf32": "f32", "bf16": "bf16",
          "fp16": "f16"}
RESIZED = {"nearest": ("nearest2d", 2), "nearest3d": ("nearest3d", 2),
           "bilinear": ("bilinear2d", 2), "bilinear_down": ("bilinear2d", 0.5),
           "bicubic": ("bicubic2d", 2), "trilinear": ("trilinear3d", 2)}
REDUCED = {"sum", "mean", "amax", "argmax", "var", "prod"}
ALONG = {"softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "cummax"}


def measured(path, least_us):
    """The rows of a file that ran, of at least so many microseconds."""
    with gzip.open(path, "rt") as file:
        return [row for row in map(json.loads, file)
                if row.get("status") == "ok" and row["gpu_us"] >= least_us]


def spread(value, count):
    return list(value) if isinstance(value, list) else [value] * count


def channels_last_strides(sizes):
    """Elements from one index of each dimension to the next."""
    strides = [1] * len(sizes)
    strides[-1] = sizes[1]
    for i in range(len(sizes) - 2, 1, -1):
        strides[i] = strides[i + 1] * sizes[i + 1]
    strides[0] = strides[2] * sizes[2]
    return strides


def call(operator, tensors, results, attributes="", backward=False, tf32=False):
    """`tensors`: (role, type) after one another; the gradient received comes first."""
    names = [f"%{i}" for i in range(len(tensors))]
    lines = [f"{name} = {role} {of}" for name, (role, of) in zip(names, tensors)]
    outputs = ", ".join(f"%d{i}" for i in range(len(results)))
    head = (f"graph mode={'training' if backward else 'inference'}"
            f"{' precision=tf32' if tf32 else ''}")
    return "\n".join([head, *lines, *(["phase backward"] if backward else []),
                      f"{outputs} = {operator}({', '.join(names)}) {{{attributes}}} : "
                      f"{', '.join(results)}", "output %d0\n"])


class Written:
    """The graph of a row, by the operator that it measured."""

    def __init__(self, row):
        self.row, self.how, self.sizes = row, dict(row["options"]), row["shape"]
        self.name = self.how.pop("name", row["op"])
        self.backward = row["pass"] == "backward"
        self.channels_last = row["layout"] == "channels_last"

    def of(self, sizes, dtype=None):
        """A tensor's type, as the row's images lie."""
        text = (dtype or DTYPES[self.row["precision"]]) + shape(*sizes)
        if self.channels_last and len(sizes) in (4, 5):
            text += f" strides={shape(*channels_last_strides(sizes))}"
        return text

    def call(self, operator, inputs, results, attributes="", weights=()):
        """`inputs` and `weights`: sizes, or whole types."""
        def typed(sizes):
            return sizes if isinstance(sizes, str) else self.of(sizes)
        return call(operator,
                    [("input", typed(sizes)) for sizes in inputs] +
                    [("parameter", typed(sizes)) for sizes in weights],
                    [typed(sizes) for sizes in results], attributes, self.backward,
                    self.row["precision"] == "tf32")

    def any_convolution(self):
        how, sizes, count = self.how, self.sizes, len(self.sizes) - 2
        window = spread(how["kernel"], count)
        transposed, groups = how.get("transposed", False), how.get("groups", 1)
        stride, padding, dilation, more = (
            spread(how.get(name, default), count) for name, default in
            (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0)))
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, window)]
        extents = zip(sizes[2:], stride, padding, reach, more)
        result = [sizes[0], how["outputs"],
                  *((n - 1) * s - 2 * p + r + m if transposed else
                    (n + 2 * p - r) // s + 1 for n, s, p, r, m in extents)]
        rows = (sizes[1], result[1]) if transposed else (result[1], sizes[1])
        weight = [rows[0], rows[1] // groups, *window]
        attributes = (f"stride={shape(*stride)}, padding={shape(*padding)}, "
                      f"dilation={shape(*dilation)}, output_padding={shape(*more)}, "
                      f"transposed={str(transposed).lower()}, groups={groups}")
        kind = " ".join(filter(None, [
            "transposed" if transposed else "",
            "depthwise" if groups == sizes[1] > 1 else "grouped" if groups > 1 else
            "1x1" if set(window) == {1} else "",
            "convolution", f"{count}d"]))
        if self.backward:
            return kind, self.call("convolution_backward", [result, sizes],
                                   [sizes, weight],
                                   f"{attributes}, output_mask=[1, 1, 0]", [weight])
        return kind, self.call(f"conv{'_transpose' if transposed else ''}{count}d",
                               [sizes], [result], attributes, [weight])

    def norm(self):
        name, sizes, count = self.name, self.sizes, self.how["count"]
        if name == "local_response_norm":
            return None
        kind = name.replace("_", " ")
        if name in ("layer_norm", "rms_norm"):
            weights = [sizes[-count:]] * (2 if name == "layer_norm" else 1)
            attributes = f"normalized_shape={shape(*sizes[-count:])}"
            forward = name
            backward = ("native_layer_norm_backward" if name == "layer_norm" else
                        "_fused_rms_norm_backward")
        else:
            if name == "instance_norm":
                sizes = [1, sizes[0] * sizes[1], *sizes[2:]]
            weights = [[sizes[1]]] * 2
            attributes = f"num_groups={count or 1}, training=true"
            forward = "group_norm" if name == "group_norm" else "batch_norm"
            backward = f"native_{forward}_backward"
        if self.backward:
            return kind, self.call(backward, [sizes, sizes], [sizes, *weights],
                                   attributes, weights[:1])
        if forward == "batch_norm":
            weights = weights * 2
        return kind, self.call(forward, [sizes], [sizes], attributes, weights)

    def pool(self):
        name, how, sizes = self.name, self.how, self.sizes
        count = len(sizes) - 2
        if name == "lp_pool2d" or name.startswith("fractional"):
            return None
        kind = name.rstrip("123d").replace("_", " ")
        if "output_size" in how:
            pooled = spread(how["output_size"], count)
            if set(pooled) == {1} or count == 1 and self.backward:
                return None
            attributes = f"output_size={shape(*pooled)}"
            operator, indexed = name, "max" in name
            backward = f"{'_' if 'avg' in name else ''}{name}_backward"
        else:
            window = spread(how["kernel_size"], count)
            stride = spread(how.get("stride", window), count)
            padding = spread(how.get("padding", 0), count)
            reach = [how.get("dilation", 1) * (k - 1) + 1 for k in window]
            pooled = [(n + 2 * p - r) // s + 1
                      for n, r, s, p in zip(sizes[2:], reach, stride, padding)]
            if count == 1:  # As images of one row.
                sizes, pooled = [*sizes[:2], 1, sizes[2]], [1, *pooled]
                window, stride = [1, *window], [1, *stride]
            dims = max(2, count)
            indexed = name.startswith("max")
            operator = f"{name[:3]}_pool{dims}d" + ("_with_indices" if indexed else "")
            backward = operator + "_backward"
            attributes = f"kernel_size={shape(*window)}, stride={shape(*stride)}"
        result = [*sizes[:2], *pooled]
        indices = [self.of(result, "i64")] if indexed else []
        if self.backward:
            return kind, self.call(backward, [result, sizes, *indices], [sizes],
                                   attributes)
        return kind, self.call(operator, [sizes], [result, *indices], attributes)

    def along(self):
        name, sizes = self.name, self.sizes
        if name not in ALONG or self.backward and "softmax" not in name:
            return None
        attributes = f"dim={self.how['dim']}"
        last = self.how["dim"] == len(sizes) - 1
        kind = name.replace("_", " ") + (" last" if last else " other")
        if self.backward:
            return kind, self.call(f"_{name}_backward_data", [sizes, sizes], [sizes],
                                   attributes)
        results = [sizes] + ([self.of(sizes, "i64")] if name == "cummax" else [])
        return kind, self.call(name, [sizes], results, attributes)

    def move(self):
        if self.name not in RESIZED:
            return None
        operator, factor = RESIZED[self.name]
        return self.resized(operator, factor)

    def resample(self):
        count, mode = len(self.sizes) - 2, self.how["mode"]
        if self.how.get("antialias") or mode == "nearest-exact":
            return None
        return self.resized(f"{mode}{count}d", self.how["scale"])

    def resized(self, operator, factor):
        sizes = self.sizes
        larger = [*sizes[:2], *(int(n * factor) for n in sizes[2:])]
        if self.backward:
            return "interpolation", self.call(f"upsample_{operator}_backward", [larger],
                                              [sizes])
        return "interpolation", self.call(f"upsample_{operator}", [sizes], [larger])

    def reduction(self):
        name, sizes, dim = self.name, self.sizes, self.how["dim"]
        single = name in ("argmax", "prod")
        if name not in REDUCED or single and not isinstance(dim, int):
            return None
        dims = list(range(len(sizes))) if dim is None else dim
        dims = dims if isinstance(dims, list) else [dims]
        result = [n for i, n in enumerate(sizes) if i not in dims]
        last = len(sizes) - 1 in dims
        dtype = "i64" if name == "argmax" else None
        return (f"{name} {'last' if last else 'other'}",
                self.call(name, [sizes], [self.of(result, dtype)],
                          f"dim={dim if single else shape(*dims)}"))

    def product(self):
        m, k, n = self.sizes
        return "product", self.matrices("mm", [m, k], [k, n], [m, n])

    def batched(self):
        b, m, k, n = self.sizes
        return "batched product", self.matrices("bmm", [b, m, k], [b, k, n], [b, m, n])

    def matrices(self, operator, left, right, result):
        def of(sizes, turned):
            text = self.of(sizes)
            if turned:
                strides = [1, sizes[-2]]
                strides = [*([sizes[-1] * sizes[-2]] * (len(sizes) - 2)), *strides]
                text += f" strides={shape(*strides)}"
            return text
        return self.call(operator, [of(left, self.how["how"] == "tn"),
                                    of(right, self.how["how"] == "nt")], [result])

    def attention(self):
        batch, heads, key_heads, queries, keys, width = self.sizes
        how = self.how["how"]
        if self.backward or heads != key_heads:
            return None
        types = []
        for length in (queries, keys, keys):
            types.append(self.of([batch, heads, length, width]) + " strides=" + shape(
                length * heads * width, width, heads * width, 1))
        if how.endswith("mask"):
            types.append(self.of([batch, 1, queries, keys],
                                 "bool" if how == "bool_mask" else None))
        return "attention", self.call(
            "scaled_dot_product_attention", types, [[batch, heads, queries, width]],
            f"is_causal={str(how == 'causal').lower()}")


def written(row):
    """The kind of the row and its graph; None for what one operator does not run."""
    if row["precision"] not in DTYPES or not hasattr(Written, row["op"]):
        return None
    return getattr(Written(row), row["op"])()
