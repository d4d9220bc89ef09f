#!/usr/bin/env python3
"""Holds foretell against two corpora of weight-free vision networks.

    scripts/published/check_corpus.py [ARCHIVE...]

ARCHIVE is `timm_onnx.tar.xz` or `timm_torchscript_train.tar.xz` (default: both,
in ../shared/models beside the repository; one that is absent is named and left
out) or a folder that holds what is in one of them.

* Every ONNX file is predicted at batch 1 and 8. Parameters must equal the
  file's floating-point initializers within 0.1 %, MACs those of truth.csv within
  0.5 %, outputs must have the shape of truth.csv.
* Every TorchScript training trace is predicted at batch 2 in training mode.
  Parameters must equal the module's. MACs are held against truth.csv of the
  ONNX corpus where that has the network and is checked too.
* Every network of a truth.csv must have its results.

corpus_exceptions.csv beside this file names the networks whose MACs differ and
gives the two quantities that explain it, so that an exception hides no second
difference; with them foretell must agree within 0.05 %. docs/corpus.md tells what
they are.
Prints all exceptions and everything that is unexplained; the exit status says
whether anything was.

`--sample N` takes about N networks of each corpus only, evenly spread.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import published  # noqa: E402

DEFAULT_ARCHIVES = [published.ONNX_NETWORKS, published.TRAINING_TRACES]
EXCEPTIONS = pathlib.Path(__file__).with_name("corpus_exceptions.csv")
ONNX_BATCHES = (1, 8)
TRUTH_BATCH = 2
PARAMETER_TOLERANCE = 0.001
MACS_TOLERANCE = 0.005
EXPLAINED_TOLERANCE = 0.0005
FILES_PER_PROCESS = 40
PROCESSES = 2

# A corpus after its run: `truth` and `results` are by model.
Corpus = collections.namedtuple("Corpus", "format truth results errors")
# Networks that one process predicts with the same arguments.
Job = collections.namedtuple("Job", "arguments files")


# ---- Inputs ------------------------------------------------------------------

def read_truth(folder, sample):
    """Rows of truth.csv that have a file, by model."""
    rows = [row for row in published.truth(folder).values()
            if row["status"] == "ok"]
    step = max(1, len(rows) // sample) if sample else 1
    return {row["model"]: row for row in rows[::step]}


def read_exceptions():
    """Rows of corpus_exceptions.csv by model."""
    return {row["model"]: row for row in published.rows(EXCEPTIONS)}


# ---- Running foretell --------------------------------------------------------

def split(arguments, files):
    return [Job(arguments, files[i:i + FILES_PER_PROCESS])
            for i in range(0, len(files), FILES_PER_PROCESS)]


def onnx_jobs(folder, truth):
    batches = ",".join(str(batch) for batch in ONNX_BATCHES)
    return split(["--batch", batches],
                 [folder / f"{model}.onnx" for model in truth])


def torchscript_jobs(folder, truth):
    """One group per input shape: a trace does not tell its own."""
    groups = collections.defaultdict(list)
    for model, row in truth.items():
        groups[row["input"]].append(folder / f"{model}.pt")
    jobs = []
    for shape, files in groups.items():
        jobs += split(["--mode", "training", "--input",
                       published.input_flag(shape, TRUTH_BATCH)], files)
    return jobs


def predict(job):
    """What one process prints for a job; its failure as an error of the job."""
    try:
        return foretell.run_json(
            "predict", "--json", *job.arguments, *job.files,
            accept=(foretell.DONE, foretell.MODEL_FAILED))
    except foretell.Failure as failure:
        return {"results": [], "errors": [{
            "model": f"{job.files[0]} ... {job.files[-1]}", "code": "process",
            "message": str(failure)}]}


def run(jobs):
    """Results and errors of all jobs, two processes at a time."""
    foretell.program("predict")  # found before two threads ask for it
    with concurrent.futures.ThreadPoolExecutor(PROCESSES) as pool:
        reports = list(pool.map(predict, jobs))
    return {kind: [one for report in reports for one in report[kind]]
            for kind in ("results", "errors")}


def run_corpus(folder, sample):
    truth = read_truth(folder, sample)
    is_onnx = "macs_batch2" in next(iter(truth.values()))
    jobs = onnx_jobs if is_onnx else torchscript_jobs
    report = run(jobs(folder, truth))
    results = collections.defaultdict(list)
    for result in report["results"]:
        results[pathlib.Path(result["model"]).stem].append(result)
    return Corpus("onnx" if is_onnx else "torchscript", truth, results,
                  report["errors"])


# ---- Comparing ---------------------------------------------------------------

def share(got, expected):
    return got / expected - 1


def shape_of(text, batch):
    """"2x1000" at another batch, as a list."""
    dims = [int(dim) for dim in text.split("x")]
    if dims[0] == TRUTH_BATCH:
        dims[0] = batch
    return dims


def expected_macs(truth, batch, exception):
    """MACs of truth.csv at `batch`, with what it leaves out put back.

    `uncounted_attention_macs` (at truth's batch) grow with the batch;
    `macs_per_pass` are done once, whatever the batch.
    """
    counted = int(truth["macs_batch2"])
    uncounted = int(exception["uncounted_attention_macs"]) if exception else 0
    per_pass = int(exception["macs_per_pass"]) if exception else 0
    per_image = (counted + uncounted - per_pass) / TRUTH_BATCH
    return per_pass + per_image * batch


def plain_differences(result, truth):
    """Lines on everything but MACs that is not as truth.csv says."""
    elements = int(truth.get("initializer_elements") or truth["parameters"])
    if abs(share(result["parameters"], elements)) > PARAMETER_TOLERANCE:
        yield f"parameters {result['parameters']}, truth {elements}"
    if "output_batch2" in truth:
        shape = result["outputs"][0]["shape"]
        expected = shape_of(truth["output_batch2"], result["batch"])
        if shape != expected:
            yield f"output {shape}, truth {expected}"


def macs_line(result, truth, exception):
    """(line, whether it is explained) on the MACs; None where they agree."""
    got = result["static_features"]["macs"]
    raw = share(got, expected_macs(truth, result["batch"], None))
    if exception is None and abs(raw) <= MACS_TOLERANCE:
        return None
    line = f"macs {got}, {raw:+.2%} against truth"
    if exception is None:
        return line, False
    rest = share(got, expected_macs(truth, result["batch"], exception))
    return (f"{line}, {rest:+.3%} when explained: {exception['reason']}",
            abs(rest) <= EXPLAINED_TOLERANCE)


def compare(corpus, macs_truth, exceptions):
    """Explained and unexplained differences as lines of text."""
    explained, unexplained = [], []
    for model, results in sorted(corpus.results.items()):
        for result in results:
            head = f"{model} {corpus.format} batch {result['batch']}: "
            unexplained += [
                head + line
                for line in plain_differences(result, corpus.truth[model])]
            if model not in macs_truth:
                continue
            macs = macs_line(result, macs_truth[model], exceptions.get(model))
            if macs:
                (explained if macs[1] else unexplained).append(head + macs[0])
    return explained, unexplained


def stale_exceptions(corpus, exceptions):
    """Rows of the table for networks that agree without them."""
    lines = []
    for model in sorted(set(exceptions) & set(corpus.results)):
        if not any(macs_line(result, corpus.truth[model], None)
                   for result in corpus.results[model]):
            lines.append(
                f"{model}: agrees now; remove its row from {EXCEPTIONS.name}")
    return lines


def failures(corpus):
    """foretell's errors, and networks that have too few results."""
    lines = [f"{error['model']}: {error['code']}: {error['message']}"
             for error in corpus.errors]
    wanted = len(ONNX_BATCHES) if corpus.format == "onnx" else 1
    lines += [f"{model} {corpus.format}: {len(corpus.results[model])} results, "
              f"expected {wanted}"
              for model in corpus.truth
              if len(corpus.results[model]) != wanted]
    return lines


# ---- Printing ----------------------------------------------------------------

def print_section(title, lines):
    print(f"{title}: {len(lines)}")
    for line in lines:
        print(f"  {line}")


def report_on(corpora):
    """Prints all findings; True when everything agrees or is explained."""
    exceptions = read_exceptions()
    macs_truth = {}
    explained, unexplained, errors = [], [], []
    for corpus in corpora:
        if corpus.format == "onnx":
            macs_truth.update(corpus.truth)
            unexplained += stale_exceptions(corpus, exceptions)
    for corpus in corpora:
        lines = compare(corpus, macs_truth, exceptions)
        explained += lines[0]
        unexplained += lines[1]
        errors += failures(corpus)
    print_section("explained exceptions", explained)
    print_section("unexplained differences", unexplained)
    print_section("errors", errors)
    return not unexplained and not errors


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="*", type=pathlib.Path,
                        default=DEFAULT_ARCHIVES)
    parser.add_argument("--sample", type=int, default=0)
    return parser.parse_args(argv)


def main(argv):
    arguments = parse_arguments(argv)
    began = time.monotonic()
    present = [path for path in arguments.archives if path.exists()]
    for path in arguments.archives:
        if path not in present:
            print(f"{path}: absent, not checked")
    if not present:
        sys.exit("no corpus to check")
    corpora = []
    for path in present:
        with published.unpacked(path) as folder:
            corpora.append(run_corpus(folder, arguments.sample))
    agrees = report_on(corpora)
    for corpus in corpora:
        print(f"{corpus.format}: {len(corpus.truth)} networks")
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(0 if agrees else 1)


if __name__ == "__main__":
    foretell.main(lambda: main(sys.argv[1:]))
