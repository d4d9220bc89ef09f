"""Whether a module can be called with the inputs that were given."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch.utils import _pytree

from ._errors import Error
from ._values import Arguments, tensors_in


def refuse_bad_inputs(module: torch.nn.Module, arguments: Arguments) -> None:
    """Raises Error for inputs without a tensor, and for those that the forward pass
    does not take."""
    name = type(module).__name__
    leaves = _pytree.tree_leaves(arguments)
    if not tensors_in(arguments):
        kinds = sorted({type(leaf).__name__ for leaf in leaves})
        raise Error(f"{name}: inputs hold no tensor, only {', '.join(kinds) or 'nothing'};"
                    f" give an example, e.g. {_example(arguments)}")
    try:
        inspect.signature(module.forward).bind(*arguments[0], **arguments[1])
    except TypeError as error:
        raise Error(f"{name}: inputs are not what its forward takes: {error}; "
                    f"{_how_given(module, arguments)}") from None


def _example(arguments: Arguments) -> str:
    """An example as the caller wrote it: a tensor, or a dict with the caller's keys."""
    tensor = "torch.empty(8, 3, 224, 224)"
    keys = ", ".join(f"{key!r}: {tensor}" for key in list(arguments[1])[:1])
    return f"{{{keys}}}" if keys else tensor


def _how_given(module: torch.nn.Module, arguments: Arguments) -> str:
    """How inputs are given that forward takes in another way."""
    parameters = list(inspect.signature(module.forward).parameters)
    if arguments[1] and len(parameters) == 1:
        keys = ", ".join(f"{key!r}: …" for key in list(arguments[1])[:2])
        return (f"a dict gives inputs by name; one that is '{parameters[0]}' itself "
                f"stands in a tuple: ({{{keys}}},)")
    return "a tuple gives them in order, a dict by name"
