#!/usr/bin/env python3
"""Makes a dataset of published measurements, joined to the networks' graphs.

    scripts/make_label_set.py training-memory|latency --out d.sqlite

| set | labels | graphs |
|---|---|---|
| training-memory | peak memory of training on an A100 40 GB (GPUMemNet) | TorchScript traces in training mode, SGD with momentum |
| latency | AMP inference on four GPUs (pytorch-image-models) | ONNX exports at fp16 |

Both tables and both archives are read from ../shared beside the repository; the
script says so when they are absent. Goes on where it was stopped. The splits
`random`, `configuration` (whole networks) and `family` (one per family) are made
with seed 0.
"""

import argparse
import csv
import gzip
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
# Merging branches takes a tenth and more of the parameters away.
PARAMETER_TOLERANCE = 0.03
# The memory table was made with a timm of 1.0.9 to 1.0.12, where these networks had
# another default image size (sam2_hiera_tiny, ese_vovnet57b, mobilenetv3_large_150d),
# other layers (ecaresnext50t_32x4d), or computed the same with other operators. What
# the table itself says that autograd saves (FakeTensor) differs from the exports' by
# 4 % at least for each of them, by 0.2 % (median) for the others:
# scripts/compare_forward_memory.py. Both must hold; a measured peak decides nothing.
CHANGED_SINCE_MEASURED = {
    "ecaresnext50t_32x4d", "ese_vovnet57b", "hiera_base_224",
    "hiera_base_abswin_256", "hiera_base_plus_224", "hiera_huge_224",
    "hiera_small_224", "hiera_tiny_224", "hieradet_small",
    "mobilenetv3_large_150d", "sam2_hiera_tiny", "tnt_b_patch16_224",
    "tnt_s_patch16_224", "vit_base_patch16_xp_224", "vit_huge_patch14_xp_224",
    "vit_large_patch14_xp_224"}


class LabelSet:
    """Where a set comes from and how its table is read."""

    def __init__(self, archive, table, generate, load):
        self.archive = SHARED / "models" / archive
        self.table = SHARED / "data" / table
        self.generate = generate
        self.load = load


SETS = {
    "training-memory": LabelSet(
        "timm_torchscript_train.tar.xz", "training_memory_timm_a100.csv.gz",
        ["--mode", "training", "--optimizer", "momentum"],
        ["--source", "gpumemnet-timm", "--where", "status=ok",
         "--set", "precision=fp32", "--set", "device=a100-sxm4-40gb",
         "--map", "memory_max_used_mb=memory_mib"]),
    "latency": LabelSet(
        "timm_onnx.tar.xz", "timm_throughput_other_gpus.csv.gz",
        ["--precision", "fp16"],
        ["--source", "timm", "--where", "mode=inference",
         "--map", "img_size=image_size",
         "--map", "framework=environment.framework",
         "--map", "memory_format=environment.memory_format",
         "--set", "environment.autocast=true",
         "--word", "precision:amp (fp16)=fp16"]),
}


def foretell(*arguments):
    command = [str(ROOT / "scripts" / "foretell"), *map(str, arguments)]
    outcome = subprocess.run(command)
    # Some networks have their batch baked in; their points fail by name.
    if outcome.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)} ended with {outcome.returncode}")


def without_other_networks(table, truth, folder):
    """A copy of `table` without rows of another network under the same name.

    Some of timm's networks were measured with their branches merged, which the
    exports are not: the table's parameters then differ from the export's. Others
    were measured with an older timm that defines them otherwise.
    """
    with open(truth, newline="") as file:
        millions = {row["model"]: float(row["parameters"]) / 1e6
                    for row in csv.DictReader(file) if row.get("parameters")}
    with gzip.open(table, "rt", newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = reader.fieldnames, list(reader)

    def is_other(row):
        stated, exported = row.get("param_count_m"), millions.get(row["model"])
        merged = bool(stated and exported) and (
            abs(float(stated) / exported - 1) > PARAMETER_TOLERANCE)
        changed = (row["model"] in CHANGED_SINCE_MEASURED and
                   "faketensor_final_mb" in row)
        return merged or changed

    kept = [row for row in rows if not is_other(row)]
    print(f"{table.name}: {len(rows) - len(kept)} of {len(rows)} rows measured "
          "another network than the one exported under their name")
    copy = pathlib.Path(folder) / "labels.csv"
    with open(copy, "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(kept)
    return copy


def make(chosen, out, models):
    truth = pathlib.Path(models) / "truth.csv"
    generate = ["dataset", "generate", "--files", models, *chosen.generate,
                "--batches-from", chosen.table, "--out", out]
    if "training" in chosen.generate:
        generate += ["--input-table", truth]
    foretell(*generate)
    with tempfile.TemporaryDirectory() as folder:
        labels = without_other_networks(chosen.table, truth, folder)
        foretell("dataset", "import", labels, "--into", out, *chosen.load)
    for kind in ("random", "configuration", "family"):
        foretell("dataset", "split", out, "--kind", kind, "--seed", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--out", required=True, help="dataset to make")
    options = parser.parse_args()
    chosen = SETS[options.set]
    for needed in (chosen.archive, chosen.table):
        if not needed.exists():
            sys.exit(f"{needed} is absent: this set is made from shared tables "
                     "that are not part of the repository")
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(chosen.archive) as archive:
            archive.extractall(folder, filter="data")
        models = next(pathlib.Path(folder).rglob("truth.csv")).parent
        make(chosen, pathlib.Path(options.out).resolve(), models)


if __name__ == "__main__":
    main()
