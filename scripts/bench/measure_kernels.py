#!/usr/bin/env python3
"""Which kernels the libraries choose, and how long each runs.

    measure_kernels.py --seconds 120 --out kernels.jsonl.gz
    measure_kernels.py --suite kinds --seconds 300 --out kinds.jsonl.gz
    measure_kernels.py --suite drawn --seconds 150 --out drawn.jsonl.gz
    measure_kernels.py --device cpu --tiny --out dry.jsonl

Stock PyTorch, nothing of foretell. The suite "layers": convolutions (contiguous
and channels_last; bf16, fp32 with and without TF32), attention, batch norm and
layer norm. The suite "kinds": operators of every kind, at common and at awkward
extents (operator_cases.py); "drawn": operators at extents drawn at random
(drawn_cases.py). Each forward and backward, with the defaults of
PyTorch: no search by cuDNN; TF32 in convolutions alone, but for the precisions
"tf32" (in products, too) and "fp32_no_tf32" (nowhere).

The first row is the environment. Then one row per operator and pass:
  op, shape, precision, layout, pass    what was run ("forward", "backward")
  options       of the operator: stride, groups; causal; mask
  kernels       [[name, microseconds], ...] of one call in order, the median
                over the repeats; kernels whose number varies are averaged
  launches      [[grid, block, registers, shared memory], ...] of those kernels
                in the last repeat; null for copies and fills
  host_us       what the CPU takes to issue one call
  gpu_us        their sum
  output_bytes, workspace_bytes         of one call: what its outputs keep, and
                the allocator's peak above that
  status        ok or error, with "message"

Calls are told apart on the device's timeline by a spin kernel between them, so
that one run of the profiler serves many. The order is fixed and pseudo-random:
any prefix is a fair sample. Rows are appended at once, a gzip member for each
operator, so a kill loses nothing. `--lock FILE` is held while the device is used
and released after every operator, for programs that share the device.
"""
import argparse
import collections
import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import statistics
import sys
import tempfile
import time

import torch
from torch.nn import functional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drawn_cases  # noqa: E402
import measure_allocator as allocator  # noqa: E402
import operator_cases  # noqa: E402

SUITES = {"layers": sys.modules[__name__], "kinds": operator_cases,
          "drawn": drawn_cases}

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16,
          "fp32": torch.float32, "tf32": torch.float32,
          "fp32_no_tf32": torch.float32}
DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
SEPARATOR_CYCLES = 2000
NAME_LENGTH = 400
BATCHES = (1, 8, 32)
# inputs, outputs, extent, kernel, stride, groups
CONVOLUTIONS = [
    # ResNet
    (3, 64, 224, 7, 2, 1), (64, 64, 56, 1, 1, 1), (64, 64, 56, 3, 1, 1),
    (64, 256, 56, 1, 1, 1), (256, 128, 56, 1, 1, 1), (128, 128, 56, 3, 2, 1),
    (128, 128, 28, 3, 1, 1), (256, 512, 56, 1, 2, 1), (256, 256, 14, 3, 1, 1),
    (1024, 256, 14, 1, 1, 1), (512, 512, 7, 3, 1, 1), (512, 2048, 7, 1, 1, 1),
    # EfficientNet and MobileNet
    (3, 32, 224, 3, 2, 1), (32, 32, 112, 3, 1, 32), (96, 96, 112, 3, 2, 96),
    (16, 96, 112, 1, 1, 1), (240, 240, 28, 5, 1, 240), (144, 24, 56, 1, 1, 1),
    (672, 672, 14, 5, 2, 672), (112, 672, 14, 1, 1, 1), (320, 1280, 7, 1, 1, 1),
    (480, 20, 1, 1, 1, 1),
    # ConvNeXt
    (3, 96, 224, 4, 4, 1), (96, 96, 56, 7, 1, 96), (384, 384, 14, 7, 1, 384),
    (768, 768, 7, 7, 1, 768), (192, 384, 28, 2, 2, 1),
    # RegNet and ResNeXt
    (72, 72, 56, 3, 1, 3), (216, 216, 28, 3, 2, 9), (576, 576, 14, 3, 1, 24),
    (128, 128, 56, 3, 1, 32), (512, 512, 14, 3, 1, 32),
    # UNet and VGG
    (2, 32, 256, 3, 1, 1), (32, 32, 256, 3, 1, 1), (64, 32, 256, 3, 1, 1),
    (128, 128, 112, 3, 1, 1), (512, 512, 28, 3, 1, 1), (32, 3, 256, 1, 1, 1),
]
# batch, heads, keys' heads, queries, keys, width of a head
ATTENTION = [
    (1, 12, 12, 197, 197, 64), (32, 12, 12, 197, 197, 64),
    (64, 6, 6, 197, 197, 64), (2048, 3, 3, 49, 49, 32),
    (512, 12, 12, 49, 49, 32), (32, 12, 12, 128, 128, 64),
    (8, 16, 16, 512, 512, 64), (8, 12, 12, 512, 512, 64),
    (4, 16, 16, 1024, 1024, 64), (2, 32, 32, 1024, 1024, 64),
    (2, 32, 8, 1024, 1024, 64), (1, 32, 8, 2048, 2048, 128),
    (1, 24, 8, 1024, 1024, 128), (1, 32, 32, 4096, 4096, 128),
    (1, 8, 8, 4096, 4096, 64), (4, 8, 4, 512, 512, 256),
    (8, 6, 6, 1500, 1500, 64), (8, 8, 8, 256, 256, 80),
    (1, 32, 8, 1, 2048, 128), (16, 12, 12, 1, 512, 64),
]
# batch, channels, extent
BATCH_NORMS = [
    (1, 64, 112), (32, 64, 112), (32, 256, 56), (8, 512, 28), (32, 1024, 14),
    (32, 2048, 7), (64, 96, 112), (64, 240, 28), (48, 576, 14), (8, 32, 256),
]
# rows, width
LAYER_NORMS = [(6304, 768), (50176, 96), (4096, 1024), (2048, 4096), (197, 384)]


