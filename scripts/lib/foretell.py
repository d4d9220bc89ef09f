"""Finds and runs foretell: the one way for all scripts of this folder.

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
    import foretell

    foretell.run("version")
    foretell.run_json("predict", path, "--json")["results"]

The program is $FORETELL where that is set, else the built one; scripts/foretell
is asked once for every subcommand and builds first what is missing or out of date.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Exit statuses, as the README lists them.
DONE, DOES_NOT_FIT, USAGE, MODEL_FAILED, BUG, INTERRUPTED = range(6)
# How much of an error message is shown.
LONGEST_COMPLAINT = 2000


class Failure(Exception):
    """foretell ended with a status that its caller did not expect."""

    def __init__(self, command, status, complaint):
        super().__init__(f"{' '.join(command)} ended with {status}: "
                         f"{complaint.strip()[-LONGEST_COMPLAINT:]}")
        self.status = status


@functools.cache
def program(subcommand=""):
    """The path of the program to run, built where `subcommand` needs it."""
    given = os.environ.get("FORETELL")
    if given:
        return given
    asked = [str(ROOT / "scripts" / "foretell"), "--program", subcommand]
    outcome = subprocess.run(asked, stdout=subprocess.PIPE, text=True)
    if outcome.returncode != DONE:
        raise Failure(asked, outcome.returncode, "foretell was not built")
    return outcome.stdout.strip()


def command(*arguments):
    """The words of a command line, for subprocess."""
    words = list(map(str, arguments))
    return [program(*words[:1]), *words]


def run(*arguments, accept=(DONE,), environment=None):
    """What foretell prints; Failure where its exit status is not in `accept`.

    `environment` is added to this process's. What foretell says beside its
    result is in the Failure, or dropped.
    """
    words = command(*arguments)
    outcome = subprocess.run(words, text=True, capture_output=True,
                             env={**os.environ, **(environment or {})})
    if outcome.returncode not in accept:
        raise Failure(words, outcome.returncode, outcome.stderr)
    return outcome.stdout


def run_json(*arguments, accept=(DONE,), environment=None):
    """The same for a command that prints JSON; gives the parsed document."""
    text = run(*arguments, accept=accept, environment=environment)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failure(command(*arguments), DONE, f"no JSON: {error}") from error


def show(*arguments, accept=(DONE,)):
    """Runs foretell on the caller's terminal, for work that takes long."""
    words = command(*arguments)
    status = subprocess.run(words).returncode
    if status not in accept:
        raise Failure(words, status, "its messages stand above")


def main(run_script):
    """Calls a script's main; a Failure becomes a message and exit status 1."""
    try:
        sys.exit(run_script())
    except Failure as failure:
        sys.exit(str(failure))
