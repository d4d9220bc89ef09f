"""Pictures of predictions, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._errors import Error
from ._inspect import inspect_opened
from ._model import Opened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._prediction import Prediction


def _new_axes() -> Axes:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise Error("plot_memory needs matplotlib: pip install matplotlib",
                    "not_found") from error
    _, axes = pyplot.subplots(figsize=(8, 3.5), layout="constrained")
    axes_of_figure: Axes = axes
    return axes_of_figure


def plot_memory(prediction: Prediction, opened: Opened, options: Mapping[str, Any],
                axes: Axes | None) -> Axes:
    """Bytes in use and reserved at each operator of the step, phases shaded."""
    axes = axes or _new_axes()
    rows = inspect_opened(opened, {**options, "batch": prediction.batch})
    at = range(len(rows))
    axes.fill_between(at, [row["peak_mib"] for row in rows], step="mid", alpha=0.5,
                      label="allocated")
    axes.step(at, [row["reserved_mib"] for row in rows], where="mid", color="0.4",
              label="reserved")
    phases = [row["phase"] for row in rows]
    for phase in dict.fromkeys(phases):
        first = phases.index(phase)
        axes.axvline(first, color="0.7", linewidth=0.8)
        axes.text(first, 1.01, f" {phase}", transform=axes.get_xaxis_transform())
    axes.set(xlabel="operator", ylabel="MiB", ylim=(0, None),
             title=f"{prediction.model}, batch {prediction.batch}\n")
    axes.legend(loc="lower right")
    return axes
