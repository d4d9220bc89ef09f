#!/usr/bin/env python3
"""Runs the commands of a page of documentation and compares what they print.

    docs_test.py BINARY SOURCE_DIR BUILD_DIR PAGE
    docs_test.py --listed SOURCE_DIR PAGE...

A page marks its code blocks with a comment on the line before:

    <!-- run -->        the block is a shell script that must succeed;
                        <!-- run: exit 1 --> one that ends with that status
    <!-- output -->     what the last script printed on stdout. `…` stands for
                        the rest of a line, on a line of its own for any lines
    <!-- output: within 2 % -->   the same, but a number may differ by that share or
                        a unit of its last decimal, and spaces by their number: what
                        is fitted follows the rounding of a build
    <!-- file: NAME --> the block becomes a file of this name

A page's scripts run one after the other in a folder that looks like the source
folder, where scripts/foretell is BINARY and what they write harms nothing. With
FORETELL_UPDATE_GOLDEN=1 in the environment the outputs are written anew.
`--listed` checks that PAGEs are all that have such a comment.
"""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
MARK = re.compile(r"<!-- (run|output|file)(?:: (.+?))? -->")
ANYTHING = "…"


class Block:
    """Lines `first` to `end` of a page, and what its comment says of them."""

    def __init__(self, lines, mark):
        self.kind, self.argument = MARK.search(lines[mark]).groups()
        self.line = mark + 1
        self.first = mark + 1
        while not lines[self.first].strip():
            self.first += 1
        fence = re.match(r"\s*```", lines[self.first])
        self.end = self.first + 1
        if fence:
            self.first += 1
            while not lines[self.end].strip().startswith("```"):
                self.end += 1
        else:
            while self.end < len(lines) and lines[self.end].startswith("    "):
                self.end += 1
        text = "\n".join(lines[self.first:self.end])
        self.lines = textwrap.dedent(text).split("\n")
        first = lines[self.first]
        self.indent = first[:len(first) - len(self.lines[0])]


def blocks(lines):
    return [Block(lines, i) for i, line in enumerate(lines)
            if MARK.fullmatch(line.strip())]


def any_numbers(text):
    """A pattern that takes other numbers, each a group, and other spaces."""
    words = (re.sub(r"(?:\\ )+", " +", re.escape(part))
             for part in NUMBER.split(text))
    return f"({NUMBER.pattern})".join(words)


def line_pattern(line, escape=re.escape):
    return ".*".join(map(escape, re.split(f" *{ANYTHING}", line)))


def is_near(expected, printed, share):
    decimals = len(expected.partition(".")[2])
    unit = 1.01 * 10 ** -decimals if decimals else 0
    return (abs(float(printed) - float(expected))
            <= max(unit, share * float(expected)))


def share_of(block):
    """0.02 of an output that is "within 2 %"; 0 of one to the letter."""
    if block.argument is None:
        return 0
    return float(re.fullmatch(r"within ([0-9.]+) %", block.argument)[1]) / 100


def matches(expected, printed, share=0):
    escape = any_numbers if share else re.escape
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == ANYTHING
        else line_pattern(line.rstrip(), escape) + r"\n" for line in expected)
    found = re.fullmatch(pattern, "".join(f"{line.rstrip()}\n"
                                          for line in printed))
    if not found:
        return False
    numbers = [number for line in expected
               for number in NUMBER.findall(line)] if share else []
    return all(is_near(*pair, share)
               for pair in zip(numbers, found.groups(), strict=True))


def cut(new, old):
    """The line `new`, cut where `old` is."""
    if re.fullmatch(line_pattern(old.rstrip()), new.rstrip()):
        return old
    if old.endswith(ANYTHING):
        return new[:len(old) - 1].rstrip() + " " + ANYTHING
    return new.rstrip()


def likeness(lines, others):
    return sum(difflib.SequenceMatcher(None, a, b).ratio()
               for a, b in zip(lines, others))


