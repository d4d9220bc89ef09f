"""Whether a fine-tuning step fits, and what would save memory."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _configs, _source
from ._check import mixed_precision, precision_options
from ._command import DOES_NOT_FIT, DONE, the_result
from ._errors import Error, warn
from ._flags import Limits, refuse_batches
from ._meanings import LIMITS, OPTIONS, with_options
from ._model import Model, Opened, is_module, open_model, open_path
from ._prediction import Prediction, prediction
from ._text import number, prediction_html, table_html
from ._words import asked, said_no

if TYPE_CHECKING:
    from transformers import PretrainedConfig
    from typing_extensions import Unpack

    from ._flags import FinetuneOptions

Method = Literal["full", "lora", "qlora"]
_OWN = ("method", "config", "gpus", "no_checkpointing", "answer_only",
        *Limits.__annotations__)
# Values of flags as those of options; a flag without one is a switch.
_SWITCHED: Mapping[str, Any] = {"": True, "on": True, "off": False}
_MEANINGS = {**OPTIONS, "method": '"full", "lora" or "qlora"',
             "gpus": "GPUs of the run, where configurations do not state them"}


@dataclasses.dataclass(frozen=True)
class Saving:
    """A change that lowers the memory of the step, as it was simulated."""

    names: list[str]
    saved_mib: float
    """Of the upper end of the interval."""
    time_factor: float
    """The step's time by that of the unchanged one."""


@dataclasses.dataclass(frozen=True, repr=False)
class FineTuning:
    """The answer of `finetune`: true if the step fits its device and keeps the limits."""

    fits: bool
    prediction: Prediction
    """The step: its memory with an interval, latency, energy and warnings."""
    method: str | None
    """"full", "lora" or "qlora"; None with answer_only."""
    largest_batch: int | None
    """That fits at this length, 0 if not even 1 does; None if it was not searched."""
    longest_sequence: int | None
    """Likewise at this batch; None if the length is not known or not free."""
    savings: list[Saving]
    """At most three changes, the best first."""

    def __bool__(self) -> bool:
        return self.fits

    @property
    def peak_mib(self) -> float:
        """Peak of the process's memory, as nvidia-smi shows it."""
        return self.prediction.memory.total_mib

    @property
    def interval_mib(self) -> list[float]:
        """[low, high] of the peak; the high end decides what fits."""
        return self.prediction.memory.interval_mib

    def _outlook(self) -> list[tuple[str, str]]:
        if self.largest_batch is None:
            return []
        rows = [("batch", f"at most {self.largest_batch} at this length"
                 if self.largest_batch else "not even 1 fits")]
        if self.longest_sequence is not None:
            rows.append(("length", f"at most {self.longest_sequence} tokens at this batch"
                         if self.longest_sequence else "no length fits"))
        saved = [f"{', '.join(one.names)} ({number(one.saved_mib / 1024)} GiB, time "
                 f"×{one.time_factor:.2f})" for one in self.savings]
        return [*rows, ("would save", ", ".join(saved) or "nothing that foretell tries")]

    def __str__(self) -> str:
        """What `foretell finetune` prints."""
        lines = [f"  {label:<12} {text}" for label, text in self._outlook()]
        return "\n".join([str(self.prediction), *lines])

    def __repr__(self) -> str:
        return (f"<foretell.FineTuning {self.prediction.model}: {self.peak_mib:g} MiB, "
                f"{'fits' if self.fits else 'does not fit'}, largest batch "
                f"{self.largest_batch}>")

    def _repr_html_(self) -> str:
        rows: list[dict[str, object]] = [{"": label, " ": text}
                                         for label, text in self._outlook()]
        return prediction_html(self.prediction) + table_html(rows)


def _batch_of(inputs: Any) -> int:
    """The leading dimension of the first of the inputs, or sizes of inputs."""
    from torch.utils import _pytree

    first = next(one for one in _pytree.tree_leaves(inputs) if isinstance(one, int)
                 or getattr(one, "ndim", 0) > 0)
    return first if isinstance(first, int) else int(first.shape[0])


def _open_module(module: Any, inputs: Any, options: dict[str, Any],
                 has_arguments: bool) -> Opened:
    """A module with its batch left open for the search, where its code leaves it. The
    step has the batch of `inputs` unless an option or a trainer's arguments say it."""
    if inputs is None:
        from ._hugging_face import example_of

        inputs = example_of(module, options.get("batch"), options.pop("seq_len", None))
    elif options.get("batch") is None and not has_arguments:
        options["batch"] = _batch_of(inputs)
    try:
        return open_model(module, inputs, options, any_batch=True)
    except Error as error:
        opened = open_model(module, inputs, options)
        warn(f"larger batches are not searched: {error}")
    options.update(answer_only=True, batch=_batch_of(inputs))
    return opened


