#!/usr/bin/env python3
"""A mutating admission webhook: a pod says which network it runs, and gets the MIG
slice that foretell names.

    webhook.py --foretell http://127.0.0.1:8080 [--port 8443 --certificate tls.crt
        --key tls.key] [--models /models]

Annotations of the pod: `foretell.dev/model` is a name of the zoo (`zoo:resnet50`) or a
file below --models; `foretell.dev/options` is a JSON object of what /v1/predict takes,
{"batch": 8, "mode": "training"}. The first container is given one
`nvidia.com/mig-…`, unless a container asks for a GPU by itself. A pod whose network
fits no slice is refused with the reason; one that cannot be judged passes unchanged,
with a warning. Needs nothing but Python.
"""

import argparse
import base64
import http.server
import json
import pathlib
import ssl
import urllib.error
import urllib.parse
import urllib.request

MODEL = "foretell.dev/model"
OPTIONS = "foretell.dev/options"
TIMEOUT_S = 8  # The API server waits 10 at most.


class Unjudged(Exception):
    """A pod of which nothing can be said."""


def body_of(model, models):
    """Bytes of the file that `model` names; None for a name of the zoo."""
    if model.startswith("zoo:"):
        return None
    path = (models / model).resolve()
    if not path.is_relative_to(models.resolve()) or not path.is_file():
        raise Unjudged(f"{MODEL}: {model}: no such file below {models}")
    return path.read_bytes()


def query_of(options):
    """Options of JSON in a URL: true as `true`, a list as one pair for each."""
    return urllib.parse.urlencode([
        (name, one if isinstance(one, str) else json.dumps(one))
        for name, value in options.items()
        for one in (value if isinstance(value, list) else [value])])


def predict(service, model, options, models, token=""):
    content = body_of(model, models)
    if content is None:
        url, body = "/v1/predict", json.dumps({"model": model, "options": options})
        content, kind = body.encode(), "application/json"
    else:
        url = "/v1/predict?" + query_of(options)
        kind = "application/octet-stream"
    headers = {"Content-Type": kind}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(service + url, data=content, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            document = json.load(response)
    except urllib.error.HTTPError as error:
        errors = json.load(error)["errors"]
        raise Unjudged(f"foretell: {errors[0]['message']}") from error
    except OSError as error:
        raise Unjudged(f"foretell at {service} does not answer: {error}") from error
    return document["results"][0]


def resource_name(profile):
    """As NVIDIA's device plugin calls a profile: 1g.10gb+me is mig-1g.10gb.me."""
    return "nvidia.com/mig-" + profile.replace("+", ".")


def pointer(text):
    """A member's name in a JSON pointer."""
    return text.replace("~", "~0").replace("/", "~1")


def asks_for_gpu(container):
    limits = container.get("resources", {}).get("limits", {})
    return any(name.startswith("nvidia.com/") for name in limits)


def patch(pod, profile):
    """JSON patch that gives the slice to the first container; empty where one asks
    for a GPU by itself."""
    containers = pod["spec"]["containers"]
    if any(asks_for_gpu(container) for container in containers):
        return []
    base = "/spec/containers/0/resources"
    steps, resources = [], containers[0].get("resources")
    if resources is None:
        steps.append({"op": "add", "path": base, "value": {}})
    for part in ("limits", "requests"):
        if not (resources or {}).get(part):
            steps.append({"op": "add", "path": f"{base}/{part}", "value": {}})
        steps.append({"op": "add",
                      "path": f"{base}/{part}/{pointer(resource_name(profile))}",
                      "value": "1"})
    return steps


def judge(pod, ask):
    """What of an AdmissionReview's response is decided here."""
    annotations = pod["metadata"].get("annotations") or {}
    if MODEL not in annotations:
        return {"allowed": True}
    try:
        options = json.loads(annotations.get(OPTIONS, "{}"))
        if not isinstance(options, dict):
            raise Unjudged(f"{OPTIONS}: expected a JSON object")
        result = ask(annotations[MODEL], options)
    except (Unjudged, ValueError) as error:
        return {"allowed": True, "warnings": [str(error)]}
    mig = result["mig"]
    if mig["profile"] is None:
        return {"allowed": False, "status": {"code": 403,
                                             "message": f"foretell: {mig['reason']}"}}
    answer = {"allowed": True}
    steps = patch(pod, mig["profile"])
    if steps:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(json.dumps(steps).encode()).decode()
    return answer


def review(document, ask):
    request = document["request"]
    return {"apiVersion": document["apiVersion"], "kind": "AdmissionReview",
            "response": {"uid": request["uid"], **judge(request["object"], ask)}}


def handler(ask):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers.get("Content-Length", 0))
            try:
                answer = review(json.loads(self.rfile.read(length)), ask)
            except (ValueError, KeyError, TypeError) as error:
                self.send_error(400, f"not an AdmissionReview: {error!r}"[:200])
                return
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--foretell", default="http://127.0.0.1:8080")
    parser.add_argument("--token-file", type=pathlib.Path)
    parser.add_argument("--models", type=pathlib.Path, default=pathlib.Path("/models"))
    parser.add_argument("--address", default="")
    parser.add_argument("--port", type=int, default=8443)
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    options = parser.parse_args()
    token = options.token_file.read_text().strip() if options.token_file else ""
    server = http.server.ThreadingHTTPServer(
        (options.address, options.port),
        handler(lambda model, more: predict(options.foretell, model, more,
                                            options.models, token)))
    if options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(options.certificate, options.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(f"listening on port {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