def operators():
    """(op, shape, precision, layout, options), any prefix a fair sample."""
    rows = []
    layouts = ("contiguous", "channels_last")
    for geometry, batch, precision, layout in itertools.product(
            CONVOLUTIONS, BATCHES, ("bf16", "fp32", "fp32_no_tf32"), layouts):
        if (precision, layout) == ("fp32_no_tf32", "channels_last"):
            continue
        inputs, outputs, extent, kernel, stride, groups = geometry
        rows.append(("convolution", [batch, inputs, extent, extent], precision,
                     layout, {"outputs": outputs, "kernel": kernel,
                              "stride": stride, "groups": groups}))
    for shape, precision, how in itertools.product(
            ATTENTION, ("bf16", "fp16", "fp32"),
            ("full", "causal", "bool_mask", "float_mask")):
        square = shape[3] == shape[4]
        if how == "full" or square and (how, precision) not in (
                ("bool_mask", "fp16"), ("float_mask", "fp16")):
            rows.append(("attention", list(shape), precision, "contiguous",
                         {"how": how}))
    for shape, precision, layout, own in itertools.product(
            BATCH_NORMS, ("bf16", "fp32"), layouts, ("same", "fp32")):
        if (precision, own) != ("fp32", "same"):
            batch, channels, extent = shape
            rows.append(("batch_norm", [batch, channels, extent, extent],
                         precision, layout, {"weights": own}))
    for shape, precision in itertools.product(LAYER_NORMS, ("bf16", "fp32")):
        rows.append(("layer_norm", list(shape), precision, "contiguous", {}))
    return sorted(rows, key=lambda row: hashlib.sha256(
        json.dumps(row).encode()).digest())


