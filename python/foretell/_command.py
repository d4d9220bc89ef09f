"""Runs the `foretell` program of this package: the one way to it.

Every answer of this package is JSON that the program printed. It is linked with a
LibTorch of its own choice, opens files in its sandbox, and cannot take the caller's
process with it; docs/python.md says why that is better than bindings.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
import subprocess
from collections.abc import Collection, Mapping
from typing import Any

from ._errors import Error, warn
from ._meanings import in_python

PACKAGE = pathlib.Path(__file__).resolve().parent
# Exit statuses, as docs/command_line.md lists them.
DONE, DOES_NOT_FIT, USAGE, MODEL_FAILED, BUG = range(5)
CODES = {USAGE: "invalid_argument", MODEL_FAILED: "unsupported"}
SAYS_ERROR, SAYS_WARNING = "foretell: error: ", "foretell: warning: "
NOT_MODELLED = "not modelled: "  # Of keys of configuration files, a note.


@functools.cache
def program() -> str:
    """The path of the program: $FORETELL, else the one in this package."""
    return os.environ.get("FORETELL") or str(PACKAGE / "bin" / "foretell")


@functools.cache
def built_with() -> Mapping[str, Any]:
    """LibTorch's version in the build, and whether it lies in this package."""
    built: Mapping[str, Any] = json.loads((PACKAGE / "built.json").read_text())
    return built


def _minor(version: str) -> list[str]:
    return version.split("+")[0].split(".")[:2]


@functools.cache
def environment() -> Mapping[str, str]:
    """This process's environment, with the way to LibTorch where it is not beside.

    Raises Error where the installed torch is not of the version that the program
    was built with: their libraries do not fit together.
    """
    if "FORETELL" in os.environ or built_with()["libtorch_inside"]:
        return os.environ
    import importlib.metadata  # slow to import, and only needed here
    import importlib.util

    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise Error(f"torch is missing: pip install torch=={built_with()['torch']}",
                    "not_found")
    installed = importlib.metadata.version("torch")
    if _minor(installed) != _minor(built_with()["torch"]):
        raise Error(
            f"foretell was built with torch {built_with()['torch']}, and "
            f"{installed} is installed: install foretell again", "unsupported")
    folder = pathlib.Path(spec.submodule_search_locations[0], "lib")
    if folder.parent.parent == PACKAGE.parent:
        return os.environ
    others = os.environ.get("LD_LIBRARY_PATH", "")
    return {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{others}".rstrip(":")}


def _said(text: str, prefix: str) -> list[str]:
    return [line.removeprefix(prefix) for line in text.splitlines()
            if line.startswith(prefix)]


def _call(words: Collection[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([program(), *words], capture_output=True, text=True,
                              env=environment())
    except OSError as error:
        raise Error(f"{program()}: cannot be started: {error.strerror}",
                    "io") from error


def _judge(outcome: subprocess.CompletedProcess[str],
           accept: Collection[int]) -> str:
    """The output of a process that ended well, with its warnings given."""
    status = outcome.returncode
    if status not in accept:
        errors = _said(outcome.stderr, SAYS_ERROR) or [outcome.stderr.strip()]
        raise Error(in_python("\n".join(errors)), CODES.get(status, "internal"))
    for warning in _said(outcome.stderr, SAYS_WARNING):
        warn(in_python(warning))
    for note in _said(outcome.stderr, f"foretell: {NOT_MODELLED}"):
        warn(NOT_MODELLED + in_python(note))
    return outcome.stdout


def run(words: Collection[str], accept: Collection[int] = (DONE,)) -> str:
    """What the program prints on stdout; its warnings become Python's.

    Raises Error with the program's own text where its exit status is not accepted.
    """
    return _judge(_call(words), accept)


def run_document(words: Collection[str],
                 accept: Collection[int] = (DONE,)) -> tuple[int, dict[str, Any]]:
    """The exit status of a command and the document that it prints. One that lists
    errors is a document too; `raise_errors` and `the_result` raise them."""
    outcome = _call(words)
    if outcome.returncode in (USAGE, MODEL_FAILED) and outcome.stdout:
        accept = (outcome.returncode,)
    return outcome.returncode, json.loads(_judge(outcome, accept))


def run_json(words: Collection[str],
             accept: Collection[int] = (DONE,)) -> dict[str, Any]:
    """The same without the status."""
    return run_document(words, accept)[1]


def raise_errors(document: Mapping[str, Any]) -> None:
    """Raises the first error that a document lists."""
    for error in document.get("errors", ()):
        raise Error(in_python(error["message"]), error["code"])


def the_result(document: Mapping[str, Any]) -> dict[str, Any]:
    """The only result of a document. Raises what it lists as an error."""
    raise_errors(document)
    (result,) = document["results"]
    return dict(result)
