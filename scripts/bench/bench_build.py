#!/usr/bin/env python3
"""Builds everything from nothing, without a compiler cache, and prints what it took.

    scripts/bench/bench_build.py [--jobs N] [--folder build/bench] [--keep]

First the program, which is what the README's first command waits for, then all
tests. Processor seconds are those of the compilers and linkers, a row per CMake
target; they hold on a busy machine too, which the wall clock does not.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIRST_PROGRAM = "foretell"
# The tests' targets are added up in one row.
TESTS = "tests"
RECORD = "--record"


def record(log, command):
    """Runs a compiler and notes its processor time and what it wrote."""
    status = subprocess.run(command).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else ""
    row = {"output": output, "seconds": used.ru_utime + used.ru_stime}
    with open(log, "a") as file:
        file.write(json.dumps(row) + "\n")
    return status


def target_of(output):
    """The CMake target that an object or a program belongs to."""
    if output.startswith(TESTS + "/"):
        return TESTS
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    return found[1] if found else pathlib.Path(output).name


def configure(folder, log):
    torch = subprocess.run(
        [ROOT / ".venv/bin/python", "-c",
         "import torch; print(torch.utils.cmake_prefix_path)"],
        capture_output=True, text=True, check=True).stdout.strip()
    launcher = f"{sys.executable};{__file__};{RECORD};{log}"
    subprocess.run(
        ["cmake", "--preset", "release", "-B", folder,
         f"-DCMAKE_PREFIX_PATH={os.environ.get('CMAKE_PREFIX_PATH', torch)}",
         f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}",
         f"-DCMAKE_CXX_LINKER_LAUNCHER={launcher}"],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def build(folder, jobs, *targets):
    """Seconds by the wall clock."""
    started = time.monotonic()
    subprocess.run(["ninja", "-C", folder, "-j", str(jobs), *targets],
                   check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def read(log):
    with open(log) as file:
        return [json.loads(line) for line in file]


def print_table(rows):
    seconds = collections.Counter()
    units = collections.Counter()
    for row in rows:
        target = target_of(row["output"])
        seconds[target] += row["seconds"]
        units[target] += 1
    print("| target | units | processor seconds |\n|---|---:|---:|")
    for target, total in seconds.most_common():
        print(f"| {target} | {units[target]} | {total:.0f} |")


def total(rows):
    return sum(row["seconds"] for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=pathlib.Path,
                        default=ROOT / "build" / "bench")
    parser.add_argument("--keep", action="store_true",
                        help="leaves the build there")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    log = folder / "processor_seconds.jsonl"
    configure(folder, log)
    first_wall = build(folder, arguments.jobs, FIRST_PROGRAM)
    first = read(log)
    rest_wall = build(folder, arguments.jobs)
    everything = read(log)
    print_table(everything)
    print(f"\n| {arguments.jobs} jobs | processor seconds | wall seconds |\n"
          "|---|---:|---:|\n"
          f"| the first command | {total(first):.0f} | {first_wall:.0f} |\n"
          f"| everything with tests | {total(everything):.0f} | "
          f"{first_wall + rest_wall:.0f} |")
    if not arguments.keep:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == [RECORD]:
        sys.exit(record(sys.argv[2], sys.argv[3:]))
    main()
