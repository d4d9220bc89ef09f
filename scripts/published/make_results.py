#!/usr/bin/env python3
"""Trains and judges predictors on published measurements, as one table.

    scripts/published/make_results.py latency|training-memory|ablation --dataset d.sqlite \\
        --out FOLDER

The dataset is made by scripts/published/make_label_set.py. Every method predicts each label
without having seen its family, its network, or (latency) its device; "random" is
the test part of a 70/15/15 split of the points. Cells are median / mean of the
absolute percentage error. Results that are in FOLDER are not repeated, so that it
goes on where it was stopped. --methods and --splits choose rows and columns, --seed
the networks' first weights and the order of samples (a FOLDER per seed).
"ablation" changes one choice at a time of the paper's network on the latency set.
"""

import argparse
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

# The five networks of the paper correct the analytic prediction.
HYBRID = ["--prior", "analytic", "--prior-features", "--hidden", "64",
          "--learning-rate", "2e-3", "--schedule", "cosine", "--warmup", "1",
          "--decoupled-weight-decay", "--weight-decay", "0.01", "--clip", "0.1",
          "--huber-delta", "0.1", "--batch-size", "16"]
# Of what predict uses: networks whose random numbers cancel out.
TOGETHER = ["--members", "5"]
NETWORKS = ("pmgns", "gcn", "gat", "gin", "mlp")


class Set:
    """What is trained on a label set, and with which flags."""

    def __init__(self, target, common, methods, splits):
        self.target = target
        self.common = common
        self.methods = methods
        self.splits = splits


def hybrids(*flags):
    return {f"analytic x {name}": (["--network", name, *HYBRID, *flags], 4)
            for name in NETWORKS}


def ablations():
    """PMGNS on the latency set, the first row with every choice as it is."""
    seen = ["--network", "pmgns", "--device-features", "--environment-features",
            "framework,memory_format", "--epochs", "6"]
    base = [*HYBRID, "--node-costs", "--pooling", "prior"]
    alone = [flag for flag in HYBRID
             if flag not in ("--prior", "analytic", "--prior-features")]

    def changed(name, value, flags=base):
        if name not in flags:
            return [*flags, name, value]
        at = flags.index(name) + 1
        return [*flags[:at], value, *flags[at + 1:]]

    rows = {
        "as in the tables": base,
        "edges: chain": changed("--edges", "chain"),
        "width 32": changed("--hidden", "32"),
        "width 128": changed("--hidden", "128"),
        "one block of layers": changed("--graph-blocks", "1"),
        "pooling: sum": changed("--pooling", "sum"),
        "pooling: mean": changed("--pooling", "mean"),
        "pooling: max": changed("--pooling", "max"),
        "no prior, sum": [*alone, "--pooling", "sum"],
        "no prior, sum, the paper's target scale":
            [*alone, "--pooling", "sum", "--target-scale", "dippm"],
    }
    return {name: ([*seen, *flags], 0) for name, flags in rows.items()}


# Each method: flags and the number of folds for families and networks.
SETS = {
    "latency": Set(
        "latency",
        ["--device", "all"],
        {"analytic": None,
         "kernels, stage 1 alone": (["--network", "kernels", "--heads", "0"], 8),
         "kernels": (["--network", "kernels", *TOGETHER], 8),
         "portable-kernels": (["--network", "portable-kernels", *TOGETHER], 8),
         "portable-kernels with analytic":
             (["--network", "portable-kernels", *TOGETHER, "--prior",
               "analytic"], 8),
         "pmgns-kernels": (["--network", "pmgns-kernels"], 8),
         "pmgns-kernels without edges":
             (["--network", "pmgns-kernels", "--edges", "none"], 8),
         **hybrids("--node-costs", "--pooling", "prior", "--epochs", "6",
                   "--device-features", "--environment-features",
                   "framework,memory_format")},
        ("random", "model", "family", "device")),
    "training-memory": Set(
        "memory",
        ["--device", "all", "--environment", "cuda11.6-eager"],
        {"analytic": None,
         "replay, stage 1 alone": (["--network", "replay", "--heads", "0"], 8),
         "replay": (["--network", "replay", *TOGETHER], 8),
         **hybrids("--epochs", "6")},
        ("random", "model", "family")),
    "ablation": Set("latency", ["--device", "all"], ablations(), ("random",)),
}
SPLIT_NAMES = {"random": "random 70/15/15", "model": "networks left out",
               "family": "families left out", "device": "devices left out"}


def judge(chosen, flags, folds, split, options, folder):
    """The evaluation of one cell, as `foretell evaluate --json` gives it."""
    data = ["--dataset", options.dataset, "--threads", options.threads]
    if flags is None:
        device = chosen.common[:2]
        environment = (["--environment", "cuda11.6-eager"]
                       if chosen.target == "memory" else [])
        return foretell.run_json("evaluate", "--analytic", *data, *device,
                                 *environment, "--split", "none", "--json")
    learn = [*data, *chosen.common, "--targets", chosen.target, "--seed",
             options.seed, *flags]
    if split == "random":
        foretell.run("train", *learn, "--split", "random", "--out", folder,
                     "--continue")
        return foretell.run_json(
            "evaluate", "--checkpoint", folder / "best.safetensors", *data,
            *chosen.common[:2], "--split", "random", "--part", "test", "--json")
    count = 4 if split == "device" else options.folds or folds
    return foretell.run_json("cross-validate", *learn, "--split", "none",
                             "--folds", split, "--k", count, "--out", folder,
                             "--json")


def cell(evaluation):
    found = evaluation["targets"][0]
    return f"{100 * found['median_ape']:.2f} / {100 * found['mape']:.2f}"


def chosen_of(given, known, what):
    names = given.split(",") if given else list(known)
    for name in names:
        if name not in known:
            sys.exit(f"{what} '{name}'; there are: {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--methods", help="separated by commas; default: all")
    parser.add_argument("--splits", help="separated by commas; default: all")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--folds", type=int,
                        help="of families and networks; default: as in the tables")
    options = parser.parse_args()
    chosen = SETS[options.set]
    splits = chosen_of(options.splits, chosen.splits, "split")
    short = {name.split(" x ")[-1].replace(", stage 1 alone", "-sum"): name
             for name in chosen.methods}
    methods = [short[name]
               for name in chosen_of(options.methods, short, "method")]
    options.out.mkdir(parents=True, exist_ok=True)
    lines = ["| | " + " | ".join(SPLIT_NAMES[split] for split in splits) + " |",
             "|---|" + "---|" * len(splits)]
    for method in methods:
        flags, folds = chosen.methods[method] or (None, 0)
        cells = []
        for split in splits:
            # Four trainings more per network, for a column that none is good at.
            if split == "device" and " x " in method:
                cells.append("")
                continue
            # What learns nothing is the same whatever is left out.
            stem = (f"{method}-{split}" if flags else method).replace(" ", "_").replace(",", "")
            kept = options.out / f"{stem}.json"
            if not kept.exists():
                found = judge(chosen, flags, folds, split, options,
                              options.out / stem)
                kept.write_text(json.dumps(found, indent=1) + "\n")
                print(f"{method}, {split}: {cell(found)}", file=sys.stderr,
                      flush=True)
            cells.append(cell(json.loads(kept.read_text())))
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    table = "\n".join(lines) + "\n"
    (options.out / "table.md").write_text(table)
    print(table, end="")


if __name__ == "__main__":
    foretell.main(main)
