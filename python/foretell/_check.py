"""What the callbacks of trainers share: a warning before the first step."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ._api import Fit, fits
from ._errors import Error, Warning, warn
from ._local import local_device
from ._text import number


def example_of(batch: Any) -> Any:
    """What forward takes of a batch: all of a mapping, a tensor itself, of a
    sequence (inputs, targets) the first."""
    if isinstance(batch, Mapping):
        return dict(batch)
    if isinstance(batch, Sequence) and batch:
        return example_of(batch[0])
    return batch


def device_options(device: str | None) -> dict[str, Any]:
    """Options that name the GPU that training uses: as given, else this machine's.
    Raises Error where there is none, or none that is known."""
    if device is not None:
        return {"device": device}
    name, memory_mib = local_device(0)
    # Memory hardly depends on the device: a stranger's size is the limit.
    return {"device": name} if name else {"max_memory": memory_mib}


def mixed_precision(args: Any) -> str:
    """Of arguments of transformers' Trainer, an object or a dict, in Lightning's words:
    "bf16-mixed", "16-mixed" or "32"."""
    on = [kind for kind in ("bf16", "fp16") if (
        args.get(kind) if isinstance(args, Mapping) else getattr(args, kind, False))]
    return f"{on[0].removeprefix('fp')}-mixed" if on else "32"


def precision_options(precision: str) -> dict[str, Any]:
    """Lightning's and Hugging Face's words for precision: "bf16-mixed", "16-true"."""
    kind = "bf16" if "bf16" in precision else "fp16" if "16" in precision else "fp32"
    if "true" in precision:
        return {"precision": kind}
    return {} if kind == "fp32" else {"autocast": True, "precision": kind}


class DoesNotFit(Error):
    """Raised before the first step by MemoryCheck(stop=True) if it does not fit."""


def _say(answer: Fit, stop: bool) -> None:
    """One line on stderr if the step fits; else a warning, or with `stop` DoesNotFit."""
    worst = max(answer.checks, key=lambda check: check["value"] / check["limit"])
    figures = (f"up to {number(worst['value'])} {worst['unit']}, of "
               f"{number(worst['limit'])} {worst['unit']}")
    text = f"the first step of {answer.model} {answer.fit} on {answer.place}: {figures}"
    if answer:
        print(f"foretell: {text}", file=sys.stderr)
        return
    text += "; foretell.advise says what would make it fit"
    if stop:
        raise DoesNotFit(text, "unsupported")
    warn(f"foretell: {text}")


def warn_unless_it_fits(model: Any, batch: Any, *, stop: bool = False,
                        **options: Any) -> bool | None:
    """Says whether a training step will fit: on stderr where it does, by a
    foretell.Warning where it does not or cannot be predicted. None in that case, which
    never stops a training. With `stop` a step that does not fit raises DoesNotFit."""
    try:
        with warnings.catch_warnings():
            # What is doubtful of a figure is for those who ask for it.
            warnings.simplefilter("ignore", Warning)
            # Both trainers have the loss in a function of their own.
            answer = fits(model, example_of(batch), mode="training",
                          loss_in_function=True, **options)
    except Error as error:
        warn(f"foretell: whether the step fits cannot be told: {error}")
        return None
    _say(answer, stop)
    return answer.accepted
