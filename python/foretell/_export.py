"""Turns a module in memory into a file that the program reads."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
import logging
import pathlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from ._call import refuse_bad_inputs
from ._checkpoints import Checkpoints, without_checkpoints
from ._errors import Error
from ._hollow import hollow_copy, on_meta
from ._hugging_face import prepare, with_loss
from ._on_meta import tried_on_meta
from ._values import Arguments, Call, tensors_in
from ._wrappers import unwrapped

# torch.export and the streams that it prints to belong to the whole process.
_EXPORTING = threading.Lock()


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


def has_batch(inputs: Any, batch: Any) -> bool:
    """Whether `inputs` are of the batch that is asked for; None asks for theirs."""
    return batch is None or bool(batch == _batch(_arguments(inputs)))


def _with_free_batch(arguments: Arguments) -> Arguments:
    """A batch of one would become a constant; a batch of two does not."""
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
    """torch.export logs and prints whole graphs besides raising its error."""
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


def _names_of_inputs(module: torch.nn.Module,
                     program: ExportedProgram) -> dict[str, str]:
    """What the caller calls each input of the graph: by the argument of forward, and
    inside it by index and key: batch['x'] for batch_x."""
    signature = program.graph_signature.user_inputs
    args, kwargs = _pytree.tree_unflatten(signature, program.call_spec.in_spec)
    named = dict(zip(inspect.signature(module.forward).parameters, args)) | kwargs
    return {leaf: name + _pytree.keystr(path) for name, value in named.items()
            for path, leaf in _pytree.tree_flatten_with_path(value)[0]}


def _refuse_fixed_batch(module: torch.nn.Module, program: ExportedProgram) -> None:
    """Raises Error where the leading dimension of the first input is not free."""
    users = set(program.graph_signature.user_inputs)
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if (node.op != "placeholder" or node.name not in users
                or not isinstance(value, torch.Tensor) or value.dim() == 0):
            continue
        size = value.size(0)
        if isinstance(size, int) or size.node.maybe_as_int() is not None:
            name = _names_of_inputs(module, program).get(node.name, node.name)
            raise Error(f"{type(module).__name__}: its code fixes the leading dimension "
                        f"of {name}, which would be the batch, at {size}: leave batch "
                        "out and give an example of the size that is wanted")
        return


def _export_quietly(module: torch.nn.Module, arguments: Arguments,
                    shapes: Any) -> tuple[ExportedProgram, Checkpoints]:
    """torch.export of a module on the meta device."""
    def once() -> ExportedProgram:
        with _silence():
            return torch.export.export(module, *arguments, dynamic_shapes=shapes,
                                       strict=False)
    with _EXPORTING, without_checkpoints(module) as seen:
        return tried_on_meta(once), seen


def _first_line(error: Exception) -> str:
    return next(filter(None, str(error).splitlines()), type(error).__name__)


@dataclasses.dataclass(frozen=True)
class Exported:
    """A module as torch.export sees it."""

    program: ExportedProgram
    checkpoints: Checkpoints
    """What the module computes again in training."""


@dataclasses.dataclass(frozen=True)
class How:
    """In which form a module is exported."""

    training: bool = False
    any_batch: bool = False
    """The leading dimension of the inputs is left open."""
    dtype: torch.dtype | None = None
    """That of all weights and inputs of floating point; None: as they are."""


def _cast(dtype: torch.dtype) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda one: one.to(dtype) if one.is_floating_point() else one


def _prepared(module: torch.nn.Module, how: How, labels: Any) -> torch.nn.Module:
    """A copy on the meta device, in the mode and type that are asked for. In training
    a module in eval mode is taken in training mode, else one as it stands; in
    inference always in eval mode."""
    hollow = hollow_copy(module)
    if not how.training or not unwrapped(module).training:
        hollow.train(how.training)
    prepare(hollow, how.training, labels)
    return hollow if how.dtype is None else hollow.to(how.dtype)


def export(module: torch.nn.Module, inputs: Any, how: How) -> Exported:
    """The program of a forward pass, without weights; `module` is not changed.

    Raises Error where torch.export does, with its first line; for inputs that are not
    the module's, an empty batch, and a batch that its code fixes.
    """
    name = type(unwrapped(module)).__name__
    given = _arguments(inputs)
    refuse_bad_inputs(unwrapped(module), given)
    call = Call(with_loss(unwrapped(module), given) if how.training else given)
    arguments = _map_tensors(on_meta, call.arguments)
    if how.dtype is not None:
        arguments = _map_tensors(_cast(how.dtype), arguments)
    if _batch(arguments) == 0:
        raise Error(f"{name}: the batch, the leading dimension of its first input, is "
                    "0, expected at least 1", "invalid_argument")
    hollow = call.wrap(_prepared(module, how, given[1].get("labels")), how.training)
    if how.any_batch:
        arguments = _with_free_batch(arguments)
    shapes = _dynamic_shapes(hollow, arguments) if how.any_batch else None
    try:
        program, checkpoints = _export_quietly(hollow, arguments, shapes)
    except Exception as error:
        raise Error(f"{name}: torch.export cannot export it: {_first_line(error)}; where "
                    "the module runs with these inputs, a file of torch.jit.trace or "
                    "torch.onnx may do",
                    "unsupported") from error
    if how.any_batch:
        _refuse_fixed_batch(hollow, program)
    return Exported(program, checkpoints)


def _over_one_element(tensor: torch.Tensor) -> torch.Tensor:
    """Its type over a storage of one element, or of none where it has none."""
    if tensor.numel() == 0:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
    one = torch.zeros(1, dtype=tensor.dtype, device="cpu")
    hollow = one.as_strided(tensor.shape, [0] * tensor.dim())
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(hollow, requires_grad=tensor.requires_grad)
    return hollow


def _hollow_state(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors without their values, in which what shares a storage shares one still:
    by that the program knows tied weights. Single numbers keep theirs, because sizes
    may follow from them."""
    made: dict[Any, torch.Tensor] = {}
    state = dict(tensors)
    for name, tensor in tensors.items():
        if (not isinstance(tensor, torch.Tensor)
                or tensor.dim() == 0 and not tensor.is_meta):
            continue
        key = (tensor.untyped_storage()._cdata, tensor.storage_offset(),
               tensor.shape, tensor.dtype)
        if key not in made:
            made[key] = _over_one_element(tensor)
        state[name] = made[key]
    return state


def to_file(program: ExportedProgram, folder: pathlib.Path, model: str,
            mode: str | None = None) -> pathlib.Path:
    """Writes the program as .pt2, without weights and example inputs. With the `mode`
    in which it was exported the program keeps its layers in that mode.

    Raises Error where torch.export.save does, with its first line.
    """
    hollow = copy.copy(program)
    hollow._state_dict = _hollow_state(program.state_dict)
    hollow._constants = _hollow_state(program.constants)
    hollow._example_inputs = None
    # How results are packed; PyTorch saves no namedtuple that is not registered.
    hollow._module_call_graph = []
    path = folder / f"{model}.pt2"
    try:
        with _EXPORTING, _silence():
            torch.export.save(hollow, path,
                              extra_files={"mode": mode} if mode else None)
    except Exception as error:
        raise Error(f"{model}: torch.export cannot save it: {_first_line(error)}",
                    "unsupported") from error
    return path
