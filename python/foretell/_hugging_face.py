"""Networks of Hugging Face's transformers: what their configuration switches."""

from __future__ import annotations

import pathlib
from typing import Any

import torch

from ._errors import Error
from ._on_meta import BATCH, TOKENS, inputs_of, make_model, read_config

SEQUENCE = "sequence"


def prepare(module: torch.nn.Module, training: bool) -> None:
    """Changes configurations where their defaults keep a step from running as it
    would: in training the key-value cache is off, which a step fills for nobody, and a
    decoder whose first token nobody named starts with any.
    """
    for part in module.modules():
        config = getattr(part, "config", None)
        if training and getattr(config, "use_cache", None):
            setattr(config, "use_cache", False)
        if getattr(config, "is_encoder_decoder", None) is True and (
                getattr(config, "decoder_start_token_id", None) is None):
            setattr(config, "decoder_start_token_id", 0)


def from_folder(folder: pathlib.Path,
                options: dict[str, Any]) -> tuple[torch.nn.Module, Any]:
    """The network of a folder's config.json on the meta device, and an example of its
    inputs with texts of dim={"sequence": N}, else TOKENS; that size is taken out of
    the options.

    Raises Error for networks that transformers does not have or that take other
    inputs.
    """
    try:
        module = make_model(read_config(folder))
    except Exception as error:  # transformers raises whatever a configuration does
        raise Error(f"{folder}: {error}", "unsupported") from error
    sizes = dict(options.get("dim") or {})
    tokens = int(sizes.pop(SEQUENCE, TOKENS))
    if SEQUENCE in (options.get("dim") or {}):
        options["dim"] = sizes or None
    with torch.device("meta"):
        inputs = inputs_of(module, options.get("batch") or BATCH, tokens)
    if not inputs:
        raise Error(f"{folder}: {type(module).__name__} takes none of the inputs that "
                    "are known; give an example", "unsupported")
    return module, inputs
