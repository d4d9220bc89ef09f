"""Configuration objects of transformers, TRL and PEFT as files that the program reads.

What a key means is the program's business: nothing is translated here.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import os
import pathlib
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

from ._errors import Error
from ._model import Opened
from ._source import CONFIG

# Keys whose texts must not reach a disk: hub_token, HF_TOKEN, wandb_api_key.
_SECRET = re.compile(r"(^|_)(token|api_key|key|password|secret)$", re.IGNORECASE)
_LEFT_OUT = object()


def _plain(value: Any) -> Any:
    """A value as JSON has it: of enums their value, of sets a sorted list, of
    torch.dtype its name; _LEFT_OUT for what JSON does not have."""
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else _LEFT_OUT
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return _plain_dict(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        order = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [one for one in map(_plain, order) if one is not _LEFT_OUT]
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return str(value).removeprefix("torch.")
    return _plain(value.to_dict()) if hasattr(value, "to_dict") else _LEFT_OUT


def _plain_dict(values: Mapping[Any, Any]) -> dict[str, Any]:
    plain = {str(key): _plain(value) for key, value in values.items()
             if not (isinstance(value, str) and _SECRET.search(str(key)))}
    return {key: value for key, value in plain.items() if value is not _LEFT_OUT}


def fields_of(settings: Any) -> dict[str, Any]:
    """The fields of a configuration object or a dict, as JSON has them, without
    secrets. Raises Error for other values."""
    if isinstance(settings, Mapping):
        return _plain_dict(settings)
    if callable(getattr(settings, "to_dict", None)):
        return _plain_dict(settings.to_dict())
    if dataclasses.is_dataclass(settings) and not isinstance(settings, type):
        return _plain_dict({field.name: getattr(settings, field.name)
                            for field in dataclasses.fields(settings)})
    raise Error(f"a configuration is a {type(settings).__name__}, expected an object "
                "with to_dict() (TrainingArguments, LoraConfig), a dict, or a path")


def _write(path: pathlib.Path, fields: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(fields, indent=1, allow_nan=False), encoding="utf-8")


def config_paths(folder: pathlib.Path, **settings: Any) -> list[str]:
    """The files of several configurations, written to `folder` under their names. One
    that is a path already stays where it is; None is left out."""
    paths = []
    for name, one in settings.items():
        if one is None:
            continue
        if isinstance(one, (str, os.PathLike)):
            paths.append(os.fspath(one))
            continue
        path = folder / f"{name}.json"
        _write(path, fields_of(one))
        paths.append(str(path))
    return paths


def is_network(value: Any) -> bool:
    """Whether a value is a network's configuration (transformers.PretrainedConfig)."""
    return (isinstance(getattr(value, "model_type", None), str)
            and callable(getattr(value, "to_dict", None))
            and not hasattr(value, "forward"))


def open_network(config: Any) -> Opened:
    """A network's configuration as a folder with a config.json, deleted with the
    result."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="foretell-"))
    opened = Opened(str(folder), getattr(config, "_name_or_path", "")
                    or type(config).__name__)
    weakref.finalize(opened, shutil.rmtree, folder, ignore_errors=True)
    _write(folder / CONFIG, fields_of(config))
    return opened
