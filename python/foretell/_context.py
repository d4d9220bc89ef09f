"""How far a prediction was off, in the process that runs the step:

    with foretell.context(net, batch, mode="training", optimizer=optimizer) as watch:
        train()
    print(watch.report())
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import types
from typing import Any, Union

from ._api import predict
from ._errors import Error, warn
from ._finetune import FineTuning
from ._local import local_device
from ._meanings import OPTIONS, with_options
from ._model import Model, is_module
from ._prediction import Prediction
from ._reading import Clock, Gpu, Reading, read
from ._rows import append_row
from ._text import number, table_html, table_text

STEPS = 10


@dataclasses.dataclass(frozen=True, repr=False)
class ContextReport:
    """A prediction next to what was measured."""

    prediction: Prediction
    reading: Reading

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each part of the memory, for pandas.DataFrame: `part`,
        `predicted_mib`, `measured_mib`, `missing_mib` of the prediction. The first three
        add up to the process."""
        memory, real = self.prediction.memory, self.reading
        parts: list[tuple[str, float, float | None]] = [
            ("allocated", memory.allocated_mib, real.allocated_mib),
            ("allocator cache", memory.reserved_mib - memory.allocated_mib,
             real.reserved_mib - real.allocated_mib),
            ("context", memory.total_mib - memory.reserved_mib, real.context_mib),
            ("process", memory.total_mib, real.total_mib)]
        return [{"part": part, "predicted_mib": predicted, "measured_mib": measured,
                 "missing_mib": None if measured is None else measured - predicted}
                for part, predicted, measured in parts]

    @property
    def error(self) -> float | None:
        """Predicted over measured memory of the process, minus 1; None if only the
        allocator could be read."""
        real = self.reading.total_mib
        return None if not real else self.prediction.memory.total_mib / real - 1

    @property
    def part(self) -> str:
        """The part that differs most: "allocated", "allocator cache" or "context"."""
        parts = [row for row in self.rows[:-1] if row["missing_mib"] is not None]
        return str(max(parts, key=lambda row: abs(row["missing_mib"]))["part"])

    def __str__(self) -> str:
        return f"{self.line()}\n{table_text(self.rows)}"

    def line(self) -> str:
        """The same in one line."""
        real, memory = self.reading, self.prediction.memory
        start = f"after {real.steps} steps on {real.device}: "
        if self.error is None or real.total_mib is None:
            return (f"{start}{number(real.allocated_mib)} MiB allocated, predicted "
                    f"{number(memory.allocated_mib)}")
        low, high = memory.interval_mib
        side = "high" if self.error > 0 else "low"
        inside = "inside" if low <= real.total_mib <= high else "outside"
        return (f"{start}{number(real.total_mib)} MiB, predicted "
                f"{number(memory.total_mib)} ({number(low)} – {number(high)}): "
                f"{abs(self.error):.1%} too {side}, {inside} the interval; most of it is "
                f"in: {self.part}")

    def __repr__(self) -> str:
        return f"<foretell.ContextReport {self.line()}>"

    def _repr_html_(self) -> str:
        return table_html(self.rows)

    def append_to(self, path: Union[str, os.PathLike[str]]) -> None:
        """Appends the measurement to a CSV file that `foretell adapt` reads; it is
        created if missing. A module's exported file is kept in a folder next to it.

        Raises Error if steps were too few to time one, or the process could not be read.
        """
        append_row(path, self.prediction, self.reading)


class Watch(contextlib.AbstractContextManager["Watch"]):
    """Counts steps while its block runs, and reads the GPU after some of them.

    A step is one of the first optimizer that steps; in inference, a call of the module.
    `step()` counts one where neither is seen, as in a loop of DeepSpeed.
    """

    def __init__(self, prediction: Prediction, module: Any, steps: int,
                 save_to: Union[str, os.PathLike[str], None]) -> None:
        self.prediction = prediction
        self.reading: Reading | None = None
        self._module = module
        self._steps = steps
        self._save_to = save_to
        self._gpu: Gpu | None = None
        self._clock = Clock(None)
        self._first: Any = None
        self._hooks: list[Any] = []

    def __enter__(self) -> Watch:
        if Gpu.is_there():
            self._gpu = Gpu()
            self._gpu.reset()
        else:
            warn("foretell.context: there is no CUDA device: nothing is measured")
        if self.prediction.mode == "training":
            from torch.optim.optimizer import register_optimizer_step_post_hook

            self._hooks.append(register_optimizer_step_post_hook(self._stepped))
        elif is_module(self._module):
            self._hooks.append(self._module.register_forward_hook(
                lambda *ignored: self.step()))
        self._clock = Clock(self._gpu)
        return self

    def _stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._first = self._first or optimizer
        if optimizer is self._first:
            self.step()

    def step(self) -> None:
        """Counts a step."""
        self._clock.step()
        if self._clock.steps == self._steps:
            self._read()

    def _read(self) -> None:
        self._remove_hooks()
        if self._gpu is None or self.reading is not None:
            return
        self.reading = read(self._gpu, self._clock)
        print(f"foretell: {self.report().line()}", file=sys.stderr)
        if self._save_to is None:
            return
        try:
            self.report().append_to(self._save_to)
        except (Error, OSError) as error:
            warn(f"foretell: the row is not saved: {error}")

    def _remove_hooks(self) -> None:
        while self._hooks:
            self._hooks.pop().remove()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: types.TracebackType | None) -> None:
        self._remove_hooks()
        self._first = self._module = None  # The last watch must not keep them alive.
        # After an error of CUDA nothing can be read; after other ones it misleads.
        if error is None and self._clock.steps > 0:
            self._read()

    def report(self) -> ContextReport:
        """The prediction next to the measurement. Raises Error before there is one."""
        if self.reading is None:
            raise Error(f"nothing is measured after {self._clock.steps} of "
                        f"{self._steps} steps", "not_found")
        return ContextReport(self.prediction, self.reading)


def _here() -> dict[str, Any]:
    """The GPU of this process as an option; empty without one that is known."""
    name = local_device(Gpu().index)[0] if Gpu.is_there() else None
    return {"device": name} if name else {}


class Context:
    """What `foretell.context` is: called, it watches a block."""

    def __init__(self) -> None:
        self._last: Watch | None = None

    @with_options(OPTIONS)
    def __call__(self, model: Union[Model, Prediction, FineTuning], inputs: Any = None, *,
                 steps: int = STEPS, save_to: Union[str, os.PathLike[str], None] = None,
                 **options: Any) -> Watch:
        """Watches the steps of a block: after `steps` of them it reads the peak of the
        allocator and the process's memory, and says how far the prediction was off.

        `model`, `inputs` and options are those of predict, or `model` is an answer of
        predict or finetune. The block resets the allocator's peaks when it begins.
        The row is appended to the CSV file `save_to`, see ContextReport.append_to.
        Without a CUDA device nothing is measured, with a warning.

        Raises Error where predict does.
        """
        if isinstance(model, FineTuning):
            model = model.prediction
        if not isinstance(model, Prediction) and not {"device", "gpu"} & set(options):
            options.update(_here())
        made = (model if isinstance(model, Prediction)
                else predict(model, inputs, **options))
        self._last = Watch(made, model, steps, save_to)
        return self._last

    def report(self) -> ContextReport:
        """That of the last watch. Raises Error without a measurement."""
        if self._last is None:
            raise Error("nothing is watched yet; begin a block with "
                        "foretell.context(model, inputs)", "not_found")
        return self._last.report()


context = Context()
