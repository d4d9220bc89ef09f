"""Arguments and results that torch.export does not know: it takes tensors, numbers
and the containers that somebody registered. A key-value cache, say, is neither."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
_PLAIN = (torch.Tensor, str, int, float, complex, type(None), torch.dtype, torch.device,
          torch.layout, torch.memory_format)
LOSS = "loss"


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors that an object holds, in its attributes and containers, each once."""
    found: dict[int, torch.Tensor] = {}
    seen: set[int] = set()

    def look(one: Any) -> None:
        if id(one) in seen or isinstance(one, (type, torch.nn.Module)):
            return
        seen.add(id(one))
        if isinstance(one, torch.Tensor):
            found[id(one)] = one
        elif isinstance(one, Mapping):
            for part in one.values():
                look(part)
        elif isinstance(one, (Sequence, set)) and not isinstance(one, (str, bytes)):
            for part in one:
                look(part)
        elif hasattr(one, "__dict__"):
            look(vars(one))

    look(value)
    return list(found.values())


def _known(value: Any) -> Any:
    """A leaf of results as something that torch.export knows."""
    if isinstance(value, _PLAIN):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name)
                      for field in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return plain(dict(value))
    return tensors_in(value) or None


def plain(results: Any) -> Any:
    """Results with dicts for dataclasses and mappings, and lists of tensors for other
    objects; those without a tensor are None."""
    return _pytree.tree_map(_known, results)


def _is_scalar(value: Any) -> bool:
    return (isinstance(value, torch.Tensor) and value.dim() == 0
            and value.is_floating_point())


def _with_one_loss(results: Any) -> Any:
    """Detaches the other results where one is the loss: `loss` of a dict, or a number
    that is the first of several. A training loop calls its backward alone."""
    if isinstance(results, dict) and _is_scalar(results.get(LOSS)):
        loss = results[LOSS]
    elif isinstance(results, (tuple, list)) and len(results) > 1 and _is_scalar(results[0]):
        loss = results[0]
    else:
        return results
    return _pytree.tree_map_only(
        torch.Tensor, lambda one: one if one is loss else one.detach(), results)


def _is_unknown(value: Any) -> bool:
    return (not isinstance(value, _PLAIN) and type(value) not in _pytree.SUPPORTED_NODES
            and not isinstance(value, type) and bool(tensors_in(value)))


class Call:
    """How a module is called for torch.export, which sees plain values only."""

    def __init__(self, arguments: Arguments) -> None:
        positional, named = arguments
        self._objects: dict[Any, tuple[Any, list[torch.Tensor]]] = {
            key: (value, tensors_in(value))
            for key, value in (*enumerate(positional), *named.items())
            if _is_unknown(value)}
        self.arguments: Arguments = (
            tuple(self._open(key, value) for key, value in enumerate(positional)),
            {key: self._open(key, value) for key, value in named.items()})
        """The arguments with lists of tensors for objects that hold some."""

    def _open(self, key: Any, value: Any) -> Any:
        return list(self._objects[key][1]) if key in self._objects else value

    def _close(self, key: Any, value: Any) -> Any:
        if key not in self._objects:
            return value
        whole, tensors = self._objects[key]
        return copy.deepcopy(whole, {id(old): new for old, new in zip(tensors, value)})

    def wrap(self, module: torch.nn.Module, training: bool) -> torch.nn.Module:
        """`module`, which is changed: it takes `arguments` and gives plain results."""
        forward = module.forward

        @functools.wraps(forward)
        def plain_forward(*args: Any, **kwargs: Any) -> Any:
            results = plain(forward(
                *(self._close(key, value) for key, value in enumerate(args)),
                **{key: self._close(key, value) for key, value in kwargs.items()}))
            return _with_one_loss(results) if training else results

        module.forward = plain_forward
        return module
