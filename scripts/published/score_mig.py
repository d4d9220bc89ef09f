#!/usr/bin/env python3
"""Says how often MIG profiles are judged rightly, by published runs on A100 slices.

    scripts/published/score_mig.py [--failures]

Each row of parvagpu and migperf ran on a slice or ran out of memory there, alone or
with up to four more processes. Prints in Markdown, per source and profile: rows that
ran and that failed, failures that were accepted and runs that were refused, first by
the upper end of the memory interval (what `predict` judges by), then by the estimate.
parvagpu ran without torch.no_grad(), so it is predicted with --grad; processes that
share an instance need a multiple of what one needs. `--failures` prints every row that
was judged wrongly.
"""

import argparse
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import batched
import foretell
import published
import score_a100

ROWS = published.TABLES / "e2e_a100.csv.gz"
# What a source's runs are told beside score_a100's flags.
SOURCES = {"parvagpu": ("--environment", "cuda11.6-eager"), "migperf": ()}
DEVICES = {"A100-80GB": "a100-sxm4-80gb", "A100-SXM-80GB": "a100-sxm4-80gb",
           "A100-SXM-40GB": "a100-sxm4-40gb"}


def templates():
    """Runs with a trace, by source, model, mode and length of the text."""
    found = {}
    for row in published.rows(score_a100.RUNS):
        found[row["source"], row["model"], row["mode"], row["seq_len"]] = row
    return found


def template_of(row, known):
    """The run that differs from `row` in batch, device and slice alone."""
    key = row["source"], row["model"], row["mode"]
    exact = known.get((*key, row["seq_len"]))
    return exact or known.get((*key, ""))


def with_batch(template, row):
    return {**template, "batch": row["batch"], "device": DEVICES[row["device"]]}


def runs():
    """Pairs of a row and the run that computes it."""
    known = templates()
    for row in published.rows(ROWS):
        if row["source"] not in SOURCES or not row["mig_profile"]:
            continue
        template = template_of(row, known)
        if template is not None:
            yield row, with_batch(template, row)


def predictions_of(pairs, traces):
    """Pairs of a row and what `predict` says of it."""
    asked = [(row, (traces / run["trace"], (*score_a100.flags_of(run),
                                            *SOURCES[row["source"]]), run["batch"]))
             for row, run in pairs]
    results = batched.Results(run for _, run in asked)
    for row, run in asked:
        yield row, results.of(*run)


def judge(row, result):
    """Whether it ran, and whether the interval's end and the estimate fit."""
    profile = score_a100.profile_of(result, row["mig_profile"])
    processes = int(row["n_processes"] or 1)
    room = profile["usable_mib"] / processes
    memory = result["memory"]
    by_interval = (profile["fits"] if processes == 1
                   else memory["interval_mib"][1] <= room)
    return row["status"] == "ok", by_interval, memory["total_mib"] <= room


def place_of(row):
    alone = row["n_processes"] in ("", "1")
    return (f"{row['source']}, {row['mode']}, "
            f"{'alone' if alone else '2 to 5 processes'}", row["mig_profile"])


def print_table(judged):
    groups = collections.defaultdict(list)
    for row, verdict in judged:
        groups[place_of(row)].append(verdict)
        groups[place_of(row)[0], "all"].append(verdict)
    print("| source | profile | ran | failed | failed, accepted | ran, refused | "
          "failed, accepted by estimate | ran, refused by estimate |\n"
          "|---|---|---|---|---|---|---|---|")
    for (source, profile), verdicts in sorted(groups.items()):
        ran = [verdict for verdict in verdicts if verdict[0]]
        failed = [verdict for verdict in verdicts if not verdict[0]]
        counts = [len(ran), len(failed)]
        for which in (1, 2):
            counts.append(sum(verdict[which] for verdict in failed))
            counts.append(sum(not verdict[which] for verdict in ran))
        print(f"| {source} | {profile} | {' | '.join(map(str, counts))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--failures", action="store_true",
                        help="print rows that were judged wrongly")
    options = parser.parse_args()
    published.need(ROWS, score_a100.RUNS, score_a100.TRACES)
    with published.unpacked(score_a100.TRACES, "*.pt") as traces:
        predictions = list(predictions_of(runs(), traces))
    judged = [(row, judge(row, result)) for row, result in predictions]
    print_table(judged)
    if options.failures:
        for row, (ran, fits, _) in judged:
            if ran != fits:
                print(f"{row['source']} {row['model']} {row['mode']} batch "
                      f"{row['batch']} x{row['n_processes']} on "
                      f"{row['mig_profile']}: {row['status']}, "
                      f"{'accepted' if fits else 'refused'}")


if __name__ == "__main__":
    foretell.main(main)
