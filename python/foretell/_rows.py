"""Measurements as rows of a table that `foretell adapt` reads (docs/adapting.md)."""

from __future__ import annotations

import csv
import hashlib
import os
import pathlib
import shutil
import tempfile
from typing import Any, Union

from ._errors import Error
from ._prediction import Prediction
from ._reading import Reading

COLUMNS = ("model", "batch", "latency_ms", "memory_mib", "mode", "precision", "optimizer",
           "autocast", "device", "device_name", "allocated_mib", "reserved_mib",
           "context_mib", "steps", "setup")


def _kept_model(table: pathlib.Path, prediction: Prediction) -> str:
    """The model as the program can open it later: a file of ours, which is deleted with
    the module, is copied to a folder next to the table."""
    opened = prediction._opened
    path = pathlib.Path(opened.path)
    is_ours = path.exists() and opened.name != opened.path and path.is_relative_to(
        tempfile.gettempdir())
    if not is_ours:
        return opened.path
    file = path / "config.json" if path.is_dir() else path
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:8]
    folder = table.with_name(f"{table.stem}_models")
    kept = folder / (f"{path.stem}-{digest}" + ("" if path.is_dir() else path.suffix))
    kept.parent.mkdir(exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, kept, dirs_exist_ok=True)
    else:
        shutil.copyfile(path, kept)
    return str(kept)


def _row(table: pathlib.Path, p: Prediction, real: Reading) -> dict[str, Any]:
    return {"model": _kept_model(table, p), "batch": p.batch,
            "latency_ms": round(real.latency_ms or 0, 4),
            "memory_mib": round(real.total_mib or 0, 1), "mode": p.mode,
            "precision": p.precision, "optimizer": p.optimizer or "",
            "autocast": str(bool(p.autocast)).lower(), "device": p.device,
            "device_name": real.device, "allocated_mib": round(real.allocated_mib, 2),
            "reserved_mib": round(real.reserved_mib, 2),
            "context_mib": round(real.context_mib or 0, 1), "steps": real.steps,
            "setup": " ".join(p.setup)}


def append_row(path: Union[str, os.PathLike[str]], prediction: Prediction,
               reading: Reading) -> None:
    """Appends a measurement to a table, which is created if missing.

    Raises Error if a figure that `foretell adapt` needs was not measured, and for a
    table with other columns.
    """
    table = pathlib.Path(path)
    if reading.latency_ms is None:
        raise Error(f"{table}: {reading.steps} steps were measured, expected at least 4 "
                    "to time one")
    if reading.total_mib is None or reading.source != "nvidia-smi":
        raise Error(f"{table}: the memory of this process could not be read")
    is_new = not table.exists() or table.stat().st_size == 0
    if not is_new:
        with table.open(newline="", encoding="utf-8") as file:
            header = next(csv.reader(file))
        if header != list(COLUMNS):
            raise Error(f"{table}: its columns are {', '.join(header)}, expected "
                        f"{', '.join(COLUMNS)}")
    row = _row(table, prediction, reading)
    with table.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)
