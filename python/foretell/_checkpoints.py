"""What a network's own activation checkpointing computes again.

torch.export leaves torch.utils.checkpoint out; the program knows it by the paths of
modules (recompute=).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils import checkpoint as checkpointing

Module = torch.nn.Module


def _modules_named(function: Any) -> list[Module]:
    """The modules that a function is about: it is one, a method of one, or a
    functools.partial of either or with one."""
    if isinstance(function, Module):
        return [function]
    if isinstance(function, functools.partial):
        given = [one for one in function.args if isinstance(one, Module)]
        return _modules_named(function.func) or given
    owner = getattr(function, "__self__", None)
    return [owner] if isinstance(owner, Module) else []


@contextlib.contextmanager
def _outermost_calls() -> Iterator[list[Module]]:
    """Lists the modules that are called meanwhile, without those that they call."""
    called: list[Module] = []
    depth = 0

    def enter(module: Module, args: Any) -> None:
        nonlocal depth
        if depth == 0:
            called.append(module)
        depth += 1

    def leave(module: Module, args: Any, result: Any) -> None:
        nonlocal depth
        depth -= 1

    hooks = (torch.nn.modules.module.register_module_forward_pre_hook(enter),
             torch.nn.modules.module.register_module_forward_hook(leave))
    try:
        yield called
    finally:
        for hook in hooks:
            hook.remove()


class Checkpoints:
    """The modules that ran under torch.utils.checkpoint, as an export met them."""

    def __init__(self, module: Module) -> None:
        # torch.export hands proxies to the code, which share the modules' dicts.
        self._paths = {id(vars(part)): path for path, part in module.named_modules()}
        self.paths: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        """What has no path, by the names of its types."""

    @contextlib.contextmanager
    def watching(self, function: Any) -> Iterator[None]:
        """Notes what the function runs, which is called in this context."""
        named = _modules_named(function)
        with _outermost_calls() as called:
            yield
        self._note(named or called, function)

    def _note(self, modules: list[Module], function: Any) -> None:
        paths = [self._paths.get(id(vars(one)), "") for one in modules]
        if paths and all(paths):
            self.paths.update(dict.fromkeys(paths))
        else:
            self.unknown[type(modules[0] if modules else function).__name__] = None

    @property
    def pattern(self) -> str | None:
        """The paths as a value of recompute=; None where there are none. Paths of one
        length have one pattern, with * where they differ; of several lengths the
        program chooses blocks itself."""
        names = [path.split(".") for path in self.paths]
        if not names:
            return None
        if len(set(map(len, names))) > 1:
            return "auto"
        return ".".join(_shared(column) for column in zip(*names))


def _shared(column: tuple[str, ...]) -> str:
    """One name of all paths, or * for any; for any number, too."""
    return column[0] if len(set(column)) == 1 and not column[0].isdigit() else "*"


@contextlib.contextmanager
def without_checkpoints(module: Module) -> Iterator[Checkpoints]:
    """Notes, as long as the context lasts, what is called under
    torch.utils.checkpoint, and calls it plainly.

    torch.export leaves the kind out that is not reentrant. Of the reentrant one it
    keeps the forward pass under no_grad and no backward pass.
    """
    seen = Checkpoints(module)
    # PyTorch's own, which another release may name otherwise: nothing is noticed then.
    generator = "_checkpoint_without_reentrant_generator"
    before = getattr(checkpointing, generator, None)

    def noticed(function: Any, *args: Any, **kwargs: Any) -> Any:
        assert before is not None
        with seen.watching(function):
            yield from before(function, *args, **kwargs)

    def noticed_reentrant(function: Any, preserve: bool, *args: Any) -> Any:
        with seen.watching(function):
            return function(*args)

    with contextlib.ExitStack() as patches:
        if before is not None:
            patches.enter_context(mock.patch.object(checkpointing, generator, noticed))
        patches.enter_context(mock.patch.object(checkpointing.CheckpointFunction,
                                                "apply", noticed_reentrant))
        yield seen
