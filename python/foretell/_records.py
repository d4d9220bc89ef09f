"""JSON objects as frozen dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

Record = TypeVar("Record")


def from_json(kind: type[Record], values: Mapping[str, Any]) -> Record:
    """A `kind` of the fields that it has; documents may hold further ones."""
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore
    return kind(**{name: values[name] for name in names if name in values})
