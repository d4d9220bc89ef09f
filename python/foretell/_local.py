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


def _index(device: Any) -> int:
    """Of a number, "cuda:1" or a torch.device; the first where none is said."""
    if isinstance(device, int):
        return device
    _, _, number = str(device).partition(":")
    return int(number) if number.isdigit() else 0


def local_device(device: Any = 0) -> tuple[str | None, float]:
    """The catalogue's name (None where it has none) and the MiB of a CUDA device.

    Raises Error where this machine has none.
    """
    import torch

    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    index = _index(device)
    if index >= count:
        raise Error(f"device {device}: this machine has {count or 'no'} CUDA device"
                    f"{'' if count == 1 else 's'}; give a name that `foretell devices` "
                    "lists", "not_found")
    found = torch.cuda.get_device_properties(index)
    memory_mib = found.total_memory / MIB
    return _known(found.name, memory_mib), memory_mib


def device_name(device: Any) -> Any:
    """The catalogue's name of what the caller calls a device: a name as it is; for
    "cuda", "cuda:1", 1 and torch.device, of that GPU of this machine.

    Raises Error where this machine has none, for one that is not in the catalogue,
    and for the CPU.
    """
    name = str(device).lower()
    if name == "cpu":
        raise Error(f"device={str(device)!r}: figures are those of an NVIDIA GPU; give a "
                    "name that `foretell devices` lists. measure(device='cpu') runs on "
                    "the CPU")
    if isinstance(device, str) and not name.startswith("cuda"):
        return device
    known, memory_mib = local_device(device)
    if known is None:
        raise Error(f"device={str(device)!r}: the catalogue has no card of this name and "
                    f"{memory_mib:.0f} MiB; device_file= describes one", "not_found")
    return known
