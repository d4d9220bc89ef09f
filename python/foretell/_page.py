"""The page with pictures of a prediction."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import _command
from ._model import Opened

if TYPE_CHECKING:
    from ._prediction import Prediction


def report_page(prediction: Prediction, opened: Opened,
                options: Mapping[str, Any], batches: bool) -> str:
    """What `foretell report` writes, under the name that the model has here."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "report.html")
        words = opened.words("report", {**options, "batch": prediction.batch})
        _command.run([*words, f"--name={opened.name}", f"--out={path}",
                      f"--batches={'auto' if batches else 'none'}"])
        return opened.named(path.read_text(encoding="utf-8"))