class Calls:
    """The forward and backward pass of one operator as functions."""

    def __init__(self, row, device):
        self.device = device
        op, shape, precision, layout, options = row
        self.dtype = DTYPES[precision]
        self.layout = (torch.channels_last if layout == "channels_last"
                       else torch.contiguous_format)
        if hasattr(self, op):
            self.forward, self.backward = getattr(self, op)(shape, options)
        else:
            self.forward, self.backward = drawn_cases.build(row, self)

    def random(self, *shape, dtype=None):
        x = torch.randn(*shape, device=self.device).to(dtype or self.dtype)
        if x.dim() == 5 and self.layout == torch.channels_last:
            return x.contiguous(memory_format=torch.channels_last_3d)
        return x.contiguous(memory_format=self.layout) if x.dim() == 4 else x

    def convolution(self, shape, options):
        kernel, groups = options["kernel"], options["groups"]
        x = self.random(*shape)
        weight = self.random(options["outputs"], shape[1] // groups, kernel,
                             kernel)
        # As the networks pad: "same" but for patches.
        stride, padding = [options["stride"]] * 2, [(kernel - 1) // 2] * 2
        arguments = (stride, padding, [1, 1], False, [0, 0], groups)

        def forward():
            return torch.ops.aten.convolution(x, weight, None, *arguments)
        gradient = self.random(*forward().shape)

        def backward():
            return torch.ops.aten.convolution_backward(
                gradient, x, weight, None, *arguments,
                [shape[1] != 3, True, False])
        return forward, backward

    def attention(self, shape, options):
        batch, heads, key_heads, queries, keys, width = shape
        how = options["how"]

        def project(count, length):
            # As a projection leaves it: heads beside each other in memory.
            x = self.random(batch, length, count * width)
            return x.view(batch, length, count, width).transpose(
                1, 2).requires_grad_()
        q = project(heads, queries)
        k, v = project(key_heads, keys), project(key_heads, keys)
        mask = None
        if how.endswith("mask"):
            mask = torch.ones(batch, 1, queries, keys, dtype=torch.bool,
                              device=self.device).tril()
            if how == "float_mask":
                mask = torch.zeros(mask.shape, device=self.device).masked_fill_(
                    ~mask, float("-inf")).to(self.dtype)

        def forward():
            return functional.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=how == "causal",
                enable_gqa=heads != key_heads)
        return forward, self.gradient(forward, (q, k, v))

    def gradient(self, forward, inputs):
        """Runs `forward` now; the gradient of that, again and again. None where
        it has no gradient."""
        with torch.enable_grad():
            out = forward()
        if not out.requires_grad:
            return None
        gradient = torch.randn_like(out)
        return lambda: torch.autograd.grad(out, inputs, gradient,
                                           retain_graph=True)

    def batch_norm(self, shape, options):
        dtype = torch.float32 if options["weights"] == "fp32" else self.dtype
        x = self.random(*shape).requires_grad_()
        weight, bias, mean, variance = (
            torch.rand(shape[1], device=self.device, dtype=dtype)
            for _ in range(4))
        weight.requires_grad_(), bias.requires_grad_()

        def forward():
            return functional.batch_norm(x, mean, variance, weight, bias, True)
        return forward, self.gradient(forward, (x, weight, bias))

    def layer_norm(self, shape, options):
        x = self.random(*shape).requires_grad_()
        weight, bias = (torch.rand(shape[1], device=self.device,
                                   dtype=self.dtype, requires_grad=True)
                        for _ in range(2))

        def forward():
            return functional.layer_norm(x, shape[1:], weight, bias)
        return forward, self.gradient(forward, (x, weight, bias))


def device_events(profile):
    """What ran on the device, in order: the trace's events."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    return sorted((e for e in events if e.get("cat") in DEVICE_WORK),
                  key=lambda e: e["ts"])


def launch(event):
    """Grid, block, registers and shared memory; None of a copy or fill."""
    given = event["args"]
    return [given["grid"], given["block"], given["registers per thread"],
            given["shared memory"]] if "grid" in given else None


def kernel_runs(calls, repeats):
    """For each call, [[(name, microseconds, launch), ...] of each repeat] on
    the device's timeline."""
    activity = torch.profiler.ProfilerActivity
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[activity.CUDA]) as profile:
        for call in calls:
            for _ in range(repeats):
                torch.cuda._sleep(SEPARATOR_CYCLES)
                call()
        torch.cuda.synchronize()
    events = device_events(profile)
    runs, spin = [], next(e["name"] for e in events if "spin" in e["name"])
    for event in events:
        if event["name"] == spin:
            runs.append([])
        elif runs:
            runs[-1].append((event["name"][:NAME_LENGTH], event["dur"],
                             launch(event)))
    if len(runs) != len(calls) * repeats:
        raise RuntimeError(f"{len(runs)} runs on the timeline")
    return [runs[i:i + repeats] for i in range(0, len(runs), repeats)]


def median_kernels(runs):
    """One list of kernels for several runs of the same call."""
    names = [[name for name, _, _ in run] for run in runs]
    if runs and all(n == names[0] for n in names):
        return [[names[0][i], round(statistics.median(
            run[i][1] for run in runs), 3)] for i in range(len(names[0]))]
    totals = collections.Counter()
    for name, us, _ in itertools.chain.from_iterable(runs):
        totals[name] += us / len(runs)
    return [[name, round(us, 3)] for name, us in totals.items()]


