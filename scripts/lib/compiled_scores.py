"""Eager and compiled latencies with their predictions, as rows of one table.

    print(compiled_scores.head("device", "mode"))
    print(compiled_scores.line("A100", "default", pairs=pairs))
"""

import dataclasses
import statistics

import host_factor
import published
from kernelbench import EAGER

DEFAULT = "default"  # Of torch.compile; other modes have its own names.
COLUMNS = ("rows", "eager: median", "mean", "signed", "compiled: median", "mean",
           "signed", "speed-up: median", "mean", "signed", "right side")


@dataclasses.dataclass(frozen=True)
class Pair:
    """(eager, compiled) milliseconds of one step."""
    forecast: tuple
    truth: tuple

    def errors(self):
        """Relative errors of eager, of compiled, and of the speed-up."""
        eager, compiled = (told / true - 1 for told, true
                           in zip(self.forecast, self.truth))
        return eager, compiled, (1 + eager) / (1 + compiled) - 1

    def is_right(self):
        """Whether the speed-up is on the right side of 1."""
        return ((self.forecast[0] > self.forecast[1]) ==
                (self.truth[0] > self.truth[1]))


def head(*names):
    """Of lines with as many names."""
    columns = (*names, *COLUMNS)
    return f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|"


def line(*names, pairs):
    cells = " | ".join(published.error_cells(list(errors)) for errors
                       in zip(*(pair.errors() for pair in pairs)))
    right = statistics.fmean(pair.is_right() for pair in pairs)
    return (f"| {' | '.join(names)} | {len(pairs)} | {cells} | "
            f"{100 * right:.0f} |")


def runtime_of(mode):
    """The value of `--runtime` for a mode."""
    return {EAGER: "eager", DEFAULT: "compile"}.get(mode, f"compile,{mode}")


def fitted_host(folder, told_by_factor, truths):
    """The `--host` file of the machine that measured the eager `truths`, and its
    factor; `told_by_factor` has their predictions with each file of write_hosts."""
    runs = [host_factor.Run("", str(key), {factor: told[key] for factor, told
                                           in told_by_factor.items()}, truth, {})
            for key, truth in truths.items()
            if all(key in told for told in told_by_factor.values())]
    factor = host_factor.median_factor(runs)
    return host_factor.write_host(folder, factor), factor
