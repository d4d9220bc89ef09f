#!/usr/bin/env python3
"""The truth of PyTorch's caching allocator, for many training runs.

    measure_allocator.py --workers 4 --seconds 170 --out allocator.jsonl.gz
    measure_allocator.py --suite finetuning --workers 6 --out tune.jsonl.gz
    measure_allocator.py --device cpu --tiny --out builds.jsonl

Stock PyTorch, nothing of foretell. The parent imports the libraries without
touching the device and forks one child per case (allocator_cases.py), several
at once on one GPU; each child is an allocator of its own and returns one row.
Rows are appended at once, each a gzip member of its own, so a kill loses
nothing. The order is fixed and pseudo-random: any prefix is a fair sample.

A case: the model with random weights, made on the device ("device") or moved
there from the CPU ("to"); empty_cache(); then `steps` steps. Sizes are bytes.
Row, beside the case's fields under "case":
  status       ok, oom, error, timeout, died; with "message" and "reached"
  parameters   [all, trainable]
  context, model, inputs    memory after: the context exists; the model is
               there (peaks: of making it); the inputs and optimizer are there
  steps        one list per step (the first is the warm-up) of phases: name,
               then the FIELDS after it; peaks are those of the phase
  peak_*       the maxima over all steps
  kinds        bytes of storages by kind at the end
  segments     by pool: [count, bytes, {size: count}] at the end
  other_blocks {"size/requested": count} of active blocks at the end that hold
               no parameter, buffer, gradient, optimizer state, input or output:
               workspaces of cuBLAS and the like
  cublas_workspaces    bytes that clearing cuBLAS's workspaces gives back
  allocator_settings   as the allocator reports them
  nvml         this process by NVML, the device's use, and the processes seen,
               after context, model, and at the end; null where not available
  streams      of the segments of each stream, the default one first:
               [count, bytes, bytes in use] at the end
  trace        where the case asks for it: the last step's "events", each
               [action, bytes, number of the address, stream, number of the
               frames, microseconds], the "frames", innermost first, and the
               segments "before" it: [bytes, stream, [[in use, bytes], ...]]
  collectives  "fake" where a process group that moves nothing stands for the
               others: its collectives end at once
  neighbours   cases running at its start: a row with oom or retries that had
               neighbours says nothing; such oom is tried again alone at the end
The first row is the environment ("kind": "environment").
"""
import argparse
import collections
import contextlib
import ctypes
import gc
import gzip
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
import subprocess
import sys
import time
import traceback

# Lets is_available() answer without initialising CUDA before the fork.
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "4")

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import allocator_cases  # noqa: E402
import finetuning_cases  # noqa: E402

STAT_KEYS = {
    "allocated": "allocated_bytes.all.current",
    "peak_allocated": "allocated_bytes.all.peak",
    "reserved": "reserved_bytes.all.current",
    "peak_reserved": "reserved_bytes.all.peak",
    "requested": "requested_bytes.all.current",
    "peak_requested": "requested_bytes.all.peak",
    "peak_active": "active_bytes.all.peak",
    "retries": "num_alloc_retries",
}
FIELDS = list(STAT_KEYS)
PEAKS = [name for name in FIELDS if name.startswith("peak_")]
LIBRARIES = ("torch", "timm", "transformers", "peft", "torchvision",
             "accelerate", "pynvml")
FINETUNING_LIBRARIES = ("bitsandbytes", "torchao", "trl", "datasets")
CASE_SECONDS = {"eager": 40, "compile": 150}
HOST_THREADS = 4
GRACE_SECONDS = 1
TRACE_EVENTS, TRACE_FRAMES = 200000, 3
PR_SET_PDEATHSIG = 1
CUDA_NOT_INITIALIZED = 3


