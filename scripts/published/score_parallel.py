#!/usr/bin/env python3
"""Compares the memory of data-parallel training with published measurements.

    scripts/published/score_parallel.py [--rows N] [--picture FILE.svg]

milabench (../shared/data/more/train_memory_milabench.csv.gz) trains ResNet-152 on one GPU
and, under DistributedDataParallel, on all of a machine, by a loop of its own
(resnet152-ddp-gpus) and by Lightning (lightning-gpus), and notes the memory of one
device. It states neither precision nor optimizer; memory by sample is that of mixed
precision, with which `foretell predict` is asked, and SGD with momentum; nor the number
of GPUs, for which eight are taken. L40S rows are left out: the catalogue has no such GPU.
Of the batches from 100 that were run alone and shared, N are taken of each machine
(default 3). Prints by row what was measured and predicted, the error without NCCL's
buffers and with them, and by how much sharing takes more; then how many of the shared lie
in the predicted interval; --picture draws both errors. Its rates are sums that wait for
data; they are not used. Its other runs on several GPUs are not of networks that can be
built from what it states (reinforcement learning, V-JEPA, a 70B model by pipeline).
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402
from percent_bars import PercentBars  # noqa: E402

TABLE = published.TABLES / "more" / "train_memory_milabench.csv.gz"
DEVICES = {"H100": "h100-sxm5-80gb", "H200": "h200-sxm-141gb"}
ALONE, SHARED = "lightning", ("resnet152-ddp-gpus", "lightning-gpus")
DRAWN = {"without": "#bbbbbb", "with": "#4269d0"}
LEAST_BATCH = 100  # Below it runs stand that were cut short.


def measured():
    """Medians of MiB by GPU, network and batch."""
    found = collections.defaultdict(list)
    for row in published.rows(TABLE):
        if row["device"] in DEVICES and row["model"] in (ALONE, *SHARED):
            found[row["device"], row["model"], int(row["batch"])].append(
                float(row["memory_mb"]))
    return {key: statistics.median(values) for key, values in found.items()}


def batches(truth, device, name, count):
    both = sorted(batch for gpu, model, batch in truth
                  if (gpu, model) == (device, name) and batch >= LEAST_BATCH
                  and (device, ALONE, batch) in truth)
    step = max(1, (len(both) - 1) // (count - 1)) if count > 1 else len(both)
    return both[::step][:count]


def predicted(device, wanted, *flags):
    document = foretell.run_json(
        "predict", "zoo:resnet152", "--json", "--mode", "training", "--optimizer",
        "momentum", "--autocast", "--precision", "fp16", "--device",
        DEVICES[device], "--batch", ",".join(map(str, wanted)), *flags)
    return {one["batch"]: one for one in document["results"]}


def print_rows(truth, device, name, wanted, errors, inside, names):
    alone = predicted(device, wanted) if wanted else {}
    shared = predicted(device, wanted, "--parallel", "ddp:8") if wanted else {}
    for batch in wanted:
        one, many = truth[device, ALONE, batch], truth[device, name, batch]
        mine = alone[batch]["memory"]["total_mib"]
        ours = shared[batch]["memory"]["total_mib"]
        buffers = shared[batch]["parallel"]["link_buffers_mib"]
        before, after = (ours - buffers) / many - 1, ours / many - 1
        low, high = shared[batch]["memory"]["interval_mib"]
        inside.append(low <= many <= high)
        errors["without"].append(abs(before))
        errors["with"].append(abs(after))
        names.append(f"{device}, {name.removesuffix('-gpus')}, {batch}")
        print(f"| {device} | {name.removesuffix('-gpus')} | {batch} | {one:.0f} "
              f"| {mine:.0f} | {many:.0f} | {ours:.0f} | {100 * before:+.1f} % "
              f"| {100 * after:+.1f} % | {many - one:.0f} | {ours - mine:.0f} |",
              flush=True)


def plot(names, errors, picture):
    bars = PercentBars("Absolute error of the memory of one of eight GPUs: without "
                       "NCCL's buffers (grey), with (blue)", len(names), low=1,
                       decades=2, left=190)
    for i, name in enumerate(names):
        bars.text(10, bars.TOP + i * bars.STEP + 16, name)
        for j, (what, colour) in enumerate(DRAWN.items()):
            bars.bar(i, j, 100 * errors[what][i], colour)
    bars.write(picture)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--picture", help="SVG to draw the errors in, too")
    published.need(TABLE)
    arguments = parser.parse_args()
    count = arguments.rows
    truth = measured()
    print("| GPU | loop | batch | alone | | shared | | without NCCL | with | "
          "more than alone | |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    errors, inside, names = collections.defaultdict(list), [], []
    for device in DEVICES:
        for name in SHARED:
            print_rows(truth, device, name, batches(truth, device, name, count),
                       errors, inside, names)
    for what, found in errors.items():
        print(f"{what} NCCL's buffers: median absolute error "
              f"{100 * statistics.median(found):.1f} %, mean "
              f"{100 * statistics.mean(found):.1f} %")
    print(f"inside the interval: {sum(inside)} of {len(inside)}")
    if arguments.picture:
        plot(names, errors, arguments.picture)


if __name__ == "__main__":
    foretell.main(main)
