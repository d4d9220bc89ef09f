#!/usr/bin/env python3
"""Tests of what a service loses whose workers, their children or itself are killed at
random moments under load.

    serve_kill_test.py FORETELL-LAB SOURCE_DIR [unittest arguments]

KILLS (200) says how many processes are ended in all: a quarter workers, a quarter their
children, a quarter services. Moments are drawn with a fixed seed.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BINARY = pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(sys.argv.pop(1))
KILLS = int(os.environ.get("KILLS", "200"))
ONNX = (SOURCE / "examples" / "resnet18.onnx").read_bytes()
BYTES = {"Content-Type": "application/octet-stream"}
KNOWN = range(1, 9)
WORKERS = 2
PATIENCE = 60


def children_of(process):
    """Each thread lists those that it started itself."""
    children = []
    for path in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            children += map(int, path.read_text().split())
    return children


def tree_of(process):
    tree = [process]
    for one in tree:
        tree += children_of(one)
    return tree


def lives(process):
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
        return stat.rsplit(") ", 1)[1][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


class Service:
    def __init__(self, *flags, binary=BINARY, port=0):
        self.process = subprocess.Popen(
            [binary, "serve", "--port", str(port), "--workers", str(WORKERS), *flags],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        if not found:
            raise AssertionError(self.process.communicate(timeout=PATIENCE)[1])
        self.port = int(found.group(1))

    def ask(self, batch):
        """Status and answer; None where the connection broke before it was whole."""
        with contextlib.closing(http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            try:
                connection.request("POST", f"/v1/predict?batch={batch}", ONNX, BYTES)
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                return None

    def metric(self, name):
        with contextlib.closing(http.client.HTTPConnection(
                "127.0.0.1", self.port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        return float(re.search(rf"^foretell_{name} (\S+)$", text, re.M).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)


class Load:
    """Threads that ask for known answers and for new ones until it is left."""

    def __init__(self, service, test):
        self.service, self.test = service, test
        self.answers = []
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(first,))
                        for first in (None, 1000, 100000)]

    def ask(self, first):
        batch = 0
        while not self.is_over.is_set():
            batch += 1
            wanted = batch % len(KNOWN) + 1 if first is None else first + batch
            self.answers.append((wanted, self.service.ask(wanted)))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


class ServeKill(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(20260302)

    def check(self, answers, known, statuses):
        """Whole answers are right, and known ones are never lost."""
        for batch, answer in answers:
            if answer is None:
                self.assertNotIn(200, statuses - {200, 500})
                continue
            status, body = answer
            self.assertIn(status, statuses, body)
            if status == 200:
                self.assertEqual(json.loads(body)["results"][0]["batch"], batch)
            if batch in known:
                self.assertEqual(answer, known[batch])

    def test_workers_and_their_children(self):
        service = Service()
        try:
            known = {batch: service.ask(batch) for batch in KNOWN}
            self.assertEqual({status for status, _ in known.values()}, {200})
            with Load(service, self) as load:
                for number in range(KILLS // 2):
                    time.sleep(self.random.uniform(0.02, 0.2))
                    self.kill_one(service, number % 2 == 1)
            self.check(load.answers, known, {200, 422, 500})
            self.assertNotIn(None, [answer for _, answer in load.answers])
            # A worker whose end nobody has asked about yet is found by a job.
            for batch in range(10**6, 10**6 + 2 * WORKERS):
                service.ask(batch)
            self.assertEqual(service.ask(10**7)[0], 200)
            self.assertEqual(len(children_of(service.process.pid)), WORKERS)
            self.assertEqual(service.metric("workers_busy"), 0)
        finally:
            service.stop()

    def kill_one(self, service, a_child):
        workers = children_of(service.process.pid)
        victims = [child for worker in workers for child in children_of(worker)]
        victims = victims if a_child else workers
        if not victims:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(victims), signal.SIGKILL)

    def test_services(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for _ in range(max(KILLS // 4, 1)):
            service = Service(port=port)
            with Load(service, self) as load:
                time.sleep(self.random.uniform(0, 0.4))
                tree = tree_of(service.process.pid)
                load.is_over.set()
                service.process.kill()
                service.process.communicate(timeout=PATIENCE)
            self.check(load.answers, {}, {200, 422, 500})
            self.assertTrue(wait_until(lambda: not any(map(lives, tree))),
                            [one for one in tree if lives(one)])

    def test_workers_come_back_once_their_program_does(self):
        with tempfile.TemporaryDirectory() as folder:
            own = pathlib.Path(folder, "foretell-lab")
            shutil.copy(BINARY, own)
            service = Service(binary=own)
            try:
                self.assertEqual(service.ask(1)[0], 200)
                own.rename(own.with_name("away"))
                for worker in children_of(service.process.pid):
                    os.kill(worker, signal.SIGKILL)
                for batch in range(2, 2 + 3 * WORKERS):
                    self.assertEqual(service.ask(batch)[0], 500)
                self.assertEqual(service.ask(1)[0], 200)  # It is known.
                own.with_name("away").rename(own)
                # Those that were started in vain are found by a job each.
                for batch in range(100, 100 + WORKERS):
                    service.ask(batch)
                for batch in range(200, 200 + 2 * WORKERS):
                    self.assertEqual(service.ask(batch)[0], 200)
            finally:
                service.stop()


if __name__ == "__main__":
    unittest.main()
