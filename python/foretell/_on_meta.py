"""How a module on the meta device is exported. Imports nothing of the package: scripts
and python/converters/huggingface.py, which runs alone, use the same file."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

Result = TypeVar("Result")


def tried_on_meta(export: Callable[[], Result]) -> Result:
    """What `export` gives, which calls torch.export for a module on the meta device.

    A forward pass that makes tensors without saying where (torch.zeros(3)) makes them
    on the CPU, which do not mix with those of the meta device. So it is tried once more
    with meta as the default device; not at first, because torch.tensor(3) has no value
    there. Where both fail, the first error is raised.
    """
    try:
        return export()
    except Exception as first:  # torch.export raises whatever the network does
        try:
            with torch.device("meta"):
                return export()
        except Exception:
            raise first from None
