"""A module in memory as a file of ours, with the options that it implies."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree

from ._checkpoints import Checkpoints
from ._errors import Error, warn
from ._export import Exported, How, export, has_batch
from ._hollow import refuse_lazy
from ._inputs import has_sizes, with_tensors
from ._kept import fingerprint, kept, type_of
from ._quantized import quantize_options
from ._values import tensors_in
from ._wrappers import notes_on, unwrapped

if TYPE_CHECKING:
    from ._model import Opened

TRAINING = "training"
_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def _dtypes(module: torch.nn.Module) -> set[torch.dtype]:
    return {one.dtype for one in module.parameters() if one.is_floating_point()}


def _precision(module: torch.nn.Module, options: Mapping[str, Any]) -> str | None:
    """The precision that a module's own weights have, where all have one of 16 bits
    and nothing else is asked for."""
    if options.get("precision") or options.get("autocast"):
        return None
    names = {kind: name for name, kind in _DTYPES.items() if name != "fp32"}
    kinds = _dtypes(module)
    return names.get(kinds.pop()) if len(kinds) == 1 else None


def _dtype(module: torch.nn.Module, options: Mapping[str, Any]) -> torch.dtype | None:
    """The type to which a module is cast before its export: code that converts types
    itself has those of the export in the file."""
    kind = _DTYPES.get(options.get("precision") or "")
    if kind is None or options.get("autocast") or _dtypes(module) <= {kind}:
        return None
    return kind


def _key(inputs: Any, how: How) -> Hashable:
    leaves, structure = _pytree.tree_flatten(inputs)
    types = [type_of(one) if isinstance(one, torch.Tensor) else _plain_key(one)
             for one in leaves]
    return (str(structure), tuple(types), dataclasses.astuple(how))


def _plain_key(value: Any) -> Hashable:
    plain = (int, float, str, bool, complex, type(None), torch.dtype, torch.device)
    return (type(value), value if isinstance(value, plain)
            else tuple(map(type_of, tensors_in(value))))


def _note_checkpoints(name: str, seen: Checkpoints, options: Mapping[str, Any]) -> None:
    """Says what the module's own checkpoints are counted as."""
    if options.get("recompute") is not None:
        return
    if seen.pattern:
        warn(f"{name}: activation checkpointing is on: counted as "
             f"recompute={seen.pattern!r}")
    if seen.unknown:
        warn(f"{name}: torch.export leaves torch.utils.checkpoint out, here around "
             f"{', '.join(sorted(seen.unknown))}: these activations count as kept; "
             "recompute='PATH' computes the modules at a path again")


def _exported(module: torch.nn.Module, inputs: Any, how: How) -> Exported:
    """The export; of sizes without types first as of the weights' type, then as of
    tokens."""
    if not has_sizes(inputs):
        return export(module, inputs, how)
    inner = unwrapped(module)
    try:
        return export(module, with_tensors(inputs, inner), how)
    except Error:
        try:
            return export(module, with_tensors(inputs, inner, integers=True), how)
        except Error:
            pass
        raise


def open_module(module: torch.nn.Module, inputs: Any, options: Mapping[str, Any],
                any_batch: bool, to_file: Callable[..., Opened]) -> Opened:
    """The module as a file, which is kept for the next question about it.

    Raises Error where it cannot be exported.
    """
    refuse_lazy(module)
    mode = options.get("mode") or "inference"
    how = How(training=mode == TRAINING,
              any_batch=any_batch or not has_batch(inputs, options.get("batch")),
              dtype=_dtype(module, options))
    name = type(unwrapped(module)).__name__

    def make() -> tuple[Opened, Checkpoints]:
        exported = _exported(module, inputs, how)
        seen = exported.checkpoints
        found = {"precision": _precision(module, options),
                 "recompute": seen.pattern if how.training else None,
                 **quantize_options(unwrapped(module))}
        return to_file(exported.program, name, mode, found), seen

    key = (_key(inputs, how), bool(options.get("autocast")), options.get("precision"),
           fingerprint(module))
    opened, seen = kept(module, key, make)
    for note in notes_on(module):
        warn(f"{name}: {note}")
    if how.training:
        _note_checkpoints(name, seen, options)
    return opened
