#!/usr/bin/env python3
"""Asks a running `foretell serve` over HTTP.

    serve_test.py FORETELL-LAB REPOSITORY [unittest arguments]
"""

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

BINARY, REPOSITORY = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(REPOSITORY / "tests" / "attacks"))
import script_archive  # noqa: E402
import torchscript_cases  # noqa: E402

ONNX = REPOSITORY / "examples" / "resnet18.onnx"
JSON = {"Content-Type": "application/json"}
BYTES = {"Content-Type": "application/octet-stream"}


class Service:
    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", *flags], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n",
                                line).group(1)

    def ask(self, route, body=None, headers=None):
        """(status, headers, text) of one request."""
        request = urllib.request.Request(self.url + route, data=body,
                                         headers=headers or {})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return response.status, response.headers, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def ask_json(self, route, document):
        status, _, text = self.ask(route, json.dumps(document).encode(), JSON)
        return status, json.loads(text)

    def metric(self, name):
        text = self.ask("/metrics")[2]
        return float(re.search(rf"^foretell_{name} (\S+)$", text, re.M).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        return self.process.returncode


@contextlib.contextmanager
def service(*flags):
    running = Service(*flags)
    try:
        yield running
    finally:
        running.stop()


def command(*words):
    return json.loads(subprocess.run([BINARY, *words], capture_output=True,
                                     text=True, timeout=120).stdout)


def multipart(*files, **fields):
    """Body and headers of a form."""
    boundary = "limit"
    body = b""
    for name, value in fields.items():
        body += (f'--{boundary}\r\nContent-Disposition: form-data; '
                 f'name="{name}"\r\n\r\n{value}\r\n').encode()
    for name, content in files:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="model"; '
                 f'filename="{name}"\r\n\r\n').encode() + content + b"\r\n"
    return (body + f"--{boundary}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"})


