#!/usr/bin/env python3
"""Judges classes of training memory on GPUMemNet's rows.

    scripts/studies/memory_classes.py --work FOLDER [--limit SET=N …] [--picture FILE.svg]

Rebuilds the networks of GPUMemNet's tables, has `foretell-lab memory-classes inputs` read
what estimators see of them, and prints the tables of docs/classify.md: accuracy and the
share answered too low, by three-fold cross-validation, beside the published ones and
other estimates rounded to the same classes. `--limit` takes at most so many rows of a set,
drawn with a fixed seed; a set without rows is judged in no table. FOLDER keeps networks,
inputs and answers for the next call. Reads tables of ../shared beside the repository;
needs torch.
"""

import argparse
import collections
import csv
import dataclasses
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import class_runs
import foretell
import published
import shares_plot

SMALL = "2000,3000,4000,5000"
LARGE = "8000,16000,24000,32000,40000"
MIB_PER_MB = 1e6 / 2**20
NEAR = 0.05  # Of an edge, as a share of it.
# The Transformer takes a hundred times as long as the MLP.
INPUTS = {"mlp": ("published", "physics"), "transformer": ("physics",)}
SETS = ("mlp-2", "mlp-1", "cnn", "cnn-blocks", "transformer", "timm")


@dataclasses.dataclass(frozen=True)
class Question:
    """Rows that are judged together, and what GPUMemNet publishes of them."""
    title: str
    sets: tuple
    edges: str
    published: dict  # Accuracy and share too low, by estimator.


QUESTIONS = (
    Question("MLPs, 1,000 MiB", ("mlp-2",), SMALL,
             {"mlp": (.976, .018), "transformer": (.984, .008)}),
    Question("CNNs without residual and dense, 8,000 MiB", ("cnn",), LARGE,
             {"mlp": (.797, .072), "transformer": (.803, .078)}),
    Question("CNNs, all, 8,000 MiB", ("cnn", "cnn-blocks"), LARGE, {}),
    Question("Transformers, 8,000 MiB", ("transformer",), LARGE,
             {"mlp": (.848, .107), "transformer": (.858, .064)}),
    Question("timm's networks, 8,000 MiB", ("timm",), LARGE, {}),
)


def drawn(runs, limits):
    """At most the limit of each set, in an order that a larger one goes on with."""
    by_set = collections.defaultdict(list)
    for run in runs:
        by_set[run.set].append(run)
    for kind, found in by_set.items():
        random.Random(0).shuffle(found)
        yield from found[:limits.get(kind)]


def write_runs(runs, networks, path):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("name", "set", "model", "input", "batch", "optimizer",
                         "memory_mib", "pass_before"))
        for run, network in zip(runs, networks, strict=True):
            memory = "" if run.memory_mib is None else run.memory_mib
            writer.writerow((run.name, run.set, network, run.input, run.batch,
                             run.optimizer, memory, run.pass_before))


def key_of(step):
    return step["name"], step["inputs"]["batch"]


def steps_of(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def read_set(runs, folder, path, timm):
    """Makes the file hold the inputs of these runs, in their order."""
    known = {key_of(step): step for step in steps_of(path)}
    missing = [run for run in runs if (run.name, run.batch) not in known]
    if missing:
        networks = [timm / f"{run.name}.pt" if run.set == "timm"
                    else class_runs.export(run, folder / "networks")
                    for run in missing]
        table, part = path.with_suffix(".csv"), path.with_suffix(".part")
        write_runs(missing, networks, table)
        foretell.show("memory-classes", "inputs", table, "--out", part,
                      "--sandbox", "off",
                      accept=(foretell.DONE, foretell.MODEL_FAILED))
        known.update((key_of(step), step) for step in steps_of(part))
        part.unlink()
    found = [known[run.name, run.batch] for run in runs
             if (run.name, run.batch) in known]
    path.write_text("".join(json.dumps(step) + "\n" for step in found))


def limit_of(text):
    """("cnn", 500) of "cnn=500"."""
    kind, _, count = text.partition("=")
    if kind not in SETS or not count.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}': expected SET=N, SET one of "
                                         f"{', '.join(SETS)}")
    return kind, int(count)


def read_inputs(runs, folder, timm, sets=SETS):
    """The files of inputs by set; only what is missing is made."""
    files = {}
    for kind in sets:
        files[kind] = folder / f"{kind}.jsonl"
        mine = [run for run in runs if run.set == kind]
        read_set(mine, folder, files[kind], timm)
        if not mine:
            del files[kind]
    return files


def answers(question, files, folder, estimator, inputs):
    path = folder / f"{'+'.join(question.sets)}-{estimator}-{inputs}.json"
    if not path.exists():
        text = foretell.run(
            "memory-classes", "cross-validate",
            *(files[kind] for kind in question.sets), "--edges", question.edges,
            "--estimator", estimator, "--inputs", inputs)
        path.write_text(text)
    (result,) = json.loads(path.read_text())["results"]
    return result["steps"]


class Judge:
    """Rows of a question with their true class; rates estimates in classes."""

    def __init__(self, question, files):
        self.edges = list(map(float, question.edges.split(",")))
        self.steps = [step for kind in question.sets
                      for step in steps_of(files[kind])]
        self.truth = [self.class_of(step["memory_mib"]) for step in self.steps]

    def class_of(self, mib):
        """None: out of memory."""
        return (len(self.edges) if mib is None
                else sum(mib >= edge for edge in self.edges))

    def rates(self, classes):
        pairs = list(zip(classes, self.truth, strict=True))
        return (sum(a == b for a, b in pairs) / len(pairs),
                sum(a < b for a, b in pairs) / len(pairs))

    def of_estimate(self, estimate):
        return self.rates([self.class_of(estimate(step["inputs"]))
                           for step in self.steps])


