#!/usr/bin/env python3
"""What torch.compile changes: memory, time and kernels beside eager PyTorch.

    measure_compile.py --workers 8 --seconds 500 --out compile.jsonl.gz
    measure_compile.py --device cpu --tiny --only resnet18 --out dry.jsonl

Stock PyTorch, nothing of foretell. Some forty networks with random weights,
built by allocator_models.py; inference and training steps with AdamW, in fp32
and bf16. Each case is a forked process with a device context of its own, first
eager, then compiled. Only the network is compiled, not the optimizer. Cases
compile side by side; the timed part holds `--lock` and has the device for
itself. Rows are appended at once; the order is fixed, one variant of each
network after the other.

The first row is the environment. Beside the case's fields a row has
  status           ok, error, oom, timeout, died; with "message" and "reached"
  compile_mode     of torch.compile; null where eager
  first_seconds    the first step, which compiles
  graphs, graph_breaks                 as dynamo counts them
  context, model   bytes after the context, and the model, exist (FIELDS)
  first, steady    peaks of the first step, and of two steps after the allocator
                   gave its cache back
  activation_bytes what the forward pass leaves for the backward pass
  step_ms, step_ms_all  a step with a wait for the device: median, each
  queued_ms        a step when many are queued without a wait
  gpu_ms, kernels, triton_kernels, triton_ms   of one step by the profiler
  top              [[kernel, times per step, milliseconds], ...], longest first
  nvml             this process by NVML, before the end
"""
import argparse
import collections
import contextlib
import fcntl
import gc
import importlib
import os
import re
import statistics
import sys
import time
import traceback

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import allocator_cases  # noqa: E402
import measure_allocator as allocator  # noqa: E402
from allocator_cases import CAUSAL, case, llama, optimizer  # noqa: E402

SECONDS = {"eager": 60, "compile": 170}
TIMED_STEPS, PROFILED_STEPS, WARM_STEPS = 20, 2, 3
QUEUED_MS = 400
TOP, NAME_LENGTH = 25, 240
TIMM = [
    ("resnet18", 64), ("vit_base_patch16_224", 32), ("resnet50", 32),
    ("efficientnet_b0", 64), ("convnext_tiny", 32),
    ("mobilenetv3_large_100", 64), ("swin_tiny_patch4_window7_224", 32),
    ("vit_small_patch16_224", 64), ("regnety_032", 48),
    ("beit_base_patch16_224", 32), ("densenet121", 32),
    ("mixer_b16_224", 32), ("deit3_small_patch16_224", 64), ("vgg16", 32),
    ("resnext50_32x4d", 32), ("mobilenetv2_100", 64), ("poolformer_s12", 32),
    ("coatnet_0_rw_224", 24), ("repvgg_a2", 32), ("xcit_small_12_p16_224", 24),
]
# class, task, batch, sequence, config
TEXT = [
    ("BertForSequenceClassification", "sequence_classification", 32, 128, {}),
    ("GPT2LMHeadModel", "causal_lm", 8, 512, CAUSAL["gpt2"][1]),
    ("LlamaForCausalLM", "causal_lm", 4, 1024,
     llama(1024, 2816, 4, 16, 16, 32000)),
    ("T5ForConditionalGeneration", "seq2seq", 16, 256,
     dict(d_model=512, d_ff=2048, num_layers=6, num_decoder_layers=6)),
    ("Qwen3ForCausalLM", "causal_lm", 4, 512, llama(
        1024, 3072, 6, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)),
    ("WhisperForConditionalGeneration", "speech_seq2seq", 8, 64,
     dict(d_model=384, encoder_layers=4, decoder_layers=4,
          encoder_attention_heads=6, decoder_attention_heads=6,
          encoder_ffn_dim=1536, decoder_ffn_dim=1536)),
    ("MistralForCausalLM", "causal_lm", 4, 1024, llama(
        1024, 3584, 6, 16, 8, 32768, sliding_window=512)),
    ("DistilBertForMaskedLM", "masked_lm", 16, 256, dict(n_layers=6)),
    ("Gemma2ForCausalLM", "causal_lm", 2, 512, llama(
        1024, 4096, 6, 8, 4, 256000, head_dim=128, sliding_window=256)),
    ("RobertaForSequenceClassification", "sequence_classification", 32, 128,
     dict(vocab_size=50265, max_position_embeddings=514)),
    ("Qwen2ForCausalLM", "causal_lm", 4, 512, llama(
        896, 4864, 8, 14, 2, 151936, tie_word_embeddings=True)),
    ("Phi3ForCausalLM", "causal_lm", 4, 1024, llama(
        1024, 2816, 6, 16, 16, 32064, pad_token_id=0)),
    ("OPTForCausalLM", "causal_lm", 8, 512,
     dict(num_hidden_layers=6, vocab_size=50272)),
    ("GPTNeoXForCausalLM", "causal_lm", 8, 512, CAUSAL["pythia_160m"][1]),
]
OWN = [
    ("unet", 8, None, "mse", dict(dims=2, width=32, depth=4, channels=2,
                                  extent=[256, 256])),
    ("transformer", 16, 512, "mean", allocator_cases.encoder(
        "encoder", 512, 8, 6, 2048)),
    ("perceptron", 8, 1024, "mse", dict(width=[2048, 8192, 2048], bias=True,
                                        activation="GELU")),
    ("fourier", 8, None, "mse", dict(channels=32, modes=16, layers=4,
                                     extent=[128, 128])),
]
# Further modes of torch.compile for some, and what they run.
MODES = [("reduce-overhead", "training"), ("reduce-overhead", "inference"),
         ("max-autotune-no-cudagraphs", "inference")]
