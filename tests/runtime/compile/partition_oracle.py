"""What AOTAutograd saves for the backward pass of a step that foretell recorded.

    foretell inspect zoo:resnet18 --mode training --format graph > step.txt
    partition_oracle.py step.txt …

runs the forward operators of the file again, on fake CUDA tensors through
AOTAutograd with Inductor's decompositions and passes over the joint graph, and
prints what PyTorch's min-cut partition saves and recomputes: one JSON object
per file. With --only each call of the modules of a path goes through
AOTAutograd alone, the other operators are run by eager autograd, and the bytes
are those of all storages that either saves.
"""

import argparse
import collections
import contextlib
import itertools
import json
import math
import re
import sys
from unittest import mock

import fake_cuda

fake_cuda.load()

# pylint: disable=wrong-import-position
import torch
from torch._functorch import config as functorch_config
from torch._functorch import partitioners
from torch._functorch.aot_autograd import aot_function
from torch._inductor import config as inductor_config
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.joint_graph import joint_graph_passes
from torch._guards import detect_fake_mode
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import traceback as fx_traceback
from torch.utils.checkpoint import CheckpointPolicy

_DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16,
    "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
    "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
}
_SOURCE = re.compile(r"%(\S+) = (input|parameter|buffer) (\w+)\[([\d,]*)\]"
                     r"(?: strides=\[([\d, ]*)\])?")
_NODE = re.compile(
    r"(\| )?(%[^=]*?) = (\w+)\(([^)]*)\)(?: \{(.*?)\})? : "
    r"(\w+)\[([\d,]*)\](?:.*? @ \"(.*?)\")?")
# Called in the backward pass of forward operators that choose a kernel: the
# recorded choice is replayed, because fake tensors have no GPU to ask.
_CHOICES = {"scaled_dot_product_attention"}


class Operator:
    """A node of the file: names of results and operands, and attributes."""

    def __init__(self, match):
        self.results = re.findall(r"%([^\s,]+)", match[2])
        self.target = match[3]
        self.operands = re.findall(r"%([^\s,]+)", match[4])
        self.attributes = dict(_attributes(match[5] or ""))
        if self.target == "to":  # Its dtype is that of its result alone.
            self.attributes = {"dtype": _DTYPES[match[6]]}
        self.shape = [int(n) for n in match[7].split(",") if n]
        self.scope = match[8] or ""
        self.calls = []

    def steps(self):
        """The calls inside that choose a kernel and prepare its operands, or
        else the operator."""
        if self.target not in _CHOICES:
            return [self]
        for i, call in enumerate(self.calls):
            if call.results[0] == self.results[0]:
                return self.calls[:i + 1]
        return [self]


def _attributes(text):
    for name, value in re.findall(
            r'(\w+)=(\[[^\]]*\]|"(?:[^"\\]|\\.)*"|[^,\s]+)', text):
        try:
            yield name, json.loads(value)
        except json.JSONDecodeError:
            yield name, _DTYPES.get(value, float(value) if value in (
                "inf", "-inf", "nan") else value)


class Step:
    """Sources, forward operators and results of a graph in foretell's text."""

    def __init__(self, lines):
        self.sources = {}
        self.operators = []
        self.outputs = []
        self.backward = set()
        for line in lines:
            self._read(line)

    def _read(self, line):
        source = _SOURCE.match(line)
        if source:
            name, role, dtype, shape, strides = source.groups()
            ints = [int(n) for n in shape.split(",") if n]
            strides = [int(n) for n in (strides or "").split(",") if n.strip()]
            self.sources[name] = (role, _DTYPES[dtype], ints, strides)
            return
        if line.startswith("output "):
            self.outputs += re.findall(r"%([^\s,]+)", line)
        node = _NODE.match(line)
        if node is None:
            return
        operator = Operator(node)
        if not node[1]:
            self.operators.append(operator)
        else:
            self.operators[-1].calls.append(operator)

    def trains(self):
        """Whether it has a backward pass."""
        return any(operator.target == "ones_like"
                   for operator in self.operators)

    def forward(self):
        """Operators before the first of the backward pass."""
        for operator in self.operators:
            if operator.target == "ones_like":
                return
            yield operator


def _bind(schema, operands, attributes):
    """Arguments of an overload by name, or None if they do not fit it."""
    names = {argument.name for argument in schema.arguments}
    if not set(attributes) <= names:
        return None
    bound = dict(attributes)
    left = list(operands)
    tensors = [a for a in schema.arguments
               if "Tensor" in str(a.type) and a.name not in attributes]
    for i, argument in enumerate(tensors):
        is_list = "List" in str(argument.type)
        needed = sum(1 for a in tensors[i + 1:]
                     if "Optional" not in str(a.type))
        if is_list:
            count = len(left) - needed
            bound[argument.name], left = left[:count], left[count:]
        elif left:
            bound[argument.name] = left.pop(0)
        elif "Optional" not in str(argument.type):
            return None
    required = [a.name for a in schema.arguments if not a.has_default_value()]
    optional = {a.name for a in schema.arguments if "Optional" in str(a.type)}
    for name in required:
        if name not in bound and name in optional:
            bound[name] = None
    if left or any(name not in bound for name in required):
        return None
    return bound


