#!/usr/bin/env python3
"""Compares predicted training memory with published A100 measurements.

    scripts/published/compare_training_memory.py [--batches 8,64] [--limit N | --networks A,B]

Traces every network of ../shared/models/timm_torchscript_train.tar.xz in training
mode (SGD with momentum; the publication does not state its optimizer) and
compares the predicted total at the CUDA 11.6 environment with the good rows of
../shared/data/training_memory_timm_a100.csv.gz (GPUMemNet, A100 40 GB), without the
networks that scripts/lib/published.py names as measured otherwise. Prints the
distribution of the error and the worst networks. Needs the shared folder beside
the repository and says so when it is absent. Nothing is fitted here, but the
context of that environment was suggested by an earlier look at the same table.
"""

import argparse
import collections
import dataclasses
import pathlib
import statistics
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

DEVICE, ENVIRONMENT = "a100-sxm4-40gb", "cuda11.6-eager"
CONTEXT_MIB = 1750  # Of that environment on the whole GPU.
FAKETENSOR = tuple(f"faketensor_{when}_mb" for when in
                   ("after_forward", "after_backward", "final"))
EVERY = 7  # Networks of which `sampled` takes one.
MIB = 1000 / 1024  # The table's MB are thousandths of a GiB.


def read_labels(batches):
    """Measured MiB by network and batch."""
    return {key: float(row["memory_max_used_mb"])
            for key, row in good_rows(batches).items()}


def good_rows(batches):
    found = {}
    for row in published.rows(published.TRAINING_MEMORY):
        same = row["model"] not in published.CHANGED_SINCE_MEASURED
        if same and row["status"] == "ok" and int(row["batch"]) in batches:
            found[row["model"], int(row["batch"])] = row
    return found


def print_faketensor(batches, keys):
    """Errors of PyTorch's FakeTensor on the same rows: the largest of what it counts
    after forward, backward and the step, which knows no context and no allocator; then
    with our context added."""
    rows = good_rows(batches)
    for words, context in (("as published", 0), ("with our context", CONTEXT_MIB)):
        errors = [(max(float(rows[key][name] or 0) for name in FAKETENSOR) * MIB
                   + context) / float(rows[key]["memory_max_used_mb"]) - 1
                  for key in keys if rows[key][FAKETENSOR[0]]]
        sizes = list(map(abs, errors))
        print(f"FakeTensor, {words}: {len(errors)} rows, median "
              f"{statistics.median(sizes):.1%}, mean {statistics.mean(sizes):.1%}; "
              f"median signed error {statistics.median(errors):+.1%}")


@dataclasses.dataclass(frozen=True)
class Options:
    """Networks to take, by name with commas between or the first so many; all else."""
    networks: str = ""
    limit: int | None = None
    optimizer: str = "momentum"
    flags: str = ""


def predict(paths, shape, batches, options):
    """(model, batch) -> result of one process of `foretell predict`."""
    document = foretell.run_json(
        "predict", *paths, "--json", "--mode", "training", "--optimizer",
        options.optimizer, *options.flags.split(), "--device", DEVICE, "--environment",
        ENVIRONMENT, "--input",
        published.input_flag(shape, 1), "--batch", ",".join(map(str, batches)),
        accept=(foretell.DONE, foretell.MODEL_FAILED))
    for error in document["errors"]:
        print("failed:", error["message"].replace(str(paths[0].parent), "")[:150])
    return {(pathlib.Path(r["model"]).stem, r["batch"]): r
            for r in document["results"]}


def sampled(labels, every=EVERY):
    """Options for one in `every` networks of those labels."""
    return Options(networks=",".join(sorted({model for model, _ in labels})[::every]))


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def predict_all(batches, options):
    """Results of all networks, one process per input shape."""
    results, groups = {}, collections.defaultdict(list)
    with published.unpacked(published.TRAINING_TRACES) as folder:
        chosen = [row for name, row in published.truth(folder).items()
                  if not options.networks or name in options.networks.split(",")]
        for row in chosen[:options.limit]:
            path = folder / (row["model"] + ".pt")
            if path.exists():
                groups[row["input"]].append(path)
        for shape, paths in sorted(groups.items()):
            results.update(predict(paths, shape, batches, options))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", default="8,64")
    parser.add_argument("--limit", type=int, help="only so many networks")
    parser.add_argument("--networks", default=Options.networks,
                        help="only these, separated by commas")
    parser.add_argument("--optimizer", default=Options.optimizer)
    parser.add_argument("--flags", default=Options.flags,
                        help='of `predict`, e.g. "--set-to-none off"')
    options = parser.parse_args()
    published.need(published.TRAINING_TRACES, published.TRAINING_MEMORY)
    batches = [int(b) for b in options.batches.split(",")]
    labels, results = read_labels(batches), predict_all(batches, options)
    rows = [(abs(results[key]["memory"]["total_mib"] / truth - 1),
             results[key]["memory"]["total_mib"] / truth - 1, *key, truth,
             results[key]["memory"]["interval_mib"])
            for key, truth in labels.items() if key in results]
    errors = [row[0] for row in rows]
    inside = sum(row[5][0] <= row[4] <= row[5][1] for row in rows)
    below = sum(row[5][1] < row[4] for row in rows)
    print(f"{len(rows)} rows, {len({row[2] for row in rows})} networks, batch "
          f"{options.batches}, optimizer {options.optimizer}")
    print(f"absolute error: median {statistics.median(errors):.1%}, mean "
          f"{statistics.mean(errors):.1%}, 90 % {percentile(errors, .9):.1%}, "
          f"worst {max(errors):.1%}; median signed error "
          f"{statistics.median(row[1] for row in rows):+.1%}")
    print(f"measured value inside the interval: {inside / len(rows):.1%}; above "
          f"its upper end (underestimated): {below / len(rows):.1%}")
    print_faketensor(batches, [key for key in labels if key in results])
    print("worst:")
    for row in sorted(rows, reverse=True)[:12]:
        print(f"  {row[2]:36s} batch {row[3]:4d}  measured {row[4]:8.0f} MiB  "
              f"predicted {row[4] * (1 + row[1]):8.0f} MiB  {row[1]:+.1%}")


if __name__ == "__main__":
    foretell.main(main)
