#!/usr/bin/env python3
"""Time and memory of `foretell train` as a dataset grows.

    scripts/bench/bench_training_size.py [--sizes 1000,10000,100000]

Every graph is a point of its own: examples/resnet18.onnx at so many batch sizes,
with simulated labels. Prints per size the last epoch's graphs per second and the
largest memory of the training process, one thread, 32 MiB of decoded graphs
kept. The files are made in --folder (a temporary one), kept and used again where
it is named.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

NETWORK = ("--network", "pmgns", "--hidden", "32", "--epochs", "2",
           "--batch-size", "32", "--learning-rate", "1e-3", "--threads", "1",
           "--cache-mib", "32")


def peak_mib(*arguments):
    """Runs foretell; the largest memory of its process in MiB."""
    command = foretell.command(*arguments)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    complaint = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise foretell.Failure(command, os.waitstatus_to_exitcode(status),
                               complaint)
    return usage.ru_maxrss / 1024


def make_dataset(folder, count):
    path, batches = folder / f"{count}.sqlite", folder / f"{count}.csv"
    batches.write_text("model,batch\n" + "".join(
        f"resnet18,{batch}\n" for batch in range(1, count + 1)))
    foretell.run("dataset", "generate", "--files",
                 foretell.ROOT / "examples" / "resnet18.onnx", "--batches-from",
                 batches, "--out", path)
    foretell.run("dataset", "simulate", path, "--device", "b200-sxm-180gb")
    return path


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--folder", type=pathlib.Path)
    arguments = parser.parse_args()
    temporary = tempfile.TemporaryDirectory()
    folder = arguments.folder or pathlib.Path(temporary.name)
    folder.mkdir(parents=True, exist_ok=True)
    print("| graphs | dataset | graphs per second | peak memory |\n"
          "|---:|---:|---:|---:|")
    for count in map(int, arguments.sizes.split(",")):
        path = make_dataset(folder, count)
        out = folder / f"run{count}-{time.time_ns()}"
        memory = peak_mib("train", "--dataset", path, "--split", "random",
                          "--out", out, *NETWORK)
        lines = (out / "metrics.jsonl").read_text().splitlines()
        rate = json.loads(lines[-1])["graphs_per_second"]
        print(f"| {count:,} | {path.stat().st_size / 2**20:,.0f} MiB "
              f"| {rate:,.0f} | {memory:,.0f} MiB |", flush=True)


if __name__ == "__main__":
    foretell.main(main)
