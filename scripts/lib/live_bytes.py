"""Bytes that PyTorch keeps alive in a step that processes share over Gloo: its profiler
sees every allocation from before the network is made. Of the last steps are kept, in
bytes, `standing` alive after zero_grad(), `forward` after the last forward pass and the
loss, `backward` after the last backward pass, and `peak`, the most that was ever alive in
between and in the optimizer's step. What Gloo allocates within a gathering or a
scattering, copies of the whole, does not count towards `peak`: NCCL makes none."""

import csv
import gc
import os
import socket
import time

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function

FIGURES = ("standing", "forward", "backward", "peak")
STEPS = 4
RUNS = 6
STEADY = 2  # The last steps, which are alike.
PAUSE_S = 0.01
MARK, EXCHANGE = "foretell: ", "exchange"


def mark(what):
    with record_function(MARK + what):
        pass


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


def least(take_steps):
    """Gloo's own threads, which the profiler does not see, may be the last to let go
    of a tensor: all that follows in a run shows too much then, never too little."""
    steps = [step for _ in range(RUNS) for step in measure(take_steps)[-STEADY:]]
    standing = min(step["standing"] for step in steps)
    return {name: standing + min(step[name] - step["standing"] for step in steps)
            for name in FIGURES}


def measure(take_steps):
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
        take_steps()
    return figures(events_of(run))


def marked(call):
    def run(*arguments, **options):
        with record_function(MARK + EXCHANGE):
            return call(*arguments, **options)
    return run


def waited(call):
    """Gloo holds its copy until the exchange is waited for, and its thread a reference to
    the operands for a moment longer. If that were the last one, the profiler would miss
    that they are freed: each norm whose gradient is summed would count once more."""
    def run(*arguments, **options):
        result = torch.ops._c10d_functional.wait_tensor(call(*arguments, **options))
        time.sleep(PAUSE_S)
        return result
    return run


def mark_exchanges():
    """fully_shard looks exchanges up in the module at each call. Functional collectives,
    which DTensor and ring attention call, look up operators; what they join afterwards is
    a copy on GPUs as well."""
    dist.all_gather_single = marked(dist.all_gather_single)
    dist.reduce_scatter_single = marked(dist.reduce_scatter_single)
    dist.all_gather = marked(dist.all_gather)
    operators = torch.ops._c10d_functional
    for name in ("all_gather_into_tensor", "reduce_scatter_tensor", "all_reduce"):
        setattr(operators, name, marked(waited(getattr(operators, name))))


def join(rank, processes, port):
    """Begins a process's part of the work."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    # By itself the collector runs when what came before it made it due.
    gc.disable()
    gc.freeze()
    mark_exchanges()
    dist.init_process_group("gloo", rank=rank, world_size=processes)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write_rows(path, columns, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
