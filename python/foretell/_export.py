"""Turns a module in memory into a file that the program reads."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import pathlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Union

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from . import _torchscript
from ._errors import Error

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
# What the program calls the element types.
_DTYPES: Mapping[torch.dtype, str] = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16",
    torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
    torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "bool",
}


def _on_meta(tensor: torch.Tensor) -> torch.Tensor:
    """Its type alone: nothing is allocated or copied."""
    empty = torch.empty_strided(tensor.size(), tensor.stride(),
                                dtype=tensor.dtype, device="meta")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(empty, requires_grad=tensor.requires_grad)
    return empty


def _hollow_copy(module: torch.nn.Module) -> torch.nn.Module:
    """A copy on the meta device. No weight is read; shared tensors stay shared."""
    copies: dict[int, Any] = {}
    for part in module.modules():
        held = [*part._parameters.values(), *part._buffers.values(),
                *vars(part).values()]
        copies.update({id(tensor): _on_meta(tensor) for tensor in held
                       if isinstance(tensor, torch.Tensor)})
    return copy.deepcopy(module, copies)


def _arguments(inputs: Any) -> Arguments:
    """`inputs` of forward: a tensor, a tuple or list, or a dict by name."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (tuple, list)):
        return tuple(inputs), {}
    return (inputs,), {}


def _map_tensors(change: Callable[[torch.Tensor], torch.Tensor],
                 arguments: Arguments) -> Arguments:
    mapped: Arguments = _pytree.tree_map_only(torch.Tensor, change, arguments)
    return mapped


def _tensors(arguments: Arguments) -> list[torch.Tensor]:
    return [leaf for leaf in _pytree.tree_leaves(arguments)
            if isinstance(leaf, torch.Tensor)]


def _batch(arguments: Arguments) -> int | None:
    """The leading dimension of the first tensor that has one."""
    return next((int(tensor.size(0)) for tensor in _tensors(arguments)
                 if tensor.dim() > 0), None)


def _with_free_batch(arguments: Arguments) -> Arguments:
    """A batch of one would be taken for a constant; two of it are none."""
    def doubled(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0 or tensor.size(0) != 1:
            return tensor
        return tensor.new_empty((2, *tensor.shape[1:]))

    return _map_tensors(doubled, arguments) if _batch(arguments) == 1 else arguments


def _dynamic_shapes(module: torch.nn.Module, arguments: Arguments) -> Any:
    batch = _batch(arguments)
    shapes: Any = torch.export.ShapesCollection()  # type: ignore[no-untyped-call]
    for tensor in _tensors(arguments):
        if tensor.dim() > 0 and tensor.size(0) == batch:
            shapes[tensor] = {0: torch.export.Dim.AUTO}
    return shapes.dynamic_shapes(module, *arguments)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """torch.export logs and prints whole graphs beside the error that it raises,
    and TorchScript warns that it is deprecated."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with (warnings.catch_warnings(), io.StringIO() as nowhere,
              contextlib.redirect_stdout(nowhere),
              contextlib.redirect_stderr(nowhere)):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def export(module: torch.nn.Module, inputs: Any, *, training: bool,
           any_batch: bool) -> ExportedProgram:
    """The program of a forward pass, without weights; `module` is not changed.

    In training a module in eval mode is taken in training mode, else one as it
    stands; in inference always in eval mode. With `any_batch` the leading dimension
    of the inputs is left open.

    Raises Error where torch.export does, with its first line.
    """
    hollow = _hollow_copy(module)
    if not training or not module.training:
        hollow.train(training)
    arguments = _map_tensors(_on_meta, _arguments(inputs))
    if any_batch:
        arguments = _with_free_batch(arguments)
    shapes = _dynamic_shapes(hollow, arguments) if any_batch else None
    try:
        with _silence():
            return torch.export.export(hollow, *arguments, dynamic_shapes=shapes,
                                       strict=False)
    except Exception as error:  # torch.export raises whatever the network does
        line = next(filter(None, str(error).splitlines()), type(error).__name__)
        raise Error(f"{type(module).__name__}: torch.export cannot export it: "
                    f"{line}; a file of torch.jit.trace or torch.onnx may do",
                    "unsupported") from error


def input_words(program: ExportedProgram) -> list[str]:
    """`--input x=f32[8,3,224,224]` of every tensor that the program takes."""
    names = set(program.graph_signature.user_inputs)
    words = []
    for node in program.graph.nodes:
        tensor = node.meta.get("val")
        if (node.op != "placeholder" or node.name not in names
                or not isinstance(tensor, torch.Tensor)):
            continue
        sizes = ",".join(str(_size(size)) for size in tensor.shape)
        words.append(f"--input={node.name}={_DTYPES[tensor.dtype]}[{sizes}]")
    return words


def _size(size: Union[int, torch.SymInt]) -> int:
    """A size, and that of the example where it is left open."""
    return int(size.node.hint) if isinstance(size, torch.SymInt) else size


def to_file(program: ExportedProgram, folder: pathlib.Path,
            model: str) -> tuple[pathlib.Path, list[str]]:
    """Writes the program, weights left out, and says with which flags it is read.

    The one place that knows the form of the file.
    """
    path = folder / f"{model}.pt"
    with _silence():
        _torchscript.save(program, str(path), model)
    return path, input_words(program)
