"""Eager and compiled latencies beside their predictions, as rows of one table.

    print(compiled_scores.HEAD)
    print(compiled_scores.line("A100", pairs))
"""

import dataclasses
import statistics

import host_factor
import published

HEAD = ("| source | rows | eager: median | mean | signed | compiled: median | mean "
        "| signed | speed-up: median | mean | signed | right side |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|")


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


def line(name, pairs):
    cells = " | ".join(published.error_cells(list(errors)) for errors
                       in zip(*(pair.errors() for pair in pairs)))
    right = statistics.fmean(pair.is_right() for pair in pairs)
    return f"| {name} | {len(pairs)} | {cells} | {100 * right:.0f} |"


def fitted_host(folder, told_by_factor, truths):
    """The `--host` file of the machine that measured the eager `truths`, and its
    factor; `told_by_factor` has their predictions with each file of write_hosts."""
    runs = [host_factor.Run("", str(key), {factor: told[key] for factor, told
                                           in told_by_factor.items()}, truth, {})
            for key, truth in truths.items()
            if all(key in told for told in told_by_factor.values())]
    factor = host_factor.median_factor(runs)
    return host_factor.write_host(folder, factor), factor
