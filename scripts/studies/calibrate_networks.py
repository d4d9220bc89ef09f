#!/usr/bin/env python3
"""What orthogonal arrays bring estimates of memory, beside random points.

    scripts/studies/calibrate_networks.py [--checks N] [NETWORK...]

Measures a training step of each network on the CPU at the runs of an orthogonal array, at
as many random points and at N further ones (`foretell calibrate`), and prints a table in
Markdown for docs/calibrating.md: mean errors in percent of the estimate alone, and with
the gap of either design on the further points. NETWORKs are names of the table; all
without any.
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell

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


def percent(share):
    return f"{100 * share:.2f}"


def row(name, model, sweep, checks, resident):
    more = ("--resident",) if resident else ()
    document = foretell.run_json("calibrate", model, "--sweep", sweep,
                                 "--checks", checks, *FLAGS, *more,
                                 environment=SLEEPING)
    fit, random = document["fit"], document["random_fit"]
    return [name, document["array"], document["memory"],
            percent(fit["error_before"]), percent(fit["error_left_out"]),
            percent(document["checks_before"]),
            percent(fit["error_of_checks"]),
            percent(random["error_of_checks"])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--checks", type=int, default=8)
    parser.add_argument("--memory", nargs="+", default=MEMORIES,
                        choices=MEMORIES)
    arguments = parser.parse_args()
    print("| network | array | memory | runs: before | left out | checks: before "
          "| array | random |")
    print("|---|---|---|---|---|---|---|---|")
    for name, model, sweep in NETWORKS:
        if arguments.networks and name not in arguments.networks:
            continue
        for memory in arguments.memory:
            cells = row(name, model, sweep, arguments.checks,
                        memory == "resident")
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    foretell.main(main)