class Meter:
    """Reads the allocator and NVML; nothing but None on the CPU."""

    def __init__(self, device):
        self.gpu = device == "cuda"
        self.nvml = self.handle = None
        if self.gpu:
            with contextlib.suppress(Exception):
                import pynvml
                pynvml.nvmlInit()
                self.handle = pynvml.nvmlDeviceGetHandleByIndex(0)
                self.nvml = pynvml

    def reset(self):
        if self.gpu:
            import torch
            torch.cuda.reset_peak_memory_stats()

    def stats(self):
        if not self.gpu:
            return [None] * len(FIELDS)
        import torch
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        return [stats.get(key, 0) for key in STAT_KEYS.values()]

    def device_memory(self):
        if self.nvml is None:
            return {"process": None, "device": None, "processes": None}
        running = []
        with contextlib.suppress(Exception):
            running = self.nvml.nvmlDeviceGetComputeRunningProcesses(
                self.handle)
        own = [p.usedGpuMemory for p in running if p.pid == os.getpid()]
        used = None
        with contextlib.suppress(Exception):
            used = self.nvml.nvmlDeviceGetMemoryInfo(self.handle).used
        return {"process": own[0] if own else None, "device": used,
                "processes": len(running)}


def sync(device):
    if device == "cuda":
        import torch
        torch.cuda.synchronize()


def make_optimizer(case, parameters):
    """The case's optimizer over the parameters that train."""
    import torch
    kind, options = case["optimizer"], dict(case["optimizer_options"])
    if kind == "adafactor_hf":
        from transformers.optimization import Adafactor
        options.setdefault("lr", None)
        return Adafactor(parameters, **options)
    classes = {
        "adamw": torch.optim.AdamW, "adam": torch.optim.Adam,
        "sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop,
        "adagrad": torch.optim.Adagrad, "nadam": torch.optim.NAdam,
        "adamax": torch.optim.Adamax,
        "adafactor_torch": torch.optim.Adafactor,
        "sparse_adam": torch.optim.SparseAdam,
    }
    if kind == "sparse_adam":
        # Dense gradients (the layer after the embedding) are left untrained.
        parameters = [p for p in parameters if p.shape[0] > 10000]
    return classes[kind](parameters, **options)


def autocast(case, device):
    import torch
    types = {"bf16_autocast": torch.bfloat16, "fp16_autocast": torch.float16}
    if case["precision"] not in types:
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=types[case["precision"]])


class Steps:
    """Runs steps of its own, between two calls of the measurement."""

    def run(self, steps, start_step, end_step):
        for _ in range(steps):
            start_step()
            self.step()
            end_step()


class Training(Steps):
    """One training step after another; `mark` is told each phase's end."""

    def __init__(self, case, work, device, mark):
        import torch
        self.case, self.work = case, work
        self.device, self.mark = device, mark
        self.parameters = [p for p in work.module.parameters()
                           if p.requires_grad]
        self.optimizer = self.new_optimizer()
        scaled = case["precision"] == "fp16_autocast"
        self.scaler = torch.amp.GradScaler(device) if scaled else None
        self.kept = None

    def new_optimizer(self):
        return make_optimizer(self.case, self.parameters)

    def zero_grad(self, when):
        if self.case["zero_grad"] == when:
            self.optimizer.zero_grad(set_to_none=self.case["set_to_none"])

    def forward(self):
        work = self.work
        with autocast(self.case, self.device):
            out = work.module(*work.args, **work.kwargs)
            loss = work.loss(out)
        if self.case["outputs"] == "kept":
            self.kept = out
        if self.case["accumulation"] > 1:
            loss = loss / self.case["accumulation"]
        return loss

    def step(self):
        self.zero_grad("before_forward")
        for index in range(self.case["accumulation"]):
            loss = self.forward()
            self.mark("forward")
            if index == 0:
                self.zero_grad("before_backward")
            (self.scaler.scale(loss) if self.scaler else loss).backward()
            self.mark("backward")
        self.update()
        self.mark("optimizer")
        self.zero_grad("after_step")

    def update(self):
        import torch
        if self.case["clip"]:
            if self.scaler:
                self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.parameters, self.case["clip"])
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()

    def storages(self):
        yield "gradients", [p.grad for p in self.parameters
                            if p.grad is not None]
        state = []
        for values in self.optimizer.state.values():
            state += values.values() if isinstance(values, dict) else [values]
        yield "optimizer", state
        if self.scaler:
            yield "scaler", [self.scaler._scale, self.scaler._growth_tracker]
        yield "kept", [self.kept]


