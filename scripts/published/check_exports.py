#!/usr/bin/env python3
"""Holds foretell against files of torch.export (scripts/generate/exported_programs.py).

    scripts/published/check_exports.py FOLDER [--mode training] [--batch 4]

Every NAME.pt2 of FOLDER must be answered, or refused by name. Of those that are
answered, parameters must equal those of NAME.json, and multiply-accumulates those
of PyTorch's FlopCounterMode within 0.1 %, where it counted. Drafts, whose shapes depend
on data, are run on the CPU (`--trace cpu`) and have no such count. Prints one line per
file that is refused or differs, and the counts; the exit status says whether
anything differs or fails otherwise.
"""

import argparse
import collections
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402

MACS_TOLERANCE = 0.001
REFUSED = ("unsupported", "invalid_argument")


def predicted(path, options, trace):
    flags = ["--mode", options.mode, "--trace", trace]
    if options.batch:
        flags += ["--batch", options.batch]
    document = foretell.run_json("predict", path, "--json", *flags,
                                 accept=(foretell.DONE, foretell.MODEL_FAILED))
    return document


def judge(path, options):
    """(verdict, explanation) of one file."""
    facts = json.loads(path.with_suffix(".json").read_text())
    document = predicted(path, options, "cpu" if "draft" in facts else "meta")
    if document.get("errors"):
        error = document["errors"][0]
        code = error.get("code", "")
        return ("refused" if code in REFUSED else "failed",
                error.get("message", str(error)))
    result = document["results"][0]
    if result["parameters"] != facts["parameters"]:
        return "differs", (f"parameters {result['parameters']}, PyTorch has "
                           f"{facts['parameters']}")
    if "macs" not in facts or options.batch or options.mode == "training":
        return "answered", ""
    macs = result["static_features"]["macs"]
    if abs(macs - facts["macs"]) > MACS_TOLERANCE * facts["macs"]:
        return "differs", f"MACs {macs}, PyTorch counts {facts['macs']}"
    return "agrees", ""


def run():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mode", default="inference")
    parser.add_argument("--batch", type=int)
    options = parser.parse_args()
    counts = collections.Counter()
    for path in sorted(options.folder.rglob("*.pt2")):
        if not path.with_suffix(".json").exists():
            continue
        verdict, why = judge(path, options)
        counts[verdict] += 1
        if why:
            print(f"{path.stem}: {verdict}: {why}", flush=True)
    total = sum(counts.values())
    print(f"{total} files: " + ", ".join(
        f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts["differs"] or counts["failed"] or not total else 0


if __name__ == "__main__":
    foretell.main(run)