IN_MORE_MODES = ("resnet50", "vit_base_patch16_224", "GPT2LMHeadModel",
                 "LlamaForCausalLM", "efficientnet_b0")


def networks():
    """The fields of each network, images and text in turn."""
    images = [dict(source="timm", model=model, size=224, batch=batch,
                   task="classification", loss="cross_entropy")
              for model, batch in TIMM]
    text = [dict(source="transformers", model=model, task=task, batch=batch,
                 seq=seq, config=config,
                 use_cache=False if task in ("causal_lm", "seq2seq") else None)
            for model, task, batch, seq, config in TEXT]
    own = [dict(source="module", model=model, task="module", batch=batch,
                seq=seq, loss=loss, config=config)
           for model, batch, seq, loss, config in OWN]
    return sorted_in_turn(images, text + own)


def sorted_in_turn(first, second):
    result = []
    for index in range(max(len(first), len(second))):
        result += first[index:index + 1] + second[index:index + 1]
    return result


def variant(fields, index, number):
    """The case of one network, or None where it makes no sense."""
    full = index % 2 == number // 2 % 2
    if number % 2 == 0:
        precision = "fp32" if full else "bf16_autocast"
        if fields["model"] == "fourier":  # Autocast knows no FFT.
            precision = "fp32"
        return case(**fields, precision=precision, **optimizer("adamw"))
    if fields["task"] in ("seq2seq", "speech_seq2seq"):
        return None  # Inference has no labels to make the decoder's input of.
    batch = 1 if number == 5 else fields["batch"]
    precision = "fp32" if full or fields["model"] == "fourier" else "bf16"
    return case(**dict(fields, batch=batch), mode="inference",
                precision=precision)


def all_cases():
    """[(id, case)], a compiled one after its eager one."""
    found = {}

    def add(definition, modes):
        if definition is None:
            return
        for mode in modes:
            one = dict(definition, compile_mode=mode,
                       runtime="compile" if mode else "eager")
            found.setdefault(allocator_cases.identity(one), one)

    everything = networks()
    for number in (0, 1, 2, 3, 5):
        for index, fields in enumerate(everything):
            add(variant(fields, index, number), (None, "default"))
        if number == 1:
            for mode, kind in MODES:
                for index, fields in enumerate(everything):
                    if fields["model"] in IN_MORE_MODES:
                        add(variant(fields, index, int(kind == "inference")),
                            (mode,))
    return list(found.items())


def peaks(meter):
    stats = dict(zip(allocator.FIELDS, meter.stats()))
    return {name: stats[name] for name in (*allocator.PEAKS, "allocated",
                                           "reserved")}


