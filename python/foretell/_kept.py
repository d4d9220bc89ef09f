"""Files of modules that were exported, kept for as long as their modules live.

An export takes seconds for a large network, and the next question is about the same
one: another device, another limit.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable, Mapping
from typing import Any, Callable, TypeVar

import torch

Made = TypeVar("Made")
# Of each module; a sweep over lengths asks for each but once.
MOST = 8
_PRIMITIVE = (int, float, str, bool, bytes, complex, type(None), torch.dtype)
_lock = threading.Lock()
_files: dict[int, dict[Hashable, Any]] = {}


def type_of(tensor: torch.Tensor) -> Hashable:
    """All of a tensor that an export depends on."""
    return (tuple(tensor.shape), tensor.dtype, tensor.requires_grad, tensor.is_meta)


class _States:
    """What tells two values apart: numbers and texts themselves, of functions their
    code, of other objects (configurations) the state of their attributes."""

    def __init__(self) -> None:
        self._seen: dict[int, Hashable] = {}

    def of(self, value: Any) -> Hashable:
        if isinstance(value, _PRIMITIVE):
            return value
        if isinstance(value, torch.Tensor):
            return type_of(value)
        if isinstance(value, (type, torch.nn.Module)):
            return id(value)
        if id(value) not in self._seen:
            self._seen[id(value)] = id(value)  # For what holds itself.
            # As a number: objects that hold each other would be compared again in
            # every place where they are held.
            self._seen[id(value)] = hash(self._of_object(value))
        return self._seen[id(value)]

    def _of_object(self, value: Any) -> Hashable:
        if isinstance(value, Mapping):
            return tuple((str(key), self.of(one)) for key, one in value.items())
        if isinstance(value, (list, tuple)):
            return tuple(map(self.of, value))
        if callable(value):
            return getattr(value, "__code__", None) or id(value)
        return self.of(vars(value)) if hasattr(value, "__dict__") else id(value)


def fingerprint(module: torch.nn.Module) -> Hashable:
    """A value that changes with what an export of the module depends on: its modules,
    the types of its tensors, what is trained, and all numbers and texts in its
    attributes."""
    states = _States()
    return tuple((path, id(type(part)), states.of(vars(part)))
                 for path, part in module.named_modules(remove_duplicate=False))


def kept(module: torch.nn.Module, key: Hashable, make: Callable[[], Made]) -> Made:
    """What `make` gave for the module and the key, the last MOST of them."""
    owner = id(module)
    with _lock:
        if owner not in _files:
            _files[owner] = {}
            weakref.finalize(module, _files.pop, owner, None)
        files = _files[owner]
        if key in files:
            files[key] = files.pop(key)
            found: Made = files[key]
            return found
    made = make()
    with _lock:
        files[key] = made
        while len(files) > MOST:
            files.pop(next(iter(files)))
    return made
