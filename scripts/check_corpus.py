#!/usr/bin/env python3
"""Holds foretell against the corpus of weight-free vision networks.

    scripts/check_corpus.py --foretell build/release/foretell [ARCHIVE]

ARCHIVE is `timm_onnx.tar.xz` (default: `../shared/models/timm_onnx.tar.xz`
beside the repository), a folder is taken as the unpacked archive. Every file is
read, traced and predicted at batch 1 and 8; then

* parameters must equal the file's floating-point initializers within 0.1 %;
* MACs must equal those of `truth.csv` within 0.5 %, at both batches;
* outputs must have the shape of `truth.csv`;
* every network of `truth.csv` must have its result.

`scripts/corpus_exceptions.csv` names the networks that differ and says why: the
share by which MACs may and must differ is part of the row, so that an exception
does not hide a second difference. Prints all exceptions and everything that is
unexplained; the exit status says whether anything was.

`--sample N` takes every (count / N)-th network only.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT_ARCHIVE = ROOT.parent / "shared" / "models" / "timm_onnx.tar.xz"
EXCEPTIONS = pathlib.Path(__file__).with_name("corpus_exceptions.csv")
BATCHES = (1, 8)
TRUTH_BATCH = 2
PARAMETER_TOLERANCE = 0.001
MACS_TOLERANCE = 0.005
FILES_PER_PROCESS = 64
PROCESSES = 2


# ---- Inputs ------------------------------------------------------------------

def unpack(archive, folder):
    """The folder that holds the files of `archive`."""
    if archive.is_dir():
        return archive
    if not archive.exists():
        sys.exit(f"{archive}: not found; name the archive or its folder")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return pathlib.Path(folder)


def read_truth(folder, sample):
    """Rows of truth.csv that have a file, by model."""
    with open(folder / "truth.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
    if sample:
        rows = rows[::max(1, len(rows) // sample)][:sample]
    return {row["model"]: row for row in rows}


def read_exceptions():
    """Rows of corpus_exceptions.csv by (model, quantity)."""
    with open(EXCEPTIONS, newline="") as file:
        return {(row["model"], row["quantity"]): row
                for row in csv.DictReader(file)}


# ---- Running foretell --------------------------------------------------------

def command_for(foretell, folder, models):
    batches = ",".join(str(batch) for batch in BATCHES)
    files = [str(folder / f"{model}.onnx") for model in models]
    return [str(foretell), "predict", "--json", "--batch", batches, *files]


def start(foretell, folder, models):
    """A running foretell and the file that takes what it prints."""
    output = tempfile.TemporaryFile("w+")
    process = subprocess.Popen(command_for(foretell, folder, models),
                               stdout=output, stderr=subprocess.DEVNULL)
    return process, output


def collect(process, output, models, report):
    """Adds what one process has printed to `report`."""
    status = process.wait()
    output.seek(0)
    try:
        printed = json.load(output)
    except ValueError:
        report["errors"].append({
            "model": f"{models[0]} ... {models[-1]}", "code": "process",
            "message": f"exit status {status} without JSON"})
        return
    report["results"] += printed["results"]
    report["errors"] += printed["errors"]


def predict_all(foretell, folder, models):
    """Results and errors of all models, from as few processes as practical."""
    report = {"results": [], "errors": []}
    chunks = [models[i:i + FILES_PER_PROCESS]
              for i in range(0, len(models), FILES_PER_PROCESS)]
    running = []
    for chunk in chunks:
        if len(running) == PROCESSES:
            collect(*running.pop(0), report)
        running.append((*start(foretell, folder, chunk), chunk))
    for item in running:
        collect(*item, report)
    return report


# ---- Comparing ---------------------------------------------------------------

def shape_of(text, batch):
    """"2x1000" at another batch, as a list."""
    dims = [int(dim) for dim in text.split("x")]
    if dims[0] == TRUTH_BATCH:
        dims[0] = batch
    return dims


def differences(result, truth):
    """(quantity, got, expected, share) of everything out of tolerance."""
    batch = result["batch"]
    expected_macs = int(truth["macs_batch2"]) * batch // TRUTH_BATCH
    quantities = (
        ("parameters", result["parameters"],
         int(truth["initializer_elements"]), PARAMETER_TOLERANCE),
        ("macs", result["static_features"]["macs"], expected_macs,
         MACS_TOLERANCE))
    for quantity, got, expected, tolerance in quantities:
        share = got / expected - 1
        if abs(share) > tolerance:
            yield quantity, got, expected, share
    got = result["outputs"][0]["shape"]
    expected = shape_of(truth["output_batch2"], batch)
    if got != expected:
        yield "output", got, expected, None


def is_explained(share, row, tolerance=MACS_TOLERANCE):
    """Whether an exception names just this difference."""
    if row is None:
        return False
    return share is None or abs(share - float(row["share"])) <= tolerance


def describe(model, result, quantity, got, expected, share):
    by = "" if share is None else f" ({share:+.2%})"
    return (f"{model} batch {result['batch']}: {quantity} {got}, "
            f"truth {expected}{by}")


def compare(report, truth, exceptions):
    """Explained and unexplained differences as lines of text."""
    explained, unexplained, used = [], [], set()
    for result in report["results"]:
        model = pathlib.Path(result["model"]).stem
        for difference in differences(result, truth[model]):
            line = describe(model, result, *difference)
            key = (model, difference[0])
            if is_explained(difference[3], exceptions.get(key)):
                explained.append(f"{line}: {exceptions[key]['reason']}")
                used.add(key)
            else:
                unexplained.append(line)
    stale = [key for key in exceptions if key[0] in truth and key not in used]
    unexplained += [f"{model}: {quantity} no longer differs; remove its row "
                    f"from {EXCEPTIONS.name}" for model, quantity in stale]
    return explained, unexplained


def missing(report, truth):
    """Networks without a result, with the error that foretell gave."""
    done = {(pathlib.Path(result["model"]).stem, result["batch"])
            for result in report["results"]}
    lines = [f"{error['model']}: {error['code']}: {error['message']}"
             for error in report["errors"]]
    lines += [f"{model} batch {batch}: no result"
              for model in truth for batch in BATCHES
              if (model, batch) not in done]
    return lines


# ---- Printing ----------------------------------------------------------------

def print_section(title, lines):
    print(f"{title}: {len(lines)}")
    for line in lines:
        print(f"  {line}")


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", nargs="?", type=pathlib.Path,
                        default=DEFAULT_ARCHIVE)
    parser.add_argument("--foretell", type=pathlib.Path, required=True,
                        help="the built program")
    parser.add_argument("--sample", type=int, default=0,
                        help="only so many networks, evenly spread")
    parser.add_argument("--save", type=pathlib.Path,
                        help="write foretell's combined JSON here")
    return parser.parse_args(argv)


def main(argv):
    arguments = parse_arguments(argv)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        folder = unpack(arguments.archive, scratch)
        truth = read_truth(folder, arguments.sample)
        report = predict_all(arguments.foretell, folder, sorted(truth))
    if arguments.save:
        arguments.save.write_text(json.dumps(report))
    explained, unexplained = compare(report, truth, read_exceptions())
    failures = missing(report, truth)
    print_section("explained exceptions", explained)
    print_section("unexplained differences", unexplained)
    print_section("errors", failures)
    print(f"{len(truth)} networks at batch {BATCHES} in "
          f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if unexplained or failures else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