class Runner:
    """A case's steps."""

    def __init__(self, definition, work, device):
        self.device, self.marks = device, {}
        self.meter = allocator.Meter(device)
        self.marking = False
        self.training = definition["mode"] == "training"
        kind = allocator.Training if self.training else allocator.Inference
        self.run = kind(definition, work, device, self.mark)
        self.graphs = definition["compile_mode"] == "reduce-overhead"

    def mark(self, name):
        if self.marking:
            self.marks[name] = dict(zip(allocator.FIELDS, self.meter.stats()))

    def step(self):
        if self.graphs:
            import torch
            torch.compiler.cudagraph_mark_step_begin()
        self.run.step()

    def waited_step(self):
        begin = time.perf_counter()
        self.step()
        allocator.sync(self.device)
        return 1e3 * (time.perf_counter() - begin)


def measure_memory(runner, row):
    """The steady peaks, and what the forward pass leaves."""
    if runner.device == "cuda":
        import torch
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
    runner.meter.reset()
    for _ in range(2):
        runner.waited_step()
    row["steady"] = peaks(runner.meter)
    if not runner.training or runner.device == "cpu":
        return
    before = runner.meter.stats()[allocator.FIELDS.index("allocated")]
    runner.marking = True
    runner.step()
    runner.marking = False
    after = runner.marks.get("forward")
    if after:
        row["activation_bytes"] = after["allocated"] - before
        row["marks"] = {k: v["allocated"] for k, v in runner.marks.items()}
        row["allocated_before_step"] = before


def measure_time(runner, row, steps):
    for _ in range(WARM_STEPS):
        runner.waited_step()
    times = [runner.waited_step() for _ in range(steps)]
    row["step_ms"] = round(statistics.median(times), 4)
    row["step_ms_all"] = [round(t, 4) for t in times]
    queued = max(2, min(steps, int(QUEUED_MS / row["step_ms"])))
    begin = time.perf_counter()
    for _ in range(queued):
        runner.step()
    allocator.sync(runner.device)
    row["queued_ms"] = round(1e3 * (time.perf_counter() - begin) / queued, 4)


def profiled_steps(runner):
    import torch
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CUDA]) as profile:
        for _ in range(PROFILED_STEPS):
            runner.step()
        torch.cuda.synchronize()
    return profile


def add_kernels(profile, row):
    import torch
    times, counts = collections.Counter(), collections.Counter()
    for event in profile.events():
        if event.device_type != torch.autograd.DeviceType.CUDA or getattr(
                event, "is_user_annotation", False) or event.name.startswith(
                ("Optimizer.", "## ", "ProfilerStep", "Torch-Compiled")):
            continue
        name = event.name[:NAME_LENGTH]
        times[name] += event.time_range.elapsed_us() / 1e3 / PROFILED_STEPS
        counts[name] += 1 / PROFILED_STEPS
    triton = [name for name in times if name.startswith("triton_")]
    row.update(
        gpu_ms=round(sum(times.values()), 4), kernels=sum(counts.values()),
        triton_kernels=sum(counts[n] for n in triton),
        triton_ms=round(sum(times[n] for n in triton), 4),
        top=[[name, counts[name], round(ms, 4)]
             for name, ms in times.most_common(TOP)])


@contextlib.contextmanager
def device_alone(path, row):
    """Holds the lock, ahead of those who compile."""
    begin = time.perf_counter()
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        row["lock_seconds"] = round(time.perf_counter() - begin, 2)
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        yield


def measure(definition, options, row):
    import torch
    import allocator_models
    device = options.device
    row["reached"] = "context"
    if options.tiny:
        definition = allocator_models.shrink(definition)
    allocator.start_device(definition, device)
    meter = allocator.Meter(device)
    row["context"] = meter.stats()
    row["reached"] = "model"
    work = allocator_models.build(definition, device)
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    row["model"] = meter.stats()
    row["parameters"] = sum(p.numel() for p in work.module.parameters())
    mode = definition["compile_mode"]
    if mode:
        work.module = torch.compile(work.module, mode=mode)
    runner = Runner(definition, work, device)
    row["reached"] = "first step"
    meter.reset()
    row["first_seconds"] = round(runner.waited_step() / 1e3, 3)
    row["first"] = peaks(meter)
    row["second_ms"] = round(runner.waited_step(), 3)
    if mode:
        counters = torch._dynamo.utils.counters
        row["graph_breaks"] = sum(counters["graph_break"].values())
        row["break_reasons"] = [str(r)[:160] for r in list(
            counters["graph_break"])[:4]]
        row["graphs"] = counters["stats"].get("unique_graphs", 0)
    row["reached"] = "memory"
    measure_memory(runner, row)
    row["nvml"] = meter.device_memory()
    row["reached"] = "time"
    with device_alone(options.lock, row):
        measure_time(runner, row, 2 if options.tiny else TIMED_STEPS)
        row["reached"] = "kernels"
        profile = profiled_steps(runner) if device == "cuda" else None
    if profile:
        add_kernels(profile, row)
    row["status"] = "ok"


