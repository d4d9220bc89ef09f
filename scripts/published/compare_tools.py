#!/usr/bin/env python3
"""foretell beside other tools, on training steps that were measured on an A100.

    scripts/published/compare_tools.py [--rows N] [--answers FILE]

Takes every so-manieth network of the good rows of
../shared/data/training_memory_timm_a100.csv.gz, asks every tool that is installed for
its memory of training, and prints the first part of docs/comparison.md: the error, the
processor time of one answer, and what each tool can answer; draws
docs/images/comparison_memory.svg. All of it takes about an hour: with --answers each answer is kept in FILE, and a second run asks
only for those that are not there. Needs timm 1.0.31 and the shared folder; a tool
whose package is missing is named on stderr and left out:

    pip install --no-deps timm torch-kitsune accelerate deepspeed fvcore …
"""

import argparse
import contextlib
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import resource
import signal
import statistics
import sys
import warnings

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import compare_training_memory  # noqa: E402
import foretell  # noqa: E402
import plot_published  # noqa: E402
import published  # noqa: E402
from memory_tools import TOOLS, Step, timm  # noqa: E402

FORK = multiprocessing.get_context("fork")
PICTURE = foretell.ROOT / "docs" / "images" / "comparison_memory.svg"

# Names for which the picture has no room.
SHORT = {"FakeTensor with MemTracker": "MemTracker",
         "accelerate estimate-memory": "accelerate",
         "DeepSpeed's estimator": "DeepSpeed"}

HEAD = """# Compared with other tools

This part of the page is printed by a script, which runs all of them; [fine-tuning](#fine-tuning) by
another:

    scripts/published/compare_tools.py --rows {rows}
"""
NOTES = """
- Every tool is asked for the memory of one training step in FP32 with SGD and
  momentum. `accelerate` and DeepSpeed know Adam alone and no activations: they are asked
  what they can be.
- The measured peak holds a CUDA context and all segments of the allocator; what counts
  live tensors alone is below it by construction. What a tool counts stands in the second
  table.
- A tool gets {gib} GiB and {seconds} s of processor time for an answer. torch-kitsune
  runs the network on the CPU; where that takes more memory it falls back to a coarser
  rule by itself.
- Seconds are processor time (user and system) of one answer, the median, because the
  machine did much else: for foretell of a whole process, start and reading of its data
  included. Making the module is part of the others' answers, as they cannot be asked
  without one; importing them, and PyTorch, is not.
"""


def limit(gib, seconds):
    """Some tools run the network on the CPU: one that takes more does not answer.
    Time is that of this process; foretell's has a limit of its own."""
    resource.setrlimit(resource.RLIMIT_DATA, (gib << 30, gib << 30))

    def too_long(number, frame):
        raise TimeoutError(f"no answer in {seconds} s")

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def processor_seconds():
    """Of the processes that this one has waited for."""
    used = os.times()
    return used.children_user + used.children_system


