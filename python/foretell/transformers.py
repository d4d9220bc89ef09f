"""A Hugging Face `Trainer` callback that says before the first step whether it fits.

    trainer = Trainer(model, args, callbacks=[foretell.transformers.MemoryCheck()])
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import TrainerCallback

from ._check import (device_options, mixed_precision, precision_options,
                     warn_unless_it_fits)
from ._errors import Error, warn
from ._optimizers import optimizer_name
from ._sharing import sharing_options


def _first_batch(loader: Any) -> dict[str, Any]:
    """The tensors of a batch; the order of later ones stays what it was."""
    with torch.random.fork_rng(devices=[]):
        batch = next(iter(loader))
    return {name: value for name, value in batch.items()
            if isinstance(value, torch.Tensor)}


def _optimizer_options(optimizer: Any, args: Any) -> dict[str, Any]:
    """The optimizer inside of what accelerate and DeepSpeed put around it; one that is
    not known counts as what the arguments name."""
    while optimizer is not None and hasattr(optimizer, "optimizer"):
        optimizer = optimizer.optimizer
    try:
        optimizer_name(optimizer)
        return {"optimizer": optimizer}
    except Error:
        named = getattr(args, "optim", None)
        if named is None:
            raise
    name = str(getattr(named, "value", named))
    is_fused = name.endswith("_fused")
    return {"optimizer": name.removesuffix("_fused"), "fused": is_fused or None}


class MemoryCheck(TrainerCallback):  # type: ignore[misc]
    """Warns (foretell.Warning) where the step will not fit, or with `stop` raises
    foretell.DoesNotFit; one line on stderr where it will.

    It reads the model as it trains (adapters, 4-bit layers, activation checkpointing),
    the optimizer, mixed precision, accumulation, and the GPUs that share the step with
    DDP, FSDP or DeepSpeed. `device` is a name of the catalogue, else the GPU that is
    here; `profile` a MIG profile.
    """

    def __init__(self, device: str | None = None, profile: str | None = None,
                 stop: bool = False) -> None:
        self.device = device
        self.profile = profile
        self.stop = stop
        self.fits: bool | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any,
                       model: torch.nn.Module | None = None, optimizer: Any = None,
                       train_dataloader: Any = None, **others: Any) -> None:
        if getattr(args, "local_process_index", 0) != 0:
            return
        try:
            options = {**device_options(self.device),
                       **precision_options(mixed_precision(args)),
                       **sharing_options(args), **_optimizer_options(optimizer, args)}
        except Error as error:
            warn(f"foretell: whether the step fits cannot be told: {error}")
            return
        self.fits = warn_unless_it_fits(
            model, _first_batch(train_dataloader), stop=self.stop, profile=self.profile,
            **options)
