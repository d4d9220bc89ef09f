"""What goes wrong, in the words of the `foretell` program."""

from __future__ import annotations

import os
import sys
import types
import warnings

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Error(Exception):
    """What the program refused, with its own text.

    `code` is one of invalid_argument, not_found, corrupt, unsupported, io and
    internal, as docs/json_output.md lists them.
    """

    def __init__(self, message: str, code: str = "invalid_argument") -> None:
        super().__init__(message)
        self.code = code


class Warning(UserWarning):  # noqa: A001 - foretell.Warning, as foretell.Error
    """What the program says in addition to its answer, or of a step that will not fit."""


def warn(message: str) -> None:
    """Gives a foretell.Warning that names the line outside this package."""
    level = 2
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        level += 1
        frame = frame.f_back
    warnings.warn(message, Warning, stacklevel=level)