def chosen_steps(folder, batches, count):
    """`count` steps at most, spread over all networks that were measured."""
    truth = published.truth(folder)
    labels = compare_training_memory.read_labels(batches)
    keys = sorted(key for key in labels
                  if key[0] in truth and (folder / f"{key[0]}.pt").exists()
                  and timm().is_model(key[0]))
    stride = max(1, len(keys) // count)
    for network, batch in keys[::stride][:count]:
        yield (Step(network, truth[network]["input"], batch,
                    folder / f"{network}.pt"), labels[network, batch])


def answer(tool, step, options, result):
    """Sends MiB to `result`; nothing where the tool fails."""
    limit(options.gib, options.seconds)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            result.send(tool.ask(step))
    except Exception as error:  # Whatever a stranger's tool throws.
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        print(f"{tool.name}: {step.network}: {text}", file=sys.stderr)


def ask(tool, step, options):
    """MiB and seconds of an answer; both None where there is none. Asked in a process of
    its own: some tools keep the memory of what they ran."""
    begin = processor_seconds()
    reader, writer = FORK.Pipe(duplex=False)
    child = FORK.Process(target=answer, args=(tool, step, options, writer))
    child.start()
    writer.close()
    child.join()
    if not reader.poll():
        return None, None
    try:
        return reader.recv(), processor_seconds() - begin
    except EOFError:
        return None, None


class Answers:
    """What tools said of steps: (MiB, seconds). With a file each is written there at
    once, and what it has is not asked for again."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path and path.exists():
            for line in path.read_text().splitlines():
                *key, mib, seconds = json.loads(line)
                self.known[tuple(key)] = mib, seconds

    def of(self, tool, step, options):
        key = tool.name, step.network, step.batch
        if key not in self.known:
            self.known[key] = ask(tool, step, options)
            if self.path:
                with open(self.path, "a") as file:
                    file.write(json.dumps([*key, *self.known[key]]) + "\n")
        return self.known[key]


def answers_of(tool, steps, answers, options):
    """(MiB, measured MiB, seconds) of the steps that the tool answered."""
    found = []
    for step, measured in steps:
        mib, seconds = answers.of(tool, step, options)
        if seconds is not None:
            found.append((mib, measured, seconds))
    print(f"{tool.name}: {len(found)} answers", file=sys.stderr)
    return found


def error_cells(found):
    errors = [mib / measured - 1 for mib, measured, _ in found if mib is not None]
    if not errors:
        return ["–", "–", "–", "–"]
    sizes = list(map(abs, errors))
    too_low = sum(error < 0 for error in errors) / len(errors)
    return [f"{statistics.median(sizes):.1%}", f"{statistics.mean(sizes):.1%}",
            f"{statistics.median(errors):+.1%}", f"{too_low:.0%}"]


def version_of(tool):
    for name in (f"torch-{tool.package}", tool.package.split(".")[0]):
        try:
            return f" {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def error_row(tool, found, asked):
    seconds = [one[2] for one in found]
    return [tool.name + version_of(tool), f"{len(found)} of {asked}",
            *error_cells(found),
            f"{statistics.median(seconds):.2f}" if seconds else "–"]


def installed():
    for tool in TOOLS:
        with contextlib.redirect_stdout(sys.stderr):  # Some talk when imported.
            is_here = tool.is_here()
        if is_here:
            yield tool
        else:
            print(f"{tool.name} is left out: no package {tool.package}",
                  file=sys.stderr)


def draw(found):
    points = [(SHORT.get(tool.name, tool.name), measured, mib, False)
              for tool, answers in found.items()
              for mib, measured, _ in answers if mib is not None]
    return plot_published.draw("Memory of training steps on an A100, by tool", "MiB",
                               points)


def print_page(options, batches, steps, found):
    networks = len({step.network for step, _ in steps})
    print(HEAD.format(rows=options.rows))
    print(f"{len(steps)} steps of {networks} networks of timm at batch "
          f"{' and '.join(map(str, batches))}, measured by GPUMemNet on an A100 "
          "40 GB: absolute error (median, mean), signed error, answers that are "
          "too low, seconds of processor time.\n")
    print(table(["tool", "answered", "median", "mean", "signed", "too low",
                 "seconds"], [error_row(tool, answers, len(steps))
                              for tool, answers in found.items()]))
    print("\n![Predicted and measured memory, by tool]"
          f"({PICTURE.relative_to(foretell.ROOT / 'docs')})")
    print("\n" + table(["tool", "is given", "counts as memory", "also answers"],
                       [[tool.name, tool.reads, tool.counts, tool.answers]
                        for tool in found]))
    print(NOTES.format(gib=options.gib, seconds=options.seconds), end="")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--batches", default="8")
    parser.add_argument("--gib", type=int, default=9, help="memory of a tool")
    parser.add_argument("--seconds", type=int, default=180, help="of one answer")
    parser.add_argument("--answers", type=pathlib.Path, help="file that keeps them")
    options = parser.parse_args()
    published.need(published.TRAINING_TRACES, published.TRAINING_MEMORY)
    warnings.simplefilter("ignore")
    tools = list(installed())
    batches = [int(batch) for batch in options.batches.split(",")]
    with published.unpacked(published.TRAINING_TRACES) as folder:
        steps = list(chosen_steps(folder, batches, options.rows))
        answers = Answers(options.answers)
        found = {tool: answers_of(tool, steps, answers, options)
                 for tool in tools}
    PICTURE.write_text(draw(found))
    print_page(options, batches, steps, found)


if __name__ == "__main__":
    foretell.main(main)