class Inference(Steps):
    """One run after another under inference_mode."""

    def __init__(self, case, work, device, mark):
        self.case, self.work = case, work
        self.device, self.mark, self.kept = device, mark, None

    def step(self):
        import torch
        work = self.work
        with torch.inference_mode(), autocast(self.case, self.device):
            out = work.module(*work.args, **work.kwargs)
        if self.case["outputs"] == "kept":
            self.kept = out
        self.mark("forward")

    def storages(self):
        yield "kept", [self.kept]


def tensors(value):
    """All tensors in nested containers and dataclass-like outputs."""
    import torch
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, collections.abc.Mapping):
        for item in value.values():
            yield from tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors(item)


def storage_kinds(work, run):
    """{address of a storage: (kind, bytes)}, the first kind to hold it."""
    groups = [("parameters", list(work.module.parameters())),
              ("buffers", list(work.module.buffers())),
              ("inputs", [work.args, work.kwargs]), *run.storages(),
              ("targets", [cell.cell_contents for cell in closures(work.loss)])]
    found = {}
    for kind, values in groups:
        for tensor in tensors(values):
            for part in parts(tensor):
                storage = part.untyped_storage()
                if part.device.type == "cuda" and storage.nbytes():
                    found.setdefault(storage.data_ptr(),
                                     (kind, storage.nbytes()))
    return found


def parts(tensor):
    if hasattr(tensor, "to_local"):
        return [tensor.to_local()]
    if not tensor.is_sparse:
        return [tensor]
    return [tensor._indices(), tensor._values()]


def closures(function):
    """The cells of a loss and of the losses that it calls."""
    for cell in getattr(function, "__closure__", None) or ():
        yield cell
        if callable(cell.cell_contents):
            yield from closures(cell.cell_contents)


def snapshot_fields(work, run):
    """What the allocator holds after the last step."""
    import torch
    known = storage_kinds(work, run)
    kinds = collections.Counter()
    for kind, size in known.values():
        kinds[kind] += size
    snapshot = torch.cuda.memory._snapshot()
    pools, sizes, others = {}, {}, collections.Counter()
    streams = {0: [0, 0, 0]}
    for segment in snapshot["segments"]:
        pool = segment["segment_type"]
        found = streams.setdefault(segment["stream"], [0, 0, 0])
        found[0] += 1
        found[1] += segment["total_size"]
        found[2] += segment["allocated_size"]
        if segment.get("is_expandable"):
            pool += " expandable"
        count, total = pools.get(pool, (0, 0))
        pools[pool] = (count + 1, total + segment["total_size"])
        sizes.setdefault(pool, collections.Counter())[
            segment["total_size"]] += 1
        address = segment["address"]
        for block in segment["blocks"]:
            start = block.get("address", address)
            address += block["size"]
            if block["state"].startswith("active") and start not in known:
                requested = block.get("requested_size", 0)
                others[f'{block["size"]}/{requested}'] += 1
    before = torch.cuda.memory_allocated()
    torch._C._cuda_clearCublasWorkspaces()
    return {
        "kinds": dict(kinds),
        "segments": {pool: [*pools[pool], dict(sorted(sizes[pool].items()))]
                     for pool in pools},
        "other_blocks": dict(sorted(
            others.items(), key=lambda item: -int(item[0].split("/")[0]))),
        "cublas_workspaces": before - torch.cuda.memory_allocated(),
        "allocator_settings": snapshot.get("allocator_settings"),
        "streams": list(streams.values()),
    }


class Numbers(dict):
    """Numbers things in the order in which they first come."""

    def __missing__(self, key):
        return self.setdefault(key, len(self))


def start_trace():
    """Records the allocator's events; what is there before them."""
    import torch
    torch.cuda.memory._record_memory_history(
        "all", context="all", stacks="python", max_entries=TRACE_EVENTS)
    return torch.cuda.memory._snapshot()["segments"]


