"""How PyTorch shares a network and its optimizer among processes, by foretell's names of
plans."""

import contextlib

import torch
from torch import nn
from torch.distributed.fsdp import (
    FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.experimental._context_parallel import _attention
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel,
    SequenceParallel, parallelize_module)

from exchanging_networks import RingBlock
from shared_networks import Block, PlacedBlock, Tied

#: Of SGD: Adam counts steps in a tensor on CPUs, but not on GPUs.
OPTIMIZER = {"lr": 0.01, "momentum": 0.9, "foreach": True}


def shard(network, mesh, reshard, policy, same_experts=None):
    """Where processes share experts, `same_experts` is the mesh of those that have the
    same; experts are units of their own, as in torchtitan."""
    for module in network.units():
        if same_experts is not None:
            fully_shard(module.experts, mesh=same_experts, reshard_after_forward=reshard,
                        mp_policy=policy)
        fully_shard(module, mesh=mesh, reshard_after_forward=reshard, mp_policy=policy)
    # As fully_shard itself has it: the root keeps its parameters.
    fully_shard(network, mesh=mesh, reshard_after_forward=False, mp_policy=policy)
    return network


def share_sequences(network, mesh, vocabulary):
    """Norms on tokens of their own: layers by columns gather them all, results of layers
    by rows are scattered. Without the vocabulary, the embedding and the head are whole
    everywhere."""
    mine, everything = Shard(1), Replicate()
    gathers = {"input_layouts": mine, "desired_input_layouts": everything}
    for block in network.units():
        modules = getattr(block, "GATHERING", ())
        given = everything if modules else mine
        plan = {name: PrepareModuleInput(**gathers) for name in modules}
        plan |= {name: ColwiseParallel(input_layouts=given) for name in block.COLUMNS}
        plan |= {name: RowwiseParallel(output_layouts=mine) for name in block.ROWS}
        plan |= {name: SequenceParallel() for name in ("norm1", "norm2")}
        parallelize_module(block, mesh, plan)
        block.heads //= mesh.size()
    ends = {"embedding": RowwiseParallel(input_layouts=everything, output_layouts=mine),
            "head": ColwiseParallel(input_layouts=mine, output_layouts=everything)}
    if not vocabulary:
        ends = {"embedding": PrepareModuleOutput(
                    output_layouts=everything, desired_output_layouts=mine),
                "head": PrepareModuleInput(**gathers, use_local_output=True)}
    parallelize_module(network, mesh, {"norm": SequenceParallel(), **ends})
    if isinstance(network, Tied):
        network.tie()
    return network


def share_layers(network, mesh, vocabulary):
    """The projections of a block by columns, then by rows; each process has its heads.
    Which rows of `qkv` are whose does not matter to memory. Of the embedding and of the
    head each has words of its own, and all have what comes out."""
    if vocabulary:
        parallelize_module(network, mesh, {
            "embedding": RowwiseParallel(input_layouts=Replicate()),
            "head": ColwiseParallel(output_layouts=Replicate())})
        if isinstance(network, Tied):
            network.tie()  # Each layer got a parameter of its own.
    for block in network.units():
        plan = {name: ColwiseParallel() for name in block.COLUMNS}
        plan |= {name: RowwiseParallel() for name in block.ROWS}
        parallelize_module(block, mesh, plan)
        block.heads //= mesh.size()
        if isinstance(block, PlacedBlock):
            block.keep_heads()
    return network


class Optimizers:
    """One for the shared parameters and one for the others: lists of an optimizer are
    of one kind of tensors."""

    def __init__(self, parameters):
        kinds = {}
        for parameter in parameters:
            kinds.setdefault(isinstance(parameter, DTensor), []).append(parameter)
        self.parts = [torch.optim.SGD(part, **OPTIMIZER) for part in kinds.values()]

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad()

    def step(self):
        for part in self.parts:
            part.step()


def prepare(network, plan, mesh, same_experts=None):
    """The network under the plan, and its optimizer; shard() has `same_experts`."""
    kind = plan.partition(":")[0]
    policy = MixedPrecisionPolicy(
        reduce_dtype=torch.bfloat16 if plan.endswith("reduce=bf16") else None)
    if kind == "ep":
        network._ddp_params_and_buffers_to_ignore = [
            name for name, _ in network.named_parameters() if ".experts." in name]
    if kind in ("ddp", "zero1", "ep"):
        network = nn.parallel.DistributedDataParallel(
            network, process_group=mesh.get_group(),
            gradient_as_bucket_view=plan.endswith("bucket-view"))
    elif kind in ("zero2", "fsdp", "hsdp"):
        network = shard(network, mesh, kind != "zero2", policy, same_experts)
    elif kind == "fsdp1":
        network = FullyShardedDataParallel(
            network, auto_wrap_policy=ModuleWrapPolicy({Block}),
            device_id=torch.device("cpu"))
    elif kind == "tp" and plan.endswith("sp"):
        network = share_sequences(network, mesh, "vocabulary" in plan)
        return network, Optimizers(network.parameters())
    elif kind == "tp":
        network = share_layers(network, mesh, plan.endswith("vocabulary"))
        return network, Optimizers(network.parameters())
    if kind == "zero1":
        return network, ZeroRedundancyOptimizer(
            network.parameters(), torch.optim.SGD, **OPTIMIZER)
    return network, torch.optim.SGD(network.parameters(), **OPTIMIZER)


def holds_gradients(network, plan, is_last):
    """The context of a batch whose gradients are exchanged with the last one's."""
    if "no-sync" not in plan and not plan.startswith(("ddp", "ep")):
        return contextlib.nullcontext()
    if plan.startswith(("fsdp:", "zero2:")):
        network.set_requires_gradient_sync(is_last)
        return contextlib.nullcontext()
    return contextlib.nullcontext() if is_last else network.no_sync()


def share_context(plan, gpus, rings):
    """The plan by which all GPUs share gradients, or parameters."""
    own, _, data = plan.partition("+")
    RingBlock.GROUP = rings[int(own.partition(":")[2].partition(",")[0])]
    _attention.set_rotate_method("alltoall" if "all-to-all" in own else "allgather")
    return f"{data.partition(':')[0] or 'ddp'}:{gpus}"
