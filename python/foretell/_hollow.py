"""Copies of modules and tensors on the meta device: types alone."""

from __future__ import annotations

import copy
from typing import Any

import torch

from ._errors import Error
from ._quantized import stand_ins
from ._wrappers import inside, unflattened, unwrapped


def on_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Its type alone: nothing is allocated or copied. A parameter that DeepSpeed has
    sharded (ZeRO-3, partition_parameters.py) has its whole shape in ds_shape."""
    whole = getattr(tensor, "ds_shape", None)
    empty = (torch.empty_strided(tensor.size(), tensor.stride(),
                                 dtype=tensor.dtype, device="meta") if whole is None
             else torch.empty(whole, dtype=tensor.dtype, device="meta"))
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
    return empty


def refuse_lazy(module: torch.nn.Module) -> None:
    """Raises Error for a lazy module that has not been called yet."""
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if torch.nn.parameter.is_lazy(tensor):
            raise Error(f"{type(module).__name__}: '{name}' has no shape yet; call the "
                        "module once with an example, so that its lazy layers have one")


def _restore(module: torch.nn.Module, copies: dict[int, Any],
             flat: dict[tuple[int, str], torch.nn.Parameter]) -> None:
    """Puts the parameters of flat ones back where they were before FSDP."""
    for part in module.modules():
        for (owner, name), parameter in flat.items():
            if owner == id(part):
                made = copies[id(part)]
                vars(made).pop(name, None)
                made._parameters[name] = parameter


def hollow_copy(module: torch.nn.Module) -> torch.nn.Module:
    """A copy on the meta device, without torch.compile and data parallel wrappers, and
    with linear layers of few bits as plain ones (_quantized.py).
    No weight is read; shared tensors stay shared.

    Requires that its tensors have shapes, see refuse_lazy.
    """
    flat = unflattened(module)
    module = unwrapped(module)
    copies: dict[int, Any] = {}
    for part in module.modules():
        held = [*part._parameters.values(), *part._buffers.values(),
                *vars(part).values()]
        copies.update({id(tensor): on_meta(tensor) for tensor in held
                       if isinstance(tensor, torch.Tensor)})
    copies.update(stand_ins(module))
    # Children come after their parents, and a copy is made of what is in `copies`.
    for part in reversed(list(module.modules())):
        if inside(part) is not None:
            copies[id(part)] = copy.deepcopy(unwrapped(part), copies)
    made: torch.nn.Module = copy.deepcopy(module, copies)
    for part in made.modules():
        part._compiled_call_impl = None
    _restore(module, copies, flat)
    return made
