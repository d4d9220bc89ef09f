#!/usr/bin/env python3
"""Writes docs/onnx_operators.md from the operator tables and a conformance run.

    scripts/generate/update_onnx_operators_doc.py [--check] [--runner PROGRAM]
                                         [--cases DIR] [--results JSON]

PROGRAM is the built onnx_conformance, DIR what scripts/generate/generate_onnx_cases.py
wrote, JSON what a run left; all three default to those of build/release
(FORETELL_PRESET). Cases are written where there are none, and run where there is
no JSON or an older one than PROGRAM. `--check` writes nothing and fails with a
diff when the page is out of date; exit status 77 means that the cases are of
another onnx release than the page, so that nothing was compared.
"""

import argparse
import collections
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).absolute().parents[2]
BUILT = (ROOT / "build" / os.environ.get("FORETELL_PRESET", "release") / "tests"
         / "conformance")
PAGE = ROOT / "docs" / "onnx_operators.md"
SKIPPED = 77
EXPANDED = re.compile(r"_expanded(_ver\d+)?$")

# Why foretell refuses a case, by what its message says; the first row counts.
REASONS = (
    (re.compile("String|RegexFullMatch|LabelEncoder|type STRING"),
     "works on strings, which no tensor of ATen holds"),
    (re.compile("TfIdfVectorizer"), "counts words before a network begins"),
    (re.compile("ImageDecoder"), "decodes image files"),
    (re.compile(r"ai\.onnx\.ml::"), "is no network but a classifier or a tree"),
    (re.compile(r"ai\.onnx\.preview\.training::"),
     "is a training step as a graph, which foretell derives itself"),
)

INTRODUCTION = """\
# ONNX operators

Made by `scripts/generate/update_onnx_operators_doc.py`; do not edit. Counts are of the
backend test cases of onnx {version}, run on the CPU.

An operator is lowered for the opset versions of its domain that the second
column names. *Passed* and *refused* count the cases made for the operator,
those of its function body included. A refused case ends with an error that
names the operator or element type that foretell lacks; no case gives a wrong
result.

A quantised file runs as eager PyTorch could: weights stay packed, 4-bit ones in half a
byte. Blocks and numbers of less than 8 bits (`MatMulNBits`, `DequantizeLinear` with
`block_size` or INT4) are unpacked by one kernel into a temporary of the activations'
type, as `--quantize awq` does, and the plain layer multiplies by it. Operators on 8-bit
activations dequantise, compute and quantise again. onnxruntime's kernels on codes are
not predicted.
"""


# ---- Gathering ---------------------------------------------------------------

def list_operators(runner):
    """Version ranges by qualified name, from the runner's operator tables."""
    printed = subprocess.run([runner, "--list-operators"], check=True,
                             capture_output=True, text=True).stdout
    ranges = collections.defaultdict(list)
    for line in printed.splitlines():
        row = json.loads(line)
        name = row["name"]
        if row["domain"]:
            name = f"{row['domain']}::{name}"
        ranges[name].append((row["first"], row["last"]))
    return {name: sorted(pairs, key=lambda pair: pair[0])
            for name, pairs in ranges.items()}


def is_newer(results, runner):
    return (results.exists()
            and results.stat().st_mtime >= runner.stat().st_mtime)


def write_cases(folder):
    """Needs the package onnx, which scripts/setup puts into .venv."""
    python = ROOT / ".venv" / "bin" / "python"
    subprocess.run([python if python.exists() else sys.executable,
                    "-W", "ignore", ROOT / "scripts" / "generate" / "generate_onnx_cases.py",
                    folder], check=True)


def run_cases(runner, cases):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([runner, cases, "--json", file.name],
                       stdout=subprocess.DEVNULL, check=False)
        return json.load(file)


def operator_of(case, operators_by_name):
    """The operator that a node case was made for; None if there is no one."""
    base = EXPANDED.sub("", case["name"])
    operators = operators_by_name.get(base, case["operators"])
    return operators[0] if len(operators) == 1 else None


