#!/usr/bin/env python3
"""Writes tests/golden/parallel/: what real PyTorch allocates in a training step that
processes share.

    scripts/generate/make_parallel_golden.py [--out FOLDER]

Networks run on the CPU, over Gloo, in two and in four processes: alone, under
DistributedDataParallel, with ZeroRedundancyOptimizer, under fully_shard and
FullyShardedDataParallel and with layers that parallelize_module shares by columns and
rows, vocabularies and sequences too, with ring attention and with experts of their own.
PyTorch's profiler sees every allocation of the first process from before the network is
made. Steps are repeated until the reducer has
its final buckets; of the last step are kept, in bytes, `standing` alive after
zero_grad(), `forward` after the last forward pass and the loss, `backward` after the last
backward pass, and `peak`, the most that was ever alive in between and in the optimizer's
step. The optimizer is SGD with momentum, by `foreach`:
on CPUs Adam's counter of steps is a tensor too, which on GPUs it is not. What Gloo
allocates within a gathering or a scattering, copies of the whole, does not count
towards `peak`: NCCL makes none.

`live_bytes.csv` has the figures; the graphs (tests/golden/parallel/README.md lists them)
are the same steps of one process, as foretell traces them on the CPU, whose kernels take
memory of their own: the gradient of a batch norm makes its result twice.
"""

import argparse
import contextlib
import csv
import gc
import os
import pathlib
import socket
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard)
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.experimental._context_parallel import _attention
from torch.distributed.tensor.parallel import (
    ColwiseParallel, PrepareModuleInput, PrepareModuleOutput, RowwiseParallel,
    SequenceParallel, parallelize_module)
from torch.profiler import ProfilerActivity, profile, record_function

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402

COLUMNS = ("network", "plan", "batches", "standing", "forward", "backward", "peak")
STEPS = 4
RUNS = 6
STEADY = 2  # The last steps, which are alike.
MARK, EXCHANGE = "foretell: ", "exchange"
GPUS = (2, 4)
PLANS = ("ddp:{}", "ddp:{},bucket-view", "zero1:{}", "zero2:{}", "fsdp:{}", "tp:{}",
         "tp:{},vocabulary")
SEQUENCES = ("tp:{},sp", "tp:{},vocabulary,sp")
# foretell splits a flat parameter row by row: as large as an even part for two.
FLAT = ("fsdp1:2",)
# Groups of two with all shards each, of four processes.
GROUPS = ("hsdp:2x2",)
# Shared sequences; the second ones in groups of two, of four processes.
EXPERTS = ("ep:{}",)
RINGS, PAIRS = ("cp:{}", "cp:{},all-to-all", "cp:{}+fsdp:1"), ("cp:2+ddp:2", "cp:2+fsdp:2")
# Plans whose steps add up the gradients of several batches, too; under the second ones
# only the last batch exchanges gradients, DDP's always.
ADDED, BATCHES = ("zero2:2", "fsdp:2", "fsdp1:2"), (2,)
HELD, HELD_BATCHES = ("ddp:2", "ddp:2,bucket-view", "zero2:2,no-sync", "fsdp:2,no-sync",
                      "fsdp:2,no-sync,reduce=bf16", "fsdp1:2,no-sync"), (2, 3)


class Block(nn.Module):
    """A pre-norm block of a Transformer, without dropout."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4).unbind(0)
        scores = self.score(q, k).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))

    def score(self, q, k):
        return q @ k.transpose(-2, -1)

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    #: How tensor parallelism shares the layers.
    COLUMNS, ROWS = ("qkv", "up"), ("out", "down")


class GatedBlock(nn.Module):
    """A block with a projection each for query, key and value and a gated unit, without
    biases."""

    COLUMNS, ROWS = ("q", "k", "v", "gate", "up"), ("out", "down")

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(width, width, bias=False))
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (layer(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        for name in ("q", "k", "v", "out"):
            setattr(self, name, nn.Linear(width, width, bias=False))

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = (layer(x).view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for layer in (self.q, self.k, self.v))
        scores = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((scores @ v).transpose(1, 2).reshape(batch, tokens, -1))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class ModularBlock(nn.Module):
    """A block of modules, each of which gathers the tokens for all its layers."""

    COLUMNS = ("attention.q", "attention.k", "attention.v", "unit.gate", "unit.up")
    ROWS = ("attention.out", "unit.down")
    GATHERING = ("attention", "unit")

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.unit = Attention(width, heads), Gate(width)

    @property
    def heads(self):
        return self.attention.heads

    @heads.setter
    def heads(self, count):
        self.attention.heads = count

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.unit(self.norm2(x))


class PlacedBlock(Block):
    """A block with a table of relative positions by heads, as Swin's."""

    TOKENS = 12

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.table = nn.Parameter(torch.zeros(2 * self.TOKENS - 1, heads))
        places = torch.arange(self.TOKENS)
        self.register_buffer(
            "places", (places[:, None] - places + self.TOKENS - 1).flatten())

    def score(self, q, k):
        bias = self.table[self.places].view(self.TOKENS, self.TOKENS, -1)
        return super().score(q, k) + bias.permute(2, 0, 1).unsqueeze(0)

    def keep_heads(self):
        self.table = nn.Parameter(self.table.detach()[:, :self.heads].clone())


