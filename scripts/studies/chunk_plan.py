#!/usr/bin/env python3
"""Chunks that foretell plans beside Dask's `auto`, under a limit of memory.

    scripts/studies/chunk_plan.py measure [TRIALS.csv]  # goes on where the file ends
    scripts/studies/chunk_plan.py table [TRIALS.csv] [--picture FILE.svg]

`measure` runs scripts/lib/chunk_algorithms.py over whole volumes: five algorithms, four
volumes, five limits, and the chunks of `foretell plan` or of Dask's `auto`, each in a
process forked from one that has loaded Dask. What that one has resident counts; for the
rest the kernel kills the process in a cgroup (version 1, needs root), or with --limit-by
rlimit refuses its allocations (RLIMIT_DATA). `table` prints the failures beside those
that were published, in Markdown for docs/planning.md. TRIALS.csv is by default
chunk_plan.csv beside this script.

Needs an environment of its own: pip install 'dask[array]' h5py numpy scipy.
"""

import argparse
import collections
import csv
import functools
import json
import multiprocessing
import os
import pathlib
import re
import resource
import signal
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import foretell

FOOTPRINTS = "data/footprints"
MEASURED = HERE / "chunk_plan.csv"
CGROUP = pathlib.Path("/sys/fs/cgroup/memory/foretell_chunk_plan")
MIB = 2 ** 20
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

ALGORITHMS = ("convolution3d", "fft", "matmul", "sort", "stencil")
# A cube, flat, thick and long, 64 to 163 MiB of f64; factors and product of
# matrices take 64 to 162 MiB.
STUDIED = "f64"
VOLUMES = ((204, 204, 204), (48, 512, 512), (208, 320, 320), (512, 256, 128))
PRODUCTS = ((2048, 1024, 2048), (4096, 256, 4096), (6144, 256, 3072),
            (2048, 2048, 1024))
LIMITS_MIB = (192, 256, 384, 512, 768)
CHOICES = ("foretell", "auto")
COLUMNS = ("algorithm", "shape", "limit_mib", "choice", "chunk", "chunks",
           "outcome", "peak_mib", "predicted_mib", "seconds", "sum")
# Failures in percent: of the study, ours and Dask's; and its peak against it.
PUBLISHED_FAILURES = {"foretell": 0.0, "auto": 31.6}
PUBLISHED_PEAK = -52.0

Trial = collections.namedtuple("Trial", "algorithm shape limit_mib choice")


def trials():
    """All trials, those of one volume one after the other."""
    places = [(algorithm, shape) for shape in VOLUMES for algorithm in ALGORITHMS
              if algorithm != "matmul"]
    places += [("matmul", shape) for shape in PRODUCTS]
    return [Trial(*place, limit, choice) for place in places
            for limit in LIMITS_MIB for choice in CHOICES]


def shape_text(sizes):
    return "x".join(map(str, sizes))


def sizes_text(sizes):
    return ",".join(map(str, sizes))


def volume_file(folder, trial):
    """The inputs of a trial; algorithms that read a volume share its file."""
    kind = "product" if trial.algorithm == "matmul" else "volume"
    path = pathlib.Path(folder, f"{kind}-{sizes_text(trial.shape)}.h5")
    if not path.exists():
        for other in pathlib.Path(folder).glob("*.h5"):
            other.unlink()
        chunks = loaded()
        chunks.write_volume(path, chunks.ALGORITHMS[trial.algorithm],
                            chunks.DTYPES[STUDIED], trial.shape)
    return str(path)


@functools.cache
def loaded():
    """The algorithms, with Dask and all that it loads when it first computes."""
    os.environ.update(ONE_THREAD)
    import chunk_algorithms
    with tempfile.TemporaryDirectory() as folder:
        for name in ALGORITHMS:
            path = os.path.join(folder, name)
            algorithm = chunk_algorithms.ALGORITHMS[name]
            chunk_algorithms.write_volume(path, algorithm, "float64", (4, 4, 4))
            chunk_algorithms.run(path, algorithm, "float64", (4, 4, 4), (4, 4, 4))
    return chunk_algorithms


def plan(trial):
    """The chunk that foretell says and its peak in MiB; none where it says that
    nothing fits."""
    try:
        document = foretell.run_json(
            "plan", "--footprint",
            foretell.ROOT / FOOTPRINTS / f"{trial.algorithm}-{STUDIED}.json",
            "--shape", sizes_text(trial.shape), "--memory",
            f"{trial.limit_mib}MiB", "--json")
    except foretell.Failure as failure:
        if failure.status != foretell.DOES_NOT_FIT:
            raise
        return None, None
    return tuple(document["chunk"]), document["peak_mib"]


