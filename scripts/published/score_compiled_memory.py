#!/usr/bin/env python3
"""Memory under torch.compile against runs on an H200.

    scripts/published/score_compiled_memory.py [--networks FOLDER] [--only REGEX]
        [--by-row]

Runs that scripts/bench/measure_compile.py measured with PyTorch 2.11
(datasets/labels/h200-sxm-141gb/compile.jsonl.gz): eager and compiled, inference and
training steps with AdamW. Each network is built again as it was measured, with its
loss, exported without weights into FOLDER (a temporary one by default; exports that are
there are not made again) and predicted. Compared are, in percent of the measurement,

  allocated, reserved  peaks of two steps after the allocator gave its cache back
  process              what NVML says at the end
  activations          what the forward pass leaves for the backward pass

Prints for every mode of torch.compile, eager included, and kind of step the rows, and of
each error the median and mean size and the signed median; with --by-row every row. Needs
timm, transformers and torchvision. Nothing is fitted here.
"""

import argparse
import collections
import contextlib
import gzip
import hashlib
import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
for folder in ("scripts/lib", "scripts/bench", "python/converters"):
    sys.path.insert(0, str(ROOT / folder))
import compare_allocator  # noqa: E402
import compiled_scores  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

RUNS = ROOT / "datasets/labels/h200-sxm-141gb/compile.jsonl.gz"
DEVICE, TORCH = "h200-sxm-141gb", "2.11"
WHAT = ("allocated", "reserved", "process", "activations")
BLOCK = 512  # The caching allocator rounds to it.
# What a file depends on; the rest of a case are flags.
FIELDS = ("source", "model", "config", "task", "mode", "loss", "batch", "size", "seq",
          "mask", "precision", "use_cache", "attention")


def measured_rows(only):
    with gzip.open(RUNS, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["kind"] == "case" and row["status"] == "ok"
            and re.search(only, row["id"])]
    return sorted(rows, key=lambda row: (row["case"]["model"], row["case"]["mode"]))


def mode_of(case):
    """As compiled_scores has it."""
    return case["compile_mode"] or compiled_scores.EAGER


@contextlib.contextmanager
def exports_in(networks):
    """The folder `networks`, or a temporary one; until the end torchvision can be
    imported by any torch."""
    library = compare_allocator.nms_of_python()
    with tempfile.TemporaryDirectory() as own:
        folder = networks or pathlib.Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    del library


def truth_of(row):
    """In bytes. Gradients, in fp32, are freed between the two readings of which
    activations are the difference; CUDA graphs hide activations."""
    has_graphs = row["compile_mode"] == "reduce-overhead"
    left = row.get("activation_bytes")
    return {"allocated": row["steady"]["peak_allocated"],
            "reserved": row["steady"]["peak_reserved"],
            "process": row["nvml"]["process"],
            "activations": None if has_graphs or left is None
            else left + 4 * row["parameters"]}


def path_of(case, folder):
    """Where the exported network of `case` is."""
    key = json.dumps([case[name] for name in FIELDS], sort_keys=True)
    return folder / f"{case['model']}-{hashlib.sha1(key.encode()).hexdigest()[:12]}.pt2"


def file_of(case, folder):
    """The exported network of `case`, made where it is absent."""
    path = path_of(case, folder)
    if not path.exists():
        write(case, folder, path.stem)
    return path


def write(case, folder, name):
    sys.path.insert(0, str(ROOT / "python"))
    own = sys.modules.pop("foretell")  # The script's; the package has the same name.
    try:
        from foretell import _export
    finally:
        sys.modules["foretell"] = own
    module, inputs = compare_allocator.whole_step(case, compare_allocator.built(case))
    training = case["mode"] == "training"
    program = _export.export(module, inputs, _export.How(training=training)).program
    _export.to_file(program, folder, name, case["mode"])


def flags_of(case):
    flags = ["--mode", case["mode"], "--device", DEVICE, "--torch", TORCH]
    if case["mode"] == "training":
        flags += ["--optimizer", case["optimizer"]]
    if case["precision"] in compare_allocator.AUTOCAST:
        flags += ["--autocast", "--precision",
                  compare_allocator.AUTOCAST[case["precision"]]]
    return [*flags, "--runtime", compiled_scores.runtime_of(mode_of(case))]


def left_by_forward(graph):
    """Bytes at the end of the forward pass beyond those before the step."""
    timeline = graph["memory"]["timeline"]
    size = [-(-storage["bytes"] // BLOCK) * BLOCK for storage in graph["storages"]]
    own = sum(size[event["storage"]] * (1 if event["event"] == "allocate" else -1)
              for event in graph["events"] if event["node"] == 0)
    before = timeline[0]["allocated_after"] - own
    last = [i for i, node in enumerate(graph["nodes"]) if node["phase"] == "forward"][-1]
    return timeline[last]["allocated_after"] - before


def forecast(path, case):
    text = foretell.run("inspect", path, *flags_of(case), "--format", "json")
    graph = json.loads(text)
    return {"allocated": graph["memory"]["allocated_peak"],
            "reserved": graph["memory"]["reserved_peak"],
            "process": 2**20 * graph["figures"]["memory_mib"]["value"],
            "activations": left_by_forward(graph) if case["mode"] == "training"
            else None}


def errors_of(row, folder):
    """By what is compared; None where the network cannot be predicted."""
    try:
        told = forecast(file_of(row["case"], folder), row["case"])
    except Exception as error:  # Whatever an export or a library raises.
        print(f"{row['id']}: {str(error).splitlines()[0]}", file=sys.stderr)
        return None
    truth = truth_of(row)
    return {what: told[what] / truth[what] - 1 for what in WHAT
            if truth[what] and told[what] is not None}


def print_row(row, errors):
    case = row["case"]
    cells = " ".join(f"{what} {100 * errors[what]:+.1f}" for what in errors)
    print(case["model"], case["mode"], case["precision"], case["batch"],
          mode_of(case), cells, flush=True)


def print_table(groups):
    heads = " | ".join(f"{what}: median | mean | signed" for what in WHAT)
    print(f"| mode | step | rows | {heads} |")
    print("|---" * (3 + 3 * len(WHAT)) + "|")
    for (mode, step), rows in sorted(groups.items()):
        cells = " | ".join(published.error_cells(
            [errors[what] for errors in rows if what in errors]) for what in WHAT)
        print(f"| {mode} | {step} | {len(rows)} | {cells} |")


def parse(description):
    """The command line of a scorer of these rows."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--networks", type=pathlib.Path)
    parser.add_argument("--only", default="", help="regular expression of ids")
    parser.add_argument("--by-row", action="store_true")
    return parser.parse_args()


def main():
    options = parse(__doc__)
    groups = collections.defaultdict(list)
    with exports_in(options.networks) as folder:
        for row in measured_rows(options.only):
            errors = errors_of(row, folder)
            if errors is None:
                continue
            groups[mode_of(row["case"]), row["case"]["mode"]].append(errors)
            if options.by_row:
                print_row(row, errors)
    print_table(groups)


if __name__ == "__main__":
    foretell.main(main)
