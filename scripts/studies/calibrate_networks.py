#!/usr/bin/env python3
"""What orthogonal arrays bring estimates of memory, beside random points.

    scripts/studies/calibrate_networks.py measure ROWS.csv [--checks N]
    scripts/studies/calibrate_networks.py table [ROWS.csv] [--picture FILE.svg]

`measure` runs a training step of each network on the CPU at the points of an orthogonal
array, at as many random points and at N further ones (`foretell calibrate`), and goes on
where ROWS.csv ends. `table` prints mean errors in percent of the estimate alone, and with
the gap of either design on the further points, in Markdown for docs/calibrating.md.
ROWS.csv is by default calibrate_networks.csv beside this script.
"""

import argparse
import csv
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import foretell
from percent_bars import PercentBars

MEASURED = HERE / "calibrate_networks.csv"
# Name, model and factors. The first is the published example: batch by depth by
# convolutions, four levels each, sixteen runs; images are small for the CPU.
NETWORKS = (
    ("vgg, 3 factors of 4",
     "zoo:vgg11?layers=1,{depth},{convolutions},1,1&width=8&hidden=64"
     "&image_size=64",
     "batch=4|8|16|32,depth=1|2|3|4,convolutions=1|2|3|4"),
    ("resnet18", "zoo:resnet18?image_size=64",
     "batch=1|4|16,width=8|16|32"),
    ("mobilenet_v2", "zoo:mobilenet_v2",
     "batch=2|4|8,resolution=32|64|96"),
    ("mlp", "zoo:mlp", "batch=16|128|1024,inputs=64|512|2048"),
    ("unet", "zoo:unet?depth=2",
     "batch=1|2|4,width=8|16|32,resolution=32|64|96"),
)
FLAGS = ("--device", "cpu", "--mode", "training", "--threads", "2", "--random",
         "--json")
MEMORIES = ("allocated", "resident")
SLEEPING = {"OMP_WAIT_POLICY": "PASSIVE"}
COLUMNS = ("network", "array", "memory", "runs_before", "left_out",
           "checks_before", "with_array", "with_random")
# What is drawn of a row: errors of the checks.
DRAWN = (("checks_before", "#bbbbbb"), ("with_array", "#4269d0"),
         ("with_random", "#6cc5b0"))


def percent(share):
    return f"{100 * share:.2f}"


def measured_row(name, model, sweep, checks, memory):
    more = ("--resident",) if memory == "resident" else ()
    document = foretell.run_json("calibrate", model, "--sweep", sweep,
                                 "--checks", checks, *FLAGS, *more,
                                 environment=SLEEPING)
    fit, random = document["fit"], document["random_fit"]
    return dict(zip(COLUMNS, (
        name, document["array"], memory, percent(fit["error_before"]),
        percent(fit["error_left_out"]), percent(document["checks_before"]),
        percent(fit["error_of_checks"]), percent(random["error_of_checks"]))))


def read(path):
    if not pathlib.Path(path).exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def measure(path, checks):
    done = {(row["network"], row["memory"]) for row in read(path)}
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for name, model, sweep in NETWORKS:
            for memory in MEMORIES:
                if (name, memory) in done:
                    continue
                writer.writerow(measured_row(name, model, sweep, checks, memory))
                file.flush()


def print_table(rows):
    print("| network | array | memory | runs: before | left out | checks: before "
          "| array | random |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row[column] for column in COLUMNS) + " |")


def plot(rows, picture):
    bars = PercentBars("Mean error of checks: estimate alone (grey), with "
                       "gap of an array (blue), of random points (green)",
                       len(rows), low=0.01, left=190)
    for i, row in enumerate(rows):
        bars.text(10, bars.TOP + i * bars.STEP + 20,
                  f"{row['network'].split(',')[0]}, {row['memory']}")
        for j, (column, colour) in enumerate(DRAWN):
            bars.bar(i, j, float(row[column]), colour, digits=2)
    bars.write(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "table"))
    parser.add_argument("rows", nargs="?", default=MEASURED)
    parser.add_argument("--checks", type=int, default=8)
    parser.add_argument("--picture", help="SVG to draw the table in, too")
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.rows, arguments.checks)
        return
    rows = read(arguments.rows)
    print_table(rows)
    if arguments.picture:
        plot(rows, arguments.picture)


if __name__ == "__main__":
    foretell.main(main)
