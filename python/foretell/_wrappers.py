"""Modules that hold the module that is meant: what torch.compile and the data
parallel classes of PyTorch put around one."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class _Wrapper(NamedTuple):
    name: str
    """The class, by its module and name: some are slow to import."""
    inside: str
    """The attribute that holds the module."""
    note: str


_WRAPPERS = (
    _Wrapper("torch._dynamo.eval_frame.OptimizedModule", "_orig_mod",
             "torch.compile is not modelled: figures are those of eager mode"),
    _Wrapper("torch.nn.parallel.data_parallel.DataParallel", "module",
             "DataParallel is left out: figures are those of one GPU with the whole "
             "batch; parallel='ddp:2' predicts DistributedDataParallel"),
    _Wrapper("torch.nn.parallel.distributed.DistributedDataParallel", "module",
             "DistributedDataParallel is left out: figures are those of one process "
             "alone; parallel='ddp:2' adds its buckets and all-reduce"),
    _Wrapper("torch.distributed.fsdp.fully_sharded_data_parallel."
             "FullyShardedDataParallel", "_fsdp_wrapped_module",
             "FullyShardedDataParallel is left out: figures are those of one GPU with "
             "all parameters; parallel='fsdp1:2' predicts the shards"),
)


def _wrapper_of(module: Any) -> _Wrapper | None:
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(module).__mro__}
    return next((one for one in _WRAPPERS if one.name in names), None)


def inside(module: torch.nn.Module) -> torch.nn.Module | None:
    """The module that a wrapper holds; None for any other module."""
    wrapper = _wrapper_of(module)
    held = getattr(module, wrapper.inside, None) if wrapper else None
    return held if isinstance(held, torch.nn.Module) else None


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The module inside of all wrappers around it."""
    held = inside(module)
    return module if held is None else unwrapped(held)


def notes_on(module: torch.nn.Module) -> list[str]:
    """What leaving out the wrappers of a module and of its parts means, each once."""
    notes: dict[str, None] = {}
    for part in module.modules():
        wrapper = _wrapper_of(part)
        if wrapper:
            notes[wrapper.note] = None
        elif getattr(part, "_compiled_call_impl", None) is not None:
            notes[_WRAPPERS[0].note] = None
    return list(notes)


def _flat_handles(module: torch.nn.Module) -> list[Any]:
    handles = (getattr(part, "_handle", None) for part in module.modules())
    return [handle for handle in handles if hasattr(handle, "flat_param")]


def unflattened(module: torch.nn.Module) -> dict[tuple[int, str], torch.nn.Parameter]:
    """The parameters that FullyShardedDataParallel keeps in flat ones, on the meta
    device, by the id of their module and their name there.

    PyTorch's own metadata of a FlatParameter, which another release may name
    otherwise.
    """
    found: dict[tuple[int, str], torch.nn.Parameter] = {}
    for handle in _flat_handles(module):
        flat = handle.flat_param
        for info, shape in zip(flat._param_infos, flat._shapes):
            empty = torch.empty(shape, dtype=flat.dtype, device="meta")
            found[id(info.module), info.param_name] = torch.nn.Parameter(
                empty, requires_grad=flat.requires_grad)
        for shared in flat._shared_param_infos:
            found[id(shared.module), shared.param_name] = found[
                id(shared.prim_module), shared.prim_param_name]
    return found
