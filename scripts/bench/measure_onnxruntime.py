#!/usr/bin/env python3
"""ONNX Runtime's CUDA provider: memory, launches, kernels, latency.

    measure_onnxruntime.py --models models --seconds 150 --out onnxruntime.jsonl.gz
    measure_onnxruntime.py --models models --device cpu --tiny --out dry.jsonl

Stock ONNX Runtime, nothing of foretell, on the files of onnxruntime_models.py
whose weights it fills with random values. Each case is a forked process with a
device context of its own; other cases may load a network while it runs, but only
the one that holds `--lock` runs on the device. Rows are appended at once; the
order is fixed and pseudo-random within two tiers, the base cases of every network
first.

The first row is the environment. In addition to the case's fields a row has
  status       ok, error, oom, timeout, died; with "message" and "reached"
  nvml         bytes of this process, by NVML, after: context (the driver's
               alone), session, first, tenth (run with arrays of NumPy), bound
               (runs on tensors bound on the device), each with the device's use
  arena        [[arena, asked for, extended by], ...] in bytes, as the log says:
               those of the session, then those that follow ["first run"],
               ["tenth run"] and ["bound"]
  create_seconds, first_seconds
  numpy_ms     a run from and to arrays of NumPy, median of wall times
  bound_ms, bound_ms_all   a run on bound tensors, which waits: median, each
  host_ms      a run that does not wait, on an idle device, until it returns
  queued_ms    a run when many are queued without a wait
  placed       {provider: {operator: nodes}} as the log says when the session is
               made (before copies to the host are inserted)
  on_cpu       the nodes that run on the CPU, by name
  events       {provider: {operator: [times per run, microseconds on the host]}}
               by ONNX Runtime's profiler, in a second session (base cases)
  gpu_ms, kernels, top     of one run, by torch.profiler, as in
               measure_compile.py; PyTorch is imported after all of the above
"""
import collections
import contextlib
import ctypes
import glob
import hashlib
import json
import os
import re
import statistics
import sys
import tempfile
import time
import traceback

import numpy as np
import onnx

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import measure_allocator as allocator  # noqa: E402
import measure_compile  # noqa: E402

CASE_SECONDS = 45
RUNS, WARM_RUNS, NUMPY_RUNS = 30, 3, 10
QUEUED_MS = 300
TOP = 60
INFO, VERBOSE, ERROR = 1, 0, 3
ARENA = re.compile(r"Extending BFCArena for (\w+)\..*?(?:rounded_bytes|requested):"
                   r"\s*(\d+)|Extended allocation by (\d+) bytes|"
                   r"Reserving memory in BFCArena for (\w+) size: (\d+)")
ALONE = re.compile(r"All nodes placed on \[(\w+)\]\. Number of nodes: (\d+)")
PLACED = re.compile(r"Node\(s\) placed on \[(\w+)\]\. Number of nodes: (\d+)")
NODE = re.compile(r"\]\s+(\w+) \((.*)\)\s*$")
LEVELS = ("disabled", "basic", "extended", "all")
# Batches of the base cases: one that the host sets, one that the GPU sets.
BATCHES = {"relu": (1, 64), "matmul": (1, 64), "conv": (1, 64),
           "unet": (1, 4), "lstm": (1, 16)}
IMAGES = ("resnet50", "efficientnet_b0", "unet", "mobilenetv3", "regnety_008",
          "convnext_tiny")
TEXTS = ("bge_base", "vit_base", "gpt2", "swin_tiny", "distilbert",
         "roberta_base", "t5_encoder", "lstm")


def case(network, batch, variant="", level="all", base=False, **options):
    """`options` are the provider's, as strings; {} is its defaults."""
    return dict(network=network, variant=variant, batch=batch, level=level,
                provider=options, base=base)


