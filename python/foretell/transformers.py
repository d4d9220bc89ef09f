"""A Hugging Face `Trainer` callback that says before the first step whether it fits.

    trainer = Trainer(model, args, callbacks=[foretell.transformers.MemoryCheck()])
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import TrainerCallback

from ._check import device_options, mixed_precision, precision_options, warn_unless_it_fits
from ._errors import Error, warn


def _first_batch(loader: Any) -> dict[str, Any]:
    """The tensors of a batch; the order of later ones stays what it was."""
    with torch.random.fork_rng(devices=[]):
        batch = next(iter(loader))
    return {name: value for name, value in batch.items()
            if isinstance(value, torch.Tensor)}


class MemoryCheck(TrainerCallback):  # type: ignore[misc]
    """Warns (foretell.Warning) where the step will not fit; one line on stderr where
    it will.

    `device` is a name of the catalogue, else the GPU that is here; `profile` a MIG
    profile. Sharding is not counted.
    """

    def __init__(self, device: str | None = None,
                 profile: str | None = None) -> None:
        self.device = device
        self.profile = profile
        self.fits: bool | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any,
                       model: torch.nn.Module | None = None, optimizer: Any = None,
                       train_dataloader: Any = None, **others: Any) -> None:
        try:
            options = {**device_options(self.device),
                       **precision_options(mixed_precision(args))}
        except Error as error:
            warn(f"foretell: whether the step fits cannot be told: {error}")
            return
        # accelerate wraps the optimizer.
        inner = getattr(optimizer, "optimizer", optimizer)
        self.fits = warn_unless_it_fits(
            model, _first_batch(train_dataloader), optimizer=inner,
            profile=self.profile, **options)
