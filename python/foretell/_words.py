"""Options in the words of PyTorch and of other tools, as those of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._errors import Error

# What other libraries call an option.
_NAMES: Mapping[str, str] = {
    "batch_size": "batch", "batchsize": "batch", "bs": "batch",
    "per_device_train_batch_size": "batch",
    "dtype": "precision", "torch_dtype": "precision",
    "amp": "autocast", "mixed_precision": "autocast",
    "gpu": "device", "card": "device",
    "optim": "optimizer",
    "train": "mode", "training": "mode",
    "gradient_accumulation_steps": "accumulate", "grad_accum": "accumulate",
    "gradient_checkpointing": "recompute", "activation_checkpointing": "recompute",
    "sequence_length": "seq_len", "max_seq_len": "seq_len", "max_length": "seq_len",
    "mig": "profile", "mig_profile": "profile",
    "memory": "max_memory", "max_memory_mib": "max_memory",
    "input_size": "inputs", "input_shape": "inputs", "input_shapes": "inputs",
    "sample_input": "inputs", "example": "inputs", "example_inputs": "inputs",
    "input_data": "inputs",
}
# Two things each: the type of everything, or that of products alone.
_EITHER = {name: name for name in ("fp16", "bf16")} | {"half": "fp16"}
_PRECISIONS: Mapping[str, str] = {
    "float32": "fp32", "float": "fp32", "single": "fp32", "32": "fp32", "fp32": "fp32",
    "float16": "fp16", "half": "fp16", "16": "fp16", "fp16": "fp16",
    "bfloat16": "bf16", "bf16": "bf16", "tf32": "tf32",
}
_MODES: Mapping[Any, str] = {
    True: "training", False: "inference", "train": "training", "training": "training",
    "eval": "inference", "infer": "inference", "inference": "inference",
}


def precision_name(value: Any) -> Any:
    """"bf16" of torch.bfloat16, "bfloat16" or "bf16"; a text that is none of these is
    left to the program."""
    name = str(value).removeprefix("torch.").lower()
    if name in _PRECISIONS:
        return _PRECISIONS[name]
    if isinstance(value, str):
        return value
    raise Error(f"precision={value!r}: expected one of fp32, tf32, fp16 and bf16, or "
                "torch.float32, torch.float16 and torch.bfloat16")


def _autocast(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or value is None:
        return {"autocast": value}
    if value in ("no", "off"):
        return {"autocast": False}
    return {"autocast": True, "precision": precision_name(value)}


def _mode(value: Any) -> dict[str, Any]:
    return {"mode": _MODES.get(value.lower() if isinstance(value, str) else value, value)}


def _recompute(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"recompute": "auto" if value else None}
    return {"recompute": value}


def _device(value: Any) -> dict[str, Any]:
    from ._local import device_name

    return {"device": device_name(value)}


_VALUES: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "autocast": _autocast,
    "device": _device,
    "mode": _mode,
    "precision": lambda value: {"precision": precision_name(value)},
    "recompute": _recompute,
}


def _in_our_words(name: str, value: Any) -> dict[str, Any]:
    """One option, which may say two of ours (autocast="bf16")."""
    if name in _EITHER:
        kind = _EITHER[name]
        raise Error(f"{name}={value!r}: say precision={kind!r} for weights of that type, "
                    f"or autocast={kind!r} for mixed precision")
    ours = _NAMES.get(name, name)
    if value is None:
        return {ours: None}
    return _VALUES.get(ours, lambda one: {ours: one})(value)


def said_no(options: Mapping[str, Any], ours: str) -> bool:
    """Whether an option is False, by our name or another library's."""
    return any(value is False and _NAMES.get(name, name) == ours
               for name, value in options.items())


def in_our_words(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options under this package's names and with its values.

    Raises Error for two that contradict each other, and for values that are none.
    """
    found: dict[str, Any] = {}
    said: dict[str, str] = {}
    for name, value in options.items():
        for ours, one in _in_our_words(name, value).items():
            if found.get(ours) not in (None, one):
                raise Error(f"{said[ours]} and {name}={value!r} both set {ours}: leave "
                            "one of the two out")
            found[ours], said[ours] = one, f"{name}={value!r}"
    return found


def asked(inputs: Any, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Inputs, which may be among the options (input_size=), and the options in our
    words."""
    found = in_our_words(options)
    named = found.pop("inputs", None)
    if named is not None and inputs is not None:
        raise Error("inputs are given twice, by their place and by name")
    return (named if inputs is None else inputs), found
