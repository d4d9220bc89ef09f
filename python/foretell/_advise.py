"""What would make a step fit."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from ._command import DOES_NOT_FIT, DONE, the_result
from ._errors import warn
from ._flags import refuse_batches
from ._meanings import LIMITS, OPTIONS, in_python, with_options
from ._model import Model, open_model
from ._text import table_html, table_text
from ._words import asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import FitOptions


@dataclasses.dataclass(frozen=True)
class Remedy:
    """One change of the step, or several, as it was simulated."""

    remedies: list[str]
    keeps_numerics: bool
    """Whether the step computes the same numbers."""
    memory_mib: float
    needed_mib: float
    """The upper end, which decides what fits."""
    latency_ms: float
    fits: bool
    saved_mib: float
    """Of needed_mib; negative where it takes more."""
    time_factor: float
    """The step's time by that of the unchanged one."""


@dataclasses.dataclass(frozen=True)
class Advice:
    """The answer of `advise`: true where the step fits, or some change makes it."""

    model: str
    place: str
    usable_mib: float
    unchanged: dict[str, Any]
    remedies: list[Remedy]
    """One change each, those that keep the numerics first, then by what they save.
    `rows` are for pandas.DataFrame."""
    combinations: list[Remedy]
    """Several changes that make the step fit, the fastest first."""
    untried: list[dict[str, str]]
    """Changes that could not be simulated, and why."""
    smallest: Remedy | None
    """What is recommended: the fewest changes that make the step fit, the fastest of
    these, and if possible without a change of the numerics."""
    elsewhere: list[dict[str, Any]]
    """Where the unchanged step fits, the smallest place first."""

    def __bool__(self) -> bool:
        return bool(self.unchanged["fits"]) or self.smallest is not None

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each remedy that saves memory, for pandas.DataFrame."""
        return [{**dataclasses.asdict(one), "remedies": " + ".join(one.remedies)}
                for one in self.remedies if one.saved_mib > 0]

    def __str__(self) -> str:
        return table_text(self.rows)

    def _repr_html_(self) -> str:
        return table_html(self.rows)


@with_options(LIMITS, OPTIONS)
def advise(model: Model, inputs: Any = None, *, try_trainable: str | None = None,
           try_lora: str | None = None,
           **options: Unpack[FitOptions]) -> Advice:
    """What would make a step fit its device or `profile`, each remedy simulated.

    Takes what fits takes. Without `batch` no smaller one is tried; `try_trainable`
    is a regular expression: a remedy is to train only parameters in whose names it is
    found; `try_lora`, "r=16,targets=q_proj|v_proj" say, one by adapters.
    """
    inputs, found = asked(inputs, options)
    refuse_batches("advise", found)
    opened = open_model(model, inputs, found)
    words = [*opened.words("advise", {**found, "try_trainable": try_trainable,
                                    "try_lora": try_lora}), "--json"]
    result = the_result(opened.run_json(words, (DONE, DOES_NOT_FIT)))
    for warning in result.pop("warnings"):
        warn(in_python(warning))
    for kind in ("remedies", "combinations"):
        result[kind] = [Remedy(**one) for one in result[kind]]
    if result["smallest"] is not None:
        result["smallest"] = Remedy(**result["smallest"])
    return Advice(**result)
