"""What a neural network will take on an NVIDIA GPU, without one.

    import foretell
    p = foretell.predict("zoo:resnet50", batch=8)
    p.memory.total_mib, p.latency.ms, p.energy.j, p.mig.profile

docs/python.md is the manual.
"""

from typing import TYPE_CHECKING

from . import dippm
from ._advise import Advice, Remedy, advise
from ._api import Fit, fits, max_batch, predict
from ._check import DoesNotFit
from ._compare import Comparison, compare
from ._context import ContextReport, Watch, context
from ._dataset import Dataset, dataset
from ._errors import Error, Warning
from ._estimate import MemoryEstimate, estimate_memory
from ._finetune import FineTuning, Saving, finetune
from ._inspect import Operators, inspect
from ._measure import Measurement, measure
from ._prediction import Energy, Latency, Memory, Mig, Prediction, Source, Verdict
from ._serving import KvCache, kv_cache
from .jupyter import load_ipython_extension

__all__ = [
    "Advice", "Comparison", "ContextReport", "Dataset", "DoesNotFit", "Energy",
    "Error", "FineTuning", "Fit", "KvCache", "Latency", "Measurement", "Memory",
    "MemoryEstimate", "Mig", "Operators", "Prediction", "Remedy", "Saving", "Source",
    "Verdict", "Warning", "Watch", "advise", "compare", "context", "dataset", "dippm",
    "estimate_memory", "finetune", "fits", "inspect", "kv_cache",
    "load_ipython_extension", "max_batch", "measure", "predict",
]

if TYPE_CHECKING:
    __version__: str
else:
    def __getattr__(name):
        """The package's version, looked up where it is asked for: slow to import."""
        if name == "__version__":
            import importlib.metadata
            return importlib.metadata.version("foretell")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