def count_by_operator(cases):
    """Counter of outcomes by qualified operator name."""
    node_cases = [case for case in cases if case["group"] == "node"]
    operators_by_name = {case["name"]: case["operators"]
                         for case in node_cases}
    counts = collections.defaultdict(collections.Counter)
    for case in node_cases:
        operator = operator_of(case, operators_by_name)
        if operator:
            counts[operator][case["outcome"]] += 1
    return counts


# ---- Writing -----------------------------------------------------------------

def versions_text(ranges):
    """"7-12, 13+" of adjoining ranges joined; "none" when there are none."""
    joined = []
    for first, last in ranges:
        if joined and joined[-1][1] == first - 1:
            joined[-1] = (joined[-1][0], last)
        elif (first, last) not in joined:
            joined.append((first, last))
    texts = [f"{first}+" if last is None else
             f"{first}" if first == last else f"{first}-{last}"
             for first, last in joined]
    return ", ".join(texts) or "none"


def split_name(qualified):
    domain, _, name = qualified.rpartition("::")
    return domain, name


def operator_tables(ranges, counts):
    names = sorted(set(ranges) | set(counts), key=split_name)
    lines, current = [], None
    for qualified in names:
        domain, name = split_name(qualified)
        if domain != current:
            current = domain
            lines += ["", f"## Domain {domain or 'ai.onnx'}", "",
                      "| operator | opsets | passed | refused |",
                      "|---|---|---:|---:|"]
        count = counts.get(qualified, {})
        lines.append(f"| {name} | {versions_text(ranges.get(qualified, []))} "
                     f"| {count.get('pass', 0)} | {count.get('refused', 0)} |")
    return lines


def group_table(summary):
    lines = ["", "## Cases by group", "",
             "| group | passed | refused |", "|---|---:|---:|"]
    for group, tally in sorted(summary.items()):
        lines.append(f"| {group} | {tally['pass']} | {tally['refused']} |")
    return lines


def reason_of(case):
    """Why the case is refused; ends the script where no reason is known."""
    for pattern, reason in REASONS:
        if pattern.search(case["message"]):
            return reason
    sys.exit(f"no reason is known for {case['name']}: {case['message']}")


def refusal_table(cases):
    refused = collections.defaultdict(list)
    for case in cases:
        if case["outcome"] == "refused":
            refused[reason_of(case)].append(f"`{case['name']}`")
    lines = ["", "## Refused cases", "",
             "| the operator or its input | cases | names |", "|---|---:|---|"]
    for _, reason in REASONS:
        names = refused[reason]
        if names:
            lines.append(f"| {reason} | {len(names)} | {', '.join(names)} |")
    return lines


def page_text(version, ranges, results):
    lines = INTRODUCTION.format(version=version).splitlines()
    lines += group_table(results["summary"])
    lines += operator_tables(ranges, count_by_operator(results["cases"]))
    lines += refusal_table(results["cases"])
    return "\n".join(lines) + "\n"


def check(text, version):
    old = PAGE.read_text() if PAGE.exists() else ""
    if old == text:
        return 0
    if old and f"onnx {version}," not in old:
        print(f"{PAGE.name} is of another onnx release than {version}")
        return SKIPPED
    sys.stdout.writelines(difflib.unified_diff(
        old.splitlines(True), text.splitlines(True), PAGE.name, "this run"))
    print(f"{PAGE.name} is out of date; run {pathlib.Path(__file__).name}")
    return 1


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", type=pathlib.Path,
                        default=BUILT / "onnx_conformance")
    parser.add_argument("--cases", type=pathlib.Path, default=BUILT / "cases")
    parser.add_argument("--results", type=pathlib.Path,
                        default=BUILT / "results.json")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args(argv)


def main(argv):
    arguments = parse_arguments(argv)
    if not (arguments.cases / "manifest.json").exists():
        write_cases(arguments.cases)
    manifest = json.loads((arguments.cases / "manifest.json").read_text())
    results = (json.loads(arguments.results.read_text())
               if is_newer(arguments.results, arguments.runner)
               else run_cases(arguments.runner, arguments.cases))
    text = page_text(manifest["onnx"], list_operators(arguments.runner),
                     results)
    if arguments.check:
        sys.exit(check(text, manifest["onnx"]))
    PAGE.write_text(text)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
