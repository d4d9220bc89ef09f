#!/usr/bin/env python3
"""Says how wide the intervals of latency and energy have to be, by sources left out.

    scripts/published/fit_intervals.py [--rows FILE] [--every N] [--networks FOLDER]

Takes the published runs of scripts/lib/interval_rows.py with their analytic
predictions: of timm's throughput every N-th row (default 15) whose image size and norms
`predict` can be asked for, of strangers' reports those that need an export only if FOLDER
has it. Prints in Markdown, for each regime, rows and sources; the median and mean absolute
error in percent; the factors below and above a prediction that src/answer/interval_width.cc
has; the percentage of rows that the factors fitted to the other sources hold, and their
median width (upper over lower end). A factor is a quantile in which a source weighs as the
square root of its rows; of the quantiles the table takes those of the smallest width that
hold 88 % of the sources left out, both of all rows and where a source weighs as in the
quantile, and 5 % at either end if none do. What one operator adds, in proportion to the
square root of the sum of the operators' squared shares of GPU time, is fitted by what
work it does and, except for convolutions, whether it takes a millisecond, to problems
of few operators: KernelBench's, and operators at extents drawn at random; the spread of
hosts to rows that the host decides; both beyond what the factors of a network explain.
The last two lines judge problems of few operators of all kinds by the factors of the
others' sources. --rows keeps what was collected in FILE, and reads it if it is there.
Needs torch.
"""

import bisect
import collections
import itertools
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import interval_rows  # noqa: E402

COVERAGE = 0.88
# Shares of rows that may be beyond one end.
BEYOND = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)
MOSTLY = 0.9  # Of the squares of the shares: that of a problem of one kind.


def quantile(groups, share):
    """Of all values; a group weighs as the square root of their number."""
    values = sorted((value, len(group) ** -0.5) for group in groups
                    for value in group)
    sums = list(itertools.accumulate(weight for _, weight in values))
    return values[min(len(values) - 1, bisect.bisect_left(sums, share * sums[-1]))][0]


class Network:
    """Factors of a network that the GPU decides: a row's residual alone."""
    shares = tuple(itertools.product(BEYOND, repeat=2))  # Beyond either end.

    def __init__(self, title, holds):
        self.title, self.holds = title, holds

    def needed(self, row):
        """Logarithms of the factors that hold the row; one of them is 0."""
        return max(0, -row.residual), max(0, row.residual)

    def logs(self, row, factors):
        """Of the interval's ends."""
        return tuple(map(math.log, factors))


class Added(Network):
    """Factors on top of those of a network, times a share of each row."""

    def __init__(self, title, holds, base):
        super().__init__(title, holds)
        self.base = base

    def share(self, row, end):
        return math.sqrt(sum(row.squares.values()))

    def needed(self, row):
        return tuple(
            math.sqrt(max(0, one ** 2 - math.log(self.base[end]) ** 2)) /
            max(self.share(row, end), 0.01)
            for end, one in enumerate(super().needed(row)))

    def added(self, row, factors):
        return tuple(math.log(factor) * self.share(row, end)
                     for end, factor in enumerate(factors))

    def logs(self, row, factors):
        return tuple(math.hypot(math.log(one), other)
                     for one, other in zip(self.base, self.added(row, factors)))


class Hosts(Added):
    """How fast a host may be, one factor for both ends; a row's share is what the
    host decides, half at least of such rows."""
    shares = tuple((beyond, beyond) for beyond in BEYOND)

    def needed(self, row):
        return (max(super().needed(row)),) * 2

    def share(self, row, end):
        return max(0.5, row.host_logs((2, 2))[end] / math.log(2))

    def added(self, row, factors):
        return row.host_logs(factors)


class Kinds:
    """Problems of few operators, with factors by their work and length."""

    def __init__(self, base):
        self.base = base
        self.of = {kind: Added(f"added by one operator, {kind}",
                               lambda row, kind=kind: is_mostly(row, kind), base)
                   for kind in interval_rows.KINDS}

    def held(self, row, factors):
        """Whether `factors` by kind hold it, and the logarithm of their width."""
        ends = [math.sqrt(math.log(self.base[end]) ** 2 + sum(
                    square * math.log(factors[kind][end]) ** 2
                    for kind, square in row.squares.items())) for end in (0, 1)]
        return -ends[0] <= row.residual <= ends[1], sum(ends)

    def print_left_out(self, title, rows, every, beyond):
        """Of `rows`, by factors of the other sources among `every`."""
        found = []
        for source, members in groups_of(rows).items():
            others = groups_of(row for row in every if row.source != source)
            factors = {kind: fitted([list(map(regime.needed, some)) for group in
                                     others.values()
                                     if (some := list(filter(regime.holds, group)))],
                                    beyond[kind])
                       for kind, regime in self.of.items()}
            found += [self.held(row, factors) for row in members]
        held, widths = zip(*found)
        print(f"| {title} | {len(rows)} | {len(groups_of(rows))} | {errors_of(rows)} | "
              f"– | – | {100 * statistics.fmean(held):.0f} | "
              f"×{math.exp(statistics.median(widths)):.2f} |")


