#!/usr/bin/env python3
"""Writes tests/golden/parallel/pipeline_bytes.csv and piped.graph: what real PyTorch
allocates on each stage of a pipeline.

    scripts/generate/make_pipeline_golden.py [--out FOLDER]

Four blocks of a Transformer run in two stages of torch.distributed.pipelining, over Gloo,
in two processes; in four each stage is also under DistributedDataParallel or fully_shard.
scripts/lib/live_bytes.py says what is measured. A send whose end has been waited for keeps
its tensor with Gloo, unlike NCCL, so the list of sends is emptied then. The graph is the
step of one process with as many batches.
"""

import argparse
import csv
import gc
import pathlib
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import (
    PipelineStage, Schedule1F1B, ScheduleGPipe, schedules)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402
from live_bytes import (  # noqa: E402
    FIGURES, STEPS, free_port, join, least, mark, write_rows)
from shared_graphs import graphs_of_network  # noqa: E402
from shared_networks import Blocks  # noqa: E402
from shared_plans import prepare  # noqa: E402

COLUMNS = ("plan", "gpu", *FIGURES)
STAGES, BATCHES, DEPTH = 2, 4, 4
ALONE = [f"pp:{STAGES},microbatches={BATCHES}{schedule},split=blocks.2"
         for schedule in ("", ",schedule=gpipe")]
#: By number of processes. DDP's reducer of PyTorch 2.13 fails under ScheduleGPipe, by an
#: assertion in its second step.
PLANS = {2: ALONE, 4: [f"{plan}+{data}" for plan in ALONE
                       for data in ("ddp:2", "zero2:2", "fsdp:2")
                       if (plan, data) != (ALONE[1], "ddp:2")]}


class Stage(nn.Module):
    """Consecutive blocks, with the embedding before the first or the head behind the
    last."""

    def __init__(self, network, index):
        super().__init__()
        own = DEPTH // STAGES
        self.blocks = network.blocks[index * own:(index + 1) * own]
        self.embedding = network.embedding if index == 0 else None
        self.norm, self.head = ((network.norm, network.head) if index + 1 == STAGES
                                else (None, None))

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(self.norm(x))

    def units(self):
        return list(self.blocks)


def empty_waited_sends():
    wait = schedules._wait_batch_p2p

    def run(work):
        wait(work)
        work.clear()
    schedules._wait_batch_p2p = run


def schedule_of(plan, stage):
    kind = ScheduleGPipe if "gpipe" in plan else Schedule1F1B
    schedule = kind(stage, BATCHES, loss_fn=lambda out, _: out.mean(), scale_grads=False)
    compute_loss = schedule._maybe_compute_loss

    def marked(*arguments):
        compute_loss(*arguments)
        mark("forward")
    schedule._maybe_compute_loss = marked
    return schedule


def take_steps(plan, mesh):
    index = mesh["stages"].get_local_rank()
    network = Stage(Blocks(depth=DEPTH), index)
    network, optimizer = prepare(network, plan.partition("+")[2],
                                 mesh["copies"] if mesh.ndim == 2 else None)
    schedule = schedule_of(plan, PipelineStage(
        network, index, STAGES, torch.device("cpu"), group=mesh["stages"].get_group()))
    tokens = Blocks.example(None).repeat(BATCHES, 1) if index == 0 else None
    target = torch.zeros(BATCHES, 0) if index + 1 == STAGES else None
    for _ in range(STEPS):
        gc.collect()
        mark("begin")
        optimizer.zero_grad()
        mark("standing")
        if index == 0:
            schedule.step(tokens, return_outputs=False)
        else:
            schedule.step(target=target, return_outputs=False)
        mark("backward")
        optimizer.step()
        mark("end")


def work(rank, gpus, port, folder):
    join(rank, gpus, port)
    empty_waited_sends()
    shape, names = ((STAGES,), ("stages",)) if gpus == STAGES else (
        (STAGES, gpus // STAGES), ("stages", "copies"))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    gpu = mesh["stages"].get_local_rank()
    rows = []
    for plan in PLANS[gpus]:
        rows.append({"plan": plan, "gpu": gpu, **least(lambda: take_steps(plan, mesh))})
        dist.barrier()
    if gpus == STAGES or mesh["copies"].get_local_rank() == 0:
        write_rows(folder / f"{gpus}.{gpu}", COLUMNS, rows)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "tests/golden/parallel")
    out = parser.parse_args().out
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for gpus in PLANS:
            mp.spawn(work, args=(gpus, free_port(), folder), nprocs=gpus)
        for path in sorted(folder.iterdir()):
            rows += csv.DictReader(path.open(encoding="utf-8"))
    write_rows(out / "pipeline_bytes.csv", COLUMNS, rows)
    graphs = graphs_of_network("piped", Blocks(depth=DEPTH), (BATCHES,))
    (out / "piped.graph").write_text(graphs[BATCHES])


if __name__ == "__main__":
    foretell.main(main)