def end_trace(before):
    """The field "trace" of a row."""
    import torch
    events = torch.cuda.memory._snapshot()["device_traces"][
        torch.cuda.current_device()]
    torch.cuda.memory._record_memory_history(None)
    addresses, streams, frames = Numbers(), Numbers({0: 0}), Numbers()
    segments = []
    for segment in before:
        start, blocks = segment["address"], []
        for block in segment["blocks"]:
            in_use = block["state"].startswith("active")
            blocks.append([int(in_use), block["size"], addresses[start]])
            start += block["size"]
        segments.append([segment["total_size"], streams[segment["stream"]],
                         blocks])
    reduced = [[
        event["action"], event["size"], addresses[event.get("addr", 0)],
        streams[event.get("stream", 0)],
        frames[innermost(event.get("frames", []))],
        event.get("time_us", 0)] for event in events]
    return {"before": segments, "events": reduced, "frames": list(frames)}


def innermost(stack):
    """The innermost frames as text; none in the autograd engine's threads."""
    return " < ".join(
        f"{os.path.basename(f['filename'])}:{f['line']} {f['name']}"
        for f in stack[:TRACE_FRAMES])


def start_device(case, device):
    """Creates the context; the case's allocator settings come first."""
    import torch
    if case["allocator"]:
        # Both names: the second is PyTorch's own since 2.9.
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["allocator"]
        os.environ["PYTORCH_ALLOC_CONF"] = case["allocator"]
    if device == "cuda":
        torch.set_num_threads(HOST_THREADS)
        torch.cuda.init()
        if case["allocator"]:
            torch.cuda.memory._set_allocator_settings(case["allocator"])
        torch.cuda.synchronize()
        torch.backends.cudnn.benchmark = case["cudnn_benchmark"]
    torch.manual_seed(1)


def builders(case):
    """The module that builds and runs the cases of this suite."""
    return importlib.import_module(
        "finetuning_models" if "loop" in case else "allocator_models")


def runner(case, models):
    """The class that runs the steps of `case`."""
    if "loop" in case:
        return models.runner(case)
    return Training if case["mode"] == "training" else Inference


class StepMeter:
    """Fills `row` with the phases of each step and its seconds, and with the
    trace of the last of `traced_steps` steps; 0 for no trace."""

    def __init__(self, meter, device, row, traced_steps):
        self.meter, self.device, self.row = meter, device, row
        self.traced_steps, self.before = traced_steps, None
        self.phases = []
        row["steps"] = []

    def mark(self, name):
        """Ends a phase."""
        self.phases.append([name, *self.meter.stats()])
        self.meter.reset()

    def start(self):
        steps = self.row["steps"]
        self.row["reached"] = f"step {len(steps) + 1}"
        self.phases = []
        steps.append(self.phases)
        if len(steps) == self.traced_steps:
            self.before = start_trace()
        self.meter.reset()
        self.begin = time.perf_counter()

    def end(self):
        sync(self.device)
        self.row.setdefault("step_seconds", []).append(
            round(time.perf_counter() - self.begin, 4))
        self.phases.append(["end", *self.meter.stats()])
        if self.before is not None:
            self.row["trace"] = end_trace(self.before)


def measure(case, device, tiny, row):
    """Runs `case` and fills `row` as it goes; raises what the case raises."""
    import torch
    models = builders(case)
    row["reached"] = "context"
    case = models.shrink(case) if tiny else case
    start_device(case, device)
    meter = Meter(device)
    row["context"] = meter.stats()
    row["nvml"] = {"context": meter.device_memory()}

    row["reached"] = "model"
    work = models.build(case, device)
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    row.update(work.notes)
    row["parameters"] = [
        sum(p.numel() for p in work.module.parameters()),
        sum(p.numel() for p in work.module.parameters() if p.requires_grad)]
    row["nvml"]["model"] = meter.device_memory()
    row["model"] = meter.stats()
    eager = work.module
    if case["runtime"] == "compile":
        work.module = torch.compile(eager)

    steps = 1 if tiny else case["steps"]
    traced = device == "cuda" and case.get("trace")
    step = StepMeter(meter, device, row, steps if traced else 0)
    run = runner(case, models)(case, work, device, step.mark)
    row["inputs"] = meter.stats()
    run.run(steps, step.start, step.end)
    row["reached"] = "snapshot"
    work.module = eager
    row["nvml"]["end"] = meter.device_memory()
    if device == "cuda":
        row.update(snapshot_fields(work, run))
    row["status"] = "ok"