def endless_file():
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        script_archive.write(pathlib.Path(file.name),
                             **torchscript_cases.CASES["loop without end"])
        return pathlib.Path(file.name).read_bytes()


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()

    @classmethod
    def tearDownClass(cls):
        assert cls.service.stop() == 0

    def test_are_those_of_the_command(self):
        status, _, text = self.service.ask("/v1/predict?batch=8&device=a30",
                                           ONNX.read_bytes(), BYTES)
        self.assertEqual(status, 200)
        expected = command("predict", str(ONNX), "--batch", "8", "--device", "a30",
                           "--json")
        expected = json.loads(json.dumps(expected).replace(str(ONNX), "model"))
        self.assertEqual(json.loads(text), expected)

    def test_of_a_zoo_name(self):
        status, answer = self.service.ask_json("/v1/fits", {
            "model": "zoo:vgg16", "options": {"batch": 64, "profile": "1g.5gb",
                                              "mode": "training"}})
        self.assertEqual(status, 200)
        self.assertEqual(answer, command(
            "fits", "zoo:vgg16", "--batch", "64", "--profile", "1g.5gb", "--mode",
            "training", "--json"))
        self.assertFalse(answer["results"][0]["accepted"])

    def test_advise_what_would_fit(self):
        options = {"batch": 64, "mode": "training", "optimizer": "adam",
                   "max_memory": 3000, "foreach": "off"}
        status, answer = self.service.ask_json("/v1/advise", {
            "model": "zoo:resnet18", "options": options})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer, command(
            "advise", "zoo:resnet18", "--batch", "64", "--mode", "training",
            "--optimizer", "adam", "--max-memory", "3000", "--foreach", "off",
            "--json"))
        self.assertLess(answer["results"][0]["smallest"]["needed_mib"], 3000)

    def test_name_the_files_of_a_form(self):
        content = ONNX.read_bytes()
        status, _, text = self.service.ask("/v1/mig/pack", *multipart(
            ("a.onnx", content), ('b"\\.onnx', content), options='{"batch": 4}'))
        self.assertEqual(status, 200)
        models = [i["model"] for i in json.loads(text)["instances"]]
        self.assertEqual(models[0], "a.onnx")
        self.assertEqual(len(models), 2)
        self.assertNotIn("/proc/", text)

    def test_that_are_known_are_not_computed_again(self):
        request = {"model": "zoo:vgg11", "options": {"batch": 77}}
        first = self.service.ask_json("/v1/predict", request)
        hits = self.service.metric("cache_hits_total")
        self.assertEqual(self.service.ask_json("/v1/predict", request), first)
        self.assertEqual(self.service.metric("cache_hits_total"), hits + 1)

    def test_of_many_threads_are_all_right(self):
        def latency(batch):
            return self.service.ask_json("/v1/predict", {
                "model": "zoo:vgg11", "options": {"batch": batch}}
            )[1]["results"][0]["batch"]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            self.assertEqual(list(pool.map(latency, range(1, 41))),
                             list(range(1, 41)))

    def test_say_what_is_wrong(self):
        for status, route, body, message in (
                (400, "/v1/predict", {"model": "/etc/passwd"}, "not a zoo network"),
                (400, "/v1/predict", {"model": "zoo:vgg11",
                                      "options": {"sandbox": "off"}}, "sandbox"),
                (400, "/v1/predict", {"model": "zoo:vgg11",
                                      "options": {"device": "k80"}}, "k80"),
                (400, "/v1/predict", {"model": "zoo:vgg11",
                                      "options": {"mode": "sleep"}}, "sleep"),
                (400, "/v1/advise", {"model": "zoo:vgg11",
                                     "options": {"device": "k80"}}, "k80"),
                (422, "/v1/predict", {"model": "zoo:nonsense"}, "nonsense"),
                (422, "/v1/advise", {"model": "zoo:nonsense"}, "nonsense"),
                (422, "/v1/predict", {
                    "model": "zoo:vgg11", "options": {"input": "f32[0,3,224,224]"}},
                 "the batch, its leading dimension, is 0"),
                (404, "/v1/nonsense", {}, "no such route")):
            answered, document = self.service.ask_json(route, body)
            self.assertEqual(answered, status, document)
            said = document["errors"][0]["message"]
            self.assertIn(message, said)
            self.assertFalse(said.startswith("foretell:"), said)

    def test_take_pairs_in_the_query(self):
        file = {"Content-Type": "application/octet-stream"}
        for query in ("input=image=f32[2,3,64,64]", "input=image%3Df32[2,3,64,64]"):
            status, _, text = self.service.ask("/v1/predict?" + query,
                                               ONNX.read_bytes(), file)
            self.assertEqual(status, 200, text)
        status, _, text = self.service.ask("/v1/predict?dim=seq=128",
                                           ONNX.read_bytes(), file)
        self.assertIn("--dim names 'seq'",
                      json.loads(text)["errors"][0]["message"])

    def test_need_no_model_where_jobs_say_what_to_pack(self):
        status, document = self.service.ask_json(
            "/v1/mig/pack", {"options": {"job": ["a=9GB", "b=3000"]}})
        self.assertEqual((status, len(document["instances"])), (200, 2), document)

    def test_say_that_a_request_has_no_body(self):
        address = self.service.url.removeprefix("http://")
        for method, route, status, message in (
                ("POST", "/v1/predict", 400, "the request has no body"),
                ("PUT", "/v1/predict", 405, "takes POST, not PUT"),
                ("POST", "/nothing", 404, "no such route")):
            connection = http.client.HTTPConnection(address, timeout=60)
            connection.putrequest(method, route)
            connection.endheaders()
            response = connection.getresponse()
            self.assertEqual(response.status, status)
            self.assertIn(message, response.read().decode())
            connection.close()

    def test_take_limits_with_units(self):
        status, document = self.service.ask_json("/v1/fits", {
            "model": "zoo:vgg11", "options": {
                "max_memory": "10GB", "max_latency": "1s", "max_energy": 100}})
        self.assertEqual(status, 200, document)
        self.assertTrue(document["results"][0]["accepted"])

    def test_name_the_types_of_a_body(self):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for body in (b'{"model": "zoo:vgg11"}', ONNX.read_bytes(), b"a" * 9000):
            status, _, text = self.service.ask("/v1/predict?batch=1", body, form)
            self.assertEqual(status, 400)
            self.assertIn("x-www-form-urlencoded, expected application/json",
                          json.loads(text)["errors"][0]["message"])

    def test_know_types_in_any_case(self):
        def batch(status, _, text):
            self.assertEqual(status, 200, text)
            return json.loads(text)["results"][0]["batch"]
        asked = json.dumps({"model": "zoo:vgg11", "options": {"batch": 3}}).encode()
        self.assertEqual(3, batch(*self.service.ask(
            "/v1/predict", asked, {"Content-Type": "Application/JSON; Charset=UTF-8"})))
        body, headers = multipart(("a.onnx", ONNX.read_bytes()), options='{"batch": 3}')
        shouted = headers["Content-Type"].replace(
            "multipart/form-data; boundary", "Multipart/Form-Data; Boundary")
        self.assertEqual(3, batch(*self.service.ask(
            "/v1/predict", body, {"Content-Type": shouted})))
        status, _, text = self.service.ask(
            "/v1/predict?batch=1", b"a" * 9000,
            {"Content-Type": "Application/X-WWW-Form-URLEncoded"})
        self.assertEqual(status, 400, text)

    def test_of_a_file_that_is_no_model(self):
        status, _, text = self.service.ask("/v1/predict", *multipart(
            ("net.onnx", b"nonsense")))
        self.assertEqual(status, 422)
        message = json.loads(text)["errors"][0]["message"]
        self.assertTrue(message.startswith("net.onnx"), message)

    def test_describe_the_service(self):
        document = json.loads(self.service.ask("/openapi.json")[2])
        options = (document["paths"]["/v1/fits"]["post"]["requestBody"]["content"]
                   ["application/json"]["schema"]["properties"]["options"]
                   ["properties"])
        self.assertIn("bf16", options["precision"]["enum"])
        self.assertEqual(options["max_memory"]["type"], ["number", "string"])
        self.assertEqual(options["strict"]["type"], "boolean")
        for name in ("sandbox", "checkpoint", "device_file", "adaptation", "host",
                     "json", "trace", "html", "prices", "convert", "timeout"):
            self.assertNotIn(name, options)

    def test_serve_the_flags_of_a_step(self):
        options = {"batch": 8, "mode": "training", "optimizer": "adamw"}
        for more, flags in (
                ({"parallel": "ddp:4"}, ("--parallel", "ddp:4")),
                ({"lora": "r=8,targets=features"}, ("--lora", "r=8,targets=features")),
                ({"trainable": "features"}, ("--trainable", "features"))):
            status, answer = self.service.ask_json("/v1/predict", {
                "model": "zoo:resnet18", "options": {**options, **more}})
            self.assertEqual(answer, command(
                "predict", "zoo:resnet18", "--batch", "8", "--mode", "training",
                "--optimizer", "adamw", *flags, "--json"), more)
            self.assertIn(status, (200, 422))

    def test_of_the_largest_batch_and_of_devices(self):
        status, answer = self.service.ask_json("/v1/max-batch", {
            "model": "zoo:vgg11", "options": {"profile": "1g.5gb", "limit": 64}})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer, command("max-batch", "zoo:vgg11", "--profile",
                                         "1g.5gb", "--limit", "64", "--json"))
        status, answer = self.service.ask_json("/v1/compare", {
            "model": "zoo:vgg11", "options": {"batch": 8, "devices": "a30,h100"}})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer, command("compare", "zoo:vgg11", "--batch", "8",
                                         "--devices", "a30,h100", "--json"))
        status, answer = self.service.ask_json("/v1/max-batch", {
            "models": ["zoo:vgg11", "zoo:vgg13"]})
        self.assertEqual(status, 400)
        self.assertIn("accepts one model", answer["errors"][0]["message"])

    def test_list_the_routes(self):
        routes = json.loads(self.service.ask("/")[2])["routes"]
        paths = {route["path"] for route in routes}
        self.assertLessEqual({"/v1/predict", "/v1/compare", "/healthz"}, paths)
        document = json.loads(self.service.ask("/openapi.json")[2])
        self.assertEqual(set(document["paths"]), paths)
        for route in routes:
            status, headers, _ = self.service.ask(
                route["path"], b"{}" if route["method"] == "GET" else None)
            self.assertEqual(status, 405, route)
            self.assertIn(route["method"], headers["Allow"])

    def test_say_where_an_option_belongs(self):
        status, answer = self.service.ask_json("/v1/predict", {
            "model": "zoo:vgg11", "batch": 8})
        self.assertEqual(status, 400)
        self.assertIn('{"options": {"batch": …}}', answer["errors"][0]["message"])

    def test_to_who_asks_after_its_health(self):
        self.assertEqual(json.loads(self.service.ask("/healthz")[2]),
                         {"status": "ok"})


