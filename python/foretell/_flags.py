"""Keyword arguments as flags of the program, under the same names."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from ._errors import Error
from ._optimizers import optimizer_name, runs_fused, runs_one_by_one

if TYPE_CHECKING:
    from torch import device as torch_device
    from torch import dtype
    from torch.optim import Optimizer

Precision = Literal["fp32", "tf32", "fp16", "bf16"]


class StepOptions(TypedDict, total=False):
    """The flags of `foretell predict --help` without --method, with `_` for `-`, whose
    meaning _meanings.OPTIONS has, and names that other libraries use. None leaves an
    option out."""

    batch: Union[int, Sequence[int], None]
    dim: Mapping[str, int]
    seq_len: int
    lengths: Union[str, Sequence[int]]
    evaluate: int
    input: Union[str, Mapping[str, str]]
    batch_size: Union[int, None]
    input_size: Any
    mode: Literal["inference", "training"]
    training: bool
    optimizer: Union[str, "Optimizer", "type[Optimizer]", None]
    precision: Union[Precision, "dtype", None]
    dtype: Union[Precision, "dtype", None]
    autocast: Union[bool, Precision, "dtype"]
    amp: Union[bool, Precision, "dtype"]
    grad: bool
    channels_last: bool
    half_weights: bool
    runtime: str
    foreach: bool
    fused: bool
    set_to_none: bool
    late_zero_grad: bool
    optimizer_in_backward: bool
    offload_optimizer: str
    offload_activations: bool
    keep_result: bool
    loss_in_function: bool
    step_in_function: bool
    accumulate: int
    trainable: str
    lora: str
    quantize: str
    input_grad: bool
    recompute: Union[str, None]
    gradient_checkpointing: bool
    kernels: str
    parallel: str
    link: float
    expandable_segments: bool
    device: Union[str, int, "torch_device"]
    environment: str | None
    device_file: Union[str, Sequence[str]]
    environment_file: Union[str, Sequence[str]]
    host: str
    host_memory: Union[str, float]
    torch: str
    power_limit: int
    checkpoint: Union[str, Sequence[str]]
    adaptation: str
    phase: Literal["forward", "prefill", "decode"]
    cache: int
    trace: Literal["meta", "cpu"]
    fuse: Literal["none", "exported", "equivalent"]
    sandbox: Literal["auto", "require", "off"]
    timeout: float
    convert: bool
    no_convert: bool
    mig_rule: Literal["usable-memory", "dippm"]


class Options(StepOptions, total=False):
    """What predict, fits, max_batch, inspect and compare take."""

    method: Literal["auto", "analytic", "learned", "pmgns"]


class Limits(TypedDict, total=False):
    """What a step must keep."""

    profile: str | None
    max_memory: Union[str, float, None]
    max_latency: Union[str, float, None]
    max_energy: Union[str, float, None]
    strict: bool
    tight: bool


class FitOptions(Options, Limits, total=False):
    """What fits and max_batch take."""


class FinetuneOptions(StepOptions, Limits, total=False):
    """What finetune takes."""

    gpus: int


# On where nothing is said, so that False is a word of its own.
ON_OR_OFF = ("foreach", "fused", "set_to_none")


def _values(name: str, value: Any) -> list[str]:
    if name == "optimizer":
        return [optimizer_name(value)]
    if name in ON_OR_OFF:
        return ["on" if value else "off"]
    if isinstance(value, Mapping):
        return [f"{key}={one}" for key, one in value.items()]
    if name == "batch":
        return [",".join(_batches(value))]
    if name == "lengths" and not isinstance(value, str):
        return [",".join(map(str, value))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(one) for one in value]
    return [str(value)]


def _whole(number: Any) -> str:
    """A whole number as a text. A text is left to the program."""
    if isinstance(number, str):
        return number
    try:
        if isinstance(number, bool):
            raise TypeError
        return str(operator.index(number))
    except TypeError:
        raise Error(f"batch={number!r}: expected a whole number from 1") from None


def _batches(value: Any) -> list[str]:
    """One batch or several."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return [_whole(value)]
    if not value:
        raise Error(f"batch={value!r}: expected at least one batch")
    return [_whole(one) for one in value]


def refuse_batches(function: str, options: Mapping[str, Any]) -> None:
    """Raises Error where options name several batches."""
    batch = options.get("batch")
    is_list = isinstance(batch, Sequence) and not isinstance(batch, str)
    if is_list or "," in str(batch):
        raise Error(f"batch={batch}: {function} answers one batch; compare takes "
                    "several")


def to_words(options: Mapping[str, Any]) -> list[str]:
    """`{"batch": [1, 8], "grad": True}` as `--batch=1,8 --grad`."""
    words = []
    if runs_one_by_one(options.get("optimizer")):
        options = {"foreach": False, **options}
    if runs_fused(options.get("optimizer")):
        options = {"fused": True, **options}
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or (value is False and name not in (*ON_OR_OFF, "batch")):
            continue
        if value is True and name not in (*ON_OR_OFF, "batch"):
            words.append(flag)
        else:
            words += [f"{flag}={text}" for text in _values(name, value)]
    return words