def errors_of(rows):
    errors = [100 * abs(math.expm1(-row.residual)) for row in rows]
    return f"{statistics.median(errors):.1f} | {statistics.fmean(errors):.1f}"


def is_few(row):
    return row.squares and not row.is_host_bound


def is_mostly(row, kind):
    return is_few(row) and row.squares.get(kind, 0) > MOSTLY * sum(row.squares.values())


def is_network(row):
    return (row.quantity == "latency" and not row.is_host_bound and
            not row.is_benchmark)


def networks():
    return [
        Network("network, inference", lambda row: is_network(row) and
                row.mode == "inference"),
        Network("network, training", lambda row: is_network(row) and
                row.mode == "training"),
        Network("energy", lambda row: row.quantity == "energy")]


def additions(base):
    def has_host(row):
        return row.quantity == "latency" and row.is_host_bound

    return [
        Hosts("spread of hosts before Hopper", lambda row: has_host(row) and
              row.has_older_host, base),
        Hosts("spread of hosts since Hopper", lambda row: has_host(row) and
              not row.has_older_host, base)]


def groups_of(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row.source].append(row)
    return groups


def fitted(needed, beyond):
    """The factors beyond which such shares of the rows are, below and above."""
    return tuple(math.exp(quantile([[row[end] for row in group] for group in needed],
                                   1 - beyond[end])) for end in (0, 1))


def left_out(regime, groups, needed, beyond):
    """The share of rows that the factors of other sources hold, where a source weighs
    as in the quantiles; the plain share; and the factors' median width."""
    held, widths = {}, []
    for source, members in groups.items():
        others = fitted([logs for other, logs in needed.items() if other != source],
                        beyond)
        ends = [regime.logs(row, others) for row in members]
        held[source] = [-below <= row.residual <= above
                        for row, (below, above) in zip(members, ends)]
        widths += [math.exp(below + above) for below, above in ends]
    weights = {source: len(members) ** 0.5 for source, members in held.items()}
    weighed = sum(weights[source] * statistics.fmean(members)
                  for source, members in held.items()) / sum(weights.values())
    plain = statistics.fmean(itertools.chain.from_iterable(held.values()))
    return weighed, plain, statistics.median(widths)


def print_regime(regime, rows):
    """The narrowest that hold enough of the sources left out; returns the factors and
    the shares of rows beyond them."""
    groups = groups_of(row for row in rows if regime.holds(row))
    needed = {source: list(map(regime.needed, members))
              for source, members in groups.items()}
    outcomes = {beyond: left_out(regime, groups, needed, beyond)
                for beyond in regime.shares}
    enough = [one for one, (*held, _) in outcomes.items() if min(held) >= COVERAGE]
    beyond = min(enough, key=lambda one: outcomes[one][-1], default=(0.05, 0.05))
    _, held, width = outcomes[beyond]
    factors = fitted(needed.values(), beyond)
    members = [row for group in groups.values() for row in group]
    print(f"| {regime.title} | {len(members)} | {len(groups)} | {errors_of(members)} | "
          f"{factors[0]:.2f} | {factors[1]:.2f} | {100 * held:.0f} | ×{width:.2f} |")
    return factors, beyond


def main():
    options = interval_rows.options(__doc__)
    rows = interval_rows.kept(options)
    print("| regime | rows | sources | median | mean | below | above | held % | "
          "width |\n|---|---|---|---|---|---|---|---|---|")
    (base, _), *_ = [print_regime(regime, rows) for regime in networks()]
    kinds = Kinds(base)
    beyond = {kind: print_regime(regime, rows)[1] for kind, regime in kinds.of.items()}
    for regime in additions(base):
        print_regime(regime, rows)
    few = list(filter(is_few, rows))
    kinds.print_left_out("all problems of few operators: KernelBench's",
                         [row for row in few if not row.is_operator], few, beyond)
    kinds.print_left_out("all problems of few operators: drawn at random",
                         [row for row in few if row.is_operator], few, beyond)


if __name__ == "__main__":
    foretell.main(main)
