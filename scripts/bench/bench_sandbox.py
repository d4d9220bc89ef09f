#!/usr/bin/env python3
"""Times `foretell predict` with and without its sandbox.

    .venv/bin/python scripts/bench/bench_sandbox.py FILE… [--runs 3]

Predicts all files at batch 1 and 8 in one call, then a file alone, then that file and
40 copies, in turns with `--sandbox off` and `--sandbox auto`, and prints the shortest
wall time and the least processor time of all processes; of the copies what each takes.
Run it on an idle machine: a sandbox is another process, and uses another core.
"""

import argparse
import ctypes
import os
import pathlib
import resource
import shutil
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

MODES = ("off", "auto")
COPIES = 41
PR_SET_CHILD_SUBREAPER = 36


def bury_orphans():
    """Waits for sandboxes whose program did not: their time counts then."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(*arguments):
    """Wall and processor seconds of one call."""
    before, start = processor_seconds(), time.perf_counter()
    foretell.run("predict", *arguments)
    wall = time.perf_counter() - start
    bury_orphans()
    return wall, processor_seconds() - before


def compare(what, arguments, runs):
    times = {mode: [] for mode in MODES}
    for _ in range(runs):
        for mode in MODES:
            times[mode].append(timed(*arguments, "--sandbox", mode))
    for name, column in (("wall", 0), ("processor", 1)):
        off, auto = (min(row[column] for row in times[mode]) for mode in MODES)
        print(f"{what:12s}{name:>10s}{off:10.3f} s{auto:10.3f} s"
              f"{auto / off:8.2f} times{1e3 * (auto - off):+9.0f} ms")


def compare_copies(file, runs):
    """What each further file of a command takes: copies, against one."""
    least = {}
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for number in range(COPIES):
            copies.append(pathlib.Path(folder, f"{number}-{pathlib.Path(file).name}"))
            shutil.copy(file, copies[-1])
        for mode in MODES * runs:
            for count in (1, COPIES):
                took = timed(*map(str, copies[:count]), "--batch", "1", "--json",
                             "--sandbox", mode)
                key = mode, count
                least[key] = tuple(map(min, took, least.get(key, took)))
    for name, column in (("wall", 0), ("processor", 1)):
        off, auto = (1e3 * (least[mode, COPIES][column] - least[mode, 1][column])
                     / (COPIES - 1) for mode in MODES)
        print(f"{'each further':12s}{name:>10s}{off:9.2f} ms{auto:9.2f} ms"
              f"{auto / off:8.2f} times")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--single-runs", type=int, default=25)
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    foretell.program("predict")  # built, where it must, before the clock starts
    print(f"{'':22s}{'off':>12s}{'auto':>12s}")
    if len(options.files) > 1:
        compare(f"{len(options.files)} files",
                [*options.files, "--batch", "1,8", "--csv"], options.runs)
    compare("one file", [options.files[0], "--batch", "8"],
            options.single_runs)
    compare_copies(options.files[0], options.runs)


if __name__ == "__main__":
    foretell.main(main)
