"""Runs a model file in a runtime and writes how long it took.

    measure.py REQUEST.json RESULT.json

REQUEST has `model`, `runtime` (its words), `device`, `batch` (or null), `dims`,
`warmup_runs`, `min_runs`, `min_seconds` and `threads`. RESULT has `times_ms`, memory in
bytes, `device_name` and `version`; or `status` and `message` of a run that failed.
"""

import json
import resource
import sys
import time

ORT_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16",
             "tensor(double)": "float64", "tensor(int64)": "int64",
             "tensor(int32)": "int32", "tensor(bool)": "bool"}
ORT_LEVELS = {"disabled": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC",
              "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}


class Refused(Exception):
    """The request cannot be run, for the reason given."""


def timed(run, wait, request):
    """Milliseconds of each run after the warm-up."""
    for _ in range(request["warmup_runs"]):
        run()
    wait()
    times, start = [], time.perf_counter()
    while (len(times) < request["min_runs"]
           or time.perf_counter() - start < request["min_seconds"]):
        before = time.perf_counter()
        run()
        wait()
        times.append(1000 * (time.perf_counter() - before))
    return times


def option(words, key, otherwise):
    found = [word.split("=")[1] for word in words if word.startswith(key + "=")]
    return found[0] if found else otherwise


def compiled(request, words):
    """A run of the exported program under torch.compile."""
    if not request["model"].endswith(".pt2"):
        raise Refused("torch.compile runs .pt2 files of torch.export alone")
    import torch
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    if request["threads"]:
        torch.set_num_threads(request["threads"])
    device = torch.device(request["device"])
    program = torch.export.load(request["model"])
    if program.example_inputs is None:
        raise Refused("the file has no example inputs")
    arguments, named = program.example_inputs
    tensors = [one for one in (*arguments, *named.values())
               if isinstance(one, torch.Tensor) and one.dim()]
    batch = tensors[0].shape[0] if tensors else None
    if request["batch"] not in (None, batch):
        raise Refused(f"the file's example has a batch of {batch}, not of "
                      f"{request['batch']}: export it with that")
    move = {"device": device}
    arguments = [one.to(**move) if isinstance(one, torch.Tensor) else one
                 for one in arguments]
    named = {name: one.to(**move) if isinstance(one, torch.Tensor) else one
             for name, one in named.items()}
    functorch.activation_memory_budget = float(option(words, "budget", 1))
    if any(word.startswith(("breaks=", "only=")) for word in words):
        raise Refused("an exported program is measured as one whole: breaks= and "
                      "only= name modules of it")
    if any(word.startswith("freezing") for word in words):
        inductor.freezing = True
        inductor.freezing_discard_parameters = "freezing=discard" in words
    mode = next((word for word in words
                 if "=" not in word and word != "freezing"), None)
    call = torch.compile(program.module().to(**move), mode=mode)
    on_gpu = device.type == "cuda"

    def run():
        with torch.no_grad():
            call(*arguments, **named)

    def wait():
        if on_gpu:
            torch.cuda.synchronize()

    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    result = {"times_ms": timed(run, wait, request), "batch": batch,
              "version": torch.__version__}
    if on_gpu:
        result.update(device_name=torch.cuda.get_device_name(),
                      peak_allocated_bytes=torch.cuda.max_memory_allocated(),
                      peak_reserved_bytes=torch.cuda.max_memory_reserved())
    return result


def shape_of(given, request):
    """Numbers for the dimensions of an input. A dimension called batch is the batch; an
    input without one has it in its first dimension, if that is free."""
    shape, is_named = [], "batch" in given.shape
    for place, size in enumerate(given.shape):
        if isinstance(size, int):
            shape.append(size)
        elif size in request["dims"]:
            shape.append(request["dims"][size])
        elif size == "batch" or (place == 0 and not is_named):
            shape.append(request["batch"] or 1)
        else:
            raise Refused(f"input {given.name} has a free dimension {size}: --dim "
                          f"{size}=N")
    return shape


def override_names(options, request):
    """Gives a session the sizes of dimensions that the file names."""
    import onnxruntime

    reader = onnxruntime.InferenceSession(request["model"],
                                          providers=["CPUExecutionProvider"])
    for given in reader.get_inputs():
        for name, size in zip(given.shape, shape_of(given, request)):
            if isinstance(name, str):
                options.add_free_dimension_override_by_name(name, size)


def in_onnxruntime(request, words):
    """A run of an ONNX file in an InferenceSession."""
    if not request["model"].endswith(".onnx"):
        raise Refused("ONNX Runtime runs .onnx files alone")
    level = option(words, "level", "all")
    if level not in ORT_LEVELS:
        raise Refused("level=transformers is a file that "
                      "onnxruntime.transformers.optimizer writes: measure that file")
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, ORT_LEVELS[level])
    options.intra_op_num_threads = request["threads"]
    if "overrides" in words:
        override_names(options, request)
    provider = "CPUExecutionProvider"
    if request["device"] != "cpu":
        exact = option(words, "arena", "") == "exact"
        provider = ("CUDAExecutionProvider", {
            "device_id": request["device"].partition(":")[2] or "0",
            "cudnn_conv_algo_search": option(words, "search", "exhaustive").upper(),
            "arena_extend_strategy":
                "kSameAsRequested" if exact else "kNextPowerOfTwo",
            "prefer_nhwc": "1" if "nhwc" in words else "0"})
        if provider[0] not in onnxruntime.get_available_providers():
            raise Refused("this onnxruntime has no CUDA provider")
    session = onnxruntime.InferenceSession(request["model"], options,
                                           providers=[provider])
    feeds, batch = {}, None
    for given in session.get_inputs():
        if given.type not in ORT_TYPES:
            raise Refused(f"input {given.name} is a {given.type}")
        shape = shape_of(given, request)
        if shape and batch is None:
            batch = request["batch"] or shape[0]
        values = numpy.random.default_rng(0).integers(0, 2, shape)
        feeds[given.name] = values.astype(ORT_TYPES[given.type])
    times = timed(lambda: session.run(None, feeds), lambda: None, request)
    return {"times_ms": times, "batch": batch,
            "version": "onnxruntime " + onnxruntime.__version__}


def measured(request):
    runtime, *words = request["runtime"].split(",")
    runs = {"compile": compiled, "onnxruntime": in_onnxruntime}
    if runtime not in runs:
        raise Refused(f"{runtime} cannot be measured; compile and onnxruntime can")
    return runs[runtime](request, words)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    try:
        result = measured(request)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        result["peak_rss_bytes"] = peak
    except Refused as refusal:
        result = {"status": "failed", "message": str(refusal)}
    except ImportError as error:
        result = {"status": "failed",
                  "message": f"{error}; FORETELL_PYTHON names a Python that has it"}
    except Exception as error:  # What a runtime throws is a result.
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        full = "OutOfMemory" in text or "Failed to allocate" in text
        result = {"status": "out_of_memory" if full else "failed", "message": text}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