def resident_mib(field):
    """VmRSS or VmHWM of this process."""
    text = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text).group(1)) / 1024


def limit_by_cgroup(limit_mib, loaded_mib):
    """Lets the kernel kill this process where it takes more than is left."""
    CGROUP.mkdir(exist_ok=True)
    left = int((limit_mib - loaded_mib) * MIB)
    (CGROUP / "memory.limit_in_bytes").write_text(str(left))
    (CGROUP / "cgroup.procs").write_text(str(os.getpid()))


def limit_by_rlimit(limit_mib, loaded_mib):
    """Lets allocations of this process fail beyond what is left."""
    text = pathlib.Path("/proc/self/status").read_text()
    data = int(re.search(r"VmData:\s+(\d+)", text).group(1)) * 1024
    most = data + int((limit_mib - loaded_mib) * MIB)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


LIMITS = {"cgroup": limit_by_cgroup, "rlimit": limit_by_rlimit}


def work(pipe, trial, path, chunks, limit, loaded_mib):
    """The trial itself, in a process of its own."""
    chunk_algorithms = loaded()
    limit(trial.limit_mib, loaded_mib)
    began = resident_mib("VmRSS")
    begin = time.monotonic()
    try:
        found = chunk_algorithms.run(
            path, chunk_algorithms.ALGORITHMS[trial.algorithm],
            chunk_algorithms.DTYPES[STUDIED], trial.shape, chunks)
    except MemoryError:
        return
    found["seconds"] = time.monotonic() - begin
    found["peak_mib"] = loaded_mib + resident_mib("VmHWM") - began
    pipe.send(found)


def run_limited(trial, path, chunks, limit):
    """What a trial found; none where its memory did not suffice."""
    loaded()
    mine, its = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=work, args=(its, trial, path, chunks, limit,
                           resident_mib("VmRSS")))
    process.start()
    its.close()
    try:
        found = mine.recv()
    except EOFError:
        found = None
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        raise foretell.Failure(list(map(str, trial)), process.exitcode,
                               "its message stands above")
    return found


def run_trial(trial, folder, limit):
    chunks, predicted = ("auto", None) if trial.choice == "auto" \
        else plan(trial)
    row = {"algorithm": trial.algorithm, "shape": shape_text(trial.shape),
           "limit_mib": trial.limit_mib, "choice": trial.choice}
    if chunks is None:
        return {**row, "outcome": "refused"}
    if predicted is not None:
        row.update(predicted_mib=f"{predicted:.1f}", chunk=shape_text(chunks))
    found = run_limited(trial, volume_file(folder, trial), chunks, limit)
    if found is None:
        return {**row, "outcome": "out of memory"}
    return {**row, "outcome": "done", "chunk": shape_text(found["chunk"]),
            "chunks": found["chunks"], "sum": f"{found['sum']:.6g}",
            "peak_mib": f"{found['peak_mib']:.1f}",
            "seconds": f"{found['seconds']:.2f}"}


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def measure(path, limit):
    path = pathlib.Path(path)
    known = read(path) if path.exists() else []
    done = {tuple(row[name] for name in COLUMNS[:4]) for row in known}
    todo = [trial for trial in trials()
            if (trial.algorithm, shape_text(trial.shape), str(trial.limit_mib),
                trial.choice) not in done]
    with open(path, "a", encoding="utf-8", newline="") as file, \
            tempfile.TemporaryDirectory() as folder:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not known:
            writer.writeheader()
        for i, trial in enumerate(todo):
            print(f"{i}/{len(todo)} {trial}", file=sys.stderr)
            writer.writerow(run_trial(trial, folder, limit))
            file.flush()


def share(rows):
    return 100 * sum(row["outcome"] == "out of memory" for row in rows) / len(rows)


def pairs(rows, same):
    """Pairs of one volume and limit where both were done, with the same chunks
    or with different ones."""
    by_place = collections.defaultdict(dict)
    for row in rows:
        place = (row["algorithm"], row["shape"], row["limit_mib"])
        by_place[place][row["choice"]] = row
    return [pair for pair in by_place.values()
            if all(row["outcome"] == "done" for row in pair.values())
            and (pair["foretell"]["chunk"] == pair["auto"]["chunk"]) == same]


