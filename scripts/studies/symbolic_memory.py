#!/usr/bin/env python3
"""Peak host memory of training a 3D U-Net: a formula beside other regressions.

    scripts/studies/symbolic_memory.py measure ROWS.csv    # minutes on idle cores
    scripts/studies/symbolic_memory.py table [ROWS.csv] [--picture FILE.svg]

`measure` runs steps of the zoo's network of 5,647,857 trainable parameters on the CPU
by `foretell measure` and goes on where ROWS.csv ends. `table` fits every method to 70 %
of the rows, judges it by the others, for ten seeds, and prints the mean errors beside
those that the study published, in Markdown for docs/fit.md. ROWS.csv is by default
unet3d_memory.csv beside this script.
"""

import argparse
import concurrent.futures
import csv
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import foretell
from percent_bars import PercentBars

NETWORK = ("zoo:unet3d?width=16&depth=4&classes=1&channels=1"
           "&doubles_late=false&edge={edge}")
# Largest batch of each edge: what 5 GiB and an hour allow.
LARGEST_BATCH = {32: 64, 48: 32, 64: 8, 80: 4, 96: 2, 112: 1, 128: 1, 144: 1}
BATCHES = (1, 2, 4, 8, 16, 32, 64)
COLUMNS = ("edge", "batch", "memory_mib", "allocated_mib")
MIB = 2 ** 20
# Two threads that sleep while they wait: the machine may be shared. With one
# thread LibTorch would leave small convolutions to another library.
MEASURE = ("--mode", "training", "--optimizer", "adam", "--device", "cpu",
           "--threads", "2", "--warmup", "1", "--min-runs", "1",
           "--min-seconds", "0", "--deadline", "3600", "--json")
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}

MEASURED = HERE / "unet3d_memory.csv"
# What is fitted: title and column.
TARGETS = (("resident", "memory_mib"), ("allocated", "allocated_mib"))
SEEDS = range(10)
METHODS = ("symbolic", "linear", "polynomial", "forest", "extra-trees",
           "network")
# Mean errors in percent on 30 % of the rows, as published.
PUBLISHED = {"symbolic": 4.15, "forest": 92.75, "extra-trees": 22.35,
             "network": 75.91}
ANALYTIC = "equations"


def points():
    return [(edge, batch) for edge, largest in LARGEST_BATCH.items()
            for batch in BATCHES if batch <= largest]


def measure_point(edge, batch):
    (row,) = foretell.run_json(
        "measure", NETWORK.format(edge=edge), "--batch", batch, *MEASURE,
        environment=SLEEPING)["measurements"]
    memory = row["memory"]
    return (edge, batch, round(memory["peak_rss_bytes"] / MIB, 2),
            round(memory["peak_allocated_bytes"] / MIB, 2))


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [{name: float(cell) for name, cell in row.items()}
                for row in csv.DictReader(file)]


def measure(path):
    path = pathlib.Path(path)
    done = {(row["edge"], row["batch"]) for row in read(path)} \
        if path.exists() else set()
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if not done:
            writer.writerow(COLUMNS)
        todo = [point for point in points() if point not in done]
        for i, (edge, batch) in enumerate(todo):
            print(f"{i}/{len(todo)} edge {edge} batch {batch}", file=sys.stderr)
            writer.writerow(measure_point(edge, batch))
            file.flush()



def analytic_mib(edge, batch, width=16, channels=1, classes=1):
    """The study's own equations for this network: volumes of 3, 2 and 1."""
    convolution, joining, last = 27, 8, 1
    activations = (edge ** 3 * (channels + width) * 10297 / 572
                   + classes) * 16 * batch
    weights = (475 * width + convolution * width
               + 766 * convolution * width ** 2 + 170 * joining * width ** 2
               + joining * width ** 2 + last * width * classes + classes) * 24
    return (activations + weights) / MIB


def analytic_error(rows, column):
    return 100 * statistics.mean(
        abs(analytic_mib(row["edge"], row["batch"]) / row[column] - 1)
        for row in rows)


def fit(path, column, seed):
    """What `foretell fit` says of the rows that `seed` holds out."""
    return foretell.run_json(
        "fit", path, "--target", column, "--columns", "edge,batch", "--seed",
        seed, "--method", ",".join(METHODS), "--json",
        environment={"OMP_NUM_THREADS": "1"})


def errors(path, column, jobs):
    """Method -> its mean error in percent for every seed; and the formulas."""
    foretell.program("fit")  # Built before many ask for it.
    found, formulas = {method: [] for method in METHODS}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        documents = list(pool.map(lambda seed: fit(path, column, seed), SEEDS))
    for document in documents:
        formulas.append((document["methods"][0]["error"], document["formula"]))
        for one in document["methods"]:
            found[one["method"]].append(100 * one["error"])
    return found, formulas


def summary(path, jobs):
    """Rows of the table: method, mean and spread per target, published; and
    the shortest formula of each target with its error."""
    by_target = {title: errors(path, column, jobs) for title, column in TARGETS}
    rows = []
    for method in METHODS:
        cells = [by_target[title][0][method] for title, _ in TARGETS]
        rows.append((method, *((statistics.mean(cell), min(cell), max(cell))
                               for cell in cells), PUBLISHED.get(method)))
    measured = read(path)
    alone = [analytic_error(measured, column) for _, column in TARGETS]
    rows.append((ANALYTIC, *((error, error, error) for error in alone), None))
    return rows, {title: min(by_target[title][1], key=lambda one: len(one[1]))
                  for title, _ in TARGETS}


def range_text(cell):
    mean, low, high = cell
    if low == high:
        return f"{mean:.1f}"
    return f"{mean:.1f} ({low:.1f} – {high:.1f})"


def print_table(rows, formulas):
    print("| method | " + " | ".join(title for title, _ in TARGETS)
          + " | published |")
    print("|---|" + "---|" * (len(TARGETS) + 1))
    for method, *cells, published in rows:
        words = [range_text(cell) for cell in cells]
        words.append("" if published is None else f"{published:.1f}")
        print(f"| {method} | " + " | ".join(words) + " |")
    for title, (error, formula) in formulas.items():
        print(f"\n{title}, the shortest formula ({100 * error:.1f} %): `{formula}`")


def plot(rows, picture):
    colours = ("#4269d0", "#6cc5b0", "#bbbbbb")
    bars = PercentBars("Mean error on held-out rows: resident (blue), allocated "
                       "(green), published (grey)", len(rows))
    for i, (method, *cells, published) in enumerate(rows):
        bars.text(10, bars.TOP + i * bars.STEP + 20, method)
        for j, (mean, _, _) in enumerate(cells):
            bars.bar(i, j, mean, colours[j])
        if published is not None:
            bars.bar(i, len(cells), published, colours[-1])
    bars.write(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("rows", nargs="?", default=MEASURED)
    parser.add_argument("--picture", help="SVG to draw the table in, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.rows)
        return
    rows, formulas = summary(arguments.rows, arguments.jobs)
    print_table(rows, formulas)
    if arguments.picture:
        plot(rows, arguments.picture)


if __name__ == "__main__":
    foretell.main(main)
