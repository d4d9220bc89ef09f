"""The answer of `predict`: figures with intervals, their parts, and MIG profiles.

Fields are those of docs/json_output.md, under the same names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._meanings import in_python
from ._model import Opened
from ._records import from_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a figure comes from."""

    method: str
    trained_on: list[str]
    distance: float | None = None
    far_distance: float | None = None


@dataclasses.dataclass(frozen=True)
class Memory:
    """Peak of device memory in MiB, divided at the moment of the allocator's."""

    total_mib: float
    """What nvidia-smi would show: the CUDA context and what is reserved."""
    interval_mib: list[float]
    """[low, high]; the high end decides what fits."""
    least_mib: float
    on_device_mib: float | None
    grad_mode_mib: float | None
    allocated_mib: float
    reserved_mib: float
    context_mib: float
    workspace_mib: float
    parameters_mib: float
    buffers_mib: float
    inputs_mib: float
    activations_mib: float
    gradients_mib: float
    optimizer_mib: float
    temporaries_mib: float
    workspace_at_peak_mib: float
    rounding_mib: float
    peak_operator: str | None
    peak_phase: str
    """"forward", "backward" or "optimizer"."""
    largest_tensors: list[dict[str, Any]]
    source: Source

    PARTS = ("parameters", "buffers", "inputs", "activations", "gradients",
             "optimizer", "temporaries", "workspace_at_peak", "rounding")

    def parts(self) -> dict[str, float]:
        """MiB of everything that adds up to `allocated_mib`."""
        return {part: getattr(self, part + "_mib") for part in self.PARTS}


@dataclasses.dataclass(frozen=True)
class Latency:
    """Time of one batch, or of one step in training."""

    ms: float
    interval_ms: list[float]
    compute_ms: float
    memory_ms: float
    overhead_ms: float
    bound: str
    """What the step waits for: "gpu", "host" or "link"."""
    gpu_ms: float
    dispatch_ms: float
    host: str
    host_name: str | None
    host_factor: float
    source: Source


@dataclasses.dataclass(frozen=True)
class Energy:
    """Energy of one batch or step."""

    j: float
    interval_j: list[float]
    average_power_w: float
    power_limit_w: float | None
    source: Source


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether one MIG profile, or the whole device, holds the step."""

    usable_mib: float
    total_mib: float
    fits: bool
    fit: str
    """"fits", "fits when PyTorch empties its cache" or "does not fit"."""
    margin_mib: float
    latency_ms: float
    energy_j: float
    sms: int
    reason: str
    profile: str | None = None


@dataclasses.dataclass(frozen=True)
class Mig:
    """The recommended profile, and every profile's verdict by its name."""

    rule: str
    profile: str | None
    """The smallest that holds the step; None where none does."""
    reason: str
    whole_device: Verdict
    profiles: list[Verdict]

    def __getitem__(self, name: str) -> Verdict:
        for verdict in self.profiles:
            if verdict.profile == name.lower():
                return verdict
        known = ", ".join(str(one.profile) for one in self.profiles) or "none"
        raise KeyError(f"MIG profile {name}: expected one of: {known}")

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.profiles)

    def __len__(self) -> int:
        return len(self.profiles)


@dataclasses.dataclass(frozen=True, repr=False)
class Prediction:
    """What one model takes on one device."""

    model: str
    format: str
    device: str
    environment: str
    mode: str
    optimizer: str | None
    loss: str | None
    """The result from which a training step goes backward; None where that is the sum
    of all, or in inference."""
    setup: list[str]
    """Flags of how the step differs from PyTorch's default one otherwise."""
    precision: str
    autocast: str | None
    grad_mode: bool
    batch: int
    verdict: dict[str, Any]
    """What a reader asks first: "outcome" ("fits", "tight" or "does not fit"),
    GB of GB, rates, parts of the memory, a suggestion, and these as "lines"."""
    parameters: int
    operators: int
    memory: Memory
    latency: Latency
    energy: Energy
    mig: Mig
    method: str
    coverage: dict[str, Any]
    static_features: dict[str, int]
    weights: dict[str, int]
    """Elements by type; empty where the file does not say."""
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    warnings: list[str]
    _document: Mapping[str, Any] = dataclasses.field(compare=False)
    _opened: Opened = dataclasses.field(compare=False)
    _options: Mapping[str, Any] = dataclasses.field(compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The element of `results` that `foretell predict --json` prints."""
        return dict(self._document)

    def plot_memory(self, axes: Axes | None = None) -> Axes:
        """Draws the memory in use over the step's operators; needs matplotlib."""
        from ._plot import plot_memory

        return plot_memory(self, self._opened, self._options, axes)

    def to_html(self, *, batches: bool = True) -> str:
        """The page of `foretell report`, which loads nothing from elsewhere.

        With `batches` it compares batch sizes, each a trace of its own.
        """
        from ._page import report_page

        return report_page(self, self._opened, self._options, batches)

    def __str__(self) -> str:
        from ._text import prediction_text

        return prediction_text(self)

    def __repr__(self) -> str:
        return (f"<foretell.Prediction {self.model}, batch {self.batch}, "
                f"{self.device}: {self.memory.total_mib:g} MiB, "
                f"{self.latency.ms:g} ms, {self.energy.j:g} J, "
                f"MIG {self.mig.profile}>")

    def _repr_html_(self) -> str:
        from ._text import prediction_html

        return prediction_html(self)


def _mig(values: Mapping[str, Any]) -> Mig:
    profiles = [from_json(Verdict, one) for one in values["profiles"]]
    return from_json(Mig, {
        **values, "profiles": profiles,
        "whole_device": from_json(Verdict, values["whole_device"])})


def prediction(result: Mapping[str, Any], opened: Opened,
               options: Mapping[str, Any]) -> Prediction:
    """An element of `results`, and how it was asked for."""
    figures: dict[str, Any] = {
        name: from_json(kind, {**result[name], "source": from_json(
            Source, result[name]["source"])})
        for name, kind in (("memory", Memory), ("latency", Latency),
                           ("energy", Energy))}
    return from_json(Prediction, {
        **result, **figures, "mig": _mig(result["mig"]),
        "warnings": list(map(in_python, result["warnings"])), "_document": result,
        "_opened": opened, "_options": options})
