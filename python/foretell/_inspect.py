"""Operators of a model, a row each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._command import raise_errors
from ._errors import warn
from ._flags import refuse_batches
from ._meanings import OPTIONS, in_python, with_options
from ._model import Model, Opened, open_model
from ._text import table_html, table_text
from ._words import asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import Options

MIB = 2**20


class Operators(list[dict[str, Any]]):
    """Rows for `pandas.DataFrame`: operator, phase, module, dtype, shape, macs,
    peak_mib, allocated_mib, reserved_mib, gpu_us, dispatch_us, energy_j.

    `graph` is the whole document of `foretell inspect --format json`.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(_rows(document))
        self.graph = dict(document)

    def __str__(self) -> str:
        return table_text(self)

    def _repr_html_(self) -> str:
        return table_html(self)


def _rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    values = document["values"]
    rows = []
    for node, memory, cost in zip(document["nodes"], document["memory"]["timeline"],
                                  document["cost"]):
        result = values[node["outputs"][0]] if node["outputs"] else {}
        rows.append({
            "operator": node["target"],
            "phase": node["phase"],
            "module": node["scope"],
            "dtype": result.get("dtype"),
            "shape": tuple(result.get("shape", ())),
            "macs": node["macs"],
            "peak_mib": memory["peak_allocated"] / MIB,
            "allocated_mib": memory["allocated_after"] / MIB,
            "reserved_mib": memory["reserved_after"] / MIB,
            **cost,
        })
    return rows


def inspect_opened(opened: Opened, options: Mapping[str, Any]) -> Operators:
    flags = {key: value for key, value in options.items() if key != "mig_rule"}
    words = [*opened.words("inspect", flags), "--format=json"]
    document = opened.run_json(words)
    raise_errors(document)
    for warning in document["warnings"]:
        warn(in_python(warning))
    return Operators(document)


@with_options(OPTIONS)
def inspect(model: Model, inputs: Any = None,
            **options: Unpack[Options]) -> Operators:
    """Every operator of a step: shapes, MACs, memory, time and energy.

    Takes what predict takes, one batch at most, and raises what it raises.
    """
    inputs, found = asked(inputs, options)
    refuse_batches("inspect", found)
    return inspect_opened(open_model(model, inputs, found), found)
