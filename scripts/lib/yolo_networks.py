"""YOLOv5, version 6.0, in PyTorch: the network alone, for its memory and time.

After the layers of its `yolov5s.yaml`: `depth` multiplies the bottlenecks of a stage,
`width` the channels.
"""

import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self, inner, outer, kernel=1, stride=1, padding=None):
        super().__init__()
        padding = kernel // 2 if padding is None else padding
        self.conv = nn.Conv2d(inner, outer, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(outer, eps=1e-3, momentum=0.03)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, channels, adds):
        super().__init__()
        self.cv1, self.cv2 = Conv(channels, channels), Conv(channels, channels, 3)
        self.adds = adds

    def forward(self, x):
        y = self.cv2(self.cv1(x))
        return x + y if self.adds else y


class C3(nn.Module):
    def __init__(self, inner, outer, count, adds=True):
        super().__init__()
        half = outer // 2
        self.cv1, self.cv2 = Conv(inner, half), Conv(inner, half)
        self.cv3 = Conv(2 * half, outer)
        self.m = nn.Sequential(*(Bottleneck(half, adds) for _ in range(count)))

    def forward(self, x):
        return self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), dim=1))


class Sppf(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.cv1 = Conv(channels, channels // 2)
        self.cv2 = Conv(channels * 2, channels)
        self.m = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.cv1(x)
        first = self.m(x)
        second = self.m(first)
        return self.cv2(torch.cat((x, first, second, self.m(second)), 1))


class YoloV5(nn.Module):
    """Images [N, 3, H, W] to three maps [N, 3, H / s, W / s, 5 + classes]."""

    def __init__(self, width, depth, classes=80):
        super().__init__()
        one, two, four, eight, most = (int(width * c) for c in
                                       (64, 128, 256, 512, 1024))
        few, more, many = (max(1, round(depth * n)) for n in (3, 6, 9))
        self.early = nn.Sequential(
            Conv(3, one, 6, 2, 2), Conv(one, two, 3, 2), C3(two, two, few),
            Conv(two, four, 3, 2), C3(four, four, more))
        self.middle = nn.Sequential(Conv(four, eight, 3, 2), C3(eight, eight, many))
        self.late = nn.Sequential(Conv(eight, most, 3, 2), C3(most, most, few),
                                  Sppf(most), Conv(most, eight))
        self.up = nn.Upsample(scale_factor=2)
        self.joined = nn.Sequential(C3(most, eight, few, False), Conv(eight, four))
        self.small = C3(eight, four, few, False)
        self.down = Conv(four, four, 3, 2)
        self.medium = C3(eight, eight, few, False)
        self.downer = Conv(eight, eight, 3, 2)
        self.large = C3(most, most, few, False)
        self.outputs = 5 + classes
        self.detect = nn.ModuleList(nn.Conv2d(c, 3 * self.outputs, 1)
                                    for c in (four, eight, most))

    def forward(self, x):
        early = self.early(x)
        middle = self.middle(early)
        late = self.late(middle)
        joined = self.joined(torch.cat((self.up(late), middle), 1))
        small = self.small(torch.cat((self.up(joined), early), 1))
        medium = self.medium(torch.cat((self.down(small), joined), 1))
        large = self.large(torch.cat((self.downer(medium), late), 1))
        return [self.shaped(head(one)) for head, one in
                zip(self.detect, (small, medium, large))]

    def shaped(self, x):
        batch, _, high, wide = x.shape
        return (x.view(batch, 3, self.outputs, high, wide)
                .permute(0, 1, 3, 4, 2).contiguous())
