"""A Lightning callback that says before the first step whether it fits.

    trainer = Trainer(callbacks=[foretell.lightning.MemoryCheck()])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback

from ._check import device_options, precision_options, warn_unless_it_fits
from ._errors import Error, warn

if TYPE_CHECKING:
    from lightning.pytorch import LightningModule, Trainer


class MemoryCheck(Callback):  # type: ignore[misc]
    """Warns (foretell.Warning) where the step will not fit, or with `stop` raises
    foretell.DoesNotFit; one line on stderr where it will.

    `device` is a name of the catalogue, else the GPU that is here; `profile` a MIG
    profile. `inputs` are those of the module's forward; else its
    example_input_array, else the first batch, without its targets.
    """

    def __init__(self, device: str | None = None, profile: str | None = None,
                 inputs: Any = None, stop: bool = False) -> None:
        super().__init__()
        self.device = device
        self.profile = profile
        self.inputs = inputs
        self.stop = stop
        self.asked = False
        self.fits: bool | None = None

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule,
                             batch: Any, batch_idx: int) -> None:
        if self.asked:
            return
        self.asked = True
        example = self.inputs
        if example is None:
            example = getattr(pl_module, "example_input_array", None)
        try:
            options = {**device_options(self.device),
                       **precision_options(str(trainer.precision))}
        except Error as error:
            warn(f"foretell: whether the step fits cannot be told: {error}")
            return
        optimizers = trainer.optimizers
        self.fits = warn_unless_it_fits(
            pl_module, batch if example is None else example,
            optimizer=optimizers[0] if optimizers else None, profile=self.profile,
            accumulate=getattr(trainer, "accumulate_grad_batches", 1), stop=self.stop,
            **options)
