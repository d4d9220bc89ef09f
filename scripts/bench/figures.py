#!/usr/bin/env python3
"""One table of what foretell says today, and what a change moves in it.

    scripts/bench/figures.py record before.csv
    scripts/bench/figures.py compare before.csv after.csv

`record` predicts 60 networks, of the zoo and files of the repository, in
inference, in training, under autocast and in channels-last on three devices,
and on the first device as three versions of PyTorch run them. FORETELL names
another program. A row has the settings and the figures as `foretell predict
--csv` prints them: operators, parameters, MACs, MiB, ms, J. A network that is
refused has a row of its own without figures.

`compare` prints, for each figure that differs, in how many rows it does, by how
much in the median and at most, and in which row; exit status 1 where any does.
"""

import argparse
import csv
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402

NETWORKS = """
efficientnet_b0 efficientnet_b4 mnasnet1_0 mobilenet_v2 mobilenet_v3_large
resnet18 resnet50 resnet152 resnext50_32x4d wide_resnet50_2 vgg11 vgg16_bn
densenet121 densenet201 inception_v3 regnet_x_800mf regnet_y_8gf convnext_tiny
convnext_large swin_tiny_patch4_window7_224 swin_base_patch4_window7_224
vit_tiny_patch16_224 vit_base_patch16_224 vit_large_patch16_224 visformer_small
poolformer_s12 mixer_b16_224 unet unet3d weather_unet weather_radiation_rnn
mlp_medium bert_base bert_large gpt2 t5_small deberta_v2_base lstm_medium
gru_medium bilstm_classifier llama3_2_1b qwen2_0_5b clip_vit_base_patch32
sam_vit_b sd15_unet sd_vae_decoder whisper_small_encoder detr_resnet50
""".split()
FILES = """
examples/resnet18.onnx tests/frontends/data/vit_tiny.onnx
tests/frontends/data/norms.onnx tests/frontends/data/groups.onnx
tests/frontends/onnx_reader/data/subgraphs.onnx
tests/frontends/data/exported/cached.pt2
tests/frontends/data/exported/vit_tiny.pt2
tests/frontends/data/exported/recurrent.pt2
tests/frontends/data/exported/residual.pt2
tests/frontends/data/exported/patches.pt2
tests/frontends/data/exported/casting.pt2
tests/frontends/data/exported/conv_train.pt2
""".split()
DEVICES = ("a100-sxm4-40gb", "h100-sxm5-80gb", "rtx-3090")
VERSIONS = ("1.13", "2.4", "2.13")
MODES = {
    "inference": ("--mode", "inference"),
    "training": ("--mode", "training"),
    "autocast": ("--mode", "training", "--autocast"),
    "channels-last": ("--mode", "training", "--autocast", "--channels-last"),
}
SETTINGS = ("model", "run", "device", "torch")
FIGURES = ("operators", "parameters", "macs", "memory_mib", "allocated_mib",
           "reserved_mib", "context_mib", "latency_ms", "gpu_ms",
           "dispatch_ms", "energy_j", "method")
BATCH = "4"


def predict(models, flags):
    """The rows of one call, by model."""
    text = foretell.run("predict", *models, "--csv", "--batch", BATCH, *flags,
                        accept=(foretell.DONE, foretell.MODEL_FAILED))
    return {row["model"]: row for row in csv.DictReader(text.splitlines())}


def record(path):
    models = [f"zoo:{name}" for name in NETWORKS]
    models += [str(ROOT / name) for name in FILES]
    runs = [(device, "2.9") for device in DEVICES]
    runs += [(DEVICES[0], version) for version in VERSIONS]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, SETTINGS + FIGURES, extrasaction="ignore",
                                lineterminator="\n")
        writer.writeheader()
        for device, version in runs:
            for run, flags in MODES.items():
                rows = predict(models, (*flags, "--device", device,
                                        "--torch", version))
                for model in models:
                    writer.writerow({**rows.get(model, {}),
                                     "model": model.removeprefix(f"{ROOT}/"),
                                     "run": run, "device": device,
                                     "torch": version})


def read(path):
    with open(path, newline="") as file:
        return {tuple(row[key] for key in SETTINGS): row
                for row in csv.DictReader(file)}


def change(before, after):
    """After over before less one; infinite where either is no number."""
    try:
        return float(after) / float(before) - 1
    except (ValueError, ZeroDivisionError):
        return float("inf")


def compare(before, after):
    before, after = read(before), read(after)
    if before.keys() != after.keys():
        sys.exit(f"rows differ: {sorted(before.keys() ^ after.keys())[:3]}")
    moved = False
    for figure in FIGURES:
        changes = {key: change(before[key][figure], after[key][figure])
                   for key in before
                   if before[key][figure] != after[key][figure]}
        if not changes:
            continue
        moved = True
        sizes = {key: abs(value) for key, value in changes.items()}
        worst = max(sizes, key=sizes.get)
        print(f"{figure}: {len(changes)} of {len(before)} rows, median "
              f"{100 * statistics.median(changes.values()):+.2f} %, most "
              f"{100 * changes[worst]:+.2f} % ({' '.join(worst)}: "
              f"{before[worst][figure]} -> {after[worst][figure]})")
    if not moved:
        print(f"{len(before)} rows are as they were")
    return moved


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("table", type=pathlib.Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=pathlib.Path)
    comparing.add_argument("after", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        record(arguments.table)
    elif compare(arguments.before, arguments.after):
        return 1
    return 0


if __name__ == "__main__":
    foretell.main(main)