def _index(operator, tensor, *indices):
    """Indexes the dimensions of which the file does not say the first."""
    for first in range(tensor.dim() - len(indices) + 1):
        result = torch.ops.aten.index(tensor, [None] * first + list(indices))
        if list(result.shape) == operator.shape:
            return result
    raise ValueError(f"no dimensions of {list(tensor.shape)} are indexed to "
                     f"{operator.shape}")


def _call(operator, values):
    packet = getattr(torch.ops.aten, operator.target)
    operands = [values[name] for name in operator.operands]
    if operator.target == "index":
        return _index(operator, *operands)
    attributes = dict(operator.attributes)
    attributes.pop("autocast", None)
    if "device" not in attributes and not operands:
        attributes["device"] = torch.device("cuda:0")
    overloads = [getattr(packet, name) for name in packet.overloads()
                 if "out" not in name.split("_")]
    # A number may stand for a tensor, but not where an overload has a number.
    overloads.sort(key=lambda overload: sum(
        "Tensor" in str(argument.type) and argument.name in attributes
        for argument in overload._schema.arguments))
    for overload in overloads:
        bound = _bind(overload._schema, operands, attributes)
        if bound is not None:
            return overload(**bound)
    raise ValueError(f"no overload of {operator.target} takes "
                     f"{len(operands)} tensors and {attributes}")


@contextlib.contextmanager
def _checkpoint(number):
    """Tags what is traced inside as tag_activation_checkpoint tags block
    `number`; None: not at all."""
    if number is None:
        yield
        return
    with fx_traceback.preserve_node_meta():
        fx_traceback.current_meta.update(
            recompute=CheckpointPolicy.PREFER_RECOMPUTE, ac_graph_id=number)
        try:
            yield
        finally:
            del fx_traceback.current_meta["recompute"]
            del fx_traceback.current_meta["ac_graph_id"]


def _pattern(path):
    """Of the modules of a path, in which "*" is any one name; "auto": those
    whose path ends with its first number."""
    names = (r"([^./]*[./])*?\d+" if path == "auto" else
             re.escape(path).replace(r"\*", "[^./]+"))
    return re.compile("/?" + names + r"(?=[./]|$)")


def _numbers(step, path):
    """By forward operator, the number of the call of a block of that path; None
    outside. Operators without a path belong to the block on both sides of
    them."""
    block_of = path and _pattern(path)
    numbers, last, before, waiting = [], 0, None, 0
    for operator in step.forward():
        if not operator.scope:
            waiting += 1
            continue
        found = path and block_of.match(operator.scope)
        block = found and found[0]
        goes_on = block and block == before
        numbers += [last if goes_on else None] * waiting
        last, before, waiting = last + (not goes_on), block, 0
        numbers.append(last if block else None)
    return numbers + [None] * waiting


def _run(operator, values):
    """Adds the results of an operator to `values`."""
    for call in operator.steps():
        results = _call(call, values)
        if not isinstance(results, (tuple, list)):
            results = (results,)
        values.update(zip(call.results, results))


def _results(step, values):
    last = list(step.forward())[-1].results[0]
    return values[last], *(values[name] for name in step.outputs
                           if name != last)


def _replay(step, tensors, blocks):
    values = dict(zip(step.sources, tensors))
    for operator, number in zip(step.forward(), _numbers(step, blocks)):
        with _checkpoint(number):
            _run(operator, values)
    return _results(step, values)


def _compile(function, static):
    """`function` through AOTAutograd; `static`: which of its operands are
    parameters and buffers. And its partition, once it was called."""
    chosen = Partition(static)
    return aot_function(
        function, fw_compiler=lambda module, _: module.forward,
        bw_compiler=lambda module, _: module.forward, partition_fn=chosen,
        decompositions=select_decomp_table()), chosen


def _run_compiled(step, operators, values, read_later):
    """Adds what a call of a compiled module returns to `values`."""
    calls = [call for operator in operators for call in operator.steps()]
    made = {name for call in calls for name in call.results}
    operands = sorted({name for call in calls for name in call.operands} - made)
    returned = sorted(made & read_later)

    def function(*tensors):
        inside = dict(zip(operands, tensors))
        for operator in operators:
            _run(operator, inside)
        return [inside[name] for name in returned]

    static = [i for i, name in enumerate(operands)
              if step.sources.get(name, ("input",))[0] != "input"]
    compiled, _ = _compile(function, static)
    results = compiled(*(values[name] for name in operands))
    values.update(zip(returned, results))


def _replay_only(step, tensors, modules):
    values = dict(zip(step.sources, tensors))
    numbered = list(zip(step.forward(), _numbers(step, modules)))
    if all(number is None for _, number in numbered):
        raise ValueError(f"{modules}: no module that the network runs")
    groups = [(number, [operator for operator, _ in group]) for number, group
              in itertools.groupby(numbered, lambda pair: pair[1])]
    read = [{name for operator in operators for call in operator.steps()
             for name in call.operands} for _, operators in groups]
    last = numbered[-1][0].results[0]
    for i, (number, operators) in enumerate(groups):
        if number is None:
            for operator in operators:
                _run(operator, values)
        else:
            _run_compiled(step, operators, values,
                          {last, *step.outputs}.union(*read[i + 1:]))
    return _results(step, values)


