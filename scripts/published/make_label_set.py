#!/usr/bin/env python3
"""Makes a dataset of published measurements, joined to the networks' graphs.

    scripts/published/make_label_set.py training-memory|latency|all-latency --out d.sqlite

| set | labels | graphs |
|---|---|---|
| training-memory | peak memory of training on an A100 40 GB (GPUMemNet) | TorchScript traces in training mode, SGD with momentum |
| latency | AMP inference on four GPUs (pytorch-image-models) | ONNX exports, with TF32 |
| all-latency | a third of the same, and every latency of `latency_labels.py`: inference and training in 16 and 32 bits on A100s and their slices, H100s and others | the same, traces and exports |

Beside all-latency a folder d.slices with the device files of MIG slices is written.
Both tables and both archives are read from ../shared beside the repository; the
script says so when they are absent. Goes on where it was stopped. The splits
`random`, `configuration` (whole networks) and `family` (one per family) are made
with seed 0.
"""

import argparse
import collections
import contextlib
import csv
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import latency_labels  # noqa: E402
import published  # noqa: E402

# Millions of parameters are published with two decimals. Merging the branches or
# norms of a network takes as little as a few thousand parameters away.
PARAMETER_ROUNDING = 0.0051

# timm's benchmark.py has a flag, --fast-norm, that the table does not state: its group
# norms and those layer norms that are of its own class then keep to 16 bits under
# autocast. On this device networks of group norms take twice as long beside those of
# batch norms as on all others, and timm's layer norms as long as PyTorch's.
FLOAT_NORMS = {"RTX-5090"}
TIMM_LAYER_NORMS = pathlib.Path(__file__).with_name("timm_layer_norms.csv")


class LabelSet:
    """Where a set comes from and how its table is read."""

    def __init__(self, archive, table, generate, load, completed=list):
        self.archive = archive
        self.table = table
        self.generate = generate
        self.load = load
        self.completed = completed  # Rows with what the table does not state.


def with_norm_types(rows):
    """`rows` with columns for the types in which a network's norms ran."""
    with open(TIMM_LAYER_NORMS, newline="") as file:
        timms = {(row["framework"], row["model"]) for row in csv.DictReader(file)}

    def types_of(row):
        fast = row["device"] not in FLOAT_NORMS
        own = (row["framework"], row["model"]) in timms
        return {"group_norm": "half" if fast else "float",
                "layer_norm": "half" if fast and own else "float"}

    return [row | types_of(row) for row in rows]


SETS = {
    "training-memory": LabelSet(
        published.TRAINING_TRACES, published.TRAINING_MEMORY,
        ["--mode", "training", "--optimizer", "momentum"],
        ["--source", "gpumemnet-timm", "--where", "status=ok",
         "--set", "precision=fp32", "--set", "device=a100-sxm4-40gb",
         "--map", "memory_max_used_mb=memory_mib"]),
    "latency": LabelSet(
        published.ONNX_NETWORKS, published.THROUGHPUT,
        # timm's benchmark.py lets float32 products run in TF32.
        ["--precision", "tf32"],
        ["--source", "timm", "--where", "mode=inference",
         "--map", "img_size=image_size",
         "--map", "framework=environment.framework",
         "--map", "memory_format=environment.memory_format",
         "--map", "group_norm=environment.group_norm",
         "--map", "layer_norm=environment.layer_norm",
         "--set", "environment.autocast=true",
         "--word", "precision:amp (fp16)=tf32"],
        with_norm_types),
}


ALL = "all-latency"
# Of timm's rows in it, so that they do not outnumber all other sources.
TIMM_EVERY = 3


def run(*arguments):
    # Some networks have their batch baked in; their points fail by name.
    foretell.show(*arguments, accept=(foretell.DONE, foretell.MODEL_FAILED))


def without_other_networks(table, truth):
    """Rows of `table` without those of another network under the same name.

    Some of timm's networks were measured with their branches merged, which the
    exports are not: the table's parameters then differ from the export's. Others
    were measured with an older timm that defines them otherwise.
    """
    millions = {row["model"]: float(row["parameters"]) / 1e6
                for row in truth.values() if row.get("parameters")}
    rows = published.rows(table)

    def is_other(row):
        stated, exported = row.get("param_count_m"), millions.get(row["model"])
        merged = bool(stated and exported) and (
            abs(float(stated) - exported) > PARAMETER_ROUNDING)
        changed = (row["model"] in published.CHANGED_SINCE_MEASURED and
                   "faketensor_final_mb" in row)
        return merged or changed

    kept = [row for row in rows if not is_other(row)]
    print(f"{table.name}: {len(rows) - len(kept)} of {len(rows)} rows measured "
          "another network than the one exported under their name")
    return kept


