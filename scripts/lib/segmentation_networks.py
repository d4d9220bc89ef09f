"""Networks of MMSegmentation's zoo as its configurations describe them, in PyTorch.

`export_segmentation` writes one as a TorchScript trace without weights: a step's loss
of images and labels. ResNets dilate their last two stages (D8); FCN, PSPNet and
DeepLabV3 read the last one, and an auxiliary head the one before it. Needs torch.
"""

import torch
from torch import nn
from torch.nn import functional

from language_models import save_without_weights

DEPTHS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3)}
STRIDES, DILATIONS = (1, 2, 1, 1), (1, 1, 2, 4)
POOLED_SIZES = (1, 2, 3, 6)  # PSPNet.
RATES = (1, 12, 24, 36)      # DeepLabV3.
IGNORED = 255
AUXILIARY_WEIGHT = 0.4
DROPOUT = 0.1
EDGE_TRACED = 64


def unit(before, after, size=1, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, padding=dilation * (size // 2),
                  dilation=dilation, bias=False),
        nn.BatchNorm2d(after), nn.ReLU(inplace=True))


def normed(before, after, size=1, stride=1, dilation=1):
    return unit(before, after, size, stride, dilation)[:2]


class Block(nn.Module):
    """A residual block of a ResNet, basic or with a bottleneck."""

    def __init__(self, before, width, stride, dilation, has_bottleneck):
        super().__init__()
        after = width * (4 if has_bottleneck else 1)
        self.layers = nn.Sequential(
            unit(before, width), unit(width, width, 3, stride, dilation),
            normed(width, after)) if has_bottleneck else nn.Sequential(
                unit(before, width, 3, stride, dilation), normed(width, after, 3))
        self.shortcut = (normed(before, after, 1, stride)
                         if stride != 1 or before != after else None)

    def forward(self, x):
        shortcut = x if self.shortcut is None else self.shortcut(x)
        out = self.layers(x)
        out += shortcut
        return functional.relu(out, inplace=True)


class Backbone(nn.Module):
    """Stages 3 and 4 of a ResNet. `has_deep_stem`: three small convolutions
    instead of one of 7 x 7."""

    def __init__(self, depth, has_deep_stem):
        super().__init__()
        self.stem = (nn.Sequential(unit(3, 32, 3, 2), unit(32, 32, 3),
                                   unit(32, 64, 3))
                     if has_deep_stem else unit(3, 64, 7, 2))
        self.pool = nn.MaxPool2d(3, 2, 1)
        has_bottleneck, channels, stages = depth >= 50, 64, []
        for i, count in enumerate(DEPTHS[depth]):
            blocks = []
            for j in range(count):
                # The first block of a dilated stage keeps the dilation before.
                dilation = max(1, DILATIONS[i] // 2) if j == 0 else DILATIONS[i]
                blocks.append(Block(channels, 64 << i, STRIDES[i] if j == 0 else 1,
                                    dilation, has_bottleneck))
                channels = (64 << i) * (4 if has_bottleneck else 1)
            stages.append(nn.Sequential(*blocks))
        self.stages, self.channels = nn.ModuleList(stages), channels

    def forward(self, x):
        x = self.pool(self.stem(x))
        for stage in self.stages[:2]:
            x = stage(x)
        third = self.stages[2](x)
        return third, self.stages[3](third)


class Fcn(nn.Module):
    def __init__(self, before, width, convolutions=2, has_skip=True):
        super().__init__()
        self.layers = nn.Sequential(*(unit(before if i == 0 else width, width, 3)
                                      for i in range(convolutions)))
        self.join = unit(before + width, width, 3) if has_skip else None

    def forward(self, x):
        out = self.layers(x)
        return out if self.join is None else self.join(torch.cat([x, out], 1))


def resized(x, size, aligns):
    return functional.interpolate(x, size=size, mode="bilinear",
                                  align_corners=aligns)


class Psp(nn.Module):
    def __init__(self, before, width, aligns):
        super().__init__()
        self.aligns = aligns
        self.pools = nn.ModuleList(
            nn.Sequential(nn.AdaptiveAvgPool2d(size), unit(before, width))
            for size in POOLED_SIZES)
        self.join = unit(before + len(POOLED_SIZES) * width, width, 3)

    def forward(self, x):
        pooled = [resized(pool(x), x.shape[2:], self.aligns) for pool in self.pools]
        return self.join(torch.cat([x, *pooled], 1))


class DeepLab(nn.Module):
    def __init__(self, before, width, aligns):
        super().__init__()
        self.aligns = aligns
        self.image = nn.Sequential(nn.AdaptiveAvgPool2d(1), unit(before, width))
        self.rates = nn.ModuleList(
            unit(before, width, 1 if rate == 1 else 3, 1, rate) for rate in RATES)
        self.join = unit((len(RATES) + 1) * width, width, 3)

    def forward(self, x):
        image = resized(self.image(x), x.shape[2:], self.aligns)
        return self.join(torch.cat([image, *(rate(x) for rate in self.rates)], 1))


def head_of(kind, before, width, aligns):
    if kind == "fcn":
        return Fcn(before, width)
    return (Psp if kind == "pspnet" else DeepLab)(before, width, aligns)


class Segmentation(nn.Module):
    """The loss of a step."""

    def __init__(self, kind, depth, has_deep_stem, classes, aligns):
        super().__init__()
        self.aligns = aligns
        self.backbone = Backbone(depth, has_deep_stem)
        channels = self.backbone.channels
        self.head = head_of(kind, channels, channels // 4, aligns)
        self.auxiliary = Fcn(channels // 2, channels // 8, 1, has_skip=False)
        self.scores = nn.ModuleList(
            nn.Sequential(nn.Dropout2d(DROPOUT), nn.Conv2d(width, classes, 1))
            for width in (channels // 4, channels // 8))

    def loss(self, scores, labels):
        scores = resized(scores, labels.shape[1:], self.aligns)
        return functional.cross_entropy(scores, labels, reduction="none",
                                        ignore_index=IGNORED).mean()

    def forward(self, images, labels):
        third, last = self.backbone(images)
        main = self.scores[0](self.head(last))
        side = self.scores[1](self.auxiliary(third))
        return self.loss(main, labels) + AUXILIARY_WEIGHT * self.loss(side, labels)


def export_segmentation(sizes, path):
    """Traced on the CPU, as tracing convolutions on meta fails, then emptied."""
    with torch.device("meta"):
        model = Segmentation(**sizes).train()
    images = torch.zeros(2, 3, EDGE_TRACED, EDGE_TRACED)
    labels = torch.zeros(2, EDGE_TRACED, EDGE_TRACED, dtype=torch.long)
    traced = torch.jit.trace(model.to_empty(device="cpu"), (images, labels),
                             check_trace=False)
    save_without_weights(traced, path)