def add_peaks(row):
    """The maxima over the steps that were run."""
    phases = [p for step in row.get("steps", []) for p in step]
    for name in PEAKS:
        values = [p[1 + FIELDS.index(name)] for p in phases]
        values = [v for v in values if v is not None]
        row[name] = max(values) if values else None


def run_case(case, device, tiny):
    """The row of one case; never raises."""
    row = {"status": "error"}
    begin = time.perf_counter()
    try:
        measure(case, device, tiny, row)
    except BaseException as error:
        text = "".join(traceback.format_exception_only(error)).strip()
        frames = traceback.extract_tb(error.__traceback__)
        row["message"] = text[:600]
        row["where"] = [f"{f.filename}:{f.lineno}" for f in frames][-4:]
        if isinstance(error, TimeoutError):
            row["status"] = "timeout"
        if "OutOfMemory" in type(error).__name__ or "out of memory" in text:
            row["status"] = "oom"
    add_peaks(row)
    row["seconds"] = round(time.perf_counter() - begin, 3)
    return row


# --- the parent -------------------------------------------------------------


@contextlib.contextmanager
def capability_by_nvml():
    """Answers what bitsandbytes asks on import without initialising CUDA."""
    import torch
    original = torch.cuda.get_device_capability

    def ask(device=None):
        import pynvml
        pynvml.nvmlInit()
        return tuple(pynvml.nvmlDeviceGetCudaComputeCapability(
            pynvml.nvmlDeviceGetHandleByIndex(0)))

    torch.cuda.get_device_capability = ask
    try:
        yield
    finally:
        torch.cuda.get_device_capability = original


def import_libraries(cases):
    """Imports what the cases need; each library's version or None."""
    versions, names = {}, list(LIBRARIES)
    if any("loop" in case for case in cases):
        names += FINETUNING_LIBRARIES
    with capability_by_nvml():
        for name in names:
            try:
                module = importlib.import_module(name)
                versions[name] = getattr(module, "__version__", "present")
            except Exception as error:
                versions[name] = None
                print(f"{name}: {error}", file=sys.stderr)
        if any("loop" in case for case in cases):
            importlib.import_module("finetuning_models").preload(versions)
    # Lazy modules of transformers: imported once here, not in each child.
    for case in cases:
        if case["source"] == "transformers" and versions["transformers"]:
            with contextlib.suppress(Exception):
                getattr(sys.modules["transformers"], case["model"])
    with contextlib.suppress(Exception):
        importlib.import_module("transformers.optimization")
    return versions


def driver_is_initialised():
    """Whether some import has called cuInit: then a fork cannot use CUDA."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuDeviceGetCount(
        ctypes.byref(count)) != CUDA_NOT_INITIALIZED


def environment():
    """Versions of the device's side; to be called in a child."""
    import torch
    fields = {"torch": torch.__version__, "cuda": torch.version.cuda,
              "cudnn": torch.backends.cudnn.version(),
              "python": sys.version.split()[0]}
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        fields["device"] = properties.name
        fields["device_bytes"] = properties.total_memory
        fields["mem_get_info"] = list(torch.cuda.mem_get_info())
    with contextlib.suppress(Exception):
        import pynvml
        pynvml.nvmlInit()
        fields["driver"] = pynvml.nvmlSystemGetDriverVersion()
    fields["variables"] = {k: v for k, v in os.environ.items() if re.match(
        "PYTORCH_|CUBLAS|CUDNN|CUDA_|TORCH|NVIDIA_TF32", k)}
    return fields


def raise_timeout(number, frame):
    raise TimeoutError("the case's time is up")


