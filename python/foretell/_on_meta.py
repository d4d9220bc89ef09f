"""How a module on the meta device is made of a configuration of transformers, and how
it is exported. Imports nothing of the package: scripts and
python/converters/huggingface.py, which runs alone, use the same file."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any, TypeVar

import torch

Result = TypeVar("Result")
BATCH = 2
TOKENS = 128


def tried_on_meta(export: Callable[[], Result]) -> Result:
    """What `export` gives, which calls torch.export for a module on the meta device.

    A forward pass that makes tensors without saying where (torch.zeros(3)) makes them
    on the CPU, which do not mix with those of the meta device. So it is tried once more
    with meta as the default device; not at first, because torch.tensor(3) has no value
    there. Where both fail, the first error is raised.
    """
    try:
        return export()
    except Exception as first:  # torch.export raises whatever the network does
        try:
            with torch.device("meta"):
                return export()
        except Exception:
            raise first from None


def read_config(folder: str | os.PathLike[str]) -> Any:
    """The configuration of a folder with a config.json, without a key-value cache.

    Raises ValueError for a network whose code lies in the folder, which is not run,
    and for one that this transformers does not have.
    """
    transformers: Any = importlib.import_module("transformers")
    path = pathlib.Path(folder, "config.json")
    fields = json.loads(path.read_text(encoding="utf-8"))
    kind = fields.get("model_type")
    if "auto_map" in fields:
        raise ValueError("it defines its network in its own code (auto_map), which "
                         "foretell does not run; export it with torch.export")
    if kind not in transformers.CONFIG_MAPPING:
        raise ValueError(f"config.json has the model_type {kind!r}, which transformers "
                         f"{transformers.__version__} does not have; export the network "
                         "by torch.export")
    config = transformers.CONFIG_MAPPING[kind].from_dict(fields)
    config.use_cache = False
    return config


def make_model(config: Any) -> Any:
    """The network on the meta device: of the class that the configuration names, else
    the base network, in the configuration's type."""
    transformers: Any = importlib.import_module("transformers")
    name = (config.architectures or [""])[0]
    make = getattr(transformers, name, None) or transformers.AutoModel
    with torch.device("meta"):
        model = (make.from_config(config) if make is transformers.AutoModel
                 else make(config))
    return model.to(getattr(config, "dtype", None) or torch.float32)


def _image_of(config: Any, batch: int) -> torch.Tensor:
    vision = getattr(config, "vision_config", config)
    size = getattr(vision, "image_size", None) or 224
    size = tuple(size) if isinstance(size, (list, tuple)) else (size, size)
    channels = getattr(vision, "num_channels", None) or 3
    return torch.zeros(batch, channels, *size)


def inputs_of(model: Any, batch: int = BATCH,
              tokens: int = TOKENS) -> dict[str, torch.Tensor]:
    """What forward takes, by the names of its inputs, with texts of `tokens` where it
    has as many positions: types alone count."""
    config = model.config
    names = inspect.signature(model.forward).parameters
    text = getattr(config, "text_config", config)
    length = min(tokens, getattr(text, "max_position_embeddings", None) or tokens)
    ids = torch.zeros(batch, length, dtype=torch.long)
    bins = getattr(config, "num_mel_bins", None) or 80
    frames = 2 * (getattr(config, "max_source_positions", None) or 512)
    known = {"input_ids": ids, "pixel_values": _image_of(config, batch),
             "decoder_input_ids": ids,
             "input_features": torch.zeros(batch, bins, frames),
             "input_values": torch.zeros(batch, 16000)}
    inputs = {name: value for name, value in known.items() if name in names}
    return {name: value if value.dtype == torch.long else value.to(model.dtype)
            for name, value in inputs.items()}
