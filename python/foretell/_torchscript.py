"""Writes an exported program as a TorchScript file without weights.

Every node of the graph is one line of TorchScript, which is compiled but never run;
parameters and buffers have their sizes, and one element of storage. So the file
is small and quickly made whatever the network's size, on any device, meta included.
"""

from __future__ import annotations

import keyword
import math
import operator
import types
from collections.abc import Mapping
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Graph, Node

from ._errors import Error

# Arithmetic on sizes; the texts take the arguments in their order.
_ON_NUMBERS: Mapping[Any, str] = {
    operator.getitem: "{}[{}]",
    operator.add: "({} + {})",
    operator.sub: "({} - {})",
    operator.mul: "({} * {})",
    operator.floordiv: "({} // {})",
    operator.truediv: "({} / {})",
    operator.mod: "({} % {})",
    operator.neg: "(-{})",
    operator.pow: "({} ** {})",
    torch.sym_max: "max({}, {})",
    torch.sym_min: "min({}, {})",
    torch.sym_not: "(not {})",
    torch.ops.aten.sym_size.int: "{}.size({})",
}
# What the program asserts of its inputs has no result.
_CHECKS = ("_assert_scalar", "_assert_async", "_assert_tensor_metadata",
           "sym_constrain_range", "sym_constrain_range_for_size")
_EMPTY_LISTS: Mapping[str, str] = {"int": "List[int]", "float": "List[float]",
                                   "SymInt": "List[int]"}


def _text(value: Any, names: Mapping[Node, str], kind: str = "") -> str:
    """`value`, an argument of the type `kind`, in TorchScript."""
    if isinstance(value, Node):
        return names[value]
    if isinstance(value, (list, tuple)):
        items = ", ".join(_text(item, names) for item in value)
        if not value and any(word in kind for word in _EMPTY_LISTS):
            word = next(word for word in _EMPTY_LISTS if word in kind)
            return f"torch.jit.annotate({_EMPTY_LISTS[word]}, [])"
        if any(item is None for item in value):
            return f"torch.jit.annotate(List[Optional[Tensor]], [{items}])"
        return f"[{items}]"
    if isinstance(value, torch.device):
        return 'torch.device("cpu")'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, int) and not isinstance(value, bool) and "float" in kind:
        return repr(float(value))
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return str(value)
    return repr(value)


def _call(node: Node, target: torch._ops.OpOverload,
          names: Mapping[Node, str]) -> str:
    schema = target._schema
    kinds = {argument.name: str(argument.type) for argument in schema.arguments}
    ordered = list(kinds.values())
    words = [_text(value, names, kind) for value, kind in zip(node.args, ordered)]
    words += [f"{key}={_text(value, names, kinds[key])}"
              for key, value in node.kwargs.items()]
    name = schema.name.split("::")[1]
    return f"torch.ops.{target.namespace}.{name}({', '.join(words)})"


class _Writer:
    """The lines of one forward, nested graphs among them."""

    def __init__(self, module: torch.nn.Module, model: str) -> None:
        self.module = module
        self.model = model
        self.names: dict[Node, str] = {}
        self.lines: list[str] = []

    def add(self, graph: Graph) -> list[Any]:
        """Appends the graph's calls; placeholders have their names. Gives its
        results."""
        for node in graph.nodes:
            if node.op == "call_function":
                self.add_call(node)
            elif node.op == "output":
                results = node.args[0]
                return list(results) if isinstance(results, tuple) else [results]
        return []

    def add_call(self, node: Node) -> None:
        target: Any = node.target
        # Names of nested graphs may be those of the graph around.
        name = f"v{len(self.lines)}_{node.name}"
        if target in _ON_NUMBERS:
            words = [_text(value, self.names) for value in node.args]
            self.set(node, name, _ON_NUMBERS[target].format(*words))
        elif target is torch.ops.higher_order.wrap_with_set_grad_enabled:
            self.add_nested(node)
        elif not isinstance(target, torch._ops.OpOverload):
            raise Error(f"{self.model}: {target} is not read yet, in "
                        f"{node.meta.get('stack_trace', 'the graph')}",
                        "unsupported")
        elif target._schema.name.split("::")[1] not in _CHECKS:
            self.set(node, name, _call(node, target, self.names))

    def add_nested(self, node: Node) -> None:
        """A part that runs without gradients, say: its lines as they are."""
        _, part, *operands = node.args
        nested: Any = getattr(self.module, str(part.target))  # type: ignore
        inner = [one for one in nested.graph.nodes if one.op == "placeholder"]
        self.names.update({one: self.names[operand]  # type: ignore[index]
                           for one, operand in zip(inner, operands)})
        around, self.module = self.module, nested
        results = self.add(nested.graph)
        self.module = around
        if results:
            words = ", ".join(_text(value, self.names) for value in results)
            self.set(node, f"v{len(self.lines)}_{node.name}", f"({words},)")

    def set(self, node: Node, name: str, text: str) -> None:
        self.names[node] = name
        self.lines.append(f"{name} = {text}")