def median_ratio(some, column):
    """Median of ours / Dask's over pairs, less 1, in percent."""
    ratios = [float(pair["foretell"][column]) / float(pair["auto"][column])
              for pair in some]
    return 100 * (statistics.median(ratios) - 1) if ratios else None


def used(rows):
    """Median share of the limit that was used, in percent."""
    return 100 * statistics.median(float(row["peak_mib"]) / float(row["limit_mib"])
                                   for row in rows if row["outcome"] == "done")


def error(rows):
    """Mean and largest error of the predicted peaks, in percent."""
    errors = [100 * abs(float(row["predicted_mib"]) / float(row["peak_mib"]) - 1)
              for row in rows if row["predicted_mib"]
              and row["outcome"] == "done"]
    return statistics.mean(errors), max(errors)


def summary(rows):
    """Title and rows per algorithm, and of all."""
    return [*((algorithm, [row for row in rows
                           if row["algorithm"] == algorithm])
              for algorithm in ALGORITHMS), ("all", rows)]


def percent(value, sign=""):
    return "" if value is None else f"{value:{sign}.1f}"


def print_table(rows):
    print("| algorithm | trials each | failures: foretell | auto | pairs that "
          "differ | their peak | limit used: foretell | auto | peak predicted |")
    print("|" + "---|" * 9)
    for title, some in summary(rows):
        ours = [row for row in some if row["choice"] == "foretell"]
        auto = [row for row in some if row["choice"] == "auto"]
        mean, largest = error(ours)
        differing = pairs(some, same=False)
        print(f"| {title} | {len(ours)} | {percent(share(ours))} "
              f"| {percent(share(auto))} | {len(differing)} "
              f"| {percent(median_ratio(differing, 'peak_mib'), '+')} "
              f"| {percent(used(ours))} | {percent(used(auto))} "
              f"| {mean:.1f} off, at most {largest:.1f} |")
    print(f"| published, 768 trials | | {PUBLISHED_FAILURES['foretell']:.1f} "
          f"| {PUBLISHED_FAILURES['auto']:.1f} | | {PUBLISHED_PEAK:+.1f} "
          "| | | |")
    alike = pairs(rows, same=True)
    refused = sum(row["outcome"] == "refused" for row in rows)
    print(f"\n{len(rows)} trials; foretell refused {refused}; {len(alike)} pairs "
          "with the same chunks: peak "
          f"{percent(median_ratio(alike, 'peak_mib'), '+')} %, time "
          f"{percent(median_ratio(alike, 'seconds'), '+')} %; time of the others "
          f"{percent(median_ratio(pairs(rows, same=False), 'seconds'), '+')} %")


WIDTH, LEFT, RIGHT, TOP, STEP = 640, 110, 90, 46, 40
COLOURS = {"foretell": "#4269d0", "auto": "#ff725c"}


def plot(rows, picture):
    """Bars of failures by algorithm, the published ones below."""
    lines = [(title, {choice: share([row for row in some
                                     if row["choice"] == choice])
                      for choice in CHOICES}) for title, some in summary(rows)]
    lines.append(("published", PUBLISHED_FAILURES))
    height = TOP + STEP * len(lines) + 10
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
             '<text x="10" y="20">Trials that ran out of memory, in percent: '
             "chunks of foretell (blue), Dask's auto (red)</text>"]
    for i, (title, failures) in enumerate(lines):
        top = TOP + i * STEP
        parts.append(f'<text x="10" y="{top + 18}">{title}</text>')
        for j, choice in enumerate(CHOICES):
            width = failures[choice] / 100 * (WIDTH - LEFT - RIGHT)
            parts.append(f'<rect x="{LEFT}" y="{top + 14 * j}" height="12" '
                         f'width="{max(width, 1):.0f}" '
                         f'fill="{COLOURS[choice]}"/>')
            parts.append(f'<text x="{LEFT + width + 6:.0f}" '
                         f'y="{top + 14 * j + 10}" fill="{COLOURS[choice]}">'
                         f"{failures[choice]:.1f}</text>")
    pathlib.Path(picture).write_text("\n".join([*parts, "</svg>", ""]),
                                     encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("rows", nargs="?", default=MEASURED)
    parser.add_argument("--limit-by", choices=LIMITS, default="cgroup")
    parser.add_argument("--picture", help="SVG to draw the failures in, too")
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.rows, LIMITS[arguments.limit_by])
        return
    rows = read(arguments.rows)
    print_table(rows)
    if arguments.picture:
        plot(rows, arguments.picture)


if __name__ == "__main__":
    foretell.main(main)
