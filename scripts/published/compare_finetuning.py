#!/usr/bin/env python3
"""Compares predictions with published fine-tuning of language models.

    scripts/published/compare_finetuning.py TABLE... [--source WORD] [--model WORD]
        [--by-model] [--rows] [--tools] [--csv FILE] [--answers FILE]

A TABLE is one of train_memory_finetuning.csv.gz, train_memory_peft_l40s.csv,
train_time_lora_llama2_a100.csv and train_llm_multi_gpu.csv of ../shared/data/runs2026.
scripts/lib/finetuning_runs.py says what each source ran and what the command for it is.
A row of which the program at hand lacks a necessary flag is not asked, so more rows are
with a newer program; a flag that only refines a command is left out and listed.

Prints in Markdown, for each source, method and one or several GPUs: rows, how many
have a command, and for allocated, reserved and process memory and the time of a step
how many were measured, median and mean absolute error and the mean signed error in
percent. The second table has models by whose rows the predictions were corrected
apart from the others (LOOKED_AT of scripts/lib/finetuning_runs.py). Then how runs
ended and whether they were predicted to fit the card, by the estimate and by the
upper end as `foretell fits` asks, rows within 2 % of it apart; what commands leave
out, and which rows have none and why. `--by-model` adds the first table by model,
`--rows` each row, `--tools` what other estimators say of the same rows where their
packages are installed (fitcheck-llm, vramcalc, torch-kitsune, accelerate, deepspeed):
docs/comparison.md has that table. `--answers` keeps what the program answered, so
that an interrupted run goes on; a rebuilt program is asked again. Lengths of litgpt's
config_hub and of peft are cuts that most texts do not reach: there predictions should
be above the measurement.
"""

import argparse
import collections
import contextlib
import csv
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import finetuning_runs  # noqa: E402
import finetuning_tools  # noqa: E402
import foretell  # noqa: E402
import published  # noqa: E402
from finetuning_runs import ALLOCATED, PROCESS, RESERVED, STEP  # noqa: E402

FIGURES = (ALLOCATED, RESERVED, PROCESS, STEP)
ANSWERED = ("memory", "verdict", "latency")
ENDS = {"ok": "ran", "at_capacity": "ran within 2 % of the card",
        "oom": "out of memory"}


class Answers:
    """What the program answers, each command asked once; kept in `path` if given."""

    def __init__(self, path=None):
        self.path, self.known = path, {}
        if path and path.exists():
            for line in path.read_text().splitlines():
                key, answer = json.loads(line)
                self.known[key] = answer

    def of(self, words):
        key = " ".join(words)
        if self.path:
            built = pathlib.Path(foretell.program("predict")).stat().st_mtime_ns
            key = f"{built} {key}"
        if key not in self.known:
            found = foretell.run_json(*words)["results"][0]
            self.known[key] = {part: found.get(part) for part in ANSWERED}
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps((key, self.known[key])) + "\n")
        return self.known[key]


def predicted(run):
    """Predicted value by figure; of the process what it holds on this card, where the
    allocator gives cached segments back before it fails."""
    memory = run.answer["memory"]
    figures = {ALLOCATED: memory["allocated_mib"], RESERVED: memory["reserved_mib"],
               PROCESS: memory["on_device_mib"] or memory["total_mib"]}
    if STEP in run.truth:
        figures[STEP] = run.answer["latency"]["ms"]
    return figures


def fits(run, end="estimate_mib"):
    verdict = run.answer["verdict"]
    return verdict[end] <= verdict["usable_mib"]


def ask(runs, answers):
    """Asks every run that has a command; a refusal becomes the reason for none."""
    for run in runs:
        if run.words:
            try:
                run.answer = answers.of(run.words)
            except foretell.Failure as failure:
                last = str(failure).splitlines()[-1].split("foretell: error: ")[-1]
                run.words, run.reason = (), f"refused: {last}"


def errors(runs, figure):
    """Relative errors of those of the runs that have a command and the figure."""
    return [predicted(run)[figure] / run.truth[figure] - 1 for run in runs
            if run.words and figure in run.truth]


def cells(found):
    """Rows, median and mean absolute error and signed mean, in percent."""
    if not found:
        return "0 | – | – | –"
    sizes = [100 * abs(error) for error in found]
    return (f"{len(found)} | {statistics.median(sizes):.1f} | "
            f"{statistics.fmean(sizes):.1f} | {100 * statistics.fmean(found):+.1f}")


def gpus(run):
    return "one" if run.gpus == 1 else "several"


def part(run):
    return "looked at" if run.is_looked_at else "not looked at"


def grouped(runs, key):
    groups = collections.defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return sorted(groups.items())