def shortened(printed, expected):
    """The lines of `printed` that `expected` has, and with its `…`."""
    parts = [[]]
    for line in expected:
        if line.strip() == ANYTHING:
            parts.append([])
        else:
            parts[-1].append(line)
    at = 0
    for i, part in enumerate(parts):
        if i > 0:
            yield ANYTHING
            at = max(range(at, len(printed)),
                     key=lambda k: likeness(printed[k:], part))
        for old, new in zip(part, printed[at:]):
            yield cut(new, old)
        at += len(part)
    if len(parts) == 1:
        yield from printed[at:]


def make_folder(folder, binary, source, build):
    """Fills `folder` with links to all of `source` but what may be written."""
    for entry in source.iterdir():
        if entry.name not in ("build", "docs", "scripts", ".git"):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(source / "docs", folder / "docs")
    (folder / "build").mkdir()
    (folder / "build" / "release").symlink_to(build)
    (folder / "scripts").mkdir()
    for entry in (source / "scripts").iterdir():
        if entry.name != "foretell":
            (folder / "scripts" / entry.name).symlink_to(entry)
    (folder / "scripts" / "foretell").symlink_to(binary)


def run(block, folder):
    """Runs a script; returns the lines that it prints on stdout."""
    path = f"{folder / 'scripts'}:{os.environ['PATH']}"
    script = "\n".join(block.lines)
    outcome = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=folder, text=True,
        capture_output=True, env=dict(os.environ, PATH=path,
                                      XDG_CONFIG_HOME=str(folder)))
    expected = int((block.argument or "exit 0").split()[1])
    if outcome.returncode != expected:
        raise SystemExit(
            f"line {block.line}: exit status {outcome.returncode}, expected "
            f"{expected}:\n{script}\n{outcome.stdout}{outcome.stderr}")
    return outcome.stdout.rstrip("\n").split("\n")


def check_untouched(folder, source):
    """Generated pages must be what their commands generate."""
    for page in sorted((source / "docs").glob("*.md")):
        old = page.read_text().splitlines(True)
        new = (folder / "docs" / page.name).read_text().splitlines(True)
        if old != new:
            sys.stdout.writelines(difflib.unified_diff(old, new, page.name))
            raise SystemExit(f"the commands change docs/{page.name}")


def run_page(folder, lines):
    """Runs the blocks of a page; returns those whose output differs, each with
    the lines that were printed."""
    found = blocks(lines)
    if not any(block.kind == "run" for block in found):
        raise SystemExit("the page has no command to run")
    printed, different = None, []
    for block in found:
        if block.kind == "file":
            (folder / block.argument).write_text("\n".join(block.lines) + "\n")
        elif block.kind == "run":
            printed = run(block, folder)
        elif not matches(block.lines, printed, share_of(block)):
            different.append((block, printed))
    return different


def updated(lines, different):
    """The page with what was printed in place of what it said."""
    lines = list(lines)
    for block, printed in reversed(different):
        lines[block.first:block.end] = [
            block.indent + line for line in shortened(printed, block.lines)]
    return lines


def check_listed(source, listed):
    marked = {str(page.relative_to(source))
              for page in [source / "README.md", *source.glob("docs/*.md")]
              if any(MARK.fullmatch(line.strip())
                     for line in page.read_text().split("\n"))}
    if marked != set(listed):
        raise SystemExit("tests/docs/CMakeLists.txt does not list the pages "
                         f"that have commands: {marked ^ set(listed)}")


def main():
    if sys.argv[1] == "--listed":
        check_listed(pathlib.Path(sys.argv[2]), sys.argv[3:])
        return
    binary, source, build = map(pathlib.Path, sys.argv[1:4])
    page = source / sys.argv[4]
    lines = page.read_text().split("\n")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        make_folder(folder, binary, source, build)
        different = run_page(folder, lines)
        check_untouched(folder, source)
    if os.environ.get("FORETELL_UPDATE_GOLDEN") == "1":
        page.write_text("\n".join(updated(lines, different)))
        return
    for block, printed in different:
        print(f"{page}:{block.line}: other output than the page has:")
        print("\n".join(difflib.ndiff(block.lines, printed)))
    if different:
        raise SystemExit(f"{len(different)} outputs differ; where that is "
                         "meant, scripts/update_golden writes them anew")


if __name__ == "__main__":
    main()
