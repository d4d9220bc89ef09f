#!/usr/bin/env python3
"""Derives the hosts that `--host fast|typical|slow` name from all published rows.

    scripts/published/fit_hosts.py [--rows FILE] [--every N] [--networks FOLDER]

Takes the latencies of scripts/lib/host_rows.py, as fit_intervals.py does its rows, and
keeps those that the host decides: a host of half the speed is predicted to make them
more than half as long again. A host is a source on a device; its factor is the median
of its rows' own factors, at which each is predicted exactly. Hosts of at least five
rows, sorted by factor, are divided into thirds: the median of each is the factor of
fast, typical and slow, and what holds the others of its third is the spread. The
factors of the default hosts are the medians of the hosts of GPUs before and since
Hopper. Prints in Markdown the hosts, the thirds, the generations with the error of the
median of each one's other hosts, and for every host the mean absolute logarithm of
predicted over measured at factor 1, at the typical host of the other publishers, and
at the nearest of their three. Needs torch.
"""

import collections
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import foretell  # noqa: E402
import host_rows  # noqa: E402
import interval_rows  # noqa: E402

NAMES = ("fast", "typical", "slow")
FEWEST_ROWS = 5
LEAST, MOST = 0.1, 10  # Of a row's own factor.
ADA = 89  # Its compute capability.


def own_factor(row):
    """The factor at which the row is predicted exactly, within LEAST and MOST."""
    rest = row.predicted - max(row.gpu_ms, row.dispatch_ms)
    factor = row.measured / (row.dispatch_ms + rest)
    if factor * row.dispatch_ms < row.gpu_ms:  # The rest alone grows with it.
        factor = (row.measured - row.gpu_ms) / rest if rest > 0 else LEAST
    return min(max(factor * row.host_factor, LEAST), MOST)


def name_of(row):
    """Its publisher, and KernelBench's commit; not what the rest of a repository's
    path says."""
    name = row.source.split(",")[0]
    return name.split(" ")[0] if "/" in name else name


def hosts_of(rows):
    """Host-bound rows by publisher and device."""
    hosts = collections.defaultdict(list)
    for row in rows:
        if row.quantity == "latency" and row.is_host_bound:
            hosts[name_of(row), row.device].append(row)
    return dict(sorted(hosts.items()))


def publisher(host):
    return host[0].split(" ")[0]


def factor_of(rows):
    return statistics.median(map(own_factor, rows))


def thirds(factors):
    """Sorted factors of the fast, the typical and the slow third of hosts."""
    ordered, count = sorted(factors), len(factors)
    ends = [round(count * part / len(NAMES)) for part in range(len(NAMES) + 1)]
    return [ordered[low:high] for low, high in zip(ends, ends[1:])]


def mean_error(rows, factor):
    return statistics.fmean(
        abs(math.log(row.on_host(factor / row.host_factor) / row.measured))
        for row in rows)


def print_hosts(hosts):
    print("| host | host-bound rows | factor | of rows, 10 % – 90 % |\n"
          "|---|---|---|---|")
    for (source, device), rows in hosts.items():
        own = sorted(map(own_factor, rows))
        print(f"| {source}, {device} | {len(own)} | {factor_of(rows):.2f} | "
              f"{own[len(own) // 10]:.2f} – {own[-1 - len(own) // 10]:.2f} |")


def print_thirds(factors):
    print("\n| name | hosts | factor | spread | of hosts |\n|---|---|---|---|---|")
    for name, third in zip(NAMES, thirds(factors)):
        factor = statistics.median(third)
        spread = max(factor / third[0], third[-1] / factor)
        print(f"| {name} | {len(third)} | {factor:.2f} | {spread:.2f} | "
              f"{third[0]:.2f} – {third[-1]:.2f} |")


def generation(host):
    """Of the host's device."""
    capability = interval_rows.compute_capability(host[1])
    return ("Hopper and newer" if capability >= interval_rows.HOPPER else
            "Ada" if capability == ADA else "before Ada")


def print_generations(hosts, factors):
    """With the mean error over a generation's hosts: at 1, and at the medians of its
    other hosts and of all other hosts."""
    print("\n| GPUs | hosts | factor | of hosts | at 1 | at the others of theirs | "
          "at all others |\n|---|---|---|---|---|---|---|")
    for name in ("before Ada", "Ada", "Hopper and newer"):
        own = [host for host in factors if generation(host) == name]
        if len(own) < 2:
            continue
        errors = [(mean_error(hosts[host], 1),
                   mean_error(hosts[host], statistics.median(
                       [factors[other] for other in own if other != host])),
                   mean_error(hosts[host], statistics.median(
                       [factor for other, factor in factors.items() if other != host])))
                  for host in own]
        cells = " | ".join(f"{statistics.fmean(one):.2f}" for one in zip(*errors))
        ordered = sorted(factors[host] for host in own)
        print(f"| {name} | {len(own)} | {statistics.median(ordered):.2f} | "
              f"{ordered[0]:.2f} – {ordered[-1]:.2f} | {cells} |")


def print_left_out(hosts, factors):
    print("\n| host, its publisher left out | rows | factor 1 | typical of the others | "
          "the nearest of their three |\n|---|---|---|---|---|")
    columns = []
    for host, rows in hosts.items():
        others = thirds([factor for other, factor in factors.items()
                         if publisher(other) != publisher(host)])
        fitted = list(map(statistics.median, others))
        errors = (mean_error(rows, 1), mean_error(rows, fitted[1]),
                  min(mean_error(rows, factor) for factor in fitted))
        columns.append(errors)
        cells = " | ".join(f"{error:.2f}" for error in errors)
        print(f"| {', '.join(host)} | {len(rows)} | {cells} |")
    cells = " | ".join(f"{statistics.fmean(one):.2f}" for one in zip(*columns))
    print(f"| mean over hosts | {sum(map(len, hosts.values()))} | {cells} |")


def main():
    options = interval_rows.options(__doc__)
    hosts = hosts_of(interval_rows.kept(options, host_rows.SOURCES))
    factors = {host: factor_of(rows) for host, rows in hosts.items()
               if len(rows) >= FEWEST_ROWS}
    print_hosts(hosts)
    print_thirds(factors.values())
    print_generations(hosts, factors)
    print_left_out(hosts, factors)


if __name__ == "__main__":
    foretell.main(main)
