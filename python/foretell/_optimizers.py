"""Real optimizer objects as the names and flags that the program knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error, warn

if TYPE_CHECKING:
    from torch.optim import Optimizer

# Class name, the option that decides, and the name with and without it.
_NAMES: Mapping[str, tuple[str, str, str]] = {
    "SGD": ("momentum", "momentum", "sgd"),
    "Adam": ("amsgrad", "amsgrad", "adam"),
    "AdamW": ("amsgrad", "amsgrad", "adamw"),
    "RMSprop": ("", "", "rmsprop"),
    "Adagrad": ("", "", "adagrad"),
    "Adafactor": ("", "", "adafactor"),
    "Muon": ("", "", "muon"),
}
# Options that keep further state, or run other code, which the program does not
# count.
_NOT_COUNTED: Mapping[str, tuple[str, ...]] = {
    "RMSprop": ("momentum", "centered"),
    "Adafactor": ("foreach",),
}


def _name_elsewhere(kind: type, made: Any = None) -> str | None:
    """Of a class of another library than torch, or of one that was `made`; None of
    torch's."""
    library = kind.__module__.partition(".")[0]
    name = kind.__name__.lower()
    if library == "transformers" and name == "adafactor":
        return "hf_adafactor"
    # Adam's states and kernels are AdamW's.
    name = re.sub("adam(?!w)", "adamw", name.replace("32bit", "").replace("paged", ""))
    if library == "torchao":
        return f"torchao_{name}"
    if library != "bitsandbytes":
        return None
    bits = getattr(getattr(made, "args", None), "optim_bits", 32)
    if bits == 8 and not name.endswith("8bit"):
        name += "8bit"
    is_paged = getattr(made, "is_paged", "Paged" in kind.__name__)
    return f"paged_{name}" if is_paged else name


def _name_of_class(kind: str) -> str:
    """Of a class with its default options. Raises Error for one that is not counted."""
    if kind not in _NAMES:
        raise Error(f"optimizer {kind}: expected one of {', '.join(_NAMES)}, or a name",
                    "unsupported")
    return _NAMES[kind][2]


def optimizer_name(optimizer: Union[str, "Optimizer", "type[Optimizer]"]) -> str:
    """"momentum" of SGD(…, momentum=0.9), "adamw" of AdamW(…), AdamW or "AdamW".

    Raises Error for other classes, and for options that are not counted.
    """
    if isinstance(optimizer, str):
        return optimizer.lower()
    kind_of = optimizer if isinstance(optimizer, type) else type(optimizer)
    elsewhere = _name_elsewhere(kind_of, optimizer)
    if elsewhere is not None:
        return elsewhere
    if isinstance(optimizer, type):
        return _name_of_class(optimizer.__name__)
    kind = kind_of.__name__
    groups: list[dict[str, Any]] = getattr(optimizer, "param_groups", [])
    if kind not in _NAMES or not groups:
        return _name_of_class(kind)
    for option in _NOT_COUNTED.get(kind, ()):
        if any(group.get(option) for group in groups):
            raise Error(f"optimizer {kind}: {option}={groups[0].get(option)} is not "
                        "counted, expected it off", "unsupported")
    option, with_it, without = _NAMES[kind]
    decides = option and any(group.get(option) for group in groups)
    return with_it if decides else without


def runs_one_by_one(optimizer: Any) -> bool:
    """Whether an optimizer object was made with foreach=False."""
    groups = getattr(optimizer, "param_groups", [])
    return any(group.get("foreach") is False for group in groups)


def runs_fused(optimizer: Any) -> bool:
    """Whether an optimizer object was made with fused=True."""
    groups = getattr(optimizer, "param_groups", [])
    return any(group.get("fused") for group in groups)


def trained_names(model: Any, optimizer: Any) -> str | None:
    """The parameters of a module that the optimizer's groups hold, as a regular
    expression; None where these are all that require gradients, or where one of the
    two is no object that could say so.

    Warns of parameters that require gradients and are in no group: PyTorch would
    compute their gradients and keep them.
    """
    if (not hasattr(model, "named_parameters")
            or isinstance(optimizer, (str, type, type(None)))):
        return None
    from ._wrappers import unwrapped  # torch is there: the model is a module

    model = unwrapped(model)
    held = {id(parameter) for group in optimizer.param_groups
            for parameter in group["params"]}
    wanted = {name: id(parameter) in held
              for name, parameter in model.named_parameters()
              if parameter.requires_grad}
    names = [name for name, is_held in wanted.items() if is_held]
    if not names:
        raise Error(f"optimizer {type(optimizer).__name__}: its groups hold no "
                    "parameter of the model that requires a gradient")
    if len(names) == len(wanted):
        return None
    warn(f"{len(wanted) - len(names)} of {len(wanted)} parameters require gradients "
         "and are in no group of the optimizer: counted as frozen; "
         "requires_grad_(False) makes them so")
    return f"^({'|'.join(map(re.escape, names))})$"