def join(chosen, out, models, jobs, every):
    """Points of a table and every so-manieth of its labels."""
    generate = ["dataset", "generate", "--files", models, *chosen.generate,
                "--batches-from", chosen.table, "--out", out, *jobs]
    if "training" in chosen.generate:
        generate += ["--input-table", models / "truth.csv"]
    run(*generate)
    with tempfile.TemporaryDirectory() as folder:
        labels = pathlib.Path(folder) / "labels.csv"
        rows = without_other_networks(chosen.table, published.truth(models))
        latency_labels.write(chosen.completed(rows[::every]), labels)
        run("dataset", "import", labels, "--into", out, *chosen.load)


def point_flags(point):
    inputs, mode, precision, optimizer = point
    return [*(flag for one in inputs for flag in ("--input", one)), "--mode", mode,
            "--precision", precision,
            *(("--optimizer", optimizer) if optimizer else ())]


def linked(label, folder):
    """The label's file under its model's name."""
    link = folder / f"{label.model}{pathlib.Path(label.path).suffix}"
    if not link.exists():
        link.symlink_to(label.path)
    return link


def generate_files(labels, out, folder, jobs):
    """Points of labels that are a file each; those of equal sizes at once."""
    batches, together = collections.defaultdict(set), collections.defaultdict(list)
    for label in labels:
        batches[linked(label, folder), label.point].add(label.batch)
    for (path, point), sizes in batches.items():
        together[point, tuple(sorted(sizes))].append(path)
    for (point, sizes), paths in together.items():
        run("dataset", "generate", "--files", *paths, *point_flags(point), "--batch",
            ",".join(map(str, sizes)), "--out", out, *jobs)


def generate_folder(labels, models, out, folder, jobs):
    """Points of labels whose networks are files of the folder `models`."""
    groups = collections.defaultdict(set)
    for label in labels:
        groups[label.point].add((label.model, label.batch))
    table = folder / "batches.csv"
    for point, rows in groups.items():
        latency_labels.write([dict(zip(("model", "batch"), row)) for row in rows],
                             table)
        shapes = (["--input-table", models / "truth.csv"]
                  if "training" in point else [])
        run("dataset", "generate", "--files", models, *point_flags(point), *shapes,
            "--batches-from", table, "--out", out, *jobs)


def import_labels(labels, out, folder):
    by_source = collections.defaultdict(list)
    for label in labels:
        by_source[label.source].append(label.row())
    for source, rows in by_source.items():
        table = folder / "labels.csv"
        latency_labels.write(rows, table)
        run("dataset", "import", table, "--into", out, "--source", source)


def add_all_latency(models, out, folder, jobs, archives):
    """Labels of all sources but timm's inference, and the slices' devices."""
    unpacked = archives.enter_context
    traces = unpacked(published.unpacked(latency_labels.score_a100.TRACES, "*.pt"))
    problems = unpacked(published.unpacked(
        latency_labels.problems.EXPORTS, "v2507"))
    trainable = unpacked(published.unpacked(published.TRAINING_TRACES))
    files = [*latency_labels.a100(traces), *latency_labels.kernelbench(problems)]
    generate_files(files, out, folder, jobs)
    labels = files
    for source, where in ((latency_labels.timm_training(trainable), trainable),
                          (latency_labels.own(models, "inference"), models),
                          (latency_labels.own(trainable, "training"), trainable)):
        more = list(source)
        generate_folder(more, where, out, folder, jobs)
        labels += more
    import_labels(labels, out, folder)
    slices = out.with_suffix(".slices")
    slices.mkdir(exist_ok=True)
    latency_labels.write_slices(slices, {label.device for label in labels})


def make(chosen, out, models, jobs, is_all):
    with contextlib.ExitStack() as archives:
        join(chosen, out, models, jobs, TIMM_EVERY if is_all else 1)
        if is_all:
            folder = pathlib.Path(archives.enter_context(
                tempfile.TemporaryDirectory()))
            add_all_latency(models, out, folder, jobs, archives)
        # Labels are learned from graphs that were traced as they were measured.
        run("dataset", "trace", out, *([] if is_all else ["--files", models]), *jobs)
    for kind in ("random", "configuration", "family"):
        run("dataset", "split", out, "--kind", kind, "--seed", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=(*SETS, ALL))
    parser.add_argument("--out", required=True, help="dataset to make")
    parser.add_argument("--jobs", help="worker processes; default: one per core")
    options = parser.parse_args()
    chosen = SETS["latency" if options.set == ALL else options.set]
    published.need(chosen.archive, chosen.table)
    with published.unpacked(chosen.archive) as models:
        make(chosen, pathlib.Path(options.out).resolve(), models,
             ["--jobs", options.jobs] if options.jobs else [], options.set == ALL)


if __name__ == "__main__":
    foretell.main(main)
