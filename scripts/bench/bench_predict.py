#!/usr/bin/env python3
"""Times `foretell predict` on ResNet-50 and ViT-B/16, beside torch.jit.trace.

    .venv/bin/python scripts/bench/bench_predict.py [--runs 5]

Builds both networks with PyTorch, exports them to ONNX and prints one table:
the start of a process that only links LibTorch (`foretell version`), a cold
`foretell predict`, what each further model of the same process adds, and
torch.jit.trace of the same network in this process. Median wall times; run it on
an idle machine.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time
import warnings

import torch
from torch import nn
from torch.nn import functional

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
from networks import AttentionBlock  # noqa: E402

FURTHER = 50


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        conv = lambda i, o, k, s: nn.Sequential(
            nn.Conv2d(i, o, k, s, k // 2, bias=False), nn.BatchNorm2d(o))
        self.a, self.b = conv(inputs, width, 1, 1), conv(width, width, 3, stride)
        self.c = conv(width, 4 * width, 1, 1)
        same = stride == 1 and inputs == 4 * width
        self.down = nn.Identity() if same else conv(inputs, 4 * width, 1, stride)

    def forward(self, x):
        y = functional.relu(self.b(functional.relu(self.a(x))))
        return functional.relu(self.c(y) + self.down(x))


def resnet50():
    layers, inputs = [], 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        for block in range(depth):
            stride = 2 if stage and block == 0 else 1
            layers.append(Bottleneck(inputs, 64 << stage, stride))
            inputs = 256 << stage
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.MaxPool2d(3, 2, 1), *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(2048, 1000))


class Vit(nn.Module):
    def __init__(self, width=768, depth=12, heads=12):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 16, 16)
        self.cls = nn.Parameter(torch.randn(1, 1, width))
        self.pos = nn.Parameter(torch.randn(1, 197, width))
        self.blocks = nn.Sequential(
            *[AttentionBlock(width, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.cls.expand(x.shape[0], -1, -1), y], 1) + self.pos
        return self.head(self.norm(self.blocks(y))[:, 0])


def median_ms(call, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    warnings.simplefilter("ignore")
    for subcommand in ("version", "predict"):
        foretell.program(subcommand)  # built, where it must, before the clock starts
    torch.set_num_threads(1)
    image = torch.zeros(1, 3, 224, 224)
    start = median_ms(lambda: foretell.run("version"), runs)
    print(f"process that links LibTorch and does nothing: {start:.0f} ms")
    print(f"{'':12s}{'cold process':>14s}{'over start':>12s}"
          f"{'each further':>14s}{'torch.jit.trace':>17s}")
    with tempfile.TemporaryDirectory() as folder:
        for name, network in (("ResNet-50", resnet50()), ("ViT-B/16", Vit())):
            network.eval()
            path = str(pathlib.Path(folder) / "model.onnx")
            torch.onnx.export(network, (image,), path, dynamo=False,
                              opset_version=17)
            cold = median_ms(lambda: foretell.run("predict", path), runs)
            many = median_ms(
                lambda: foretell.run("predict", *[path] * (1 + FURTHER)), runs)
            trace = median_ms(
                lambda: torch.jit.trace(network, image, check_trace=False), runs)
            print(f"{name:12s}{cold:11.0f} ms{cold - start:9.0f} ms"
                  f"{(many - cold) / FURTHER:11.1f} ms{trace:14.0f} ms")


if __name__ == "__main__":
    foretell.main(main)
