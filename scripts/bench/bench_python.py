#!/usr/bin/env python3
"""Times calls of the Python package: what a process per call costs.

    build/release/tests/python/environment/bin/python scripts/bench/bench_python.py \\
        [--runs 5]

Needs the installed package (`ctest -R Python.Installs` makes that environment).
Prints a row per call: processor time of this process and of the program that it
starts, medians in milliseconds. Other work on the machine hardly changes them.
"""

import argparse
import pathlib
import resource
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ONNX = ROOT / "examples" / "resnet18.onnx"


def calls():
    """Name of a row, and what it calls."""
    import foretell
    import torch
    sys.path.append(str(ROOT / "scripts" / "generate"))
    from make_example import ResNet18

    with torch.device("meta"):
        module, image = ResNet18(), torch.zeros(8, 3, 224, 224)
    return (
        ("the program's start (`version`)",
         lambda: foretell._command.run(["version"])),
        ("`predict` of a name of the zoo",
         lambda: foretell.predict("zoo:resnet18", batch=8)),
        ("`predict` of an ONNX file", lambda: foretell.predict(ONNX, batch=8)),
        ("`predict` of a module in memory", lambda: foretell.predict(module, image)),
        ("`torch.export` of that module alone",
         lambda: torch.export.export(module, (image,), strict=False)),
        ("`compare` at 16 batches, one process",
         lambda: foretell.compare(ONNX, batches=range(1, 17))),
    )


def processor_ms():
    """Of this process, and of its children that have ended."""
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        yield 1000 * (used.ru_utime + used.ru_stime)


def measure(call, runs):
    """Medians of (own, program's) in ms, after one call to warm up."""
    call()
    rows = []
    for _ in range(runs):
        before = tuple(processor_ms())
        call()
        rows.append([b - a for a, b in zip(before, processor_ms())])
    return map(statistics.median, zip(*rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print("| call | own ms | program's ms |\n|---|---:|---:|")
    for name, call in calls():
        own, program = measure(call, runs)
        print(f"| {name} | {own:.0f} | {program:.0f} |")


if __name__ == "__main__":
    main()
