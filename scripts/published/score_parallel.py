#!/usr/bin/env python3
"""Compares the memory of data-parallel training with published H100 measurements.

    scripts/published/score_parallel.py [--batches 128,264,288]

milabench (../shared/data/more/train_memory_milabench.csv.gz) trains ResNet-152 on one
H100 and, under DistributedDataParallel, on all of a machine, at the same batches per GPU,
and notes the memory of one device. It states neither precision nor optimizer; memory by
sample is that of mixed precision, with which `foretell predict` is asked, and SGD with
momentum. Prints by batch what was measured and predicted alone and shared, the error of
the latter, and by how much sharing takes more: the rest is NCCL's own buffers. Its rates
are sums over a number of GPUs that is not stated, and wait for data; they are not used.
"""

import argparse
import collections
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

TABLE = published.TABLES / "more" / "train_memory_milabench.csv.gz"
ALONE, SHARED = "lightning", "resnet152-ddp-gpus"


def measured():
    """Medians of MiB by network and batch."""
    found = collections.defaultdict(list)
    for row in published.rows(TABLE):
        if row["device"] == "H100" and row["model"] in (ALONE, SHARED):
            found[row["model"], int(row["batch"])].append(float(row["memory_mb"]))
    return {key: statistics.median(values) for key, values in found.items()}


def predicted(batches, *flags):
    document = foretell.run_json(
        "predict", "zoo:resnet152", "--json", "--mode", "training", "--optimizer",
        "momentum", "--autocast", "--device", "h100-sxm5-80gb", "--batch",
        ",".join(map(str, batches)), *flags)
    return {one["batch"]: one["memory"]["total_mib"] for one in document["results"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", default="128,264,288")
    published.need(TABLE)
    batches = [int(batch) for batch in parser.parse_args().batches.split(",")]
    truth = measured()
    alone, shared = predicted(batches), predicted(batches, "--parallel", "ddp:8")
    print("batch  alone          shared         error   more")
    errors = []
    for batch in batches:
        one, many = truth[ALONE, batch], truth[SHARED, batch]
        errors.append(shared[batch] / many - 1)
        print(f"{batch:5d}  {one:6.0f} {alone[batch]:6.0f}  {many:6.0f} "
              f"{shared[batch]:6.0f}  {errors[-1]:+6.1%}  {many - one:5.0f} "
              f"{shared[batch] - alone[batch]:5.0f}")
    print(f"median absolute error of the shared ones: "
          f"{statistics.median(map(abs, errors)):.1%}")


if __name__ == "__main__":
    foretell.main(main)
