#!/usr/bin/env python3
"""What strangers measured beside what foretell predicts for the same commands.

    scripts/published/score_field_reports.py [--networks FOLDER] [--source WORD]
        [--by-report] [--csv FILE]

Reads field_reports.csv of ../shared: figures that public threads, READMEs and logs
state (nvidia-smi, reserved and allocated memory, step and inference times, runs that
fitted or did not), each with the command of its prediction. Prints in Markdown, for
each kind of figure, rows, median and mean absolute error and the signed median in
percent, and of the printed interval the share of rows that it holds and its median
width (upper over lower end): of all sources, and of those whose names' CRC32 three
divides, by which nothing is to be decided. Then how many verdicts of `fits` are
right, and what was not asked and why. `--by-report` adds a line for each report, the
worst last; `--csv` writes the pairs. Nothing is fitted here.

The networks are the zoo's or are exported without weights (scripts/lib/
field_networks.py, which takes ten minutes), into FOLDER if given, where they are
found again. An interval of reserved memory is the total's without context and NCCL's
buffers; allocated memory has none. Needs torch and transformers; torchvision and timm
for a few networks.
"""

import argparse
import collections
import csv
import dataclasses
import functools
import math
import pathlib
import re
import shlex
import statistics
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import field_networks  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402

REPORTS = published.SHARED / "field_reports.csv"
VERDICTS = "OOM yes-no"
VARIANT = "tests a diagnosis"
# The commands name cuda12-lazy where no environment was near.
STOPGAP, EARLY, FIRST_WITH_CUDA11 = "cuda12-lazy", "cuda10", (1, 8)
# What the commands do not say, for want of a flag when they were written, by the
# beginning of a report's name: what the sources' own loops do.
LOOPS = {
    # zero_grad() stands between forward and backward pass (pytorch-memory-optim).
    "raschka-": "--late-zero-grad",
    # utils/torch_utils.py, profile(): x.requires_grad = True.
    "yolov5": "--input-grad",
    # The loop holds the last graph while it makes the next.
    "sd21-vae-grad": "--keep-result",
    # transformers' Trainer: fms-acceleration, peft#675.
    "mistral-": "--loss-in-function",
    "PowerLM-": "--loss-in-function",
    "mixtral-": "--loss-in-function",
    "santacoder-": "--loss-in-function",
    "roberta-large-": "--loss-in-function",
}
KINDS = ("nvidia-smi, PyTorch 2", "nvidia-smi, older", "nvidia-smi, FSDP", "reserved",
         "allocated", "step time", "inference time")


@dataclasses.dataclass(frozen=True)
class Compared:
    """A report's figure with its prediction; `ends` is None without an interval."""
    kind: str
    row: dict
    predicted: float
    ends: tuple | None

    @property
    def measured(self):
        return float(self.row["value"])

    @property
    def error(self):
        return self.predicted / self.measured - 1

    @property
    def is_held(self):
        low, high = self.ends
        return low <= self.measured <= high


def kind_of(row):
    """One of KINDS."""
    if row["kind"] == "ms":
        return "step time" if "--mode training" in row["command"] else "inference time"
    if row["kind"] != "nvidia-smi":
        return row["kind"]
    if "--parallel fsdp" in row["command"]:
        return "nvidia-smi, FSDP"
    is_new = row["torch"].startswith("2")
    return "nvidia-smi, PyTorch 2" if is_new else "nvidia-smi, older"


def is_left_out(row):
    return zlib.crc32(row["source"].encode()) % 3 == 0


def words_of(row):
    """The report's command without the program."""
    words = shlex.split(row["command"])[1:]
    version = tuple(map(int, row["torch"].split("."))) if row["torch"] else ()
    if version and version < FIRST_WITH_CUDA11:
        words = [EARLY if word == STOPGAP else word for word in words]
    if STOPGAP in words:  # A guess: `predict` guesses the same.
        del words[words.index(STOPGAP) - 1:words.index(STOPGAP) + 1]
    loop = [flag for name, flag in LOOPS.items() if row["id"].startswith(name)]
    if "--loss-in-function" in loop and "--recompute" in words:
        # transformers' checkpoints are reentrant by default, its FSDP is the first.
        words = [re.sub(r"^fsdp1?:(\d+)$", r"fsdp1:\1,reentrant", word)
                 for word in words]
    return [*words, *(flag for flag in loop if flag not in words)]


def why_not(row):
    """Why a report is not asked; empty if it is."""
    if row["kind"] == "variant":
        return VARIANT
    model = words_of(row)[1]
    if model.startswith("zoo:"):
        return ""
    return field_networks.why_not(pathlib.Path(model).stem)


