#!/usr/bin/env python3
"""Compares what `predict --json` answers with committed files.

    golden_predict.py BINARY SOURCE_DIR

The runs are those of tests/golden/predict/runs.txt. With
FORETELL_UPDATE_GOLDEN=1 in the environment the files are written anew.
"""

import json
import math
import os
import pathlib
import shlex
import subprocess
import sys

# Learned figures are float32 and differ in their last bits between processors.
TOLERANCE = 2e-5
SETTINGS = ("model", "device", "environment", "mode", "optimizer",
            "precision", "batch")
COUNTS = ("parameters", "operators", "static_features")


def rounded(value):
    """`value` with its numbers cut to six significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    return value


def without(mapping, *names):
    return {key: value for key, value in mapping.items() if key not in names}


def figure(result, name):
    """One of memory, latency and energy, a line per value."""
    part = without(result[name], "largest_tensors", "source")
    part |= without(result[name]["source"], "trained_on")
    return {f"{name}.{key}": value for key, value in part.items()}


def kept(result):
    """What the golden file has of one element of "results", a line each."""
    mig = result["mig"]
    lines = {
        "run": {name: result.get(name) for name in SETTINGS},
        "counts": {name: result[name] for name in COUNTS},
        **figure(result, "memory"),
        **figure(result, "latency"),
        **figure(result, "energy"),
        "method": result["method"],
        "coverage": result["coverage"],
        "warnings": result["warnings"],
        "mig": {"rule": mig["rule"], "profile": mig["profile"],
                "reason": mig["reason"]},
        "whole_device": without(mig["whole_device"], "reason"),
    }
    for verdict in mig["profiles"]:
        lines["profile " + verdict["profile"]] = without(verdict, "profile",
                                                         "reason")
    return rounded(lines)


def dump(lines):
    rows = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in lines.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def differences(old, new, place=""):
    """Sentences on every value of `new` that is not that of `old`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in list(old) + [key for key in new if key not in old]:
            if key not in old or key not in new:
                yield f"{place}{key}: {'gone' if key in old else 'new'}"
            else:
                yield from differences(old[key], new[key], f"{place}{key}.")
    elif isinstance(old, list) and isinstance(new, list) \
            and len(old) == len(new):
        for i, (before, after) in enumerate(zip(old, new)):
            yield from differences(before, after, f"{place}{i}.")
    elif not same(old, new):
        yield f"{place[:-1]}: {old!r} -> {new!r}"


def same(old, new):
    numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool)
                  for x in (old, new))
    if numbers:
        return math.isclose(old, new, rel_tol=TOLERANCE)
    return old == new


def runs(path):
    """Name and arguments of every line "NAME: ARGUMENTS"."""
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            name, arguments = line.split(":", 1)
            yield name, shlex.split(arguments)


def predict(binary, source, arguments):
    outcome = subprocess.run(
        [binary, "predict", "--json", *arguments], capture_output=True,
        text=True, cwd=source)
    if outcome.returncode != 0:
        raise SystemExit(f"predict {shlex.join(arguments)}: exit status "
                         f"{outcome.returncode}: {outcome.stderr}")
    (result,) = json.loads(outcome.stdout)["results"]
    return kept(result)


def main():
    binary, source = sys.argv[1], pathlib.Path(sys.argv[2])
    folder = source / "tests" / "golden" / "predict"
    update = os.environ.get("FORETELL_UPDATE_GOLDEN") == "1"
    found = 0
    names = set()
    for name, arguments in runs(folder / "runs.txt"):
        path = folder / f"{name}.json"
        names.add(path.name)
        now = predict(binary, source, arguments)
        if update:
            path.write_text(dump(now))
            continue
        for difference in differences(json.loads(path.read_text()), now):
            found += 1
            print(f"{name}: {difference}")
    for path in folder.glob("*.json"):
        if path.name not in names:
            found += 1
            print(f"{path}: no run of this name in runs.txt")
    if found:
        raise SystemExit(f"{found} differences; where they are meant, "
                         "scripts/update_golden writes the files anew")
    if not names:
        raise SystemExit(f"{folder}/runs.txt names no run")


if __name__ == "__main__":
    main()
