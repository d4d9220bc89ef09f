"""The call of the DIPPM paper: inference on an A100, and the paper's MIG rule.

    from foretell import dippm
    dippm.predict("onnx", "resnet50.onnx", batch=8, input_size=(3, 224, 224))
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Union

from ._api import predict as _predict
from ._errors import Error

FRAMEWORKS = ("onnx", "paddle", "pytorch", "tensorflow")


class Answer(NamedTuple):
    """What the paper's command prints."""

    memory_mb: float
    latency_ms: float
    energy_j: float
    mig: str | None


def _sizes(input_size: Union[str, Sequence[int]]) -> str:
    if isinstance(input_size, str):
        return input_size.replace(" ", "")
    return ",".join(map(str, input_size))


def predict(framework: str, path: Union[str, os.PathLike[str]], batch: int,
            input_size: Union[str, Sequence[int]]) -> Answer:
    """Memory, latency, energy and MIG profile of a file at `batch` samples of
    `input_size`, e.g. (3, 224, 224) or "3,224,224".

    `framework` is one of FRAMEWORKS; the file itself says which. Those of "paddle" and
    "tensorflow" are converted first, as docs/frameworks.md says; sizes stand in the
    order of the file's own input, which is (224, 224, 3) in TensorFlow.
    """
    if framework.lower() not in FRAMEWORKS:
        raise Error(f"framework {framework!r}: expected one of "
                    f"{', '.join(FRAMEWORKS)}; save others as ONNX", "unsupported")
    answer = _predict(path, input=f"f32[{batch},{_sizes(input_size)}]",
                      mig_rule="dippm")
    return Answer(answer.memory.total_mib, answer.latency.ms, answer.energy.j,
                  answer.mig.profile)
