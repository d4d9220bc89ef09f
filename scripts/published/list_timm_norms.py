#!/usr/bin/env python3
"""Lists the networks most of whose layer norms are of timm's own class.

    scripts/published/list_timm_norms.py FRAMEWORK >> scripts/published/timm_layer_norms.csv

Asks the timm that Python finds, whose norms keep to 16 bits under autocast with
`benchmark.py --fast-norm`, while torch.nn.LayerNorm runs in FP32. Networks are those of
the published latencies with FRAMEWORK, read from ../shared beside the repository, that
are no larger than the exported ones. Prints rows of FRAMEWORK, timm's version and the
network.
"""

import pathlib
import sys

import timm
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import published  # noqa: E402

EXPORTED_MILLIONS = 160  # Parameters, at most.


def keep(tensor, *_, **__):
    return tensor


def without_first_weights():
    """Makes what fills weights leave them alone, since no one reads them."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, keep)
    for name in ("normal_", "uniform_", "erfinv_"):
        setattr(torch.Tensor, name, keep)


def has_timms_norms(network):
    norms = [module for module in network.modules()
             if isinstance(module, torch.nn.LayerNorm)]
    own = [norm for norm in norms if type(norm) is not torch.nn.LayerNorm]
    return 2 * len(own) > len(norms)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    framework = sys.argv[1]
    rows = published.rows(published.THROUGHPUT)
    models = sorted({row["model"] for row in rows if row["framework"] == framework
                     and float(row["param_count_m"] or 0) <= EXPORTED_MILLIONS})
    without_first_weights()
    for model in models:
        if not timm.is_model(model):
            print(f"{model}: not in timm {timm.__version__}", file=sys.stderr)
        elif has_timms_norms(timm.create_model(model)):
            print(f"{framework},{timm.__version__},{model}")


if __name__ == "__main__":
    main()
