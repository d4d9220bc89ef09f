"""Networks of Hugging Face's transformers: what their configuration switches."""

from __future__ import annotations

import inspect
import pathlib
from typing import Any

import torch

from ._errors import Error
from ._on_meta import BATCH, TOKENS, inputs_of, make_model, read_config
from ._values import Arguments

SEQUENCE = "sequence"
RETURN_LOSS = "return_loss"


def with_loss(module: torch.nn.Module, arguments: Arguments) -> Arguments:
    """The arguments with return_loss=True where forward gives its loss on demand only,
    as those of CLIP do: a Trainer's batches say so."""
    positional, named = arguments
    parameters = inspect.signature(module.forward).parameters
    if not hasattr(module, "config") or RETURN_LOSS not in parameters:
        return arguments
    given = inspect.signature(module.forward).bind_partial(*positional, **named)
    if RETURN_LOSS in given.arguments:
        return arguments
    return positional, {**named, RETURN_LOSS: True}


# Endings of classes whose labels are tokens, and of those whose labels are classes.
_TOKEN_LABELS = ("ForCausalLM", "ForMaskedLM", "LMHeadModel", "ForConditionalGeneration")
_CLASS_LABELS = ("ForSequenceClassification", "ForImageClassification")


def example_of(module: torch.nn.Module, batch: Any,
               tokens: Any) -> dict[str, torch.Tensor]:
    """An example of what a Trainer gives a network of transformers or PEFT, with
    labels, of texts of that many tokens.

    Raises Error for other modules, and without tokens for texts.
    """
    inner = getattr(module, "get_base_model", lambda: module)()
    name = type(inner).__name__
    if not hasattr(getattr(inner, "config", None), "model_type"):
        raise Error(f"{name}: a module says nothing of its inputs; give an example as "
                    "inputs=")
    with torch.device("meta"):
        batch = int(batch or BATCH)
        inputs = inputs_of(inner, batch, int(tokens or TOKENS))
        ids = inputs.get("input_ids")
        if ids is not None and tokens is None:
            raise Error(f"{name}: seq_len= is missing, the tokens of one text, or give "
                        "an example as inputs=")
        if ids is not None and name.endswith(_TOKEN_LABELS):
            inputs["labels"] = inputs.get("decoder_input_ids", ids)
        elif name.endswith(_CLASS_LABELS):
            inputs["labels"] = torch.zeros(batch, dtype=torch.long)
    return inputs


def _classifies(config: Any, labels: Any) -> bool:
    """Whether labels are numbers of classes, by the rule of transformers."""
    return (getattr(config, "problem_type", "") is None
            and getattr(config, "num_labels", 0) > 1
            and isinstance(labels, torch.Tensor) and labels.dtype == torch.long)


def prepare(module: torch.nn.Module, training: bool, labels: Any = None) -> None:
    """Changes configurations where their defaults keep a step from running as it
    would: in training the key-value cache is off, which no step reads, and networks
    that would look at each label first (DeBERTa's) are told that all are classes. A
    decoder without a first token starts with any.
    """
    for part in module.modules():
        config = getattr(part, "config", None)
        if training and getattr(config, "use_cache", None):
            setattr(config, "use_cache", False)
        if training and _classifies(config, labels):
            setattr(config, "problem_type", "single_label_classification")
        if getattr(config, "is_encoder_decoder", None) is True and (
                getattr(config, "decoder_start_token_id", None) is None):
            setattr(config, "decoder_start_token_id", 0)


def from_folder(folder: pathlib.Path,
                options: dict[str, Any]) -> tuple[torch.nn.Module, Any]:
    """The network of a folder's config.json on the meta device, and an example of its
    inputs with texts of dim={"sequence": N} or seq_len=N, else TOKENS; that size is
    taken out of the options.

    Raises Error for networks that transformers does not have or that take other
    inputs.
    """
    try:
        module = make_model(read_config(folder))
    except Exception as error:  # transformers raises whatever a configuration does
        raise Error(f"{folder}: {error}", "unsupported") from error
    sizes = dict(options.get("dim") or {})
    tokens = int(sizes.pop(SEQUENCE, None) or options.get("seq_len") or TOKENS)
    options["seq_len"] = None
    if SEQUENCE in (options.get("dim") or {}):
        options["dim"] = sizes or None
    with torch.device("meta"):
        inputs = inputs_of(module, options.get("batch") or BATCH, tokens)
    if not inputs:
        raise Error(f"{folder}: {type(module).__name__} takes none of the inputs that "
                    "are known; give an example", "unsupported")
    return module, inputs
