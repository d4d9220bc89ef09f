#!/usr/bin/env python3
"""Holds `foretell measure` against an independent measurement with PyTorch.

    scripts/bench/compare_with_reference.py --reference measure_reference.py \\
        --device cpu --batch 1,8 resnet18 mobilenetv2_100=zoo:mobilenet_v2
    scripts/bench/compare_with_reference.py --reference measure_reference.py \\
        --device cpu --input 'f32[1,3,224,224]' vgg11=vgg11.pt

The reference is a Python program that measures stock timm models by itself:
called with --worker NAME, --device, --precision, --mode, --window and --batches
it prints one CSV row per batch, without a header, in the order of its FIELDS.
Each argument is a timm name and the model that `foretell measure` runs for it,
zoo:NAME unless given. Both take turns, --rounds times, and the median over the
rounds counts, since a machine's speed drifts; "scatter" is the range of the
reference's own figures over the rounds. Prints one line per network and batch,
then the medians of the absolute differences. Memory is compared where the
reference has it (a GPU). On the CPU glibc's allocator is told to keep what it
frees, unless --plain-malloc is given: left alone, it makes one process or the
other fetch the same pages from the system in every run. Equal names are not
always equal networks: timm's vgg11 multiplies by 7 x 7 convolutions where
torchvision's has linear layers.
"""

import collections
import csv
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import comparison  # noqa: E402
import foretell  # noqa: E402

MIB = 2**20
KEEP_HOST_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**32),
                    "MALLOC_TRIM_THRESHOLD_": str(2**33)}
MEASURED_BYTES = {"allocated": "peak_allocated_bytes",
                  "reserved": "peak_reserved_bytes", "memory": "process_bytes"}


def parse_arguments():
    parser = comparison.parser(__doc__)
    parser.add_argument("networks", nargs="+", metavar="NAME[=MODEL]")
    parser.add_argument("--reference", required=True, type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable,
                        help="Python that has torch and timm")
    parser.add_argument("--input", help="shape, for TorchScript files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--threads", type=int, default=0,
                        help="CPU threads; 0: LibTorch's default")
    parser.add_argument("--plain-malloc", action="store_true")
    return parser.parse_args()


def environment_of(arguments):
    """What both sides find in their environment in addition to what is there."""
    environment = {}
    if arguments.device == "cpu" and not arguments.plain_malloc:
        environment.update(KEEP_HOST_MEMORY)
    if arguments.threads:
        environment["OMP_NUM_THREADS"] = str(arguments.threads)
    return environment


def run_reference(arguments, *words):
    command = [str(arguments.python), str(arguments.reference), *map(str, words)]
    outcome = subprocess.run(
        command, text=True, capture_output=True,
        env={**os.environ, **environment_of(arguments)})
    if outcome.returncode != 0:
        raise foretell.Failure(command, outcome.returncode, outcome.stderr)
    return outcome.stdout


def fields_of(reference):
    specification = importlib.util.spec_from_file_location("reference", reference)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.FIELDS


def figures_of_reference(arguments, fields, name, batch):
    text = run_reference(
        arguments, "--worker", name, "--device", arguments.device.split(":")[0],
        "--precision", arguments.precision, "--mode", arguments.mode,
        "--window", arguments.seconds, "--batches", batch)
    row = dict(zip(fields, next(csv.reader(text.splitlines()))))
    if row["status"] != "ok":
        sys.exit(f"{name}, batch {batch}: the reference says {row['status']}")
    return {"latency": float(row["latency_ms"]),
            **{kind: float(row[f"{kind}_mib"]) for kind in MEASURED_BYTES
               if row.get(f"{kind}_mib")}}


def figures_of_foretell(arguments, model, batch):
    options = ["--threads", arguments.threads] if arguments.threads else []
    options += ["--input", arguments.input] if arguments.input else []
    document = foretell.run_json(
        "measure", model, "--json", "--batch", batch, "--device",
        arguments.device, "--mode", arguments.mode, "--optimizer", "momentum",
        "--precision", arguments.precision, "--min-seconds", arguments.seconds,
        *options, environment=environment_of(arguments))
    row = document["measurements"][0]
    figures = {"latency": row["latency"]["median_ms"]}
    for kind, key in MEASURED_BYTES.items():
        if row["memory"][key]:
            figures[kind] = row["memory"][key] / MIB
    return figures


def print_rows(name, batch, rounds):
    """Prints a line per figure that both sides have; returns the absolute
    differences by figure, in percent."""
    differences = {}
    for figure in sorted(rounds[0][0].keys() & rounds[0][1].keys()):
        figures = [[one[side][figure] for one in rounds] for side in (0, 1)]
        theirs, ours = (statistics.median(side) for side in figures)
        scatter = 100 * (max(figures[0]) - min(figures[0])) / theirs
        share = 100 * (ours / theirs - 1)
        differences[figure] = abs(share)
        unit = "ms" if figure == "latency" else "MiB"
        print(f"| {name} | {batch} | {figure} | {theirs:.2f} {unit} "
              f"| {scatter:.1f} % | {ours:.2f} {unit} | {share:+.1f} % |",
              flush=True)
    return differences


def main():
    arguments = parse_arguments()
    fields = fields_of(arguments.reference)
    differences = collections.defaultdict(list)
    print("| network | batch | figure | reference | scatter | foretell "
          "| difference |\n|---|---|---|---|---|---|---|")
    for text in arguments.networks:
        name, _, model = text.partition("=")
        for batch in arguments.batch.split(","):
            rounds = [(figures_of_reference(arguments, fields, name, batch),
                       figures_of_foretell(arguments, model or f"zoo:{name}",
                                           batch))
                      for _ in range(arguments.rounds)]
            for figure, share in print_rows(name, batch, rounds).items():
                differences[figure].append(share)
    comparison.print_summary(differences)


if __name__ == "__main__":
    foretell.main(main)
