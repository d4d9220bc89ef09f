#!/usr/bin/env python3
"""Asks `foretell serve` many times, as a scheduler does, and prints what it took.

    scripts/bench/bench_serve.py [MODEL] [--requests 10000] [--connections 2]
        [--different 100] [--computing 0]

A request is a model file of about 1 MB (the file of MODEL, filled up with bytes that
ONNX skips) at one of so many batches, all of which are known: they were asked for
before. Meanwhile --computing further connections ask for batches that nobody has asked
for, until all others are answered. Prints seconds, statuses, percentiles of the
milliseconds that the service took per request, of computed and of known ones, and the
memory of service and workers before and after. Other work on the machine changes the
figures.
"""

import argparse
import collections
import concurrent.futures
import http.client
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import foretell  # noqa: E402

SIZE = 1_000_000


def filled_up(content, size):
    """An ONNX file with a field that no one reads (15, length-delimited) behind."""
    missing = max(size - len(content) - 4, 0)
    length, varint = missing, b""
    while length >= 0x80:
        varint += bytes([length & 0x7F | 0x80])
        length >>= 7
    return content + b"\x7a" + varint + bytes([length]) + bytes(missing)


def start(workers):
    process = subprocess.Popen(
        [foretell.program("serve"), "serve", "--port", "0", "--workers",
         str(workers)], stdout=subprocess.PIPE, text=True)
    address = re.search(r"http://([\d.]+):(\d+)", process.stdout.readline())
    return process, address.group(1), int(address.group(2))


def resident_mib(process):
    """Of the service and its workers: what each has for itself alone."""
    total = 0
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for pid in (process.pid, *map(int, children.read_text().split())):
        text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += sum(int(kib) for kib in
                     re.findall(r"^Private_\w+:\s+(\d+)", text, re.M))
    return total / 1024


def ask(address, port, body, batches):
    """(batch, status, seconds) of each request, over one connection."""
    connection = http.client.HTTPConnection(address, port, timeout=120)
    headers = {"Content-Type": "application/octet-stream"}
    answers = []
    for batch in batches:
        begin = time.perf_counter()
        connection.request("POST", f"/v1/predict?batch={batch}", body, headers)
        response = connection.getresponse()
        response.read()
        answers.append((batch, response.status, time.perf_counter() - begin))
    return answers


def ask_until(is_over, address, port, body, first):
    """The same of new batches until `is_over`."""
    def batches():
        batch = first
        while not is_over.is_set():
            yield batch
            batch += 1
    return ask(address, port, body, batches())


def percentiles(seconds):
    if not seconds:
        return "none"
    ordered = sorted(seconds)
    return ", ".join(
        f"p{share} {1000 * ordered[min(len(ordered) * share // 100, len(ordered) - 1)]:.1f} ms"
        for share in (50, 90, 99)) + f", longest {1000 * ordered[-1]:.1f} ms"


def run():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path,
                        default=ROOT / "examples" / "resnet18.onnx")
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=2)
    parser.add_argument("--different", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--computing", type=int, default=0)
    options = parser.parse_args()
    body = filled_up(options.model.read_bytes(), SIZE)
    process, address, port = start(options.workers)
    try:
        computed = ask(address, port, body, range(1, options.different + 1))
        before = resident_mib(process)
        batches = [1 + i % options.different for i in range(options.requests)]
        begin = time.perf_counter()
        is_over = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(
                options.connections + options.computing) as pool:
            others = [pool.submit(ask_until, is_over, address, port, body,
                                  10**6 * (1 + number))
                      for number in range(options.computing)]
            parts = pool.map(
                lambda first: ask(address, port, body,
                                  batches[first::options.connections]),
                range(options.connections))
            answers = [answer for part in parts for answer in part]
            is_over.set()
            beside = [answer for other in others for answer in other.result()]
        took = time.perf_counter() - begin
        after = resident_mib(process)
    finally:
        process.terminate()
        process.wait()
    known = [seconds for _, _, seconds in answers]
    answers += computed + beside
    statuses = collections.Counter(status for _, status, _ in answers)
    print(f"{len(answers)} requests of {len(body):,} bytes in {took:.1f} s: "
          + ", ".join(f"{count} of {status}" for status, count in statuses.items()))
    print("known:   ", percentiles(known))
    print("computed:", percentiles([seconds for _, _, seconds in computed + beside]))
    print(f"memory:   {before:.0f} MiB before, {after:.0f} MiB after")


if __name__ == "__main__":
    foretell.main(run)
