#!/usr/bin/env python3
"""Writes tests/golden/parallel/: what real PyTorch allocates in a training step that
processes share.

    scripts/generate/make_parallel_golden.py [--out FOLDER]

Networks run on the CPU, over Gloo, in two and in four processes: alone, under
DistributedDataParallel, with ZeroRedundancyOptimizer, under fully_shard and
FullyShardedDataParallel and with layers that parallelize_module shares by columns and
rows, vocabularies and sequences too, with ring attention and with experts of their own.
scripts/lib/live_bytes.py says what is measured, scripts/lib/shared_plans.py how
PyTorch shares the step. Steps are repeated until the reducer has its final buckets.

`live_bytes.csv` has the figures; the graphs (tests/golden/parallel/README.md lists them)
are the same steps of one process, as foretell traces them on the CPU, whose kernels take
memory of their own: the gradient of a batch norm makes its result twice.
"""

import argparse
import csv
import gc
import pathlib
import sys
import tempfile

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
from exchanging_networks import (  # noqa: E402
    CheckpointedRing, Ring, RingBlock, Routed, RoutedBlock)
from live_bytes import (  # noqa: E402
    FIGURES, STEPS, free_port, join, least, mark, write_rows)
from shared_graphs import graph_of, graphs_of_network  # noqa: E402
from shared_networks import (  # noqa: E402
    Blocks, Gated, Language, Mlp, Modular, Placed, Tied)
from shared_plans import holds_gradients, prepare, share_context  # noqa: E402

COLUMNS = ("network", "plan", "batches", *FIGURES)
GPUS = (2, 4)
PLANS = ("ddp:{}", "ddp:{},bucket-view", "zero1:{}", "zero2:{}", "fsdp:{}", "tp:{}",
         "tp:{},vocabulary")
SEQUENCES = ("tp:{},sp", "tp:{},vocabulary,sp")
# foretell splits a flat parameter row by row: as large as an even part for two.
FLAT = ("fsdp1:2",)
# Groups of two with all shards each, of four processes.
GROUPS = ("hsdp:2x2",)
# Shared sequences and experts; the second ones in groups of two, of four processes.
EXPERTS = ("ep:{}", "ep:{}+fsdp:1", "ep:{}+zero2:1")
EXPERT_PAIRS = ("ep:2+fsdp:2",)
RINGS, PAIRS = ("cp:{}", "cp:{},all-to-all", "cp:{}+fsdp:1"), ("cp:2+ddp:2", "cp:2+fsdp:2")
OF_FOUR = GROUPS + PAIRS + EXPERT_PAIRS
# Plans whose steps add up the gradients of several batches, too; under the second ones
# only the last batch exchanges gradients, DDP's always.
ADDED, BATCHES = ("zero2:2", "fsdp:2", "fsdp1:2"), (2,)
HELD, HELD_BATCHES = ("ddp:2", "ddp:2,bucket-view", "zero2:2,no-sync", "fsdp:2,no-sync",
                      "fsdp:2,no-sync,reduce=bf16", "fsdp1:2,no-sync"), (2, 3)
# With two batches as well, of networks whose own operators exchange tensors.
EXCHANGED = ("cp:2", "ep:2")

#: Networks by name, and the plans that are wanted of them.
NETWORKS = {"blocks": (Blocks, PLANS[:-1] + FLAT + GROUPS + SEQUENCES[:1]),
            "gated": (Gated, PLANS[-2:-1]),
            "modular": (Modular, SEQUENCES[:1]),
            "language": (Language, PLANS[-1:] + SEQUENCES[1:]),
            "tied": (Tied, PLANS[-1:] + SEQUENCES[1:]),
            "placed": (Placed, PLANS[-2:-1]),
            "mlp": (Mlp, PLANS[:-2]),
            "ring": (Ring, RINGS + PAIRS),
            "ring-checkpointed": (CheckpointedRing, RINGS[:1]),
            "routed": (Routed, EXPERTS + EXPERT_PAIRS)}


def experts_of(plan, mesh, sharing):
    """The plan of everything but experts, the group that shares them and the mesh of
    processes that have the same, in which a process may be alone; `sharing` has the
    last two by the number of processes that share."""
    own, _, data = plan.partition("+")
    if not own.startswith("ep"):
        return plan, None, None
    group, same = sharing[int(own.partition(":")[2])]
    if not data:
        return plan, group, None
    return f"{data.partition(':')[0]}:{mesh.size()}", group, same


def take_steps(make, plan, batches, mesh, sharing=None):
    plan, RoutedBlock.GROUP, same_experts = experts_of(plan, mesh, sharing)
    network = make()
    x = network.example()
    network, optimizer = prepare(network, plan, mesh, same_experts)
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


def work(rank, gpus, port, path):
    join(rank, gpus, port)
    # A mesh's list of processes lies on the CPU everywhere: made outside of what is seen.
    mesh = init_device_mesh("cpu", (gpus,))
    alone = ("",) if gpus == GPUS[0] else ()
    groups = (init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "shards"))
              if gpus == 4 else None)
    single = init_device_mesh("cpu", (1, gpus), mesh_dim_names=("one", "all"))["one"]
    sharing = {gpus: (mesh.get_group(), single)}
    if groups:
        sharing[2] = groups.get_group("shards"), groups["copies"]
    rings = {gpus: mesh.get_group(), **({2: groups.get_group("shards")} if groups else {})}

    def row(name, plan, batches):
        make = NETWORKS[name][0]
        own = groups if plan in GROUPS else mesh
        RingBlock.GROUP = None
        shared = share_context(plan, gpus, rings) if "cp:" in plan else plan
        return {"network": name, "plan": plan, "batches": batches,
                **least(lambda: take_steps(make, shared, batches, own, sharing))}

    rows = [row(name, plan, batches)
            for name, (_, plans) in NETWORKS.items()
            for plan in (one.format(gpus) for one in alone + plans)
            # Too much of it is freed by threads of Gloo, which the profiler does not see.
            if (name, plan) != ("tied", "tp:4,vocabulary,sp")
            if plan not in FLAT + OF_FOUR or (plan in FLAT) == (gpus == GPUS[0])
            for batches in (1, *(BATCHES if name == "blocks" and plan in ADDED
                                 or name in ("ring", "routed") and plan in EXCHANGED
                                 else ()))]
    rows += [row("blocks", plan, batches)
             for plan in (HELD if gpus == GPUS[0] else ()) for batches in HELD_BATCHES]
    if rank == 0:
        write_rows(path, COLUMNS, rows)
    dist.destroy_process_group()


def write_graphs(out):
    for name in ("blocks", "gated", "modular", "language", "tied", "placed"):
        counts = (1, *(HELD_BATCHES if name == "blocks" else ()))
        graphs = graphs_of_network(name, NETWORKS[name][0](), counts)
        for batches, text in graphs.items():
            number = f".{batches}" if batches > 1 else ""
            (out / f"{name}{number}.graph").write_text(text)
    (out / "mlp.graph").write_text(graph_of(
        "zoo:mlp?inputs=512&hidden=1024,1024,1024&batch_norm=true", "--batch", "8"))


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
    write_rows(out / "live_bytes.csv", COLUMNS, rows)
    write_graphs(out)


if __name__ == "__main__":
    foretell.main(main)