def _hollow(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the same sizes over one element."""
    one = torch.empty(1, dtype=tensor.dtype)
    return one.as_strided(tensor.shape, [0] * tensor.dim())


def _register(module: torch.nn.Module, path: str, tensor: torch.Tensor) -> None:
    """Puts a hollow `tensor` at `layer.0.weight`, in modules that have no code."""
    *folders, name = path.split(".")
    for folder in folders:
        if folder not in module._modules:
            module.add_module(folder, torch.nn.Module())
        module = module.get_submodule(folder)
    if isinstance(tensor, torch.nn.Parameter):
        module.register_parameter(name, torch.nn.Parameter(
            _hollow(tensor), requires_grad=tensor.requires_grad))
    else:
        module.register_buffer(name, _hollow(tensor))


def _read(path: str) -> str:
    """`getattr(self, "0").weight`: numbers are names of modules, not of Python."""
    text = "self"
    for name in path.split("."):
        is_plain = name.isidentifier() and not keyword.iskeyword(name)
        text = f"{text}.{name}" if is_plain else f'getattr({text}, "{name}")'
    return text


def _state(program: ExportedProgram) -> tuple[torch.nn.Module, dict[str, str]]:
    """A module with the program's hollow tensors, shared ones once, and for every
    placeholder that stands for one how to read it."""
    signature = program.graph_signature
    sources = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
               **signature.inputs_to_lifted_tensor_constants}
    tensors = {**program.state_dict, **program.constants}
    # A class of its own: TorchScript compiles every class once.
    module = types.new_class("Program", (torch.nn.Module,))()
    reads: dict[str, str] = {}
    paths: dict[int, str] = {}
    for placeholder, path in sources.items():
        tensor = tensors[path]
        if id(tensor) not in paths:
            paths[id(tensor)] = path
            _register(module, path, tensor)
        reads[placeholder] = _read(paths[id(tensor)])
    return module, reads


def _forward(program: ExportedProgram, reads: Mapping[str, str],
             model: str) -> str:
    writer = _Writer(program.graph_module, model)
    inputs = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            writer.names[node] = node.name
            if node.name in reads:
                writer.lines.append(f"{node.name} = {reads[node.name]}")
            elif isinstance(node.meta.get("val"), torch.Tensor):
                inputs.append(f"{node.name}: Tensor")
    results = writer.add(program.graph)
    wanted = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
    specs = program.graph_signature.output_specs
    words = [writer.names[result] for result, spec in zip(results, specs)
             if spec.kind in wanted and isinstance(result, Node)]
    lines = [*writer.lines, f"return {', '.join(words)}"]
    return (f"def forward(self, {', '.join(inputs)}):\n"
            + "".join(f"    {line}\n" for line in lines))


def save(program: ExportedProgram, path: str, model: str) -> None:
    """Writes the file.

    Raises Error that names `model` and what cannot be written.
    """
    module, reads = _state(program)
    text = _forward(program, reads, model)
    scripted: Any = torch.jit.script(module)
    try:
        scripted.define(text)
    except RuntimeError as error:
        line = next(filter(None, str(error).splitlines()), "")
        raise Error(f"{model}: TorchScript cannot say it: {line}",
                    "unsupported") from error
    scripted.save(path)