def run_case(definition, options):
    """The row of one case; never raises."""
    row = {"status": "error"}
    try:
        measure(definition, options, row)
    except BaseException as error:
        text = "".join(traceback.format_exception_only(error)).strip()
        row["message"] = text[:600]
        row["where"] = [f"{f.filename}:{f.lineno}" for f in
                        traceback.extract_tb(error.__traceback__)][-4:]
        if isinstance(error, TimeoutError):
            row["status"] = "timeout"
        if "OutOfMemory" in type(error).__name__ or "out of memory" in text:
            row["status"] = "oom"
    return row


class Campaign(allocator.Campaign):
    def finish(self, key, entry, row):
        _, definition, begin, neighbours, _ = self.running.pop(key)
        row.update(kind="case", id=key, neighbours=neighbours,
                   wall_seconds=round(time.time() - begin, 2), case=definition,
                   compile_mode=definition["compile_mode"])
        allocator.append(self.options.out, row)
        self.counts[f"{row['status']} {definition['runtime']}"] += 1
        if row["status"] != "ok":
            print(f"{row['status']}: {key} at {row.get('reached')}: "
                  f"{row.get('message', '')[:300]} "
                  f"{row.get('where', [''])[-1]}", file=sys.stderr, flush=True)


def parser_of(description, name, workers, seconds, tiny):
    """The options of a campaign of cases that time themselves under a lock."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--workers", type=int, default=workers)
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--out", default=f"{name}.jsonl.gz")
    parser.add_argument("--done", nargs="*", default=[],
                        help="skip the cases that these files hold as ok")
    parser.add_argument("--only", default="", help="regular expression of ids")
    parser.add_argument("--lock", default=f"/tmp/measure_{name}.lock")
    parser.add_argument("--tiny", action="store_true", help=tiny)
    parser.add_argument("--list", action="store_true")
    return parser


def compiler_leaves_driver_alone():
    """Imports what compiles; False where that would spoil later forks."""
    importlib.import_module("torch._dynamo")
    importlib.import_module("torch._inductor.compile_fx")
    return not allocator.driver_is_initialised()


def main():
    options = parser_of(__doc__, "compile", 8, 500,
                        "toy extents, fp32").parse_args()
    options.case_seconds = None
    allocator.CASE_SECONDS.update(SECONDS)
    done = allocator.read_done(options.done)
    chosen = [(key, c) for key, c in all_cases() if key not in done
              and re.search(options.only, key)]
    if options.list:
        print("\n".join(f"{key} {c['precision']} {c['batch']} "
                        f"{c['compile_mode']}" for key, c in chosen))
        return
    begin = time.time()
    versions = allocator.import_libraries([c for _, c in chosen])
    row = {"kind": "environment", "libraries": versions, "time": begin,
           "fields": allocator.FIELDS, "arguments": sys.argv[1:],
           "driver_initialised_by_imports": allocator.driver_is_initialised()}
    row.update(allocator.Fork(allocator.environment, ()).result())
    if allocator.Fork(compiler_leaves_driver_alone, ()).result() is True:
        compiler_leaves_driver_alone()
    allocator.append(options.out, row)
    campaign = Campaign(options, lambda key, definition: allocator.Fork(
        run_case, (definition, options)))
    campaign.deadline = begin + options.seconds
    left = campaign.run(chosen, options.workers)
    print(f"{dict(campaign.counts)}, {left} left, "
          f"{time.time() - begin:.0f} s, in {options.out}", flush=True)
    os._exit(0)  # What the compiler started need not end first.


if __name__ == "__main__":
    main()