def figures(row, result):
    """Predicted value and the ends of its interval, None without one."""
    if row["kind"] == "ms":
        latency = result["latency"]
        return latency["ms"], tuple(latency["interval_ms"])
    memory = result["memory"]
    if row["kind"] == "allocated":
        return memory["allocated_mib"], None
    low, high = memory["interval_mib"]
    if row["kind"] == "reserved":
        outside = memory["total_mib"] - memory["reserved_mib"]
        return memory["reserved_mib"], (max(0, low - outside), high - outside)
    return memory["on_device_mib"] or memory["total_mib"], (low, high)


class Predictor:
    """Asks each command once and exports each network once."""

    def __init__(self, folder):
        self.folder = folder

    def words(self, row):
        """The command's words with the path of an exported network."""
        program, model, *flags = words_of(row)
        if model.startswith("zoo:"):
            return program, model, *flags
        path = self.folder / model
        if not path.exists():
            field_networks.export(path.stem, path)
        return program, str(path), *flags

    @functools.cache
    def result(self, words):
        return foretell.run_json(*words)["results"][0]

    def compared(self, row):
        predicted, ends = figures(row, self.result(self.words(row)))
        return Compared(kind_of(row), row, predicted, ends)

    def is_right(self, row):
        """Whether `fits` answers as the run went."""
        words = self.words(row)
        outcome = "OOM"
        try:
            foretell.run(*words)
            outcome = "fits"
        except foretell.Failure as failure:
            if failure.status != foretell.DOES_NOT_FIT:
                raise
        return outcome == row["value"]


def print_table(title, pairs):
    print(f"\n| {title} | rows | median | mean | signed | held | width |\n"
          "|---|---|---|---|---|---|---|")
    for kind in KINDS:
        of_kind = [pair for pair in pairs if pair.kind == kind]
        with_ends = [pair for pair in of_kind if pair.ends]
        held = width = "–"
        if with_ends:
            held = f"{100 * statistics.fmean(p.is_held for p in with_ends):.0f}"
            width = statistics.median(high / max(low, 1)
                                      for low, high in (p.ends for p in with_ends))
            width = f"×{width:.2f}"
        errors = [pair.error for pair in of_kind]
        print(f"| {kind} | {len(of_kind)} | {published.error_cells(errors)} | "
              f"{held} | {width} |")


def print_reports(pairs):
    print("\n| report | kind | measured | predicted | ratio | interval |\n"
          "|---|---|---|---|---|---|")
    for pair in sorted(pairs, key=lambda pair: abs(math.log1p(pair.error))):
        ends = "{:.0f} – {:.0f}".format(*pair.ends) if pair.ends else "–"
        left_out = ", left out" if is_left_out(pair.row) else ""
        print(f"| {pair.row['id']}{left_out} | {pair.kind} | {pair.measured:g} | "
              f"{pair.predicted:.6g} | {1 + pair.error:.3f} | {ends} |")


def print_verdicts(verdicts):
    wrong = [row["id"] for row, is_right in verdicts if not is_right]
    print(f"\n{len(verdicts) - len(wrong)} of {len(verdicts)} verdicts are right"
          f"{'; wrong: ' if wrong else ''}{', '.join(wrong)}")


def print_refused(refused):
    reasons = collections.defaultdict(list)
    for row, reason in refused:
        reasons[reason].append(row["id"])
    print("\n| not asked, because | reports | which |\n|---|---|---|")
    for reason, reports in reasons.items():
        print(f"| {reason} | {len(reports)} | {', '.join(reports)} |")


def write_pairs(path, pairs):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("report", "kind", "left_out", "measured", "predicted", "low",
                        "high"))
        for pair in pairs:
            table.writerow((pair.row["id"], pair.kind, int(is_left_out(pair.row)),
                            pair.measured, pair.predicted, *(pair.ends or ("", ""))))


def run(rows, folder):
    """Pairs, verdicts with whether they are right, and reports not asked and why."""
    predictor = Predictor(folder)
    pairs, verdicts, refused = [], [], []
    for row in rows:
        reason = why_not(row)
        if reason:
            refused.append((row, reason))
            continue
        try:
            if row["kind"] == VERDICTS:
                verdicts.append((row, predictor.is_right(row)))
            else:
                pairs.append(predictor.compared(row))
        except foretell.Failure as failure:
            last = re.sub(r"\s+", " ", str(failure).splitlines()[-1])
            refused.append((row, f"foretell refuses: {last}"))
    return pairs, verdicts, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", type=pathlib.Path,
                        help="folder that keeps exported networks")
    parser.add_argument("--source", default="", help="a word of the source's name")
    parser.add_argument("--by-report", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    published.need(REPORTS)
    rows = [row for row in published.rows(REPORTS) if options.source in row["source"]]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.networks or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        pairs, verdicts, refused = run(rows, folder)
    print_table("all sources", pairs)
    print_table("sources left out", [p for p in pairs if is_left_out(p.row)])
    print_verdicts(verdicts)
    print_refused(refused)
    if options.by_report:
        print_reports(pairs)
    if options.csv:
        write_pairs(options.csv, pairs)


if __name__ == "__main__":
    foretell.main(main)
