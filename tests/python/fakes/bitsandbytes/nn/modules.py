"""As much of bitsandbytes' layers as foretell reads, with the weights packed."""

import torch
from torch import nn


class Params4bit(nn.Parameter):
    def __new__(cls, data, quant_type="nf4", compress_statistics=True):
        self = torch.Tensor._make_subclass(cls, data, False)
        self.quant_type = quant_type
        self.compress_statistics = compress_statistics
        return self


class _Packed(nn.Linear):
    def forward(self, x):
        raise RuntimeError("the weight is packed")


class Linear4bit(_Packed):
    def __init__(self, inputs, outputs, bias=True, compute_dtype=torch.bfloat16):
        super().__init__(inputs, outputs, bias)
        packed = torch.empty(inputs * outputs // 2, 1, dtype=torch.uint8)
        self.weight = Params4bit(packed)
        self.compute_dtype = compute_dtype


class Linear8bitLt(_Packed):
    def __init__(self, inputs, outputs, bias=True):
        super().__init__(inputs, outputs, bias)
        packed = torch.empty(outputs, inputs, dtype=torch.int8)
        self.weight = nn.Parameter(packed, requires_grad=False)
