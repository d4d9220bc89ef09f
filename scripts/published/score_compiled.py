#!/usr/bin/env python3
"""Latency under torch.compile against what was published.

    scripts/published/score_compiled.py [--networks N] [--device NAME...]
        [--by-network]

Inference of pytorch-image-models in fp16 under autocast, eager and compiled
(`compile_timm_inference.csv.gz` of ../shared, PyTorch 2.9, rows with equal batches):
networks of the zoo at their own image size, else their exports
(`timm_onnx.tar.xz`); --networks takes that many, evenly from the list. Prints for
each device the rows, median, mean absolute error and signed median of eager and
compiled latency and of the speed-up in percent, and the share of rows in which the
speed-up is on the right side of 1. Nothing is fitted here.

A third of the families was kept back by those who gave the tables.
"""

import argparse
import collections
import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compiled_scores  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

LATENCIES = published.TABLES / "runs2026" / "compile_timm_inference.csv.gz"
DEVICES = {"RTX-4090": "rtx-4090", "RTX-5090": "rtx-5090",
           "RTX-PRO-6000-MaxQ": "rtx-pro-6000-maxq"}
TORCH = "2.9.1"
ZOO_SIZE = "224"


def measured(devices):
    """(eager, compiled) in ms by network, image size, batch and device."""
    return {(row["model"], row["img_size"], row["eager_batch"],
             DEVICES[row["device"]]):
            (float(row["eager_latency_ms"]), float(row["compiled_latency_ms"]))
            for row in published.rows(LATENCIES)
            if row["torch"] == TORCH and row["same_batch"] == "1" and
            row["eager_latency_ms"] and row["compiled_latency_ms"] and
            DEVICES[row["device"]] in devices}


def latency(model, size, batch, device, runtime):
    """In ms; None if the network cannot be predicted."""
    shape = [] if model.startswith("zoo:") else ["-i", f"{batch},3,{size},{size}"]
    text = foretell.run("predict", model, *shape, "--batch", batch, "--autocast",
                        "--precision", "fp16", "--device", device, "--runtime",
                        runtime, "--torch", "2.9", "--method", "analytic", "--csv",
                        accept=(foretell.DONE, foretell.DOES_NOT_FIT,
                                foretell.MODEL_FAILED))
    cells = [row["latency_ms"] for row in csv.DictReader(text.splitlines())]
    return float(cells[0]) if cells and cells[0] else None


def chosen(truths, zoo, files, count):
    """Network, image size and batch of the rows to predict, with the model's name."""
    found = {}
    for name, size, batch, _ in truths:
        if name in zoo and size == ZOO_SIZE:
            found.setdefault((name, size, batch), f"zoo:{name}")
        elif name in files and name not in zoo:
            found.setdefault((name, size, batch), str(files[name]))
    keys = sorted(found)
    step = max(1, len(keys) // count) if count else 1
    return {key: found[key] for key in keys[::step]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=int, default=0)
    parser.add_argument("--device", nargs="+", default=sorted(DEVICES.values()))
    parser.add_argument("--by-network", action="store_true")
    options = parser.parse_args()
    published.need(LATENCIES, published.ONNX_NETWORKS)
    truths = measured(options.device)
    zoo = {words[0] for words in
           map(str.split, foretell.run("zoo", "list").splitlines()) if words}
    pairs = collections.defaultdict(list)
    with published.unpacked(published.ONNX_NETWORKS) as folder:
        files = {path.stem: path for path in folder.rglob("*.onnx")}
        for key, model in chosen(truths, zoo, files, options.networks).items():
            for device in options.device:
                truth = truths.get((*key, device))
                forecast = truth and [latency(model, *key[1:], device, runtime)
                                      for runtime in ("eager", "compile")]
                if not forecast or None in forecast:
                    continue
                pairs[device].append(compiled_scores.Pair(tuple(forecast), truth))
                if options.by_network:
                    print(key[0], device, *(f"{p / m:.2f}" for p, m in
                                            zip(forecast, truth)), flush=True)
    print(compiled_scores.head("device"))
    for device, group in sorted(pairs.items()):
        print(compiled_scores.line(device, pairs=group))


if __name__ == "__main__":
    foretell.main(main)
