"""One host factor per source of published latencies.

A host factor multiplies the CPU time of every operator: `foretell predict --host
FILE`. A latency grows with it; between the few factors at which a run is predicted it
is read in straight lines. A row's own factor is the one at which it is predicted
rightly; a source's is the median of its host-bound rows' own.
"""

import collections
import dataclasses
import json
import math
import statistics

# Factors at which every run is predicted.
FACTORS = (0.5, 1.0, 2.0, 4.0)
# A run is host-bound where twice the CPU time makes it take longer by more than this
# share; one that only waits for the host takes twice as long.
HOST_BOUND = 0.5


@dataclasses.dataclass
class Run:
    """A published row and its prediction."""
    host: str        # Source, and the machine where a source has several.
    network: str
    latencies: dict  # Predicted ms by factor.
    truth: float     # ms
    row: dict        # Of the table.


def write_host(folder, factor):
    """The file that `--host` takes for a factor."""
    path = folder / f"factor{factor}.json"
    path.write_text(json.dumps({"name": f"factor{factor}", "factor": factor,
                                "spread": 1}))
    return path


def write_hosts(folder):
    """The files that `--host` takes, by factor."""
    return {factor: write_host(folder, factor) for factor in FACTORS}


def latency_at(latencies, factor):
    """Milliseconds at a factor, on the line between its neighbours."""
    above = next((i for i, one in enumerate(FACTORS[1:-1], 1) if one >= factor),
                 len(FACTORS) - 1)
    low, high = FACTORS[above - 1], FACTORS[above]
    share = (factor - low) / (high - low)
    return latencies[low] + share * (latencies[high] - latencies[low])


def is_host_bound(latencies):
    """Whether a host of half the speed makes it take that much longer."""
    return latencies[2.0] / latencies[1.0] - 1 > HOST_BOUND


def own_factor(latencies, truth):
    """The factor at which the truth is predicted; the nearest end beyond them."""
    if truth <= latencies[FACTORS[0]]:
        return FACTORS[0]
    for low, high in zip(FACTORS, FACTORS[1:]):
        if truth <= latencies[high]:
            share = (truth - latencies[low]) / (latencies[high] - latencies[low])
            return low + share * (high - low)
    return FACTORS[-1]


def median_factor(runs):
    """The median of the host-bound runs; 1 without any."""
    own = [math.log(own_factor(run.latencies, run.truth))
           for run in runs if is_host_bound(run.latencies)]
    return math.exp(statistics.median(own)) if own else 1.0


def by_host(runs):
    groups = collections.defaultdict(list)
    for run in runs:
        groups[run.host].append(run)
    return dict(sorted(groups.items()))


def left_out_factors(group):
    """By network: what the host-bound rows of a host's other networks say. A host
    with one such network: what its other rows say, by row (its id)."""
    bound = [run for run in group if is_host_bound(run.latencies)]
    if len({run.network for run in bound}) > 1:
        return {run.network: median_factor(
            [other for other in bound if other.network != run.network])
            for run in group}
    return {id(run): median_factor([other for other in bound if other is not run])
            for run in group}


def factors_of(runs):
    """A factor for every run, fitted without it, in the runs' order."""
    left_out = {host: left_out_factors(group) for host, group in by_host(runs).items()}
    return [left_out[run.host].get(run.network, left_out[run.host].get(id(run)))
            for run in runs]


def factors_of_others(runs):
    """By host: the median of the other sources' hosts' factors."""
    source = {run.host: run.row["source"] for run in runs}
    own = {host: median_factor(group) for host, group in by_host(runs).items()
           if any(is_host_bound(run.latencies) for run in group)}
    return {host: statistics.median(
        [factor for other, factor in own.items() if source[other] != source[host]]
        or [1.0]) for host in source}
