"""Real runs, by `foretell measure`."""

from __future__ import annotations

import os
from typing import Any

from ._errors import Error
from ._model import Model, open_model
from ._flags import to_words
from ._text import number
from ._words import asked


class Measurement(dict[str, Any]):
    """A row of docs/measure.md's JSON; its fields are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __str__(self) -> str:
        latency = self["latency"] or {}
        median = latency.get("median_ms")
        time = "not timed" if median is None else f"{number(median)} ms"
        return (f"{self['model']}, batch {self['batch']}, on {self['device']}: "
                f"{self['status']}, {time}")


def measure(model: Model, inputs: Any = None, *, device: str = "cuda:0",
            **options: Any) -> list[Measurement]:
    """Runs a model here, on a GPU, a MIG instance or the CPU; a row per run.

    `options` are the flags of `foretell measure --help`, with `_` for `-`: batch,
    mode, precision, energy, min_runs and so on. It runs the file's own code: measure
    files that you trust. TorchScript and .pt2 files run on a GPU with trust=True
    alone. A row whose status is not "ok" says why in its message.
    """
    inputs, options = asked(inputs, options)
    opened = open_model(model, inputs, options)
    # A module in memory is the caller's own program.
    is_own = not isinstance(model, (str, os.PathLike))
    options = {"trust": is_own, **options, "device": device}
    # What the module implies for a prediction is what it does.
    words = ["measure", opened.path, *to_words(options), "--json"]
    rows = opened.run_json(words)["measurements"]
    if not rows:
        raise Error(f"{opened.name}: nothing was measured", "internal")
    return [Measurement(row) for row in rows]
