#!/usr/bin/env python3
"""Runs ninja and shows one line of progress with the time left.

    build_progress.py FOLDER [TARGET…]

On a terminal the line is redrawn in place; elsewhere a line comes at every tenth
of the work. What compilers say is shown in full, after the line; all output goes
to FOLDER/build.log too. The exit status is ninja's.
"""

import os
import pathlib
import re
import selectors
import shutil
import subprocess
import sys
import time

# Marks ninja's own lines among those of compilers.
MARK = "@step@"
STEP = re.compile(re.escape(MARK) + r"(\d+)/(\d+)@ (.*)")
# What a step costs beside the compilation of a unit, by how ninja describes it.
COSTS = (
    (re.compile(r"Building \w+ object .*/cmake_pch\.hxx\.\w+"), 2.0),
    (re.compile(r"Building \w+ object"), 1.0),
    (re.compile(r""), 0.05),
)
# A unit with LibTorch's headers takes up to so much memory.
BYTES_PER_JOB = 3 << 29
# No time left is told before so much of the work is done.
LEAST_SHARE = 0.03


def cost(description):
    return next(cost for pattern, cost in COSTS if pattern.match(description))


def plan(ninja):
    """Descriptions of all steps that ninja will run; build.ninja is new."""
    outcome = subprocess.run([*ninja, "-n"], env=environment(), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return [found[3] for found in map(STEP.match, outcome.stdout.splitlines())
            if found]


def environment():
    """Ninja marks its lines, and stays quiet about the folder."""
    return {**os.environ, "NINJA_STATUS": f"{MARK}%f/%t@ "}


def jobs():
    """As many as there are processors, and as memory allows."""
    processors = len(os.sched_getaffinity(0))
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) << 10
    return max(1, min(processors, free // BYTES_PER_JOB))


def duration(seconds):
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min {seconds % 60:02d} s"


class Progress:
    """Where a build stands, by the costs of its steps."""

    def __init__(self, descriptions, now):
        self.total = sum(map(cost, descriptions))
        self.done = 0
        self.started = now

    def finish(self, description):
        self.done = min(self.total, self.done + cost(description))

    def share(self):
        return self.done / self.total if self.total else 1

    def text(self, now):
        elapsed = now - self.started
        share = self.share()
        if share < LEAST_SHARE:
            return f"building, {duration(elapsed)} so far"
        left = elapsed * (1 - share) / share
        return f"building {share:4.0%}, about {duration(left)} left"


class Display:
    """The line on a terminal, or a line at every tenth on anything else."""

    def __init__(self, stream):
        self.stream = stream
        self.redraws = stream.isatty()
        self.tenths = 0

    def show(self, progress, now):
        if not progress.total:
            return
        text = f"foretell: {progress.text(now)}"
        if self.redraws:
            columns = shutil.get_terminal_size().columns
            self.stream.write(f"\r\033[K{text[:columns - 1]}")
        elif int(progress.share() * 10) > self.tenths:
            self.tenths = int(progress.share() * 10)
            self.stream.write(text + "\n")
        self.stream.flush()

    def wipe(self):
        if self.redraws:
            self.stream.write("\r\033[K")

    def say(self, line):
        self.wipe()
        self.stream.write(line.rstrip() + "\n")
        self.stream.flush()


class Output:
    """Tells ninja's steps from what compilers say, line by line."""

    def __init__(self, progress, display, log):
        self.progress = progress
        self.display = display
        self.log = log
        self.hides_next = False

    def take(self, line):
        step = STEP.match(line)
        self.log.write((step[3] if step else line) + "\n")
        if step:
            self.progress.finish(step[3])
        elif self.hides_next:  # The command of a failed step is in the log.
            self.hides_next = False
        elif not line.startswith(("ninja: ", "-- ")) or "error" in line:
            self.hides_next = line.startswith("FAILED: ")
            self.display.say(line)


def lines(stream):
    """Lines as they come; None at every second without one."""
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        rest = b""
        while True:
            if not selector.select(timeout=1):
                yield None
                continue
            chunk = os.read(stream.fileno(), 1 << 16)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace")
        if rest:
            yield rest.decode(errors="replace")


def follow(ninja, output):
    """Runs ninja to its end; gives its exit status."""
    process = subprocess.Popen(ninja, env=environment(),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in lines(process.stdout):
        if line is not None:
            output.take(line)
        output.display.show(output.progress, time.monotonic())
    output.display.wipe()
    return process.wait()


def run(folder, targets):
    ninja = ["ninja", "-C", str(folder), "-j", str(jobs())]
    display = Display(sys.stderr)
    with open(folder / "build.log", "w") as log:
        status = follow([*ninja, "build.ninja"],
                        Output(Progress([], time.monotonic()), display, log))
        if status != 0:
            return status
        progress = Progress(plan([*ninja, *targets]), time.monotonic())
        return follow([*ninja, *targets], Output(progress, display, log))


if __name__ == "__main__":
    try:
        sys.exit(run(pathlib.Path(sys.argv[1]), sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit("\nforetell: the build was interrupted; it goes on from here")
