"""GPUs of this machine, in the words of the catalogue."""

from __future__ import annotations

import functools
from typing import Any

from . import _command
from ._errors import Error

MIB = 2**20
# Cards report less than they are sold with.
LIKE = 0.1


@functools.cache
def catalogue() -> list[dict[str, Any]]:
    """What `foretell devices` knows."""
    devices: list[dict[str, Any]] = _command.run_json(
        ["devices", "--json"])["devices"]
    return devices


def _known(name: str, memory_mib: float) -> str | None:
    """The catalogue's name of the card that calls itself `name`."""
    words = set(name.lower().replace("-", " ").split()) - {"nvidia"}
    for device in catalogue():
        display = device["display_name"].lower().replace("-", " ").split()
        like = abs(memory_mib / device["memory_mib"] - 1) < LIKE
        if like and words == set(display) - {"nvidia"}:
            return str(device["name"])
    return None


def local_device(device: Any = 0) -> tuple[str | None, float]:
    """The catalogue's name (None where it has none) and the MiB of a CUDA device.

    Raises Error where this machine has none.
    """
    import torch

    if not torch.cuda.is_available():
        raise Error(f"device {device}: no CUDA device here; give a name that "
                    "`foretell devices` lists", "not_found")
    found = torch.cuda.get_device_properties(torch.device(
        f"cuda:{device}" if isinstance(device, int) else device))
    memory_mib = found.total_memory / MIB
    return _known(found.name, memory_mib), memory_mib
