"""`estimate_memory`, in the shape of PyTorch's RFC 108."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Union

from ._api import predict, predict_opened
from ._local import local_device
from ._meanings import OPTIONS, with_options
from ._model import Model
from ._optimizers import trained_names
from ._prediction import Memory, Prediction
from ._text import number
from ._words import asked

if TYPE_CHECKING:
    import torch


@dataclasses.dataclass(frozen=True, repr=False)
class MemoryEstimate:
    """Parts add up to total_mb, as a process on the GPU shows it, and are those at the
    peak: where that is in the optimizer's step, few activations are left. An MB has
    2^20 bytes, as nvidia-smi's and torch.cuda.memory_summary's."""

    total_mb: float
    interval_mb: list[float]
    """[low, high]; the high end decides what fits."""
    params_mb: float
    gradients_mb: float
    optimizer_mb: float
    activations_mb: float
    other_mb: float
    """Buffers, inputs, temporaries, workspaces, rounding, and what the caching
    allocator holds besides."""
    context_mb: float
    prediction: Prediction

    PARTS = ("params", "gradients", "optimizer", "activations", "other", "context")

    def parts(self) -> dict[str, float]:
        """MB of everything that adds up to `total_mb`."""
        return {part: getattr(self, part + "_mb") for part in self.PARTS}

    def __str__(self) -> str:
        parts = " + ".join(f"{part} {number(mb)}" for part, mb in self.parts().items())
        low, high = map(number, self.interval_mb)
        return f"{number(self.total_mb)} MB   ({low} – {high}) = {parts}"

    def __repr__(self) -> str:
        return f"<foretell.MemoryEstimate {self.prediction.model}: {self}>"

    def fits(self, device: Union[int, str, torch.device] = 0) -> bool:
        """Whether the high end fits a GPU of this machine (a number), or of the
        catalogue (a name, as `foretell devices` lists them)."""
        name = _catalogue_name(device)
        if name is None:
            name, memory_mib = local_device(device)
            if name is None:
                return self.interval_mb[1] <= memory_mib
        if name == self.prediction.device:
            return self.prediction.mig.whole_device.fits
        # Nothing is exported a second time.
        p = self.prediction
        elsewhere = predict_opened(p._opened, {**p._options, "device": name})
        return elsewhere.mig.whole_device.fits


def _catalogue_name(device: Any) -> str | None:
    is_local = not isinstance(device, str) or device.startswith("cuda")
    return None if is_local else device


def _estimate(p: Prediction) -> MemoryEstimate:
    memory: Memory = p.memory
    named = (memory.parameters_mib, memory.gradients_mib, memory.optimizer_mib,
             memory.activations_mib)
    return MemoryEstimate(
        total_mb=memory.total_mib, interval_mb=memory.interval_mib,
        params_mb=memory.parameters_mib, gradients_mb=memory.gradients_mib,
        optimizer_mb=memory.optimizer_mib, activations_mb=memory.activations_mib,
        other_mb=memory.total_mib - memory.context_mib - sum(named),
        context_mb=memory.context_mib, prediction=p)


@with_options(OPTIONS)
def estimate_memory(model: Model, sample_input: Any = None, *,
                    optimizer: Union[str, torch.optim.Optimizer, None] = None,
                    **options: Any) -> MemoryEstimate:
    """Memory of a training step with `optimizer`, a torch.optim object or a name;
    without one, of inference. An object says by its groups which parameters of a
    module are trained, and by `foreach` how. Other options are those of predict."""
    inputs, found = asked(sample_input, options)
    if optimizer is not None:
        found.setdefault("mode", "training")
        found["optimizer"] = optimizer
        found.setdefault("trainable", trained_names(model, optimizer))
    return _estimate(predict(model, inputs, **found))