class Blocks(nn.Module):
    """An embedding, three blocks, a norm and a head of a width that four processes
    cannot share evenly."""

    BLOCK = Block

    def __init__(self, width=16, heads=4, depth=3, words=50, classes=10):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(self.BLOCK(width, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def units(self):
        return list(self.blocks)

    def example(self):
        return torch.zeros(4, 12, dtype=torch.int64)


class Gated(Blocks):
    BLOCK = GatedBlock


class Modular(Blocks):
    BLOCK = ModularBlock


class Placed(Blocks):
    BLOCK = PlacedBlock


class RingAttention(torch.autograd.Function):
    """PyTorch's ring around the kernel of the CPU, which it has only for GPUs."""

    FORWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default

    @staticmethod
    def forward(context, query, key, value, group):
        out, lse = _attention._templated_ring_attention(
            group, 2, RingAttention.FORWARD, query=query, key=key, value=value,
            is_causal=True, dropout_p=0.0)
        context.save_for_backward(query, key, value, out, lse)
        context.group = group
        return out

    @staticmethod
    def backward(context, gradient):
        query, key, value, out, lse = context.saved_tensors
        return *_attention._templated_ring_attention_backward(
            context.group, 2, RingAttention.BACKWARD, grad_out=gradient,
            grad_out_name="grad_out", query=query, key=key, value=value, out=out,
            logsumexp=lse, is_causal=True, dropout_p=0.0), None


class RingBlock(Block):
    """A block of a decoder, whose processes may share sequences."""

    GROUP = None

    def attend(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(
            2, 0, 3, 1, 4).unbind(0)
        y = (nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
             if self.GROUP is None else RingAttention.apply(q, k, v, self.GROUP))
        return self.out(y.transpose(1, 2).reshape(batch, tokens, -1))


class Ring(Blocks):
    """tests/program/context_parallel_test.cc has the same."""

    BLOCK = RingBlock
    TOKENS = 16

    def units(self):
        return []

    def example(self):
        group = RingBlock.GROUP
        parts = 1 if group is None else dist.get_world_size(group)
        return torch.zeros(4, self.TOKENS // parts, dtype=torch.int64)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class RoutedBlock(nn.Module):
    """Four experts, two for each token, which a router would choose equally often."""

    GROUP, EXPERTS, CHOICES = None, 4, 2

    def __init__(self, width, heads):
        super().__init__()
        parts = dist.get_world_size(self.GROUP) if self.GROUP else 1
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, self.EXPERTS, bias=False)
        self.experts = nn.ModuleList(Expert(width) for _ in range(self.EXPERTS // parts))

    def exchange(self, rows):
        if self.GROUP is None:
            return rows
        parts = dist.get_world_size(self.GROUP)
        sizes = [rows.size(0) // parts] * parts
        return functional.all_to_all_single_autograd(rows, sizes, sizes, self.GROUP)

    def forward(self, x):
        tokens = self.norm(x).flatten(0, 1)
        top, chosen = self.router(tokens).softmax(-1).topk(self.CHOICES)
        order = chosen.flatten().argsort()
        token = order // self.CHOICES
        rows = self.exchange(tokens[token])
        parts = rows.split(rows.size(0) // len(self.experts))
        y = torch.cat([expert(part) for expert, part in zip(self.experts, parts)])
        y = self.exchange(y) * top.flatten()[order].unsqueeze(-1)
        return x + torch.zeros_like(tokens).index_add(0, token, y).view_as(x)


class Routed(Blocks):
    """tests/program/expert_parallel_test.cc has the same."""

    BLOCK = RoutedBlock


class Language(Blocks):
    """Blocks whose vocabulary four processes share evenly."""

    def __init__(self):
        super().__init__(words=48, classes=48)


class Tied(Language):
    """A language model whose head reads the table of the embedding."""

    def __init__(self):
        super().__init__()
        self.tie()

    def tie(self):
        self.head.weight = self.embedding.weight


class Mlp(nn.Module):
    """zoo:mlp?inputs=512&hidden=1024,1024,1024&batch_norm=true: more than a bucket,
    and buffers."""

    def __init__(self):
        super().__init__()
        layers, width = [], 512
        for _ in range(3):
            layers += [nn.Linear(width, 1024), nn.BatchNorm1d(1024), nn.ReLU()]
            width = 1024
        self.layers = nn.Sequential(*layers, nn.Linear(width, 10))

    def forward(self, x):
        return self.layers(x)

    def units(self):
        return [layer for layer in self.layers if list(layer.parameters())]

    def example(self):
        return torch.zeros(8, 512)


#: Networks by name, and the plans that are wanted of them.
NETWORKS = {"blocks": (Blocks, PLANS[:-1] + FLAT + GROUPS),
            "gated": (Gated, PLANS[-2:-1]),
            "modular": (Modular, SEQUENCES[:1]),
            "language": (Language, PLANS[-1:] + SEQUENCES[1:]),
            "tied": (Tied, PLANS[-1:]),
            "placed": (Placed, PLANS[-2:-1]),
            "mlp": (Mlp, PLANS[:-2]),
            "ring": (Ring, RINGS + PAIRS),
            "routed": (Routed, EXPERTS)}


def shard(network, mesh, reshard, policy):
    for module in network.units():
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

    def __init__(self, parameters, **settings):
        kinds = {}
        for parameter in parameters:
            kinds.setdefault(isinstance(parameter, DTensor), []).append(parameter)
        self.parts = [torch.optim.SGD(part, **settings) for part in kinds.values()]

    def zero_grad(self):
        for part in self.parts:
            part.zero_grad()

    def step(self):
        for part in self.parts:
            part.step()


def prepare(network, plan, mesh):
    """The network under the plan, and its optimizer."""
    settings = {"lr": 0.01, "momentum": 0.9, "foreach": True}
    kind = plan.partition(":")[0]
    policy = MixedPrecisionPolicy(
        reduce_dtype=torch.bfloat16 if plan.endswith("reduce=bf16") else None)
    if kind == "ep":
        network._ddp_params_and_buffers_to_ignore = [
            name for name, _ in network.named_parameters() if ".experts." in name]
    if kind in ("ddp", "zero1", "ep"):
        network = nn.parallel.DistributedDataParallel(
            network, gradient_as_bucket_view=plan.endswith("bucket-view"))
    elif kind in ("zero2", "fsdp", "hsdp"):
        network = shard(network, mesh, kind != "zero2", policy)
    elif kind == "fsdp1":
        network = FullyShardedDataParallel(
            network, auto_wrap_policy=ModuleWrapPolicy({Block}),
            device_id=torch.device("cpu"))
    elif kind == "tp" and plan.endswith("sp"):
        network = share_sequences(network, mesh, "vocabulary" in plan)
        return network, Optimizers(network.parameters(), **settings)
    elif kind == "tp":
        network = share_layers(network, mesh, plan.endswith("vocabulary"))
        return network, Optimizers(network.parameters(), **settings)
    if kind == "zero1":
        return network, ZeroRedundancyOptimizer(
            network.parameters(), torch.optim.SGD, **settings)
    return network, torch.optim.SGD(network.parameters(), **settings)


def mark(what):
    with record_function(MARK + what):
        pass


def holds_gradients(network, plan, is_last):
    """The context of a batch whose gradients are exchanged with the last one's."""
    if "no-sync" not in plan and not plan.startswith("ddp"):
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


def take_steps(make, plan, batches, mesh):
    RoutedBlock.GROUP = mesh.get_group() if plan.startswith("ep") else None
    network = make()
    x = network.example()
    network, optimizer = prepare(network, plan, mesh)
    for _ in range(STEPS):
        gc.collect()
        mark("begin")
        optimizer.zero_grad()
        mark("standing")
        for batch in range(batches):
            with holds_gradients(network, plan, batch + 1 == batches):
                out = network(x)
                loss = out.mean()
                mark("forward")
                loss.backward()
            del loss
            mark("backward")
        optimizer.step()
        mark("end")
    return out


def figures(events):
    """Bytes at the marks of each step, by name, and the peak in it."""
    steps, live, found, quiet_until = [], 0, {}, 0
    for time, name, size in sorted(events, key=lambda event: event[0]):
        if name == EXCHANGE:
            quiet_until = time + size
            continue
        live += size
        if name == "begin":
            found = {"peak": 0}
            steps.append(found)
        elif name:
            found[name] = live
        if "standing" in found and time > quiet_until:
            found["peak"] = max(found["peak"], live)
    return steps


def events_of(run):
    """Times, names of marks, and bytes; of an exchange its length in ns."""
    for event in run.profiler.kineto_results.events():
        name = event.name()
        if name == "[memory]":
            yield event.start_ns(), "", event.nbytes()
        elif name == MARK + EXCHANGE:
            yield event.start_ns(), EXCHANGE, event.duration_ns()
        elif name.startswith(MARK):
            yield event.start_ns(), name.removeprefix(MARK), 0


def least(make, plan, batches, mesh):
    """Gloo's own threads, which the profiler does not see, may be the last to let go
    of a tensor: all that follows in a run shows too much then, never too little."""
    steps = [step for _ in range(RUNS)
             for step in measure(make, plan, batches, mesh)[-STEADY:]]
    standing = min(step["standing"] for step in steps)
    return {name: standing + min(step[name] - step["standing"] for step in steps)
            for name in COLUMNS[3:]}


def measure(make, plan, batches, mesh):
    """Without the mesh, whose list of processes lies on the CPU everywhere."""
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        take_steps(make, plan, batches, mesh)
    return figures(events_of(run))


def marked(call):
    def run(*arguments, **options):
        with record_function(MARK + EXCHANGE):
            return call(*arguments, **options)
    return run


def mark_exchanges():
    """fully_shard and ring attention look them up in the module at each call."""
    dist.all_gather_single = marked(dist.all_gather_single)
    dist.reduce_scatter_single = marked(dist.reduce_scatter_single)
    dist.all_gather = marked(dist.all_gather)
    gather = functional.all_gather_single
    # Gloo holds its copy until the exchange is waited for.
    functional.all_gather_single = marked(
        lambda *arguments, **options: gather(*arguments, **options).wait())


def work(rank, gpus, port, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    # By itself the collector runs when what came before it made it due.
    gc.disable()
    gc.freeze()
    mark_exchanges()
    dist.init_process_group("gloo", rank=rank, world_size=gpus)
    mesh = init_device_mesh("cpu", (gpus,))
    alone = ("",) if gpus == GPUS[0] else ()
    groups = (init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
              if gpus == 4 else None)
    rings = {gpus: mesh.get_group(), **({2: groups.get_group("shards")} if groups else {})}
    rows = [{"network": name, "plan": plan, "batches": batches,
             **least(make, share_context(plan, gpus, rings) if "cp:" in plan else plan,
                     batches, groups if plan in GROUPS else mesh)}
            for name, (make, plans) in NETWORKS.items()
            for plan in (one.format(gpus) for one in alone + plans)
            if (name, plan) != ("modular", "tp:4,sp")  # docs/parallel.md has why.
            if plan not in FLAT + GROUPS + PAIRS or (plan in FLAT) == (gpus == GPUS[0])
            for batches in (1, *(BATCHES if plan in ADDED and name == "blocks" else ()))]
    rows += [{"network": "blocks", "plan": plan, "batches": batches,
              **least(Blocks, plan, batches, mesh)}
             for plan in (HELD if gpus == GPUS[0] else ()) for batches in HELD_BATCHES]
    if rank == 0:
        write(path, rows)
    dist.destroy_process_group()


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore",
                               lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def graph_of(model, *flags):
    return foretell.run("inspect", model, *flags, "--mode", "training", "--optimizer",
                        "momentum", "--trace", "cpu", "--format", "graph")


def write_graphs(out):
    for name in ("blocks", "gated", "modular", "language", "tied", "placed"):
        network = NETWORKS[name][0]()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, f"{name}.pt")
            torch.jit.trace(network, network.example()).save(str(path))
            for batches in (1, *(HELD_BATCHES if name == "blocks" else ())):
                text = graph_of(path, "--input", "i64[4,12]", "--accumulate",
                                str(batches))
                number = f".{batches}" if batches > 1 else ""
                (out / f"{name}{number}.graph").write_text(
                    text.replace(str(path), path.name, 1))
    (out / "mlp.graph").write_text(graph_of(
        "zoo:mlp?inputs=512&hidden=1024,1024,1024&batch_norm=true", "--batch", "8"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "tests/golden/parallel")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for gpus in GPUS:
            path = pathlib.Path(folder, str(gpus))
            mp.spawn(work, args=(gpus, free_port(), path), nprocs=gpus)
            rows += csv.DictReader(path.open(encoding="utf-8"))
    write(out / "live_bytes.csv", rows)
    write_graphs(out)


if __name__ == "__main__":
    foretell.main(main)
