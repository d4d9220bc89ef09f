#!/usr/bin/env python3
"""Compares simulated memory with memory that foretell measures here.

    scripts/bench/compare_measured_memory.py --device cpu --batch 1,8 MODEL...
    scripts/bench/compare_measured_memory.py --device cuda:0 \\
        --predict-device h100-sxm5-80gb --batch 1,8 MODEL...

On the CPU the most bytes that were alive at once in the trace are held against
the most that the counting allocator saw: a CPU has neither the caching allocator
nor cuDNN's workspaces. The trace on meta is what a prediction rests on; the one
that really runs on the CPU also sees what the CPU's kernels pack and copy, and
tells how much of a difference that is. On a GPU simulated allocated and reserved bytes are held
against the caching allocator's statistics. The CPU runs one thread: with more
LibTorch chooses kernels that pack weights and activations, which no GPU does.
Prints one line per network, batch
and quantity, then the median of the absolute differences. Times are not taken:
each row makes three runs.
"""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import comparison  # noqa: E402
import foretell  # noqa: E402

MIB = 2**20
QUANTITIES = ("allocated", "reserved")


def parse_arguments():
    parser = comparison.parser(__doc__)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--predict-device", help="name in `foretell devices`")
    parser.add_argument("--optimizer", default="sgd")
    parser.add_argument("--input", action="append", default=[])
    arguments = parser.parse_args()
    if arguments.device != "cpu" and not arguments.predict_device:
        parser.error("--predict-device is needed in addition to a GPU")
    return arguments


def call(arguments, command, model, batch, *flags):
    """What `foretell COMMAND` prints for one model and batch; None, with the
    error on stderr, where the model fails."""
    inputs = [word for text in arguments.input for word in ("--input", text)]
    try:
        return foretell.run_json(
            command, model, "--batch", batch, "--mode", arguments.mode,
            "--optimizer", arguments.optimizer, "--precision",
            arguments.precision, *inputs, *flags)
    except foretell.Failure as failure:
        print(failure, file=sys.stderr)
        return None


def peak_live_bytes(graph):
    """Most bytes of storages alive at once."""
    live = peak = 0
    for event in graph["events"]:
        size = graph["storages"][event["storage"]]["bytes"]
        live += size if event["event"] == "allocate" else -size
        peak = max(peak, live)
    return peak


def simulate(arguments, model, batch):
    """Simulated MiB by quantity; empty where the model fails."""
    if arguments.device == "cpu":
        return {f"trace on {device}": peak_live_bytes(graph) / MIB
                for device in ("meta", "cpu")
                if (graph := call(arguments, "inspect", model, batch,
                                  "--trace", device, "--format", "json"))}
    document = call(arguments, "predict", model, batch, "--json", "--device",
                    arguments.predict_device)
    if not document:
        return {}
    memory = document["results"][0]["memory"]
    return {name: memory[f"{name}_mib"] for name in QUANTITIES}


def measure(arguments, model, batch):
    """Measured MiB by simulated quantity; empty where the model fails."""
    document = call(arguments, "measure", model, batch, "--json", "--device",
                    arguments.device, "--threads", "1", "--warmup", "2",
                    "--min-runs", "1", "--min-seconds", "0")
    if not document:
        return {}
    memory = document["measurements"][0]["memory"]
    if arguments.device == "cpu":
        live = memory["peak_allocated_bytes"] / MIB
        return {"trace on meta": live, "trace on cpu": live}
    return {name: memory[f"peak_{name}_bytes"] / MIB for name in QUANTITIES
            if memory[f"peak_{name}_bytes"] is not None}


def main():
    arguments = parse_arguments()
    differences = {}
    print("| network | batch | simulation | simulated MiB | measured MiB "
          "| difference |\n|---|---|---|---|---|---|")
    for model in arguments.models:
        for batch in arguments.batch.split(","):
            simulated = simulate(arguments, model, batch)
            measured = measure(arguments, model, batch) if simulated else {}
            for name in simulated:
                if name not in measured:
                    continue
                share = 100 * (simulated[name] / measured[name] - 1)
                differences.setdefault(name, []).append(abs(share))
                print(f"| {pathlib.Path(model).stem} | {batch} | {name} "
                      f"| {simulated[name]:.1f} | {measured[name]:.1f} "
                      f"| {share:+.1f} % |", flush=True)
    comparison.print_summary(differences)
    return 0 if differences else 1


if __name__ == "__main__":
    foretell.main(main)