class Limits(unittest.TestCase):
    def test_a_body_that_is_too_large_is_refused(self):
        with service("--max-body", "1") as running:
            status, _, text = running.ask("/v1/predict", bytes(2 << 20), BYTES)
            self.assertEqual(status, 413)
            self.assertIn("1 MiB", text)
            self.assertIn("--max-body", text)
            self.assertEqual(running.ask("/healthz")[0], 200)

    def test_a_body_that_does_not_say_its_length_is_bounded(self):
        """In chunks, compressed, or as parts of a form: the next request on the
        connection is answered."""
        large = bytes(3 << 20)
        chunks = (large[:1 << 20] for _ in range(3))
        compressed = {**BYTES, "Content-Encoding": "gzip"}
        form, form_type = multipart(*[("", b"")] * 9000)
        with service("--max-body", "1") as running, contextlib.closing(
                http.client.HTTPConnection(
                    running.url.removeprefix("http://"))) as connection:
            for body, headers in ((chunks, BYTES),
                                  (gzip.compress(large), compressed),
                                  (form, form_type)):
                connection.request("POST", "/v1/predict", body, headers)
                response = connection.getresponse()
                self.assertEqual(response.status, 413)
                self.assertIn(b"--max-body", response.read())
                connection.request("GET", "/healthz")
                response = connection.getresponse()
                self.assertEqual((response.status, response.read()),
                                 (200, b'{"status": "ok"}\n'))
            chunks = (ONNX.read_bytes()[k:k + 4096] for k in range(0, 1 << 20, 4096))
            connection.request("POST", "/v1/predict?batch=1", chunks, BYTES)
            self.assertEqual(connection.getresponse().status, 200)

    def test_a_compressed_body_is_unpacked_as_far_as_it_is_allowed(self):
        """Damage behind the limit is never seen."""
        form, form_type = multipart(("a.onnx", ONNX.read_bytes()))
        large = bytearray(gzip.compress(bytes(64 << 20)))
        large[-8:] = bytes(8)
        with service("--max-body", "1") as running, contextlib.closing(
                http.client.HTTPConnection(
                    running.url.removeprefix("http://"))) as connection:
            for body, headers, encoding, status, reason in (
                    (large, BYTES, "gzip", 413, b"--max-body"),
                    (bytes(1000), BYTES, "gzip", 400, b"does not match its Content-Encoding"),
                    (bytes(1000), BYTES, "zstd", 415, b"not gzip"),
                    (gzip.compress(form), form_type, "gzip", 415, b"is a form"),
                    (gzip.compress(ONNX.read_bytes()), BYTES, "gzip", 200, b"results"),
                    (ONNX.read_bytes(), BYTES, "identity", 200, b"results")):
                connection.request("POST", "/v1/predict?batch=1", bytes(body),
                                   {**headers, "Content-Encoding": encoding})
                response = connection.getresponse()
                text = response.read()
                self.assertEqual(response.status, status, text)
                self.assertIn(reason, text)

    def test_a_form_without_an_end_is_not_understood(self):
        with service() as running:
            status, _, text = running.ask("/v1/predict", b"model", {
                "Content-Type": "multipart/form-data"})
            self.assertEqual(status, 400)
            self.assertIn("not understood", text)

    def test_who_has_no_token_is_sent_away(self):
        with tempfile.NamedTemporaryFile("w") as file:
            # HTTP drops blanks at the end of what a request sends.
            file.write("secret \r\n")
            file.flush()
            with service("--token-file", file.name) as running:
                for token in (None, "Bearer secre", "Bearer secret2", "secret"):
                    headers = {"Authorization": token} if token else {}
                    for route in ("/metrics", "/openapi.json"):
                        self.assertEqual(running.ask(route, None, headers)[0], 401)
                status = running.ask("/metrics", None,
                                     {"Authorization": "Bearer secret"})[0]
                self.assertEqual(status, 200)
                self.assertEqual(running.ask("/healthz")[0], 200)

    def test_a_request_without_end_is_ended(self):
        with service("--workers", "1", "--queue", "0", "--timeout",
                     "5") as running, \
                concurrent.futures.ThreadPoolExecutor() as pool:
            endless = pool.submit(running.ask, "/v1/predict?input=f32[2,2]",
                                  endless_file(), BYTES)
            while running.metric("workers_busy") == 0:
                self.assertFalse(endless.done(), "answered before it was seen")
                time.sleep(0.01)
            status, headers, _ = running.ask(
                "/v1/predict",
                b'{"model": "zoo:vgg11", "options": {"batch": 1}}', JSON)
            self.assertEqual((status, headers["Retry-After"]), (429, "1"))
            self.assertEqual(endless.result()[0], 504, endless.result())
            self.assertEqual(running.metric("workers_replaced"), 1)
            self.assertEqual(running.ask_json("/v1/predict", {
                "model": "zoo:vgg11", "options": {"batch": 2}})[0], 200)

    def test_a_worker_that_is_lost_is_replaced(self):
        with service("--workers", "1") as running:
            children = pathlib.Path(
                f"/proc/{running.process.pid}/task/{running.process.pid}/children")
            worker = int(children.read_text().split()[0])
            os.kill(worker, signal.SIGKILL)
            request = {"model": "zoo:vgg11", "options": {"batch": 3}}
            statuses = [running.ask_json("/v1/predict", request)[0]
                        for _ in range(2)]
            self.assertEqual(statuses, [500, 200])

    def test_what_was_begun_is_finished(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            running = Service("--workers", "1")
            asked = pool.submit(running.ask_json, "/v1/predict", {
                "model": "zoo:vit_large_patch16_224",
                "options": {"batch": list(range(1, 9))}})
            while running.metric("cache_misses_total") == 0:
                time.sleep(0.01)
            self.assertEqual(running.stop(), 0)
            status, answer = asked.result()
            self.assertEqual((status, len(answer["results"])), (200, 8))

    def test_a_port_that_is_taken_is_an_error(self):
        with service() as running:
            port = running.url.rsplit(":", 1)[1]
            second = subprocess.run([BINARY, "serve", "--port", port],
                                    capture_output=True, text=True, timeout=60)
        self.assertEqual(second.returncode, 3)
        self.assertIn(f"127.0.0.1:{port}: cannot listen: Address already in",
                      second.stderr)


if __name__ == "__main__":
    unittest.main()
