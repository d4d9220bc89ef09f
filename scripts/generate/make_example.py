#!/usr/bin/env python3
"""Writes pairs of an ONNX and a TorchScript file of one network, as PyTorch
exports them, without their weights:

- examples/resnet18.*, the files of the README's first commands: ResNet-18 (He
  et al., 2015).
- tests/frontends/data/vit_tiny.*: a vision transformer of two small blocks.
- tests/frontends/data/groups.*: group norms, exported for training: the exporter
  folds no weights.
- tests/frontends/data/norms.*: batch norms that the exporter is asked to leave.

ONNX initializers above 1 kB are declared as external data in a file that does
not exist; foretell never looks for it.

    .venv/bin/python scripts/generate/make_example.py
"""

import io
import pathlib
import sys
import zipfile

import onnx
import torch
from torch import nn

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from networks import TinyVit  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
TEST_DATA = ROOT / "tests/frontends/data"
LARGEST_INLINE_BYTES = 1024


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs))

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += identity
        return self.relu(y)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64),
            nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, width = [], 64
        for stage in range(4):
            outputs = 64 << stage
            for block in range(2):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(BasicBlock(width, outputs, stride))
                width = outputs
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        y = self.pool(self.blocks(self.stem(x)))
        return self.fc(torch.flatten(y, 1))


class BatchNorms(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.PReLU(8),
                         nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        for statistic in self.buffers():
            if statistic.is_floating_point():
                nn.init.uniform_(statistic)


class GroupNorms(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU(),
                         nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(2, 8))


def without_weights(model):
    """Declares every large initializer of an ONNX model as external data."""
    for tensor in model.graph.initializer:
        size = len(tensor.raw_data)
        if size <= LARGEST_INLINE_BYTES:
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", "weights.data"), ("length", size)):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
    return model


def write_onnx(network, image, path, folds):
    kind = torch.onnx.TrainingMode
    buffer = io.BytesIO()
    torch.onnx.export(network, (image,), buffer, dynamo=False,
                      training=kind.EVAL if folds else kind.PRESERVE,
                      do_constant_folding=folds, opset_version=17, input_names=["image"],
                      output_names=["logits"],
                      dynamic_axes={"image": {0: "batch"},
                                    "logits": {0: "batch"}})
    model = without_weights(onnx.load_from_string(buffer.getvalue()))
    path.write_bytes(model.SerializeToString())


def write_torchscript(network, image, path):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(network, image), buffer)
    source = zipfile.ZipFile(buffer)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as target:
        for name in source.namelist():
            if name.endswith(".debug_pkl"):
                continue
            inside = name.split("/", 1)[1]
            data = b"\0" if inside.startswith("data/") else source.read(name)
            target.writestr(zipfile.ZipInfo(name), data)


def write_pair(network, image, folder, name, for_training=False, folds=True):
    network.train(for_training)
    # Distinct values: the exporter merges initializers that are equal.
    for parameter in network.parameters():
        nn.init.normal_(parameter)
    folder.mkdir(parents=True, exist_ok=True)
    write_onnx(network, image, folder / f"{name}.onnx", folds)
    write_torchscript(network, image, folder / f"{name}.pt")


def main():
    torch.manual_seed(0)
    write_pair(ResNet18(), torch.zeros(1, 3, 224, 224), EXAMPLES, "resnet18")
    write_pair(TinyVit(), torch.zeros(1, 3, 32, 32), TEST_DATA, "vit_tiny")
    write_pair(GroupNorms(), torch.zeros(1, 3, 16, 16), TEST_DATA, "groups",
               for_training=True, folds=False)
    write_pair(BatchNorms(), torch.zeros(1, 3, 16, 16), TEST_DATA, "norms", folds=False)


if __name__ == "__main__":
    main()
