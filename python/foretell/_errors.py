"""What goes wrong, in the words of the `foretell` program."""

from __future__ import annotations

import warnings


class Error(Exception):
    """What the program refused, with its own text.

    `code` is one of invalid_argument, not_found, corrupt, unsupported, io and
    internal, as docs/json_output.md lists them.
    """

    def __init__(self, message: str, code: str = "invalid_argument") -> None:
        super().__init__(message)
        self.code = code


class Warning(UserWarning):  # noqa: A001 - foretell.Warning, as foretell.Error
    """What the program says beside its answer, or of a step that will not fit."""


def warn(message: str) -> None:
    """Gives a foretell.Warning that names the line outside this package."""
    warnings.warn(message, Warning, stacklevel=3)