def host_us(call, count=5):
    """Microseconds to issue a call; the device may still be at work."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(count):
        call()
    us = (time.perf_counter() - begin) * 1e6 / count
    torch.cuda.synchronize()
    return round(us, 1)


def output_bytes(value):
    values = value if isinstance(value, (tuple, list)) else [value]
    return sum(t.untyped_storage().nbytes() for t in values if t is not None)


def memory_fields(call, device):
    """What one call takes of memory."""
    if device == "cpu":
        return {"output_bytes": output_bytes(call())}
    call()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    kept = call()
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated() - before
    peak = torch.cuda.max_memory_allocated() - before
    del kept
    return {"output_bytes": held, "workspace_bytes": peak - held}


@contextlib.contextmanager
def locked(file):
    """Holds the lock of a file; takes no lock if none is given."""
    if file is None:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(0.02)  # Lets a waiting program take it.


def failure(error):
    return dict(status="error",
                message=f"{type(error).__name__}: {error}"[:400])


def rows_of(row, options):
    """The rows of one operator, one for each pass; never raises."""
    op, shape, precision, layout, how = row
    torch.backends.cudnn.allow_tf32 = precision != "fp32_no_tf32"
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    results = [dict(kind="kernels", op=op, shape=shape, precision=precision,
                    layout=layout, options=how, **{"pass": name})
               for name in ("forward", "backward")]
    try:
        calls = Calls(row, options.device)
    except Exception as error:
        return [dict(result, **failure(error)) for result in results]
    ready = []
    for result, call in zip(list(results), (torch.no_grad()(calls.forward),
                                            calls.backward)):
        if call is None:
            results.remove(result)
            continue
        try:
            result.update(memory_fields(call, options.device), status="ok")
            ready.append((result, call))
        except Exception as error:
            result.update(failure(error))
    if options.device == "cpu" or not ready:
        return results
    try:
        runs = kernel_runs([call for _, call in ready], options.repeats)
        for (result, call), of_call in zip(ready, runs):
            kernels = median_kernels(of_call)
            result.update(kernels=kernels,
                          launches=[x for _, _, x in of_call[-1]],
                          gpu_us=round(sum(us for _, us in kernels), 3),
                          host_us=host_us(call))
    except Exception as error:
        for result, _ in ready:
            result.update(failure(error))
    return results


def shrink(row):
    """`row` at a toy extent, for a try on a CPU."""
    op, shape, precision, layout, how = row
    if op == "convolution":
        shape = [1, shape[1], min(shape[2], 16), min(shape[3], 16)]
    elif op == "attention":
        shape = [1, *shape[1:3], min(shape[3], 16), min(shape[4], 16), shape[5]]
    else:
        shape = [min(n, 32) for n in shape]
    return op, shape, precision, layout, how


def environment():
    if torch.cuda.is_available():
        torch.cuda.init()
    fields = {"kind": "environment", "torch": torch.__version__,
              "cuda": torch.version.cuda, "time": time.time(),
              "cudnn": torch.backends.cudnn.version(),
              "arguments": sys.argv[1:]}
    with contextlib.suppress(Exception):
        fields["device"] = torch.cuda.get_device_properties(0).name
        import pynvml
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        fields["driver"] = pynvml.nvmlSystemGetDriverVersion()
        fields["clocks_mhz"] = {
            name: pynvml.nvmlDeviceGetClockInfo(handle, kind)
            for name, kind in (("sm", pynvml.NVML_CLOCK_SM),
                               ("memory", pynvml.NVML_CLOCK_MEM))}
    return fields


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--suite", default="layers", choices=sorted(SUITES))
    parser.add_argument("--only", default="", help="operators, by comma")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--lock", help="a file to lock around device work")
    parser.add_argument("--tiny", action="store_true", help="toy extents")
    parser.add_argument("--out", default="kernels.jsonl.gz")
    return parser.parse_args()


def measure(row, options, counts):
    """Runs one operator and appends its rows."""
    results = rows_of(row, options)
    allocator.append(options.out, *results)
    for result in results:
        counts[result["status"]] += 1
        if result["status"] == "error" and counts["error"] < 20:
            print(json.dumps(result), file=sys.stderr)


def main():
    options = parse()
    lock = open(options.lock, "w") if options.lock else None
    deadline = time.time() + options.seconds
    counts = collections.Counter()
    suite = SUITES[options.suite]
    chosen = [row for row in suite.operators()
              if not options.only or row[0] in options.only.split(",")]
    index = options.skip
    torch.manual_seed(1)
    with locked(lock):
        allocator.append(options.out, environment())
    while index < len(chosen) and time.time() < deadline:
        row = suite.shrink(chosen[index]) if options.tiny else chosen[index]
        index += 1
        with locked(lock):
            measure(row, options, counts)
        if index % 50 == 0 and options.device == "cuda":
            torch.cuda.empty_cache()
    print(f"{dict(counts)}, next --skip {index} of {len(chosen)}")


if __name__ == "__main__":
    main()