def child(connection, function, arguments):
    """Runs in a fork: sends the result and leaves without clean-up."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, raise_timeout)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        result = function(*arguments)
    except BaseException as error:
        result = {"status": "error", "message": f"{error}"[:600]}
    connection.send_bytes(json.dumps(result).encode())
    connection.close()
    # A compiled case has helper processes that end with this one.
    os._exit(0)


class Fork:
    """A case in a forked child."""

    context = multiprocessing.get_context("fork")

    def __init__(self, function, arguments):
        self.connection, theirs = self.context.Pipe(duplex=False)
        self.process = self.context.Process(
            target=child, args=(theirs, function, arguments))
        self.process.start()
        theirs.close()

    def result(self):
        try:
            row = json.loads(self.connection.recv_bytes())
            self.process.join(5)
        except (EOFError, OSError):
            self.process.join(5)
            row = {"status": "died",
                   "message": f"exit code {self.process.exitcode}"}
        self.stop()
        return row

    def give_up(self):
        """What the case has measured by now, where it still answers."""
        self.process.terminate()
        if self.connection.poll(GRACE_SECONDS):
            return self.result()
        self.stop()
        return {"status": "timeout"}

    def stop(self):
        if self.process.is_alive():
            self.process.kill()
            self.process.join(5)
        self.connection.close()


class Fresh:
    """A case in a new interpreter: slower, where forks cannot use CUDA."""

    def __init__(self, options, key):
        self.connection, theirs = multiprocessing.Pipe(duplex=False)
        command = [sys.executable, os.path.abspath(__file__), "--device",
                   options.device, "--suite", options.suite, "--case", key,
                   "--pipe", str(theirs.fileno())]
        command += ["--tiny"] if options.tiny else []
        self.process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        theirs.close()

    def result(self):
        try:
            row = json.loads(self.connection.recv_bytes())
        except (EOFError, OSError):
            row = {"status": "died",
                   "message": f"exit code {self.process.wait(5)}"}
        self.stop()
        return row

    def give_up(self):
        self.stop()
        return {"status": "timeout"}

    def stop(self):
        self.process.kill()
        self.process.wait(5)
        self.connection.close()


def append(path, *rows):
    """Adds lines to `path`; a .gz gets a member of its own."""
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "ab") as file:
        file.writelines(json.dumps(row).encode() + b"\n" for row in rows)


def read_done(paths):
    """Ids of the ok rows of earlier files."""
    done = set()
    for path in paths:
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt") as file, contextlib.suppress(EOFError):
            for line in file:
                row = json.loads(line)
                if row.get("status") == "ok":
                    done.add(row["id"])
    return done


class Campaign:
    """Runs cases, `workers` at once, until none is left or time is up."""

    def __init__(self, options, start):
        self.options, self.start = options, start
        self.deadline = time.time() + options.seconds
        self.running, self.again, self.counts = {}, [], collections.Counter()
        self.eager = {}

    def run(self, cases, workers, alone=False):
        queue = collections.deque(cases)
        while (queue and time.time() < self.deadline) or self.running:
            while (queue and len(self.running) < workers
                   and time.time() < self.deadline):
                key, case = queue.popleft()
                self.running[key] = (self.start(key, case), case, time.time(),
                                     len(self.running), alone)
            self.collect()
        return len(queue)

    def collect(self):
        ready = multiprocessing.connection.wait(
            [entry[0].connection for entry in self.running.values()], 0.2)
        for key, entry in list(self.running.items()):
            runner, case, begin, _, _ = entry
            limit = self.options.case_seconds or CASE_SECONDS[case["runtime"]]
            # A case that is under way at the deadline is given a little more.
            limit = min(limit, max(self.deadline - begin, 0) + 5)
            if runner.connection in ready:
                self.finish(key, entry, runner.result())
            elif time.time() - begin > limit:
                self.finish(key, entry, runner.give_up())

    def finish(self, key, entry, row):
        _, case, begin, neighbours, alone = self.running.pop(key)
        row.update(kind="case", id=key, neighbours=neighbours, alone=alone,
                   wall_seconds=round(time.time() - begin, 3), case=case)
        twin = allocator_cases.identity(dict(case, runtime="eager"))
        if case["runtime"] == "eager" and row["status"] == "ok":
            self.eager[key] = {name: row[name] for name in PEAKS}
        elif case["runtime"] == "compile":
            row["eager"] = self.eager.get(twin)
        if row["status"] == "oom" and not alone and self.options.workers > 1:
            self.again.append((key, case))
        append(self.options.out, row)
        self.counts[row["status"]] += 1
        if row["status"] != "ok":
            print(f"{row['status']}: {key} {row.get('message', '')[:300]} "
                  f"{row.get('where', [''])[-1]}", file=sys.stderr, flush=True)


def choose_start(options, cases):
    """(how to start a case, environment row): forks where they work."""
    versions = import_libraries(cases)
    initialised = driver_is_initialised()
    mode, fields = options.start, None
    if mode != "fresh":
        fields = Fork(environment, ()).result()
        probe = Fork(run_case, (PROBE, options.device, True)).result()
        if probe["status"] != "ok":
            print(f"forks fail: {probe.get('message')}", file=sys.stderr)
            mode = "fresh"
    if mode == "fresh":
        fields = environment()
    row = {"kind": "environment", "libraries": versions, "start": mode,
           "driver_initialised_by_imports": initialised, "fields": FIELDS,
           "arguments": sys.argv[1:], "time": time.time(), **fields}
    if mode == "fresh":
        return lambda key, case: Fresh(options, key), row
    return lambda key, case: Fork(
        run_case, (case, options.device, options.tiny)), row


PROBE = allocator_cases.case(
    source="module", model="perceptron", task="module", batch=2, seq=16,
    optimizer="sgd", config=dict(width=[16, 16], bias=True,
                                 activation="ReLU"))


# name -> (what is run, what is run with --compile)
SUITES = {
    "training": (allocator_cases.eager_cases, allocator_cases.compiled_cases),
    "finetuning": (finetuning_cases.all_cases, list),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--case-seconds", type=float,
                        help="limit of a case (default: 40, compiled 150)")
    parser.add_argument("--out", default="allocator.jsonl.gz")
    parser.add_argument("--done", nargs="*", default=[],
                        help="skip the cases that these files hold as ok")
    parser.add_argument("--only", default="",
                        help="regular expression that ids must contain")
    parser.add_argument("--suite", default="training", choices=SUITES,
                        help="the list of cases")
    parser.add_argument("--compile", action="store_true",
                        help="also torch.compile, after the eager cases")
    parser.add_argument("--tiny", action="store_true",
                        help="toy batches and depths, fp32, one step")
    parser.add_argument("--start", default="fork", choices=["fork", "fresh"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    eager, compiled = (cases() for cases in SUITES[options.suite])
    if options.case:
        case = dict(eager + compiled)[options.case]
        row = run_case(case, options.device, options.tiny)
        connection = multiprocessing.connection.Connection(options.pipe)
        connection.send_bytes(json.dumps(row).encode())
        connection.close()
        os._exit(0)
    done = read_done(options.done)
    chosen = [[(key, case) for key, case in cases
               if key not in done and re.search(options.only, key)]
              for cases in (eager, compiled if options.compile else [])]
    if options.list:
        for key, case in chosen[0] + chosen[1]:
            print(key, json.dumps({k: v for k, v in case.items()
                                   if v != allocator_cases.DEFAULTS[k]}))
        return
    begin = time.time()
    start, row = choose_start(options, [c for part in chosen for _, c in part])
    append(options.out, row)
    campaign = Campaign(options, start)
    campaign.deadline = begin + options.seconds
    left = campaign.run(chosen[0], options.workers)
    campaign.run(campaign.again, 1, alone=True)
    left += campaign.run(chosen[1], options.workers)
    print(f"{dict(campaign.counts)}, {left} left, "
          f"{time.time() - begin:.0f} s, in {options.out}")


if __name__ == "__main__":
    main()
