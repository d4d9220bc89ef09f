"""Many models, batches and devices side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from ._errors import Error, warn
from ._local import catalogue, device_name
from ._meanings import OPTIONS, in_python, with_options
from ._model import Model, Opened, open_model
from ._prediction import Prediction, prediction
from ._text import table_html, table_text
from ._words import asked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._flags import Options

DEVICE = "a100-sxm4-40gb"
ALL_DEVICES = "all"
EAGER = "eager"


class Comparison(Sequence[Prediction]):
    """Predictions, models before devices before runtimes before batches. `rows` are
    for `pandas.DataFrame`."""

    def __init__(self, predictions: list[Prediction]) -> None:
        self._predictions = predictions

    def __len__(self) -> int:
        return len(self._predictions)

    def __getitem__(self, index: Any) -> Any:
        return self._predictions[index]

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self._predictions)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """model, device, batch, memory_mib, memory_high_mib, latency_ms,
        samples_per_s, energy_j and mig_profile of every prediction; where runtimes are
        compared also runtime and speed_up, how many times as fast as "eager" it is
        (None without "eager")."""
        eager = {_step(one): one.latency.ms for one in self._predictions
                 if _runtime(one) == EAGER}
        return [{**_row(one), **_against_eager(one, eager)}
                for one in self._predictions]

    def priced(self, usd_per_hour: Mapping[str, float]) -> list[dict[str, Any]]:
        """The rows with usd_per_hour and usd_per_thousand_batches, by prices of your
        own by device; the cheapest that fits first, then those without a price.

        Raises Error for a price that is no number above 0."""
        for device, price in usd_per_hour.items():
            if not (isinstance(price, (int, float)) and 0 < price < math.inf):
                raise Error(f"usd_per_hour[{device!r}] is {price!r}, expected a number "
                            "above 0")
        rows = []
        for one, row in zip(self._predictions, self.rows):
            hour = usd_per_hour.get(one.device)
            thousand = None if hour is None else hour * one.latency.ms / 3600
            rows.append({**row, "fits": one.mig.whole_device.fits,
                         "usd_per_hour": hour,
                         "usd_per_thousand_batches": thousand})
        return sorted(rows, key=_by_price)

    def __str__(self) -> str:
        return table_text(self.rows)

    def _repr_html_(self) -> str:
        return table_html(self.rows)


def _by_price(row: Mapping[str, Any]) -> tuple[Any, ...]:
    price = row["usd_per_thousand_batches"]
    return (not row["fits"], price is None, price or 0, row["latency_ms"])


def _runtime(p: Prediction) -> str | None:
    """None where the runtime was not asked for."""
    return p._options.get("runtime")


def _step(p: Prediction) -> tuple[Any, ...]:
    return (id(p._opened), p.device, p.batch)


def _against_eager(p: Prediction,
                  eager: Mapping[tuple[Any, ...], float]) -> dict[str, Any]:
    runtime = _runtime(p)
    if runtime is None:
        return {}
    ms = eager.get(_step(p))
    return {"runtime": runtime, "speed_up": None if ms is None else ms / p.latency.ms}


def _row(p: Prediction) -> dict[str, Any]:
    return {
        "model": p.model, "device": p.device, "batch": p.batch,
        "memory_mib": p.memory.total_mib,
        "memory_high_mib": p.memory.interval_mib[1],
        "latency_ms": p.latency.ms,
        "samples_per_s": p.verdict["samples_per_s"],
        "energy_j": p.energy.j,
        "mig_profile": p.mig.profile,
    }


def _named(models: Any) -> list[Any]:
    if isinstance(models, (str, bytes)) or not isinstance(models, Sequence):
        return [models]
    return list(models)


def _answers(opened: Opened, options: Mapping[str, Any]) -> list[Prediction]:
    """A batch that fails is a warning; the others are answered."""
    document = opened.run_json([*opened.words("predict", options), "--json"])
    if not document["results"]:
        error = document["errors"][0]
        raise Error(in_python(error["message"]), error["code"])
    for error in document["errors"]:
        warn(in_python(error["message"]))
    return [prediction(result, opened, options) for result in document["results"]]


def _in_runtimes(opened: Opened, options: Mapping[str, Any],
                 runtimes: Union[str, Sequence[str], None]) -> list[Prediction]:
    """Raises the first Error where no runtime answers."""
    if runtimes is None:
        return _answers(opened, options)
    predictions: list[Prediction] = []
    refused: list[Error] = []
    for runtime in _named(runtimes):
        try:
            predictions += _answers(opened, {**options, "runtime": runtime})
        except Error as error:
            refused.append(error)
    if refused and not predictions:
        raise refused[0]
    for refusal in refused:
        warn(f"left out: {refusal}")
    return predictions


@with_options(OPTIONS)
def compare(models: Union[Model, Sequence[Model]], inputs: Any = None, *,
            batches: Union[int, Sequence[int], None] = None,
            devices: Union[str, Sequence[str]] = DEVICE,
            runtimes: Union[str, Sequence[str], None] = None,
            **options: Unpack[Options]) -> Comparison:
    """Predicts every model at every batch on every device in every runtime;
    devices="all" are those that `foretell devices` lists.

    Modules share `inputs`; paths and names of the zoo need `batches`. A runtime has its
    options behind it: ["eager", "compile", "tensorrt,int8"]. The other options are
    those of predict. Every model is exported once.

    Raises Error where a model cannot be answered at all on a device, or no device is
    known; single batches that fail, unknown devices among known ones, and runtimes
    that cannot run a model which another one runs are warnings.
    """
    inputs, found = asked(inputs, options)
    for one, several in (("device", "devices"), ("batch", "batches"),
                         ("runtime", "runtimes")):
        if found.get(one) is not None:
            raise Error(f"{one}={found[one]!r}: compare takes {several}")
    found["batch"] = batches
    if devices == ALL_DEVICES:
        devices = [one["name"] for one in catalogue()]
    names = [device_name(device) for device in _named(devices)]
    unknown: dict[str, Error] = {}
    predictions = []
    for model in _named(models):
        opened = open_model(model, None if isinstance(model, str) else inputs, found)
        for name in names:
            if name in unknown:
                continue
            try:
                predictions += _in_runtimes(opened, {**found, "device": name}, runtimes)
            except Error as error:
                if error.code != "not_found" or "device" not in str(error):
                    raise
                unknown[name] = error
    if unknown and set(unknown) == set(names):
        raise next(iter(unknown.values()))
    for reason in unknown.values():
        warn(f"left out: {reason}")
    return Comparison(predictions)
