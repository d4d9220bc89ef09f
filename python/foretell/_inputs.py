"""Inputs of a module: tensors, or sizes in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Inputs of integers, by the names that libraries give them.
_INTEGERS = ("ids", "tokens", "mask", "labels", "indices", "index", "idx", "input_ids")


def is_size(value: Any) -> bool:
    """Whether `value` is sizes of a tensor: (4, 3, 32, 32)."""
    return (isinstance(value, (tuple, list)) and bool(value)
            and all(isinstance(one, int) and not isinstance(one, bool) for one in value))


def has_sizes(inputs: Any) -> bool:
    """Whether inputs are given by sizes alone, or some of several are."""
    if is_size(inputs):
        return True
    if isinstance(inputs, Mapping):
        return any(map(is_size, inputs.values()))
    return isinstance(inputs, (tuple, list)) and any(map(is_size, inputs))


def _dtype(module: Any) -> Any:
    """That of the module's weights."""
    import torch

    return next((one.dtype for one in module.parameters() if one.is_floating_point()),
                torch.float32)


def _names(module: Any) -> list[str]:
    import inspect

    return list(inspect.signature(module.forward).parameters)


def with_tensors(inputs: Any, module: Any, integers: bool = False) -> Any:
    """Inputs with a tensor of the meta device for sizes, of the type of the module's
    weights; of int64 where its name says so, and with `integers` where it has at
    most two dimensions, as tokens have."""
    import torch

    def tensor(value: Any, name: str) -> Any:
        if not is_size(value):
            return value
        is_integer = (name.endswith(_INTEGERS) or (integers and len(value) <= 2))
        return torch.empty(*value, device="meta",
                           dtype=torch.int64 if is_integer else _dtype(module))

    names = _names(module)
    if is_size(inputs):
        return tensor(inputs, names[0] if names else "")
    if isinstance(inputs, Mapping):
        return {name: tensor(value, str(name)) for name, value in inputs.items()}
    names += [""] * len(inputs)
    return tuple(tensor(value, name) for value, name in zip(inputs, names))
