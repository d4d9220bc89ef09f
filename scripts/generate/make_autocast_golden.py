#!/usr/bin/env python3
"""Writes tests/golden/autocast: what PyTorch's autocast really casts.

Operators run under torch.autocast for CUDA in half precision on FakeTensors: no
GPU is needed, yet PyTorch's own wrappers for CUDA decide. How long casts live
is seen on a small network on the CPU, where gradients can be computed; its
operators are on the lists of both. tests/program/autocast_golden_test.cc has
the same operators and the same network.
"""

import argparse
import pathlib
import weakref

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
         torch.int64: "i64"}
H, S, I = torch.float16, torch.float32, torch.int64

# Name, function, types of the inputs.
OPERATORS = [
    ("add", torch.add, (H, 4, 8), (S, 4, 8)),
    ("addcmul", torch.addcmul, (H, 4, 8), (S, 4, 8), (H, 4, 8)),
    ("addmm", torch.addmm, (S, 8), (H, 4, 6), (S, 6, 8)),
    ("baddbmm", torch.baddbmm, (S, 2, 4, 8), (S, 2, 4, 6), (S, 2, 6, 8)),
    ("batch_norm", lambda x, w, b, m, v: F.batch_norm(x, m, v, w, b),
     (H, 2, 8, 4, 4), (S, 8), (S, 8), (S, 8), (S, 8)),
    ("bmm", torch.bmm, (S, 2, 4, 6), (H, 2, 6, 8)),
    ("cat", lambda a, b: torch.cat([a, b]), (H, 4, 8), (S, 4, 8)),
    ("conv2d", F.conv2d, (S, 2, 3, 8, 8), (S, 4, 3, 3, 3), (S, 4)),
    ("conv_transpose2d", F.conv_transpose2d, (S, 2, 3, 8, 8), (S, 3, 4, 2, 2)),
    ("cosine_similarity", F.cosine_similarity, (H, 4, 8), (H, 4, 8)),
    ("cross_entropy", F.cross_entropy, (H, 4, 8), (I, 4)),
    ("cumsum", lambda x: torch.cumsum(x, 1), (H, 4, 8)),
    ("div", torch.div, (H, 4, 8), (H, 4, 8)),
    ("einsum", lambda a, b: torch.einsum("ij,jk->ik", a, b),
     (S, 4, 6), (H, 6, 8)),
    ("embedding", lambda w, i: F.embedding(i, w), (S, 16, 8), (I, 4)),
    ("exp", torch.exp, (H, 4, 8)),
    ("gelu", F.gelu, (H, 4, 8)),
    ("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b),
     (H, 2, 8, 4, 4), (S, 8), (S, 8)),
    ("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
     (H, 2, 8, 4, 4), (S, 8), (S, 8)),
    ("interpolate", lambda x: F.interpolate(x, size=(8, 8)), (H, 1, 2, 4, 4)),
    ("layer_norm", lambda x, w, b: F.layer_norm(x, [8], w, b),
     (H, 4, 8), (S, 8), (S, 8)),
    ("linear", F.linear, (S, 4, 16), (S, 8, 16), (S, 8)),
    ("log_softmax", lambda x: torch.log_softmax(x, -1), (H, 4, 8)),
    ("matmul", torch.matmul, (S, 2, 4, 6), (S, 6, 8)),
    ("max_pool2d", lambda x: F.max_pool2d(x, 2), (H, 1, 2, 4, 4)),
    ("mean", lambda x: torch.mean(x), (H, 4, 8)),
    ("mse_loss", F.mse_loss, (H, 4, 8), (S, 4, 8)),
    ("norm", lambda x: torch.norm(x), (H, 4, 8)),
    ("pow", lambda x: torch.pow(x, 2), (H, 4, 8)),
    ("prelu", F.prelu, (S, 4, 8), (S, 8)),
    ("relu", torch.relu, (H, 4, 8)),
    ("scatter_add", lambda x, i, y: torch.scatter_add(x, 0, i, y),
     (S, 4, 8), (I, 4, 8), (H, 4, 8)),
    ("softmax", lambda x: torch.softmax(x, -1), (H, 4, 8)),
    ("softplus", F.softplus, (H, 4, 8)),
    ("sum", lambda x: torch.sum(x, 1), (H, 4, 8)),
    ("upsample_bilinear2d",
     lambda x: torch.ops.aten.upsample_bilinear2d(x, [8, 8], False),
     (H, 1, 2, 4, 4)),
]


class Casts(TorchDispatchMode):
    """Sources, results (weakly) and types of all casts."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if (func is torch.ops.aten._to_copy.default
                and args[0].dtype != out.dtype):
            shape = ",".join(map(str, out.shape))
            text = f"{NAMES[args[0].dtype]}[{shape}]>{NAMES[out.dtype]}"
            self.found.append((id(args[0]), text, weakref.ref(out)))
        return out


class Autocast:
    """torch.autocast without its question for a GPU."""

    def __init__(self, device, dtype):
        self.device, self.dtype = device, dtype

    def __enter__(self):
        torch.set_autocast_enabled(self.device, True)
        torch.set_autocast_dtype(self.device, self.dtype)
        torch.autocast_increment_nesting()

    def __exit__(self, *exception):
        torch.set_autocast_enabled(self.device, False)
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()


def line_of(name, function, *types):
    with FakeTensorMode(), torch.no_grad():
        inputs = [torch.empty(shape, dtype=dtype, device="cuda")
                  for dtype, *shape in types]
        with Casts() as casts, Autocast("cuda", H):
            result = function(*inputs)
    return " ".join([f"{name}: {NAMES[result.dtype]}"]
                    + sorted(text for _, text, _ in casts.found))


def lifetimes(training):
    weights = {"w0": torch.zeros(8, 16), "b0": torch.zeros(8),
               "w1": torch.zeros(6, 8), "w2": torch.zeros(6, 6),
               "w3": torch.zeros(36), "frozen": torch.zeros(4, 6)}
    for name, weight in weights.items():
        weight.requires_grad_(name != "frozen")
    w = weights
    x = torch.zeros(4, 16)
    kept = []
    with torch.set_grad_enabled(training), Casts() as casts:
        with Autocast("cpu", torch.bfloat16):
            h = torch.relu(F.linear(x, w["w0"], w["b0"]))
            h = F.linear(h, w["w1"])
            h = F.linear(F.linear(h, w["w2"]), w["w2"])
            h = F.linear(h, w["w3"].view(6, 6))
            h = F.linear(F.linear(h, w["w3"].view(6, 6)), w["frozen"])
            # Lives until the loss is known, as the result of a network does.
            kept.append(h)
            kept.append(h.mean())
            forward = list(casts.found)
            after_forward = [ref() is not None for *_, ref in forward]
        after_region = [ref() is not None for *_, ref in forward]
        if training:
            kept.pop().backward()
        del h
        kept.clear()
    names = {id(weight): name for name, weight in weights.items()}
    names[id(x)] = "x"
    for (source, text, _), first, second in zip(forward, after_forward,
                                                after_region):
        end = "backward" if second else "region" if first else "operator"
        yield f"{names.get(source, 'view')} {text} {end}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    folder = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/autocast"
    parser.add_argument("--out", type=pathlib.Path, default=folder)
    out = parser.parse_args().out
    lines = [line_of(*operator) for operator in OPERATORS]
    (out / "operators.txt").write_text("\n".join(lines) + "\n")
    for mode in ("inference", "training"):
        lines = sorted(lifetimes(mode == "training"))
        (out / f"{mode}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