def base_cases():
    """Every network in two batches, and its 16 bits."""
    found = []
    for network in (*IMAGES, *TEXTS, "relu", "matmul", "conv"):
        small, large = BATCHES.get(network, (1, 16))
        found += [case(network, small, base=True),
                  case(network, large, base=True),
                  case(network, large, "fp16", base=True)]
    for network in ("bge_base.script", "vit_base.script", "gpt2.script",
                    "distilbert", "roberta_base", "unet"):
        large = BATCHES.get(network, (1, 64))[1]
        found += [case(network, large, "opt16", base=True),
                  case(network, 1, "opt16", base=True),
                  case(network, large, "opt32", base=True)]
    return found


def more_cases():
    """One setting changed at a time."""
    found = []
    for network in IMAGES:
        large = BATCHES.get(network, (1, 64))[1]
        for search in ("HEURISTIC", "DEFAULT"):
            found += [case(network, large, precision,
                           cudnn_conv_algo_search=search)
                      for precision in ("", "fp16")]
        found += [case(network, large, cudnn_conv_use_max_workspace="0"),
                  case(network, large, "fp16", prefer_nhwc="1", base=True),
                  case(network, large, prefer_nhwc="1", base=True),
                  case(network, large, use_tf32="0"),
                  case(network, 1, enable_cuda_graph="1")]
    for network in ("resnet50", "bge_base", "convnext_tiny", "swin_tiny", "unet"):
        large = BATCHES.get(network, (1, 16))[1]
        found += [case(network, large, level=level, base=True)
                  for level in LEVELS[:3]]
        found += [case(network, large,
                       arena_extend_strategy="kSameAsRequested")]
    for network in TEXTS:
        large = BATCHES.get(network, (1, 64))[1]
        found += [case(network, large, use_tf32="0"),
                  case(network, large), case(network, 1, "fp16")]
    for network in ("bge_base", "gpt2", "vit_base"):
        found += [case(network, 1, enable_cuda_graph="1"),
                  case(network, 8, arena_extend_strategy="kSameAsRequested")]
    for network in ("bge_base", "resnet50", "convnext_tiny", "vit_base"):
        found += [case(network, 16, "cast", base=True)]
    for network in ("bge_base", "resnet50", "vit_base", "mobilenetv3", "gpt2"):
        found += [case(network + ".script", 16, base=True),
                  case(network + ".script", 16, "fp16")]
    return found


def identity(definition):
    text = json.dumps(definition, sort_keys=True)
    return "{network}.{variant}.b{batch}.{level}.".format(
        **definition) + hashlib.sha256(text.encode()).hexdigest()[:8]


def all_cases():
    """[(id, case)] without repeats; the order is the campaign's."""
    found = {}
    for tier in (base_cases(), more_cases()):
        named = [(identity(c), c) for c in tier]
        for key, one in sorted(named, key=lambda n: n[0][-8:]):
            found.setdefault(key, one)
    return list(found.items())


# --- the network ------------------------------------------------------------


def random_bytes(shape, kind):
    """Values around 0 with a deviation of 0.02: a block, repeated."""
    count = int(np.prod(shape))
    block = np.random.default_rng(1).standard_normal(65537, np.float32) * 0.02
    return np.resize(block, count).astype(kind).tobytes()


