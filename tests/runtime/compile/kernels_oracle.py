"""Kernels that Inductor schedules for an inference that foretell recorded.

    foretell inspect zoo:resnet18 --format graph > step.txt
    kernels_oracle.py step.txt …

runs the operators of the file again, on fake CUDA tensors through AOTAutograd with
Inductor's decompositions, lowers what comes of it and schedules it, without writing
code. Prints one JSON object per file: kernels that Inductor generates and kernels
of libraries.
"""

import json
import sys
import types

import partition_oracle as recorded

# pylint: disable=wrong-import-position
import torch
from torch._functorch.aot_autograd import aot_function
from torch._inductor import config as inductor_config
from torch._inductor import scheduler as scheduling
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.fx_passes.joint_graph import joint_graph_passes
from torch._inductor.fx_passes.post_grad import post_grad_passes
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._guards import detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode

# An A100, as far as lowering asks.
torch.cuda.get_device_properties = lambda *_: types.SimpleNamespace(
    name="NVIDIA A100-SXM4-40GB", major=8, minor=0, multi_processor_count=108,
    max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536,
    warp_size=32, L2_cache_size=40 << 20, total_memory=40 << 30)
torch.cuda.get_device_capability = lambda *_: (8, 0)
torch.cuda.is_available = lambda: True
torch.cuda.current_device = lambda: 0
torch.cuda._lazy_init = lambda: None


def _lower(module, inputs, counts):
    fake = detect_fake_mode(inputs)
    with (inductor_config.patch(joint_graph_constant_folding=False,
                                triton_disable_device_detection=True),
          V.set_fake_mode(fake)):
        joint_graph_passes(module)
        post_grad_passes(module, True)
        graph = GraphLowering(module, is_inference=True, example_inputs=inputs)
        with V.set_graph_handler(graph):
            graph.run(*inputs)
            graph.scheduler = scheduling.Scheduler(graph.operations)
            for node in graph.scheduler.nodes:
                if isinstance(node, scheduling.ExternKernelSchedulerNode):
                    counts["library"] += 1
                elif not isinstance(node, scheduling.NopKernelSchedulerNode):
                    counts["generated"] += 1
    return module.forward


def kernels(lines):
    """Kernels of the inference in `lines` of foretell's text."""
    step = recorded.Step(lines)
    counts = {"generated": 0, "library": 0}
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        tensors = [tensor.detach() for tensor in recorded._sources(step)]
        compiled = aot_function(
            lambda *sources: recorded._replay(step, sources),
            fw_compiler=lambda module, inputs: _lower(module, inputs, counts),
            decompositions=select_decomp_table())
        compiled(*tensors)
    return counts


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        try:
            found = kernels(lines)
        except Exception as error:  # pylint: disable=broad-except
            found = {"error": f"{type(error).__name__}: {error}"[:300]}
            if "TRACE" in __import__("os").environ:
                __import__("traceback").print_exc()
        print(json.dumps({"file": path, **found}), flush=True)


if __name__ == "__main__":
    main()
