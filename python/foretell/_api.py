"""predict, fits and max_batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._command import DOES_NOT_FIT, DONE, the_result
from ._errors import Error, warn
from ._flags import refuse_batches
from ._model import Model, Opened, open_model
from ._prediction import Prediction, prediction
from ._text import number

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import FitOptions, Options


@dataclasses.dataclass(frozen=True)
class Fit:
    """The answer of `fits`: true where every limit is kept."""

    model: str
    place: str
    fit: str
    """"fits", "fits when the cache is given back" or "does not fit"."""
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


def _check_text(check: Mapping[str, Any]) -> str:
    unit = check["unit"]
    sign = "<=" if check["value"] <= check["limit"] else ">"
    text = (f"{check['what']} {number(check['value'])} {unit} {sign} "
            f"{number(check['limit'])} {unit}")
    if check["value"] > check["limit"] >= check["least"]:
        text += f", {number(check['least'])} {unit} without its cache"
    return text


def predict(model: Model, inputs: Any = None,
            **options: Unpack[Options]) -> Prediction:
    """Memory, latency, energy and MIG profile of a step, without a GPU.

    `model` is an nn.Module on any device (meta included; it is not changed), an
    ExportedProgram, a path, or "zoo:" and a name. A module needs `inputs` of its
    forward: a tensor, a tuple, or a dict by name, of which only types count.
    `batch` replaces the leading dimension. Options: see Options.

    Raises Error with the program's text; for several batches use compare.
    """
    refuse_batches("predict", options)
    return predict_opened(open_model(model, inputs, options), options)


def predict_opened(opened: Opened, options: Mapping[str, Any]) -> Prediction:
    """The same for a model that is a file already."""
    document = opened.run_json([*opened.words("predict", options), "--json"])
    return prediction(the_result(document), opened, options)


def fits(model: Model, inputs: Any = None, **options: Unpack[FitOptions]) -> Fit:
    """Whether a step fits its device or `profile`, and keeps the limits given.

    Takes what predict takes, and profile, max_memory (MiB), max_latency (ms),
    max_energy (J), strict and tight. The answer is true or false.
    """
    refuse_batches("fits", options)
    opened = open_model(model, inputs, options)
    words = [*opened.words("fits", options), "--json"]
    result = the_result(opened.run_json(words, (DONE, DOES_NOT_FIT)))
    for warning in result.pop("warnings"):
        warn(warning)
    return Fit(**result)


def max_batch(model: Model, inputs: Any = None, *, limit: int | None = None,
              **options: Unpack[FitOptions]) -> int:
    """The largest batch that `fits` accepts, at most `limit`; 0 where none does."""
    if options.get("batch") is not None:
        raise Error(f"batch={options['batch']}: max_batch looks for it")
    opened = open_model(model, inputs, options, any_batch=True)
    words = [*opened.words("max-batch", {**options, "limit": limit}), "--json"]
    result = the_result(opened.run_json(words, (DONE, DOES_NOT_FIT)))
    return int(result["batch"])