def print_errors(runs, title, key):
    print(f"\n| {title} | all rows | asked | figure | rows | median | mean | signed |\n"
          "|---|---|---|---|---|---|---|---|")
    for name, group in grouped(runs, key):
        asked = sum(bool(run.words) for run in group)
        for figure in FIGURES:
            found = errors(group, figure)
            if found:
                print(f"| {' · '.join(name)} | {len(group)} | {asked} | {figure} | "
                      f"{cells(found)} |")
        if not asked:
            print(f"| {' · '.join(name)} | {len(group)} | 0 | | | | | |")


def print_verdicts(runs):
    judged = [run for run in runs if run.words and run.facts["device"]]
    print("\n| how the run ended | rows | predicted to fit | not to fit | upper end of "
          "the interval fits |\n|---|---|---|---|---|")
    for status, words in ENDS.items():
        ended = [run for run in judged if run.status == status]
        fitting = sum(map(fits, ended))
        certain = sum(fits(run, "at_most_mib") for run in ended)
        print(f"| {words} | {len(ended)} | {fitting} | {len(ended) - fitting} | "
              f"{certain} |")


def print_counts(title, reasons):
    print(f"\n| {title} | rows |\n|---|---|")
    for reason, count in collections.Counter(reasons).most_common():
        print(f"| {reason} | {count} |")


def print_rows(runs):
    print("\n| source | model | method | GPUs | batch | tokens | figure | measured | "
          "predicted | error |\n|---|---|---|---|---|---|---|---|---|---|")
    for run in (run for run in runs if run.words):
        for figure in (figure for figure in FIGURES if figure in run.truth):
            value = predicted(run)[figure]
            print(f"| {run.source} | {run.model} | {run.method} | {run.gpus} | "
                  f"{run.facts['batch']} | {run.facts['tokens']} | {figure} | "
                  f"{run.truth[figure]:g} | {value:.6g} | "
                  f"{100 * (value / run.truth[figure] - 1):+.1f} % |")


def answers_of(tool, runs):
    """The runs that the tool answers and foretell too, each with the tool's error."""
    answered = []
    for run in (run for run in runs if run.words and tool.figure in run.truth):
        fields = finetuning_tools.configuration(run.facts["network"])
        with contextlib.redirect_stdout(sys.stderr):
            value = tool.ask(run, fields) if fields else None
        if value is not None:
            answered.append((run, value / run.truth[tool.figure] - 1))
    return answered


def print_tool(tool, name, answered):
    ours = errors([run for run, _ in answered], tool.figure)
    print(f"| {name} | {tool.figure} | {cells([error for _, error in answered])} | "
          f"{cells(ours)} |")


def print_tools(runs):
    """Each tool beside foretell on the rows that both answer."""
    print("\n| tool | figure | rows | median | mean | signed | foretell: rows | median "
          "| mean | signed |\n|---|---|---|---|---|---|---|---|---|---|")
    for tool in finetuning_tools.TOOLS:
        if not tool.is_here():
            print(f"| {tool.name}: package {tool.package} is absent {'| ' * 10}|")
            continue
        answered = answers_of(tool, runs)
        print_tool(tool, tool.name, answered)
        if tool.own:
            print_tool(tool, f"{tool.name}, rows of others",
                       [(run, error) for run, error in answered
                        if not run.source.startswith(tool.own)])


def write_csv(path, runs):
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(("source", "model", "method", "gpus", "status", "figure",
                        "measured", "predicted", "reason", "command"))
        for run in runs:
            found = predicted(run) if run.words else {}
            for figure in [name for name in FIGURES if name in run.truth] or [""]:
                table.writerow((run.source, run.model, run.method, run.gpus, run.status,
                                figure, run.truth.get(figure, ""),
                                found.get(figure, ""), run.reason, " ".join(run.words)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", type=pathlib.Path, nargs="+", metavar="TABLE")
    parser.add_argument("--source", default="", help="a word of the source's name")
    parser.add_argument("--model", default="", help="a word of the model's name")
    parser.add_argument("--by-model", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--tools", action="store_true")
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--answers", type=pathlib.Path)
    options = parser.parse_args()
    published.need(*options.tables)
    program = finetuning_runs.Program()
    runs = [run for table in options.tables
            for run in finetuning_runs.runs(table, program)
            if options.source in run.source and options.model in run.model]
    ask(runs, Answers(options.answers))
    print_errors(runs, "source · method · GPUs",
                 lambda run: (run.source, run.method, gpus(run)))
    print_errors(runs, "models · GPUs", lambda run: (part(run), gpus(run)))
    if options.by_model:
        print_errors(runs, "model · method · GPUs",
                     lambda run: (run.model, run.method, gpus(run)))
    print_verdicts(runs)
    print_counts("left out of commands", [flag for run in runs for flag in run.without])
    print_counts("not asked, because", [f"{run.source}: {run.reason}" for run in runs
                                        if not run.words])
    if options.tools:
        print_tools(runs)
    if options.rows:
        print_rows(runs)
    if options.csv:
        write_csv(options.csv, runs)


if __name__ == "__main__":
    foretell.main(main)