def filled(path):
    """The model of `path` with random weights; (bytes, inputs)."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            tensor.raw_data = random_bytes(tensor.dims, kind)
            del tensor.external_data[:]
            tensor.data_location = onnx.TensorProto.DEFAULT
    return model.SerializeToString(), list(model.graph.input)


def input_values(inputs, batch):
    """Arrays for a network: tokens, masks of ones, or random numbers."""
    values, random = {}, np.random.default_rng(2)
    for one in inputs:
        tensor = one.type.tensor_type
        shape = [d.dim_value or batch for d in tensor.shape.dim]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if not np.issubdtype(kind, np.integer):
            value = random.standard_normal(shape, np.float32)
        elif "mask" in one.name:
            value = np.ones(shape)
        else:
            value = random.integers(0, 2 if "type" in one.name else 1000, shape)
        values[one.name] = value.astype(kind)
    return values


# --- one case, in a process of its own --------------------------------------


class Log:
    """Catches what ONNX Runtime writes to the standard error stream."""

    def __init__(self):
        self.file, self.offset = tempfile.TemporaryFile(), 0
        os.dup2(self.file.fileno(), 2)

    def take(self):
        self.file.seek(self.offset)
        text = self.file.read().decode(errors="replace")
        self.offset += len(text.encode(errors="replace"))
        self.file.seek(0, os.SEEK_END)
        return text.splitlines()


def driver_context(device):
    """The primary context, which ONNX Runtime will use, by the driver alone."""
    if device == "cpu":
        return
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    for status in (driver.cuInit(0),
                   driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                   driver.cuCtxSetCurrent(context)):
        if status:
            raise RuntimeError(f"the CUDA driver answers {status}")


class Session:
    """A session of the case, and the ways to run it."""

    def __init__(self, ort, definition, network, inputs, options, profile=None):
        self.ort, self.device = ort, options.device
        self.batch = 2 if options.tiny else definition["batch"]
        settings = self.settings(definition["level"], profile)
        providers = ["CPUExecutionProvider"]
        if self.device == "cuda":
            providers.insert(0, ("CUDAExecutionProvider", definition["provider"]))
        self.session = ort.InferenceSession(network, settings, providers)
        self.values = input_values(inputs, self.batch)
        self.quiet, self.waiting = ort.RunOptions(), ort.RunOptions()
        for one in (self.quiet, self.waiting):
            one.log_severity_level = ERROR
        if self.device == "cuda":
            self.quiet.add_run_config_entry(
                "disable_synchronize_execution_providers", "1")

    def settings(self, level, profile):
        settings = self.ort.SessionOptions()
        name = "DISABLE_ALL" if level == "disabled" else "ENABLE_" + level.upper()
        settings.graph_optimization_level = getattr(
            self.ort.GraphOptimizationLevel, "ORT_" + name)
        settings.log_severity_level = ERROR if profile else VERBOSE
        if profile:
            settings.enable_profiling = True
            settings.profile_file_prefix = profile
        return settings

    def run_numpy(self):
        begin = time.perf_counter()
        self.session.run(None, self.values, self.waiting)
        return 1e3 * (time.perf_counter() - begin)

    def bind(self):
        """Inputs on the device, and outputs where their shape is known."""
        self.binding = self.session.io_binding()
        self.kept = [self.ort.OrtValue.ortvalue_from_numpy(
            value, self.device, 0) for value in self.values.values()]
        for name, value in zip(self.values, self.kept):
            self.binding.bind_ortvalue_input(name, value)
        for out in self.session.get_outputs():
            shape = [self.batch, *out.shape[1:]]
            if not all(isinstance(extent, int) for extent in shape):
                self.binding.bind_output(out.name, self.device)
                continue
            kind = np.float16 if "float16" in out.type else np.float32
            self.kept.append(self.ort.OrtValue.ortvalue_from_shape_and_type(
                shape, kind, self.device, 0))
            self.binding.bind_ortvalue_output(out.name, self.kept[-1])

    def run_bound(self, options=None):
        begin = time.perf_counter()
        self.session.run_with_iobinding(self.binding, options or self.waiting)
        return 1e3 * (time.perf_counter() - begin)


def arena_lines(lines):
    """[[extended arena, bytes asked for, bytes taken], ...] of the log."""
    found, asked = [], (None, 0)
    for line in lines:
        match = ARENA.search(line)
        if match and match[1]:
            asked = (match[1], int(match[2]))
        elif match and match[3]:
            found.append([*asked, int(match[3])])
        elif match:
            found.append([match[4] + " reserved", int(match[5]), int(match[5])])
    return found


def placements(lines):
    """({provider: {operator: nodes}}, nodes on the CPU by name)."""
    found, on_cpu, provider = {}, [], None
    for line in lines:
        alone, some, node = (ALONE.search(line), PLACED.search(line),
                             NODE.search(line))
        if alone:
            found[alone[1]] = {"all": int(alone[2])}
        elif some:
            provider = some[1]
            found[provider] = collections.Counter()
        elif provider and node:
            found[provider][node[1]] += 1
            if provider.startswith("CPU"):
                on_cpu.append(f"{node[1]} {node[2]}"[:80])
        elif provider and found[provider]:
            provider = None
    return found, on_cpu


def measure_memory(session, meter, log, row, graph):
    """The first runs: what the arena and the process grow by."""
    run = session.run_bound if graph else session.run_numpy
    if graph:
        session.bind()
    row["reached"] = "first run"
    row["first_seconds"] = round(run() / 1e3, 4)
    row["nvml"]["first"] = meter.device_memory()
    row["arena"] += [["first run"]] + arena_lines(log.take())
    times = [run() for _ in range(NUMPY_RUNS - 1)]
    row["nvml"]["tenth"] = meter.device_memory()
    row["arena"] += [["tenth run"]] + arena_lines(log.take())
    if not graph:
        row["numpy_ms"] = round(statistics.median(times[2:]), 4)
        session.bind()


def measure_time(session, row, runs):
    row["reached"] = "time"
    for _ in range(WARM_RUNS):
        session.run_bound()
    times = [session.run_bound() for _ in range(runs)]
    row["bound_ms"] = round(statistics.median(times), 4)
    row["bound_ms_all"] = [round(t, 4) for t in times]
    host = []
    for _ in range(runs // 2):
        host.append(session.run_bound(session.quiet))
        session.run_bound()
    row["host_ms"] = round(statistics.median(host), 4)
    queued = max(2, min(runs, int(QUEUED_MS / row["bound_ms"])))
    begin = time.perf_counter()
    for _ in range(queued):
        session.run_bound(session.quiet)
    session.run_bound()
    row["queued_ms"] = round(
        1e3 * (time.perf_counter() - begin) / (queued + 1), 4)


def measure_kernels(session, row):
    import torch
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CUDA]) as profile:
        for _ in range(measure_compile.PROFILED_STEPS):
            session.run_bound()
    measure_compile.TOP = TOP
    measure_compile.add_kernels(profile, row)


def measure_events(ort, definition, network, inputs, options, row):
    """What ONNX Runtime's profiler tells of a second session's third run."""
    with tempfile.TemporaryDirectory() as folder:
        session = Session(ort, definition, network, inputs, options,
                          os.path.join(folder, "profile"))
        with measure_compile.device_alone(options.lock, row):
            session.bind()
            for _ in range(WARM_RUNS):
                session.run_bound()
        session.session.end_profiling()
        with open(glob.glob(os.path.join(folder, "profile*"))[0]) as file:
            events = json.load(file)
    runs = [e["ts"] for e in events if e.get("name") == "model_run"]
    found = {}
    for event in events:
        details = event.get("args", {})
        if event.get("cat") != "Node" or event["ts"] < max(runs) or (
                not event["name"].endswith("_kernel_time")):
            continue
        entry = found.setdefault(details.get("provider"), {}).setdefault(
            details["op_name"], [0, 0])
        entry[0] += 1
        entry[1] += event["dur"]
    row["events"] = found


def measure(definition, options, row):
    """Runs the case and fills `row` as it goes; raises what the case raises."""
    log = Log()
    import onnxruntime as ort
    if options.device == "cuda" and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()
    ort.set_default_logger_severity(INFO)
    row["reached"] = "context"
    driver_context(options.device)
    meter = allocator.Meter(options.device)
    row["nvml"] = {"context": meter.device_memory()}
    row["reached"] = "session"
    name = ".".join(filter(None, (definition["network"], definition["variant"])))
    network, inputs = filled(os.path.join(options.models, name + ".onnx"))
    log.take()
    begin = time.perf_counter()
    session = Session(ort, definition, network, inputs, options)
    row["create_seconds"] = round(time.perf_counter() - begin, 3)
    row["providers"] = session.session.get_providers()
    row["nvml"]["session"] = meter.device_memory()
    lines = log.take()
    row["arena"] = arena_lines(lines)
    row["placed"], row["on_cpu"] = placements(lines)
    graph = definition["provider"].get("enable_cuda_graph") == "1"
    with measure_compile.device_alone(options.lock, row):
        measure_memory(session, meter, log, row, graph)
        measure_time(session, row, 4 if options.tiny else RUNS)
        row["nvml"]["bound"] = meter.device_memory()
        row["arena"] += [["bound"]] + arena_lines(log.take())
    row["status"] = "ok"
    extra(ort, definition, session, (network, inputs), options, row)


def extra(ort, definition, session, network, options, row):
    """Kernels and events; what fails here leaves the rest of the row valid."""
    try:
        if options.device == "cuda":
            row["reached"] = "kernels"
            import torch  # noqa: F401  Slow: not while others wait.
            with measure_compile.device_alone(options.lock, row):
                measure_kernels(session, row)
        if definition["base"]:
            row["reached"] = "events"
            measure_events(ort, definition, *network, options, row)
        row["reached"] = "end"
    except Exception as error:
        row["extra_error"] = f"{type(error).__name__}: {error}"[:400]


def run_case(definition, options):
    """The row of one case; never raises."""
    row = {"status": "error"}
    try:
        measure(definition, options, row)
    except BaseException as error:
        row.setdefault("message", "".join(
            traceback.format_exception_only(error)).strip()[:600])
        row["where"] = [f"{f.filename}:{f.lineno}" for f in
                        traceback.extract_tb(error.__traceback__)][-4:]
        if isinstance(error, TimeoutError):
            row["status"] = "ok" if row["status"] == "ok" else "timeout"
        if re.search("out of memory|Failed to allocate", row["message"]):
            row["status"] = "oom"
    return row


# --- the parent -------------------------------------------------------------


class Campaign(allocator.Campaign):
    def finish(self, key, entry, row):
        _, definition, begin, neighbours, _ = self.running.pop(key)
        row.update(kind="case", id=key, neighbours=neighbours,
                   wall_seconds=round(time.time() - begin, 2), case=definition)
        allocator.append(self.options.out, row)
        self.counts[row["status"]] += 1
        if row["status"] != "ok" or "extra_error" in row:
            print(f"{row['status']}: {key} at {row.get('reached')}: "
                  f"{row.get('message') or row.get('extra_error')} "
                  f"{row.get('where', [''])[-1]}", file=sys.stderr, flush=True)


def environment(options):
    """Versions of the device's side; to be called in a child."""
    import onnxruntime as ort
    fields = {"onnxruntime": ort.__version__, "providers":
              ort.get_available_providers(),
              "build": getattr(ort, "get_build_info", lambda: None)()}
    if options.device == "cuda":
        fields.update(allocator.environment())
    return fields


def parse():
    parser = measure_compile.parser_of(__doc__, "onnxruntime", 5, 150,
                                       "batch 2, few runs")
    parser.add_argument("--models", default="models",
                        help="folder that onnxruntime_models.py wrote")
    return parser.parse_args()


def main():
    options = parse()
    options.case_seconds = CASE_SECONDS
    done = allocator.read_done(options.done)
    chosen = [(key, c) for key, c in all_cases() if key not in done
              and re.search(options.only, key)]
    if options.list:
        print("\n".join(f"{key} {c['provider']}" for key, c in chosen))
        return
    begin = time.time()
    row = {"kind": "environment", "time": begin, "arguments": sys.argv[1:],
           "onnx": onnx.__version__,
           **allocator.Fork(environment, (options,)).result()}
    allocator.append(options.out, row)
    campaign = Campaign(options, lambda key, definition: allocator.Fork(
        run_case, (definition, options)))
    campaign.deadline = begin + options.seconds
    left = campaign.run(chosen, options.workers)
    print(f"{dict(campaign.counts)}, {left} left, "
          f"{time.time() - begin:.0f} s, in {options.out}", flush=True)


if __name__ == "__main__":
    main()