def _open_other(model: Any, inputs: Any, options: dict[str, Any]) -> Opened:
    """Anything except a module. A Hub name is that of its config.json in the local
    cache, if it is there, else one that the program knows."""
    if _configs.is_network(model):
        return _configs.open_network(model)
    if not isinstance(model, str):
        return open_model(model, inputs, options)
    folder = _source.cached_folder(model)
    return Opened(str(folder), model) if folder else open_path(model, inputs)


def _types(opened: Opened, options: Mapping[str, Any],
           training_args: Any) -> dict[str, Any]:
    """Options of the types of a module in memory and of mixed precision, unless the
    caller gives one of them."""
    if options.get("precision") or options.get("autocast") is not None:
        return {}
    if isinstance(training_args, (str, os.PathLike)):
        return {}
    own = {"precision": opened.found.get("precision") or "fp32"}
    return precision_options(mixed_precision(training_args or {})) or own


def _implied(opened: Opened, options: Mapping[str, Any], training_args: Any,
             peft_config: Any) -> dict[str, Any]:
    """Options of a module in memory, which has its adapters, types and checkpoints: the
    program would assume its own. What configurations say of them, it reads."""
    found = _types(opened, options, training_args)
    if training_args is None:
        found["no_checkpointing"] = not opened.found.get("recompute")
        if peft_config is None:
            found["method"] = "full"
    return found


def _opened(model: Any, inputs: Any, options: dict[str, Any], training_args: Any,
            peft_config: Any) -> tuple[Opened, dict[str, Any]]:
    """What `model` stands for, and the options that it implies."""
    source = (_source.of_python_file(model) if isinstance(model, str) else None) or model
    if not is_module(source):
        return _open_other(source, inputs, options), {}
    opened = _open_module(source, inputs, options, training_args is not None)
    return opened, _implied(opened, options, training_args, peft_config)


def _later_options(result: Mapping[str, Any],
                   options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with which `predict` simulates the same step."""
    found = {name: value for name, value in options.items() if name not in _OWN}
    found.update(mode=result["mode"], optimizer=result["optimizer"],
                 precision=result["precision"], autocast=bool(result["autocast"]),
                 batch=result["batch"])
    shape = result["inputs"][0]["shape"]
    if result["format"] == "zoo" and len(shape) == 2:
        found["seq_len"] = shape[1]
    for flag in result["setup"]:
        name, _, value = flag.removeprefix("--").partition(" ")
        found[name.replace("-", "_")] = _SWITCHED.get(value, value)
    return found


def _answer(opened: Opened, options: Mapping[str, Any]) -> FineTuning:
    status, document = opened.run_document(
        [*opened.words("finetune", options), "--json"], (DONE, DOES_NOT_FIT))
    result = the_result(document)
    outlook = document.get("finetune", {})
    return FineTuning(
        fits=status == DONE,
        prediction=prediction(result, opened, _later_options(result, options)),
        method=outlook.get("method"), largest_batch=outlook.get("largest_batch"),
        longest_sequence=outlook.get("longest_sequence"),
        savings=[Saving(**one) for one in outlook.get("savings", ())])


@with_options(LIMITS, _MEANINGS)
def finetune(model: Union[Model, PretrainedConfig], training_args: Any = None,
             peft_config: Any = None, *, inputs: Any = None,
             method: Method | None = None, answer_only: bool = False,
             **options: Unpack[FinetuneOptions]) -> FineTuning:
    """Whether a fine-tuning step fits, how large its batch and its sequences may be, and
    what would save memory, as `foretell finetune` says it.

    `model` is a name of the Hub, a config.json or its folder, "zoo:" and a name, a model
    file, a configuration of transformers, or an nn.Module, whose adapters, types, frozen
    parameters and activation checkpointing count as they are. A module needs `inputs`,
    or, if it is one of transformers, seq_len.

    `training_args` is an object of transformers.TrainingArguments or trl.SFTConfig, a
    dict of their fields, or the path of a configuration file; `peft_config` likewise an
    object of peft.LoraConfig, a dict, or the path of an adapter_config.json. The program
    reads them as it reads its --config files; options have precedence. Without
    configurations `method` is lora for names and files, full for modules. With
    `answer_only` nothing is searched.

    Raises Error with the program's text.
    """
    refused: dict[str, Any] = dict(options)
    inputs, found = asked(inputs, refused)
    refuse_batches("finetune", found)
    if said_no(refused, "recompute"):
        found["no_checkpointing"] = True
    found.update(mode="training", answer_only=answer_only, method=method)
    opened, implied = _opened(model, inputs, found, training_args, peft_config)
    found = {**implied, **{name: value for name, value in found.items()
                           if value is not None and name != "mode"}}
    with tempfile.TemporaryDirectory(prefix="foretell-") as folder:
        found["config"] = _configs.config_paths(
            pathlib.Path(folder), training_args=training_args,
            adapter_config=peft_config) or None
        try:
            return _answer(opened, found)
        except Error as error:
            text = str(error).replace(folder + os.sep, "")
            raise Error(text, error.code) from None
