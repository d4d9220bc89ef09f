"""predict, fits and max_batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._command import DOES_NOT_FIT, DONE, the_result
from ._errors import Error, warn
from ._flags import refuse_batches
from ._meanings import LIMITS, OPTIONS, in_python, with_options
from ._model import Model, Opened, open_model
from ._prediction import Prediction, prediction
from ._text import heading_html, number, table_html
from ._words import asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import FitOptions, Options


@dataclasses.dataclass(frozen=True, repr=False)
class Fit:
    """The answer of `fits`: true where every limit is kept."""

    model: str
    place: str
    fit: str
    """"fits", "fits when PyTorch empties its cache" or "does not fit"."""
    accepted: bool
    checks: list[dict[str, Any]]
    """Usable memory first, then the limits that were given."""

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        """What `foretell fits` prints."""
        return "\n".join([f"{self.model} on {self.place}:",
                          *(f"  {_check_text(check)}" for check in self.checks),
                          f"  {self.fit}"])

    def __repr__(self) -> str:
        checks = "; ".join(map(_check_text, self.checks))
        return f"<foretell.Fit {self.model} on {self.place}: {self.fit} ({checks})>"

    def _repr_html_(self) -> str:
        rows = [{"limit": check["what"], "value": f"{number(check['value'])} "
                 f"{check['unit']}", "at most": f"{number(check['limit'])} "
                 f"{check['unit']}", "kept": check["value"] <= check["limit"]}
                for check in self.checks]
        return heading_html(str(self.model), f"on {self.place}: {self.fit}") + (
            table_html(rows))


def _check_text(check: Mapping[str, Any]) -> str:
    unit = check["unit"]
    sign = "<=" if check["value"] <= check["limit"] else ">"
    text = (f"{check['what']} {number(check['value'])} {unit} {sign} "
            f"{number(check['limit'])} {unit}")
    if check["value"] > check["limit"] >= check["least"]:
        text += f", {number(check['least'])} {unit} without its cache"
    return text


@with_options(OPTIONS)
def predict(model: Model, inputs: Any = None,
            **options: Unpack[Options]) -> Prediction:
    """Memory, latency, energy and MIG profile of a step, without a GPU.

    `model` is an nn.Module on any device (meta included; it is not changed), an
    ExportedProgram, a path, "zoo:" and a name, "net.py:Net" (the file is run in this
    process), or the folder or Hub name of a network of transformers whose config.json
    is on this machine. A module needs `inputs` of its forward: a tensor, a tuple, or a
    dict by name, of which only shapes and dtypes matter, or sizes in their place:
    (8, 3, 224, 224).

    Raises Error with the program's text; for several batches use compare.
    """
    inputs, found = asked(inputs, options)
    refuse_batches("predict", found)
    return predict_opened(open_model(model, inputs, found), found)


def predict_opened(opened: Opened, options: Mapping[str, Any]) -> Prediction:
    """The same for a model that is a file already."""
    document = opened.run_json([*opened.words("predict", options), "--json"])
    return prediction(the_result(document), opened, options)


@with_options(LIMITS, OPTIONS)
def fits(model: Model, inputs: Any = None, **options: Unpack[FitOptions]) -> Fit:
    """Whether a step fits its device or `profile`, and keeps the limits given.

    Takes what predict takes, and limits. The answer is true or false.
    """
    inputs, found = asked(inputs, options)
    refuse_batches("fits", found)
    opened = open_model(model, inputs, found)
    words = [*opened.words("fits", found), "--json"]
    result = the_result(opened.run_json(words, (DONE, DOES_NOT_FIT)))
    for warning in result.pop("warnings"):
        warn(in_python(warning))
    return Fit(**result)


@with_options(LIMITS, OPTIONS)
def max_batch(model: Model, inputs: Any = None, *, limit: int | None = None,
              **options: Unpack[FitOptions]) -> int:
    """The largest batch that `fits` accepts, at most `limit`; 0 where none does."""
    inputs, found = asked(inputs, options)
    if found.get("batch") is not None:
        raise Error(f"batch={found['batch']}: max_batch looks for it")
    opened = open_model(model, inputs, found, any_batch=True)
    words = [*opened.words("max-batch", {**found, "limit": limit}), "--json"]
    result = the_result(opened.run_json(words, (DONE, DOES_NOT_FIT)))
    return int(result["batch"])