def horus_mib(inputs):
    """The formula as GPUMemNet's sheet computes it: 4 B per parameter, as many per
    parameter and activation for every sample, and 1,000 MB for CUDA."""
    parameters, batch = inputs["parameters"], inputs["batch"]
    return (4 * (parameters * (1 + batch) + inputs["activations"] * batch) / 2**20
            + 1000 * MIB_PER_MB)


def tensors_mib(inputs):
    """What FakeTensor counts: live tensors, no allocator, workspace or context."""
    return inputs["simulated"]["tensors_mib"]


def analytic_mib(inputs):
    return inputs["simulated"]["held_mib"]


def not_exceeded(step, share):
    below = 0
    for place, probability in enumerate(step["probabilities"]):
        below += probability
        if below >= share:
            return place
    return len(step["probabilities"]) - 1


def published_fake_tensor(judge):
    """FakeTensor's own figure, which the table of timm's networks has."""
    known = {(row["model"], int(row["batch"])): float(row["faketensor_final_mb"])
             for row in published.rows(published.TRAINING_MEMORY)
             if row["faketensor_final_mb"]}
    return judge.rates([
        judge.class_of(known[key_of(step)]) for step in judge.steps])


def estimates(question, judge, files, folder):
    """Names of what estimates the classes, each with its rates."""
    most = collections.Counter(judge.truth).most_common(1)[0][0]
    yield "the most frequent class", judge.rates([most] * len(judge.steps))
    yield "Horus formula", judge.of_estimate(horus_mib)
    yield "live tensors", judge.of_estimate(tensors_mib)
    if question.sets == ("timm",):
        yield "FakeTensor, published", published_fake_tensor(judge)
    yield "analytic simulation", judge.of_estimate(analytic_mib)
    for estimator in ("mlp", "transformer"):
        if estimator in question.published:
            yield f"{estimator}, published", question.published[estimator]
        for inputs in INPUTS[estimator]:
            steps = answers(question, files, folder, estimator, inputs)
            yield (f"{estimator}, {inputs} inputs",
                   judge.rates([step["answer"] for step in steps]))
        for share in (.5, .99):
            yield (f"{estimator}, physics inputs, not exceeded with {share:.0%}",
                   judge.rates([not_exceeded(step, share) for step in steps]))


def print_missed(judge):
    """Where the rows lie that the simulation puts into another class."""
    causes = collections.Counter()
    for step, truth in zip(judge.steps, judge.truth, strict=True):
        held = analytic_mib(step["inputs"])
        if judge.class_of(held) == truth:
            continue
        if None in (held, step["memory_mib"]):
            causes["fits"] += 1
        else:
            is_near = min(abs(held / edge - 1) for edge in judge.edges) < NEAR
            causes["near" if is_near else "far"] += 1
    print(f"\nOf {causes.total()} rows that the simulation misses, "
          f"{causes['fits']} are about whether the step fits, {causes['near']} "
          f"lie within {NEAR:.0%} of an edge, {causes['far']} elsewhere.")


def print_question(question, files, folder):
    """Prints a table; returns its title and its rows."""
    judge = Judge(question, files)
    title = f"{question.title}: {len(judge.steps)} rows"
    print(f"\n### {title}\n\n| estimate | accuracy | too low |\n|---|---|---|")
    rated = []
    for name, (right, low) in estimates(question, judge, files, folder):
        print(f"| {name} | {right:.3f} | {low:.3f} |", flush=True)
        rated.append((name, right, low))
    print_missed(judge)
    return title, rated


def print_checked(files):
    """Whether what is read from graphs is what the tables say."""
    columns = collections.Counter()
    table = {f"mlp{place}": fields
             for place, fields in enumerate(published.rows(class_runs.MLPS))}
    rows = 0
    for kind in files.keys() & {"mlp-1", "mlp-2"}:
        for step in steps_of(files[kind]):
            fields, inputs = table[step["name"]], step["inputs"]
            kinds = collections.Counter(one["kind"] for one in inputs["layers"])
            rows += 1
            columns.update(name for name, found in (
                ("total_parameters", inputs["parameters"]),
                ("total_activations", inputs["activations"]),
                ("batchnorm_layers", kinds["batch_norm"]),
                ("dropout_layers", kinds["dropout"]),
                ("depth", kinds["linear"]),
                ("activation", inputs["activation"]))
                if str(found) == str(fields[name] or 0))
    if not rows:
        return
    print("\n### Inputs in addition to the table's columns\n\n"
          "| column | equal | rows |\n|---|---|---|")
    for name, equal in columns.items():
        print(f"| {name} | {equal} | {rows} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", required=True, type=pathlib.Path,
                        help="folder for networks, inputs and answers")
    parser.add_argument("--limit", type=limit_of, nargs="+", default=(),
                        help="most rows of a set: cnn=500")
    parser.add_argument("--picture", help="SVG to draw the tables in, too")
    options = parser.parse_args()
    published.need(*class_runs.TABLES)
    (options.work / "networks").mkdir(parents=True, exist_ok=True)
    runs = list(drawn(class_runs.runs(), dict(options.limit)))
    with published.unpacked(published.TRAINING_TRACES) as timm:
        files = read_inputs(runs, options.work, timm)
    print_checked(files)
    panels = [print_question(question, files, options.work)
              for question in QUESTIONS if files.keys() >= set(question.sets)]
    if options.picture:
        shares_plot.draw(panels, options.picture)


if __name__ == "__main__":
    foretell.main(main)
