"""How a module is called when it is exported: with what, and what it gives back."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils import _pytree
from torch.utils import checkpoint as checkpointing

from ._errors import Error

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def refuse_bad_inputs(module: torch.nn.Module, arguments: Arguments) -> None:
    """Raises Error for inputs without a tensor, and for those that the forward pass
    does not take."""
    name = type(module).__name__
    leaves = _pytree.tree_leaves(arguments)
    if not any(isinstance(leaf, torch.Tensor) for leaf in leaves):
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


def _fields_of(value: Any) -> Any:
    """A dataclass that PyTorch does not know as a dict; anything else as it is."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    return _plain({field.name: getattr(value, field.name)
                   for field in dataclasses.fields(value)})


def _plain(results: Any) -> Any:
    return _pytree.tree_map(_fields_of, results)


def with_plain_results(module: torch.nn.Module) -> torch.nn.Module:
    """`module`, which is changed, giving back dicts for dataclasses: torch.export
    refuses those that nobody registered, and registering is for their owner."""
    forward = module.forward

    @functools.wraps(forward)
    def plain_forward(*args: Any, **kwargs: Any) -> Any:
        return _plain(forward(*args, **kwargs))

    module.forward = plain_forward
    return module


@contextlib.contextmanager
def without_checkpoints() -> Iterator[list[str]]:
    """Lists, as long as the context lasts, what is called under
    torch.utils.checkpoint, and calls it plainly.

    torch.export leaves the kind out that is not reentrant. Of the reentrant one it
    keeps the forward pass under no_grad and no backward pass.
    """
    seen: list[str] = []
    # PyTorch's own, which another release may name otherwise: nothing is noticed then.
    generator = "_checkpoint_without_reentrant_generator"
    before = getattr(checkpointing, generator, None)

    def noticed(function: Any, *args: Any, **kwargs: Any) -> Any:
        seen.append(type(function).__name__)
        assert before is not None
        return before(function, *args, **kwargs)

    def noticed_reentrant(function: Any, preserve: bool, *args: Any) -> Any:
        seen.append(type(function).__name__)
        return function(*args)

    with contextlib.ExitStack() as patches:
        if before is not None:
            patches.enter_context(mock.patch.object(checkpointing, generator, noticed))
        patches.enter_context(mock.patch.object(checkpointing.CheckpointFunction,
                                                "apply", noticed_reentrant))
        yield seen
