"""Kernels that Inductor's scheduler makes of a step that foretell recorded.

    foretell inspect zoo:resnet18 --mode training --format graph > step.txt
    kernel_oracle.py step.txt …

traces the step as partition_oracle.py does, lowers both passes by Inductor's
own GraphLowering and stops after its scheduler has fused: one JSON object per
file, with the number of kernels by pass and kind. Needs Triton's package, of which no kernel is
compiled, and no GPU.
"""

import argparse
import collections
import contextlib
import functools
import json
import sys
from unittest import mock

import inductor_device
import partition_oracle

# pylint: disable=wrong-import-position
import torch
from torch._functorch import aot_autograd
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch._inductor import compile_fx, ir, scheduler
from torch._inductor import config as inductor_config
from torch._inductor.fx_passes import joint_graph, post_grad
from torch._inductor.debug import DebugContext
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode

# Patterns are traced on tensors with values, for which there is no GPU.
joint_graph.lazy_init()
post_grad.lazy_init()
inductor_device.pretend()


def _kind(node):
    """What a node of the scheduler is on the device."""
    if isinstance(node, scheduler.NopKernelSchedulerNode):
        return None
    if isinstance(node, scheduler.ExternKernelSchedulerNode):
        # One of the results of a kernel is no kernel.
        return None if isinstance(node.node, ir.MultiOutput) else "extern"
    if node.is_template():
        return "template"
    return "reduction" if node.is_reduction() else "pointwise"


def _origins(node):
    names = []
    for one in node.get_nodes():
        origins = getattr(one.node, "origins", ())
        names.append("+".join(sorted(o.name for o in origins)))
    return names


def _report_strides(graph):
    """Tells AOTAutograd how the kept tensors lie."""
    context = TracingContext.try_get()
    if context is None or context.output_strides is None:
        return
    for result in graph.graph_outputs:
        strides = (tuple(int(s) for s in result.get_layout().stride)
                   if isinstance(result, ir.IRNode)
                   and result.has_tensor_output() else None)
        context.output_strides.append(strides)


class Scheduled(Exception):
    """The last pass of a step has been scheduled: nothing is run."""


class Passes:
    """Compilers of AOTAutograd that lower and schedule, and keep counts."""

    def __init__(self):
        self.counts = {}
        self.kernels = []

    def compiler(self, name):
        """The compiler of the pass `name`."""
        def lower(module, inputs):
            self._lower(module, inputs, name)
            if name != "forward":
                raise Scheduled
            return module.forward
        return lower

    def _lower(self, module, inputs, name):
        is_inference = name == "inference"
        mode = detect_fake_mode(inputs)
        if is_inference:
            with V.set_fake_mode(mode):
                module = compile_fx._recursive_joint_graph_passes(module)
        compile_fx.view_to_reshape(module)
        with torch.no_grad():
            compile_fx.fake_tensor_prop(module, inputs)
        compile_fx._recursive_record_original_output_strides(module)
        with V.set_fake_mode(mode):
            compile_fx._recursive_post_grad_passes(
                module, is_inference=is_inference)
            graph = GraphLowering(
                module, example_inputs=inputs, is_inference=is_inference,
                is_backward=name == "backward")
            with (V.set_graph_handler(graph), V.set_extern_kernel_nodes([]),
                  DebugContext()):
                graph.run(*inputs)
                _report_strides(graph)
                graph.init_wrapper_code()
                graph._update_scheduler()
        self._count(graph.scheduler.nodes, name)

    def _count(self, nodes, name):
        kinds = collections.Counter()
        for node in nodes:
            kind = _kind(node)
            if kind is None:
                continue
            kinds[kind] += 1
            self.kernels.append([name, kind, _origins(node)])
        self.counts[name] = dict(sorted(kinds.items()))


def schedule(lines):
    """The kernels of the step in `lines` of foretell's text."""
    step = partition_oracle.Step(lines)
    passes = Passes()
    trains = step.trains()
    partition = partition_oracle.Partition(step)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        tensors = list(partition_oracle._sources(step))
        with (tracing(TracingContext(mode)),
              mock.patch.object(aot_autograd, "AOTConfig", functools.partial(
                  aot_autograd.AOTConfig,
                  force_non_lazy_backward_lowering=True)),
              torch.set_grad_enabled(trains)):
            compiled = aot_autograd.aot_function(
                lambda *sources: partition_oracle._replay(step, sources, ""),
                fw_compiler=passes.compiler("forward"),
                bw_compiler=passes.compiler("backward"),
                inference_compiler=passes.compiler("inference"),
                keep_inference_input_mutations=True,
                partition_fn=partition,
                decompositions=select_decomp_table())
            with contextlib.suppress(Scheduled):
                compiled(*tensors)
    return passes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--list", action="store_true",
                        help="each kernel's operators, too")
    arguments = parser.parse_args()
    for path in arguments.files:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        try:
            with inductor_config.patch(
                    joint_graph_constant_folding=False, shape_padding=False):
                passes = schedule(lines)
        except Exception as error:  # pylint: disable=broad-except
            print(json.dumps({"file": path, "error": str(error)[:300]}),
                  flush=True)
            continue
        row = {"file": path, "kernels": passes.counts}
        if arguments.list:
            row["list"] = passes.kernels
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
