"""Other tools that say what memory a training step takes, each asked in its own way.

`TOOLS` are rows: a name, the package that it needs, what it is asked by (a function of
a Step that gives MiB), and what else it can answer, in the words of its manual. A tool
whose package is absent is left out by the caller.
"""

import dataclasses
import functools
import importlib
import pathlib
from collections.abc import Callable

import foretell
import published

MIB = 2**20
DEVICE, ENVIRONMENT = "a100-sxm4-40gb", "cuda11.6-eager"


_declared = []  # Operators live as long as their library object.


@functools.cache
def timm():
    """The package, which imports torchvision."""
    import export_sources

    _declared.append(export_sources.declare_nms())
    import timm

    return timm


@dataclasses.dataclass(frozen=True)
class Step:
    """A training step in SGD with momentum, which was measured."""
    network: str
    shape: str  # "3x224x224"
    batch: int
    trace: pathlib.Path

    def sizes(self):
        return tuple(map(int, self.shape.split("x")))

    def module(self, device):
        import torch

        with torch.device(device):
            return timm().create_model(self.network).train()


def ask_foretell(step):
    """A process of its own, which reads the exported file."""
    document = foretell.run_json(
        "predict", step.trace, "--json", "--mode", "training", "--optimizer",
        "momentum", "--device", DEVICE, "--environment", ENVIRONMENT, "--input",
        published.input_flag(step.shape, step.batch))
    return document["results"][0]["memory"]["total_mib"]


def ask_kitsune(step):
    from kitsune.predict import predict_memory

    result = predict_memory(step.module("cpu"), step.sizes(), batch_size=step.batch,
                            optimizer="sgd_momentum", training=True)
    return result.total_bytes / MIB


def ask_mem_tracker(step):
    """Two steps on fake tensors; the peak of the tracker's total."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    module = step.module("meta")  # Some constructors ask a tensor for its value.
    with FakeTensorMode(allow_non_fake_inputs=True):
        module.to_empty(device="cpu")
        images = torch.zeros(step.batch, *step.sizes())
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        tracker = MemTracker()
        tracker.track_external(module, optimizer, images)
        with tracker:
            for _ in range(2):
                module(images).mean().backward()
                optimizer.step()
                optimizer.zero_grad()
                tracker.reset_mod_stats()
    peak = tracker.get_tracker_snapshot("peak")
    return sum(parts["Total"] for parts in peak.values()) / MIB


def ask_accelerate(step):
    """What `accelerate estimate-memory` prints for training; it assumes Adam."""
    from accelerate.commands.estimate import estimate_training_usage
    from accelerate.utils import calculate_maximum_sizes

    total, _ = calculate_maximum_sizes(step.module("meta"))
    return estimate_training_usage(total, "float32")["step"] / MIB


def ask_deepspeed(step):
    """Memory of model states on one GPU, without offloading; it assumes Adam."""
    from deepspeed.runtime.zero.stage_1_and_2 import (
        estimate_zero2_model_states_mem_needs)

    elements = sum(p.numel() for p in step.module("meta").parameters())
    _, on_gpu = estimate_zero2_model_states_mem_needs(
        elements, num_gpus_per_node=1, num_nodes=1, cpu_offload=False)
    return on_gpu / MIB


def ask_flop_counter(step):
    """No memory: a count of the forward and the backward pass."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    module = step.module("meta")
    images = torch.zeros(step.batch, *step.sizes(), device="meta")
    with FlopCounterMode(display=False):
        module(images).mean().backward()


def ask_fvcore(step):
    """No memory: a count of the forward pass, through torch.jit.trace."""
    import torch
    from fvcore.nn import FlopCountAnalysis

    module = step.module("cpu").eval()
    analysis = FlopCountAnalysis(module, torch.zeros(step.batch, *step.sizes()))
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    analysis.total()


@dataclasses.dataclass(frozen=True)
class Tool:
    name: str
    package: str
    ask: Callable
    reads: str
    counts: str
    answers: str

    def is_here(self):
        try:
            importlib.import_module(self.package)
        except ImportError:
            return False
        return True


TOOLS = (
    Tool("foretell", "json", ask_foretell, "a file, or a module through torch.export",
         "all that the process holds: context, segments, workspaces",
         "latency, energy, MIG profile, largest batch, remedies"),
    Tool("torch-kitsune", "kitsune", ask_kitsune, "a module with weights",
         "weights, gradients, optimizer, activations by rules, and 15 % more",
         "largest batch, cheapest GPU by prices of its own, KV caches, LoRA"),
    Tool("FakeTensor with MemTracker", "torch.distributed._tools.mem_tracker",
         ask_mem_tracker, "a module and the loop around it",
         "tensors that live at once", "memory by module"),
    Tool("accelerate estimate-memory", "accelerate", ask_accelerate,
         "a module of the Hub", "four times the weights", "inference memory"),
    Tool("DeepSpeed's estimator", "deepspeed", ask_deepspeed, "a module",
         "weights, gradients, optimizer", "shards over GPUs, offloading"),
    Tool("FlopCounterMode", "torch.utils.flop_counter", ask_flop_counter,
         "a module", "nothing", "FLOPs of both passes"),
    Tool("fvcore", "fvcore", ask_fvcore, "a module with weights", "nothing",
         "FLOPs and sizes of activations, forward"),
)