def _sources(step):
    for role, dtype, shape, strides in step.sources.values():
        tensor = (torch.empty_strided(shape, strides, dtype=dtype,
                                      device="cuda:0") if strides else
                  torch.empty(shape, dtype=dtype, device="cuda:0"))
        if role == "parameter" and dtype.is_floating_point:
            tensor.requires_grad_()
        yield tensor


class Partition:
    """Stands for PyTorch's partition function, and keeps its result."""

    def __init__(self, static):
        self._static = static

    def __call__(self, joint, inputs, *, num_fwd_outputs, **_):
        # Folding computes constants on the device, which there is none of.
        with (inductor_config.patch(joint_graph_constant_folding=False),
              V.set_fake_mode(detect_fake_mode(inputs))):
            joint_graph_passes(joint)
        self.joint = joint
        self.forward, self.backward = (
            partitioners.min_cut_rematerialization_partition(
                joint, inputs, num_fwd_outputs=num_fwd_outputs,
                static_lifetime_input_indices=self._static))
        return self.forward, self.backward

    def report(self):
        """Saved tensors of the forward pass and recomputed operators."""
        primals = {n.name for n in self.forward.graph.nodes
                   if n.op == "placeholder"}
        made = {n.name for n in self.forward.graph.nodes
                if n.op == "call_function"}
        saved = []
        storages = {}
        for node in self.backward.graph.nodes:
            value = node.meta.get("val")
            if (node.op != "placeholder" or node.name in primals
                    or "tangents" in node.name
                    or not isinstance(value, torch.Tensor)):
                continue
            # A dimension that a view expands is there once.
            size = value.element_size() * math.prod(
                n for n, stride in zip(value.shape, value.stride()) if stride)
            storages[node.name] = size
            saved.append([node.name, str(value.dtype).removeprefix("torch."),
                          list(value.shape), size])
        recomputed = collections.Counter(
            str(n.target) for n in self.backward.graph.nodes
            if n.op == "call_function" and n.name in made)
        return {"bytes": sum(storages.values()), "saved": saved,
                "recomputed": dict(sorted(recomputed.items()))}


def partition(lines, blocks=None):
    """The partition of the step in `lines` of foretell's text, with the modules
    of path `blocks` checkpointed."""
    step = Step(lines)
    static = [i for i, (role, *_) in enumerate(step.sources.values())
              if role != "input"]
    with FakeTensorMode(allow_non_fake_inputs=True):
        compiled, chosen = _compile(
            lambda *sources: _replay(step, sources, blocks), static)
        compiled(*_sources(step))
    return chosen


def saved_bytes(lines, modules):
    """Bytes that the step in `lines` keeps for its backward pass if only the
    modules of that path are compiled, but for its results."""
    step = Step(lines)
    saved = {}

    def pack(tensor):
        saved[tensor.untyped_storage()._cdata] = tensor
        return tensor

    with FakeTensorMode(allow_non_fake_inputs=True):
        tensors = list(_sources(step))
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept):
            results = _replay_only(step, tensors, modules)
    for tensor in [*tensors, *results]:
        saved.pop(tensor.untyped_storage()._cdata, None)
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--budget", type=float, default=1.0,
                        help="activation_memory_budget")
    parser.add_argument("--checkpoint", metavar="PATH", default="",
                        help='checkpointed modules, "*": any one name')
    parser.add_argument("--only", metavar="PATH", default="",
                        help='modules that alone are compiled, "*": any one '
                             'name, or "auto": the outermost numbered ones')
    parser.add_argument("--joint", action="store_true",
                        help="print the joint graph, too")
    arguments = parser.parse_args()
    for path in arguments.files:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        try:
            # The random state of a dropout that is computed again, 16 bytes,
            # is read from a GPU.
            with (functorch_config.patch(
                    activation_memory_budget=arguments.budget),
                  mock.patch.object(partitioners, "has_recomputable_rng_ops",
                                    lambda _: False)):
                if arguments.only:
                    print(json.dumps({
                        "file": path, "only": arguments.only,
                        "bytes": saved_bytes(lines, arguments.only)}),
                          flush=True)
                    continue
                chosen = partition(lines, arguments.checkpoint)
        except Exception as error:  # pylint: disable=broad-except
            print(json.dumps({"file": path, "error": str(error)[:300]}),
                  flush=True)
            continue
        if arguments.joint:
            for node in chosen.joint.graph.nodes:
                value = node.meta.get("val")
                shape = list(value.shape) if isinstance(
                    value, torch.Tensor) else ""
                print(node.name, node.target, node.args, shape,
                      file=sys.stderr)
        print(json.dumps({"file": path, "checkpoint": arguments.checkpoint,
                          "budget": arguments.budget, **chosen.report()}),
              flush=True)


if __name__ == "__main__":
    main()
