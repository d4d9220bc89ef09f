"""Linear layers of bitsandbytes: their weights are packed, so that torch.export sees
neither their shapes nor their products. The program knows them as quantize=."""

from __future__ import annotations

import re
from typing import Any

import torch

# Classes of bitsandbytes/nn/modules.py, 0.50.
_FOUR_BITS = "bitsandbytes.nn.modules.Linear4bit"
_EIGHT_BITS = "bitsandbytes.nn.modules.Linear8bitLt"


def _class_of(module: Any) -> str | None:
    names = [f"{kind.__module__}.{kind.__qualname__}" for kind in type(module).__mro__]
    return next((one for one in (_FOUR_BITS, _EIGHT_BITS) if one in names), None)


class _Plain(torch.nn.Linear):
    """The layer with its weight unpacked: computes in the type of the weight and
    returns that of the input, as Linear4bit.forward does."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = None if self.bias is None else self.bias.to(self.weight.dtype)
        given = x.to(self.weight.dtype)
        return torch.nn.functional.linear(given, self.weight, bias).to(x.dtype)


def _compute_type(layer: Any) -> torch.dtype:
    """In which a layer computes; LLM.int8() casts its input to FP16
    (bitsandbytes/autograd/_functions.py, MatMul8bitLt)."""
    if _class_of(layer) == _EIGHT_BITS:
        return torch.float16
    state = getattr(layer.weight, "quant_state", None)
    kind = getattr(layer, "compute_dtype", None) or getattr(state, "dtype", None)
    return kind if isinstance(kind, torch.dtype) else torch.float32


def stand_ins(module: torch.nn.Module) -> dict[int, torch.nn.Module]:
    """Layers on the meta device for those of few bits, by the id of these."""
    found: dict[int, torch.nn.Module] = {}
    layers: list[Any] = [one for one in module.modules() if _class_of(one)]
    for layer in layers:
        plain = _Plain(layer.in_features, layer.out_features, layer.bias is not None,
                       device="meta", dtype=_compute_type(layer))
        plain.weight.requires_grad_(False)
        if layer.bias is not None:
            bias = torch.empty_like(layer.bias, device="meta")
            plain.bias = torch.nn.Parameter(bias, layer.bias.requires_grad)
        found[id(layer)] = plain
    return found


def _format_of(layer: Any) -> str:
    if _class_of(layer) == _EIGHT_BITS:
        return "int8"
    kind = getattr(layer.weight, "quant_type", None) or "nf4"
    is_double = getattr(layer.weight, "compress_statistics", False)
    return f"{kind},double" if is_double else kind


def _pattern(names: set[str], others: set[str]) -> str:
    """A regular expression of `names` and none of `others`, with \\d+ for numbers if it
    can: hundreds of layers differ in these alone."""
    short = {re.sub(r"\d+", r"\\d+", re.escape(name)) for name in names}
    pattern = f"^({'|'.join(sorted(short))})$"
    if any(re.match(pattern, one) for one in others):
        pattern = f"^({'|'.join(sorted(map(re.escape, names)))})$"
    return pattern


def quantize_options(module: torch.nn.Module) -> dict[str, Any]:
    """The layers of few bits as options of the program, empty without any. Formats that
    differ count as the first."""
    layers = {name: part for name, part in module.named_modules() if _class_of(part)}
    if not layers:
        return {}
    packed = {f"{name}.weight" for name in layers}
    kept = {name for name, one in module.named_parameters()
            if one.ndim == 2 and name not in packed}
    trained = {name for name, one in module.named_parameters() if one.requires_grad}
    frozen = {name for name, _ in module.named_parameters()} - trained
    skip = f",skip={_pattern(kept, packed)}" if kept else ",skip=^$"
    return {"quantize": _format_of(next(iter(layers.values()))) + skip,
            "trainable": _pattern(trained, frozen) if trained else None}
