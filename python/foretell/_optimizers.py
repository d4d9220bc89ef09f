"""Real optimizer objects as the names that the program knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error

if TYPE_CHECKING:
    from torch.optim import Optimizer

# Class name, the option that decides, and the name with and without it.
_NAMES: Mapping[str, tuple[str, str, str]] = {
    "SGD": ("momentum", "momentum", "sgd"),
    "Adam": ("", "", "adam"),
    "AdamW": ("", "", "adamw"),
    "RMSprop": ("", "", "rmsprop"),
    "Adagrad": ("", "", "adagrad"),
}
# Options that keep further state, which the program does not count.
_STATEFUL: Mapping[str, tuple[str, ...]] = {
    "Adam": ("amsgrad",),
    "AdamW": ("amsgrad",),
    "RMSprop": ("momentum", "centered"),
}


def optimizer_name(optimizer: Union[str, "Optimizer"]) -> str:
    """"momentum" of SGD(…, momentum=0.9), "adamw" of AdamW(…); texts as they are.

    Raises Error for other classes, and for options with more state than counted.
    """
    if isinstance(optimizer, str):
        return optimizer
    kind = type(optimizer).__name__
    groups: list[dict[str, Any]] = getattr(optimizer, "param_groups", [])
    if kind not in _NAMES or not groups:
        raise Error(f"optimizer {kind}: expected one of {', '.join(_NAMES)}, or "
                    "a name", "unsupported")
    for option in _STATEFUL.get(kind, ()):
        if any(group.get(option) for group in groups):
            raise Error(f"optimizer {kind}: {option}={groups[0].get(option)} keeps "
                        "state that is not counted, expected it off",
                        "unsupported")
    option, with_it, without = _NAMES[kind]
    decides = option and any(group.get(option) for group in groups)
    return with_it if decides else without
