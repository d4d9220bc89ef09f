#!/usr/bin/env python3
"""Runs the examples for Kubernetes and Slurm beside a service.

    examples_test.py FORETELL-LAB REPOSITORY [unittest arguments]
"""

import base64
import copy
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

try:
    import yaml
except ImportError:
    yaml = None

BINARY, REPOSITORY = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1))
KUBERNETES = REPOSITORY / "examples" / "kubernetes"
SLURM = REPOSITORY / "examples" / "slurm"
REVIEW = json.loads((KUBERNETES / "admission_review.json").read_text())


def listen(*words):
    """A process that says its port in its first line, and that port."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    return process, int(re.search(r"(\d+)$", process.stdout.readline()).group(1))


def setUpModule():
    global SERVICE, URL
    SERVICE, port = listen(BINARY, "serve", "--port", "0")
    URL = f"http://127.0.0.1:{port}"


def tearDownModule():
    SERVICE.terminate()
    SERVICE.communicate()


def patched(pod, steps):
    """The pod after a JSON patch of "add" alone."""
    pod = copy.deepcopy(pod)
    for step in steps:
        assert step["op"] == "add"
        *path, last = [part.replace("~1", "/").replace("~0", "~")
                       for part in step["path"].split("/")[1:]]
        target = pod
        for part in path:
            target = target[int(part) if isinstance(target, list) else part]
        target[last] = step["value"]
    return pod


class Webhook(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = tempfile.TemporaryDirectory()
        shutil.copy(REPOSITORY / "examples" / "resnet18.onnx", cls.models.name)
        cls.hook, cls.port = listen(
            sys.executable, KUBERNETES / "webhook.py", "--foretell", URL,
            "--address", "127.0.0.1", "--port", "0", "--models", cls.models.name)

    @classmethod
    def tearDownClass(cls):
        cls.hook.terminate()
        cls.hook.communicate()
        cls.models.cleanup()

    def review(self, model=None, options=None, container=None):
        """The recorded review with other annotations: pod and response."""
        document = copy.deepcopy(REVIEW)
        pod = document["request"]["object"]
        annotations = pod["metadata"]["annotations"]
        if model is not None:
            annotations["foretell.dev/model"] = model
            annotations["foretell.dev/options"] = json.dumps(options or {})
        if container is not None:
            pod["spec"]["containers"] = container
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}",
                                         data=json.dumps(document).encode())
        with urllib.request.urlopen(request, timeout=60) as response:
            answer = json.load(response)
        self.assertEqual(answer["kind"], "AdmissionReview")
        self.assertEqual(answer["apiVersion"], "admission.k8s.io/v1")
        self.assertEqual(answer["response"]["uid"], document["request"]["uid"])
        return pod, answer["response"]

    def resources(self, pod, response):
        steps = json.loads(base64.b64decode(response["patch"]))
        return patched(pod, steps)["spec"]["containers"][0]["resources"]

    def test_requests_the_slice_of_the_recorded_pod(self):
        pod, response = self.review()
        self.assertTrue(response["allowed"])
        self.assertEqual(response["patchType"], "JSONPatch")
        slices = {"nvidia.com/mig-1g.10gb": "1"}
        self.assertEqual(self.resources(pod, response),
                         {"limits": slices, "requests": {"cpu": "4", **slices}})

    def test_reads_files_below_its_folder_alone(self):
        for options in ({"batch": 8}, {"batch": 8, "autocast": True},
                        {"input": ["f32[8,3,224,224]"], "grad": False}):
            pod, response = self.review("resnet18.onnx", options,
                                        [{"name": "a"}, {"name": "b"}])
            self.assertNotIn("warnings", response)
            self.assertEqual(self.resources(pod, response)["limits"],
                             {"nvidia.com/mig-1g.5gb": "1"})
        for name in ("/etc/passwd", "../other.onnx", "none.onnx", "."):
            _, response = self.review(name, {"batch": 8})
            self.assertIn("no such file", response["warnings"][0])

    def test_refuses_what_fits_nowhere(self):
        _, response = self.review("zoo:vgg16", {"batch": 8192, "mode": "training"})
        self.assertFalse(response["allowed"])
        self.assertIn("MiB", response["status"]["message"])

    def test_lets_pass_what_it_cannot_judge(self):
        for model, options, word in (("zoo:nonsense", {}, "nonsense"),
                                     ("zoo:vgg16", {"sandbox": "off"}, "sandbox"),
                                     ("zoo:vgg16", [1], "JSON object")):
            _, response = self.review(model, options)
            self.assertTrue(response["allowed"])
            self.assertNotIn("patch", response)
            self.assertIn(word, response["warnings"][0])

    def test_leaves_a_pod_alone_that_asks_for_a_gpu(self):
        _, response = self.review(container=[
            {"name": "a"},
            {"name": "b", "resources": {"limits": {"nvidia.com/gpu": "1"}}}])
        self.assertEqual(response.keys(), {"uid", "allowed"})


class Manifest(unittest.TestCase):
    @unittest.skipIf(yaml is None, "PyYAML is not installed")
    def test_leaves_the_cluster_itself_alone(self):
        documents = list(yaml.safe_load_all((KUBERNETES / "foretell.yaml").read_text()))
        (hook,) = next(one["webhooks"] for one in documents
                       if one["kind"] == "MutatingWebhookConfiguration")
        (rule,) = hook["namespaceSelector"]["matchExpressions"]
        self.assertEqual((rule["key"], rule["operator"]),
                         ("kubernetes.io/metadata.name", "NotIn"))
        self.assertLessEqual({"kube-system", "foretell"}, set(rule["values"]))


class Readme(unittest.TestCase):
    def test_says_how_the_image_is_built(self):
        text = (KUBERNETES / "README.md").read_text()
        image = re.search(r"image: (\S+)", (KUBERNETES / "foretell.yaml").read_text())[1]
        self.assertIn(f"docker build -f packaging/Dockerfile -t {image}", text)

    def test_makes_the_namespace_before_what_lies_in_it(self):
        text = (KUBERNETES / "README.md").read_text()
        self.assertIn("kind: Namespace", (KUBERNETES / "foretell.yaml").read_text())
        self.assertLess(text.index("kubectl apply"), text.index("kubectl create"))


class Slurm(unittest.TestCase):
    def run_words(self, *words, url=None):
        return subprocess.run(
            words, capture_output=True, text=True, timeout=60,
            env={**os.environ, "FORETELL_URL": url or URL,
                 "PATH": f"{SLURM}{os.pathsep}{os.environ['PATH']}"})

    def test_a_slice_is_a_gres(self):
        result = self.run_words("foretell_gres", "zoo:resnet50", "batch=32",
                                "mode=training")
        self.assertEqual(result.stdout, "gpu:1g.10gb:1\n", result.stderr)
        result = self.run_words("foretell_gres", str(
            REPOSITORY / "examples" / "resnet18.onnx"), "batch=8")
        self.assertEqual(result.stdout, "gpu:1g.5gb:1\n", result.stderr)

    def test_no_slice_is_an_error(self):
        for words, message in ((("zoo:nonsense",), "nonsense"),
                               (("zoo:vgg16", "batch"), "NAME=VALUE"),
                               (("zoo:vgg16", "batch=8192", "mode=training"),
                                "MiB")):
            result = self.run_words("foretell_gres", *words)
            self.assertEqual(result.returncode, 1)
            self.assertIn(message, result.stderr)
        result = self.run_words("foretell_gres", "zoo:vgg16",
                                url="http://127.0.0.1:1")
        for word in ("http://127.0.0.1:1 does not answer", "refused", "FORETELL_URL"):
            self.assertIn(word, result.stderr)

    def test_nothing_is_submitted_where_no_slice_is_named(self):
        text = (SLURM / "README.md").read_text()
        form = next(line for line in text.splitlines() if "sbatch --gres" in line
                    and "&&" in line)
        self.assertNotIn('sbatch --gres "$(foretell_gres', text)
        form = form.replace("zoo:resnet50", "$0")
        with tempfile.TemporaryDirectory() as folder:
            sbatch = pathlib.Path(folder) / "sbatch"
            sbatch.write_text('#!/bin/sh\necho "submitted $2"\n')
            sbatch.chmod(0o755)
            form = f"PATH={folder}:$PATH; {form}"
            for model, url, expected in (
                    ("zoo:resnet50", URL, "submitted gpu:1g.10gb:1\n"),
                    ("zoo:nonsense", URL, ""),
                    ("zoo:resnet50", "http://127.0.0.1:1", "")):
                result = self.run_words("sh", "-c", form, model, url=url)
                self.assertEqual(result.stdout, expected, result.stderr)

    @unittest.skipUnless(shutil.which("lua5.3"), "lua5.3 is not installed")
    def test_the_plugin_sets_it(self):
        for comment, tres, expected in (
                ("foretell:zoo:resnet50,batch=32,mode=training", "nil",
                 "0 gres/gpu:1g.10gb:1"),
                ("foretell:zoo:resnet50,batch=32", "'gres/gpu:1'", "0 gres/gpu:1"),
                ("another", "nil", "0 nil"),
                ("foretell:zoo:resnet50;id", "nil", "1 nil"),
                ("foretell:/etc/passwd", "nil", "1 nil"),
                ("foretell:--help", "nil", "1 nil"),
                ("foretell:zoo:nonsense", "nil", "1 nil")):
            script = (
                "slurm = {SUCCESS = 0, ERROR = 1, log_user = function() end}\n"
                f"dofile('{SLURM}/job_submit.lua')\n"
                f"job = {{comment = '{comment}', tres_per_node = {tres}}}\n"
                "print(slurm_job_submit(job, {}, 1) .. ' ' .. "
                "tostring(job.tres_per_node))")
            result = self.run_words("lua5.3", "-e", script)
            self.assertEqual(result.stdout.strip(), expected,
                             comment + result.stderr)


if __name__ == "__main__":
    unittest.main()
