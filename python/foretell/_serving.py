"""How large a decoder's cache is, and how many sequences a GPU holds."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal, Union

from ._command import DOES_NOT_FIT, DONE, raise_errors, run_json
from ._local import device_name
from ._records import from_json
from ._text import number

Format = Literal["bf16", "fp16", "fp32", "fp8", "int8", "nvfp4", "int4"]

_GIB = 2**30


@dataclasses.dataclass(frozen=True, repr=False)
class KvCache:
    """The answer of `kv_cache`, for each of the GPUs that share the network."""

    model: str
    model_type: str
    context: int
    layers: list[dict[str, Any]]
    """Equal layers together: kind, layers, heads, window, token_bytes, state_bytes."""
    token_bytes: float
    """By which one token more grows a long sequence."""
    sequence_bytes: float
    """Of `context` tokens."""
    allocated_bytes: float
    """The same in blocks, as vLLM allocates it."""
    block_tokens: int
    gpu: dict[str, Any]
    """Device, weight_bytes, activation_bytes, cache_bytes and concurrency; only the
    first if the number of parameters is unknown."""

    @property
    def concurrency(self) -> float | None:
        """Sequences of `context` tokens at once; None if the weights are unknown."""
        return self.gpu.get("concurrency")

    def __repr__(self) -> str:
        text = (f"{self.model}: {number(self.sequence_bytes / _GIB)} GiB for "
                f"{self.context} tokens")
        if self.concurrency is not None:
            text += f", {number(self.concurrency)} at once on {self.gpu['device']}"
        return f"<foretell.KvCache {text}>"


def kv_cache(model: Union[str, "os.PathLike[str]"], *, context: int = 8192,
             device: str | None = None, kv_format: Format = "bf16",
             quantize: str | None = None, tensor_parallel: int = 1,
             memory_utilization: float = 0.9, block_size: int = 16,
             batched_tokens: int = 8192, sequences: int = 256,
             parameters: float | None = None) -> KvCache:
    """What `foretell kv-cache` says of a decoder: a name of the Hugging Face Hub, a
    config.json or its folder, or "zoo:" and a name.

    `quantize` is the format of the weights ("fp8", "awq:4"), `parameters` their number
    where no network of the zoo says it. Raises Error with the program's text.
    """
    flags = {"context": context, "device": device and device_name(device),
             "kv-format": kv_format, "quantize": quantize,
             "tensor-parallel": tensor_parallel,
             "memory-utilization": memory_utilization, "block-size": block_size,
             "batched-tokens": batched_tokens, "sequences": sequences,
             "parameters": parameters}
    words = [word for name, value in flags.items() if value is not None
             for word in (f"--{name}", str(value))]
    document = run_json(["kv-cache", os.fspath(model), *words, "--json"],
                        (DONE, DOES_NOT_FIT))
    raise_errors(document)
    return from_json(KvCache, document)
