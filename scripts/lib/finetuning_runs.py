"""Published fine-tuning of language models, as `foretell predict` is asked for it.

`runs(path, program)` reads one of the four tables of train_memory_finetuning,
train_memory_peft, train_time_lora and train_llm_multi_gpu. A Run has a command, or says
why it has not. What the sources' own code does, by their files:

* fms-acceleration 876e2ed, scripts/benchmarks: scenarios*.yaml (LoRA of rank 16,
  dropout 0.1; `bf16` or `fp16` on for 4-bit weights and the rows with "+ amp"; the
  table reads only "True" of the columns `bf16` and `fp16`, where some files have
  "TRUE"), defaults.yaml (checkpointing, FlashAttention 2), accelerate.yaml (FSDP 1,
  FULL_SHARD, BACKWARD_PRE); nf4 with double quantization (framework_plugin_bnb.py). Allocated is rank 0's
  max_memory_allocated by transformers' memory tracker; process is nvidia-smi's peak
  less its first reading, averaged over the GPUs (benchmark.py). peft 0.12 to 0.14 holds
  adapters in FP32 (`autocast_adapter_dtype`). `foak` replaces RMSNorm, rotary positions
  and cross entropy and, over quantized weights, LoRA's products; `liger` in addition
  the head with its loss. Where `bf16` is on under FSDP, accelerate 1.0.1 casts trained
  shards to FP32 (`prepare_model`): Mistral-7B on two GPUs peaks at five FP32 shards.
  transformers 4.44 to 4.48 checkpoints with use_reentrant=True. santacoder's loss is
  the one of 4.45, in the type of the logits: the fused loss replaces that one only, and
  saves memory in the rows. Its network uses its cache under checkpointing too, which
  keeps the results of `c_attn` until the network returns.
* fitcheck-llm 0.3.1, scripts/measure.py: one step after a warm-up on random tokens,
  labels are the tokens; peft without dropout, adapters in FP32, over nf4 after
  `prepare_model_for_kbit_training`; no autocast; process is reserved memory plus the
  context.
* vramcalc 0.1.2, src/vramcalc/bench.py: the same kind of step, in bf16 throughout (the
  rows' `pure`), gradients zeroed in place; total is allocated memory.
* litgpt, litgpt/finetune/lora.py and full.py (8641822 for the resource tables, 26857050
  for config_hub): bf16 throughout, adapters too; loss in chunks of 128 tokens; no
  checkpointing on one GPU; gradients of several batches are added up. Lightning's
  BitsandbytesPrecision quantizes every linear layer, the head too, from FP16;
  bitsandbytes 0.41 and 0.42 keep a 4-bit layer's input as long as the loop keeps its
  loss, so the next batch's forward pass finds those of the last. Texts are shorter than
  config_hub's cut of 512 tokens.
* canifinetune 0.4.1, bench/runner.py: a plain loop, whose results live through the
  backward pass, over nf4 after `prepare_model_for_kbit_training`; its autocast is of a
  later version than the rows.
* peft 5d602fd, method_comparison/MetaMathQA: reserved memory; texts up to 768 tokens.
"""

import dataclasses
import functools
import re

import finetuning_networks
import finetuning_tables
import foretell
import published

# torchtitan b5bcd76c: every second product and all attention kept (llama3_8b.toml,
# parallelize_llama.py), fused AdamW, and logits that are dropped before the backward pass
# (train.py). torchao's rows are torchtitan's steps, too.
TORCHTITAN = ("--mode", "training", "--precision", "bf16", "--fused", "on",
              "--loss-in-function")
# "selective" is by operator, as llama3_8b.toml says.
TITAN_CHECKPOINTS = {"selective": "auto,save=mm/2|sdpa",
                     "selective per op": "auto,save=mm/2|sdpa", "full": "auto"}
# By origin and release: PyTorch, what is compiled, other flags. apply_compile of
# parallelize_llama.py compiles each block; since bbb1b616e (April 2025) components/loss.py
# compiles the loss as well, which before would not run. The pages of torchao name PyTorch
# 2.7 with torchtitan 0.0.2, and 2.9; run_train.sh, which they call, has had expandable
# segments since a5e57e4a9 (October 2024). torchtitan's own page does not say how its jobs on
# up to 512 GPUs were started.
TITAN_RUNS = {
    ("torchtitan", "2024-12"): ("2.6", "compile,only=auto", ()),
    ("torchao", "2025-04"): ("2.7", "compile,only=auto", ("--expandable-segments",)),
    ("torchao", "2025-08"): ("2.9", "compile,only=auto|loss", ("--expandable-segments",))}
# The first is a kind of H100 of 96 GB and 500 W that no catalogue has: the nearest has
# 400 W, which takes longer.
TITAN_DEVICES = {"H100 SXM 96GB HBM2e 2.4TB/s 500W": "h100-nvl-94gb",
                 "H100 SXM": "h100-sxm5-80gb", "B200 power limited": "b200-sxm-180gb"}
ALLOCATED, RESERVED, PROCESS, STEP = "allocated", "reserved", "process", "step"
# A network of a few kilobytes, to learn whether the program knows a flag.
TINY = ("zoo:llama3_2_1b?depth=1&width=128&heads=4&kv_heads=4&inner=128"
        "&vocabulary=64&seq=8")
ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
LINEAR = (*ATTENTION, "gate_proj", "up_proj", "down_proj")
TARGETS = {"q v": ("q_proj", "v_proj"), "attention": ATTENTION, "all": LINEAR,
           "all-linear": LINEAR}
# config_hub/finetune/*/lora.yaml of litgpt: rank 32 on queries and values, except for
# these, which adapt every linear layer with the head, in ranks of their own.
LITGPT_ALL = {"tiny-llama": 32, "gemma-2b": 8, "gemma-7b": 16, "gemma-2-2b": 8,
              "gemma-2-9b": 16, "phi-2": 8, "Phi-3-mini-4k-instruct": 8}
# Full training whose peak is below the four copies of the weights that AdamW, which the
# configuration names, holds: it was something else.
LITGPT_TOO_LOW = ("llama-3.2-1b", "llama-3.2-3b", "Phi-3-mini-4k-instruct")
LITGPT_FULL_ON_4 = ("gemma-2b", "llama-2-7b", "llama-3-8b", "llama-3.1-8b")
OPTIMIZERS = {"AdamW fused": "adamw", "AdamW 8-bit bitsandbytes": "adamw_8bit",
              "AdamW 8-bit torchao": "adamw_torch_8bit",
              "AdamW 4-bit torchao": "adamw_torch_4bit",
              "paged_adamw_8bit": "paged_adamw_8bit", "Adam": "adam",
              "adamw (foreach)": "adamw", "": "adamw", "adamw": "adamw",
              "adamw (transformers default)": "adamw", "AdamW": "adamw"}
# transformers' version, by the requirements*.txt next to the rows or the row's column; a
# source that is not named has 4.56 or later, or does not use it.
TRANSFORMERS = {"scripts/benchmarks/refs/a100_80gb.csv": (4, 48),
                "scripts/benchmarks/refs/a100_80gb_liger.csv": (4, 45),
                "scripts/benchmarks/refs/a100_80gb_granite.csv": (4, 45),
                "scripts/benchmarks/refs_orca/a100_80gb_pf.csv": (4, 44),
                "optimum-benchmark": (4, 35)}
# Chosen by rows, not by a source: with every method on one GPU Mistral-7B and
# santacoder hold 0.7 to 1.0 GiB more than predicted with kernels loaded when first
# used, which fits the other files.
EAGER = "scripts/benchmarks/refs/a100_80gb.csv"
# Models whose rows were read while what a step holds was corrected by the sources'
# code; the others are the test of that. A third of the published models is in none of
# the tables.
LOOKED_AT = ("Mistral-7B", "PowerLM-3b", "TinyLlama", "SmolLM2", "Qwen2.5-0.5B",
             "santacoder", "Llama 2 ", "phi-1.5", "StableLM Alpha")
# Values of multipliers do not change what a step costs, except for 1.
GRANITE = ("embedding_scale=2", "residual_scale=0.5", "logits_scale=2")
SANTACODER = ("shift_logits=true", "upcast_loss=false", "returned_cache=true")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What all rows of a source have in common."""
    nested: bool = False  # 4-bit weights have quantized scales.
    nf4: str = ""  # More of --quantize for 4-bit weights.
    dropout: float = 0
    half_adapters: bool = False
    kbit: bool = False  # peft's prepare_model_for_kbit_training
    flags: tuple = ()  # Of training on one GPU.
    is_trainer: bool = False  # transformers' Trainer: results die with compute_loss.
    chunk: int = 0  # Tokens of a part of the loss; 0: all.


RECIPES = {
    "fms-acceleration": Recipe(nested=True, dropout=0.1, is_trainer=True),
    "fitcheck": Recipe(kbit=True, flags=("--step-in-function",)),
    "vramcalc": Recipe(flags=("--set-to-none", "off", "--step-in-function")),
    "canifinetune": Recipe(kbit=True),
    "litgpt": Recipe(nf4=",keep-input,from=fp16,skip=^$", dropout=0.05, half_adapters=True,
                     flags=("--accumulate", "2"), chunk=128),
    "axolotl": Recipe(half_adapters=True, is_trainer=True),
}


@dataclasses.dataclass
class Run:
    source: str
    model: str
    method: str
    gpus: int
    status: str  # "ok", "oom" or "at_capacity"
    truth: dict  # MiB, and ms under STEP, by figure
    facts: dict  # What other estimators ask: batch, tokens, rank, targets, …
    words: tuple = ()
    without: tuple = ()  # What the command leaves out, which the run had.
    reason: str = ""  # Why there is no command.
    answer: dict | None = None  # What the program said.

    @property
    def is_looked_at(self):
        return any(word in self.model for word in LOOKED_AT)


class Program:
    """What the program at hand knows."""

    @functools.cached_property
    def networks(self):
        return set(foretell.run("zoo", "list").split())

    @functools.cached_property
    def fields(self):
        return foretell.run_json("zoo", "show", "llama")["configuration"].keys()

    def has_field(self, field):
        """Whether decoders have it; `field` may state its value."""
        return field.split("=")[0] in self.fields

    @functools.cache
    def knows(self, flags):
        """Whether it predicts the smallest of networks with these flags."""
        if "--quantize" in flags:
            flags += "--lora", "r=1,targets=q_proj"
        try:
            foretell.run("predict", TINY, "--mode", "training", "--json", *flags)
        except foretell.Failure:
            return False
        return True

    def has(self, network):
        return network.split("?")[0] in self.networks


def is_kbit(run, recipe):
    """Whether peft's prepare_model_for_kbit_training held the rest in FP32.

    fms-acceleration's own copy of it casts nothing; its baseline leaves it to trl, which
    leaves it out for weights that FSDP loads on the CPU (`is_sharded_qlora`).
    """
    is_baseline = "baseline" in run.facts["kernels"] and run.gpus == 1
    return run.method == "qlora" and (recipe.kbit or is_baseline)


def lora_flag(run, recipe, program):
    """LoRA's flag with every key that the program knows; notes the others."""
    keys = [f"r={run.facts['rank']}"]
    extras = {f"dropout={recipe.dropout}": recipe.dropout > 0,
              "type=bf16": recipe.half_adapters,
              "kbit": is_kbit(run, recipe), "dora": run.facts["is_dora"]}
    for key in (key for key, is_wanted in extras.items() if is_wanted):
        if program.knows(("--lora", f"r=1,{key},targets=q_proj")):
            keys.append(key)
        else:
            run.without += (f"--lora {key}",)
    return "--lora", ",".join((*keys, "targets=" + "|".join(run.facts["targets"])))


def needed_flags(run, recipe, row):
    """Flags without which the command would describe another run."""
    kernels = row.get("kernels", "")
    if "liger" in kernels:
        ours = "liger" if "foak" not in kernels else "foak-liger"
        yield "--kernels", ours
    elif "foak" in kernels:
        yield "--kernels", "foak"
    if run.method == "qlora":
        nested = recipe.nested or re.search("dq|double", row["quantization"])
        yield "--quantize", f"nf4{',double' if nested else ''}{recipe.nf4}"
    if run.method == "gptq-lora":
        yield "--quantize", "gptq:4"
    if run.facts["is_dora"]:
        yield "--lora", "r=1,dora,targets=q_proj"
    yield "--optimizer", run.facts["optimizer"]


def half_of(row):
    return "bf16" if row["precision"].startswith("bf") else "fp16"


def is_autocast(row):
    is_quantized = row["source"] == "fms-acceleration" and row["quantization"]
    return bool(is_quantized) or "amp" in row["precision"]


def precision_flags(row, run):
    """Under autocast on one GPU, weights were loaded in 16 bits. Shards are asked for
    without it: they differ in what norms and losses keep, except for santacoder, whose
    layer norms give 32 bits under it."""
    is_left_out = run.gpus > 1 and "santacoder" not in run.model
    if not is_autocast(row) or is_left_out:
        return "--precision", half_of(row)
    return "--precision", half_of(row), "--autocast", "--half-weights"


def parallel_flags(row, run):
    """Sharded weights that are trained under autocast are in FP32, and accelerate's
    MixedPrecision reduces gradients in the half."""
    if run.gpus == 1:
        return ()
    words = [f"fsdp1:{run.gpus}"]
    if is_autocast(row) and run.method == "full":
        words.append("fp32-shards")
    if run.facts["checkpointing"]:
        words.append("reentrant")
    return "--parallel", ",".join(words)


def environment_flags(version, path=""):
    """`2.10.0+cu128` names PyTorch and its CUDA; without CUDA, 13 since 2.9."""
    numbers = re.match(r"(\d+)\.(\d+)(?:.*\+cu(\d\d))?", version)
    if not numbers:
        return ()
    is_13 = (numbers[3] == "13" if numbers[3]
             else (int(numbers[1]), int(numbers[2])) >= (2, 9))
    name = "cuda12-eager" if path == EAGER else "cuda12-lazy"
    return ("--torch", f"{numbers[1]}.{numbers[2]}",
            *(() if is_13 else ("--environment", name)))


def why_not(run, row, network):
    """Why a row is not asked, whatever the program; empty if it can be."""
    kernels = row.get("kernels", "")
    if run.method not in ("full", "lora", "qlora", "gptq-lora", "inference"):
        return f"method {run.method}"
    if "scattermoe" in kernels:
        return "experts by scattered products (ScatterMoE)"
    if not row["seq_len"] or not row["batch_per_gpu"]:
        return "length or batch varies or is not stated"
    if row.get("compile") == "1":
        return "torch.compile"
    if row["source"] == "litgpt" and run.method == "full" and (
            row["model"] in LITGPT_TOO_LOW):
        return "peak below AdamW's four copies of the weights"
    if run.facts["optimizer"] is None:
        return f"optimizer {row['optimizer']}"
    if row["device"] not in finetuning_networks.DEVICES:
        return f"device {row['device']}"
    return "" if network else f"network {run.model}"


def wished_fields(run, row):
    """Fields that say how the source's version of transformers runs the network."""
    attention = {"flash_attention_2": "flash", "eager": "eager"}.get(row["attention"])
    if attention:
        yield f"attention={attention}"
    if "santacoder" in run.model:
        yield from SANTACODER
        return
    version = TRANSFORMERS.get(row.get("source_path"), TRANSFORMERS.get(run.source))
    if version and version < (4, 46):
        yield "upcast_logits=true"
    if version and version < (4, 49):
        yield "shift_logits=true"
    # These copy keys and values before fused attention, too.
    is_old = run.source in ("fitcheck", "litgpt") or version and version < (4, 54)
    if is_old and not attention:
        yield "repeat_kv=true"
    if "PowerLM" in run.model:
        yield from GRANITE


def with_fields(run, row, network, program):
    """The network with those of its fields that the program knows."""
    for field in wished_fields(run, row):
        if program.has_field(field):
            network += ("&" if "?" in network else "?") + field
        else:
            run.without += (f"field {field}",)
    return network


def command(run, row, recipe, network, program):
    """Fills in the run's command, or the reason why it has no command."""
    if not program.has(network):
        run.reason = f"network {network.split('?')[0]}"
        return
    if row["attention"] == "eager" and not program.has_field("attention"):
        run.reason = "eager attention"
        return
    network = with_fields(run, row, network, program)
    needed = tuple(needed_flags(run, recipe, row))
    for flags in needed:
        if not program.knows(flags):
            run.reason = " ".join(flags)
            return
    words = ["predict", f"zoo:{network}", "--json", "--batch", row["batch_per_gpu"],
             "--seq-len", row["seq_len"], "--device",
             finetuning_networks.DEVICES[row["device"]],
             *precision_flags(row, run),
             *environment_flags(row["torch"], row.get("source_path", ""))]
    if run.method != "inference":
        words += ["--mode", "training", *(recipe.flags if run.gpus == 1 else ()),
                  *(word for flags in needed if flags[0] != "--lora"
                    for word in flags)]
        if recipe.is_trainer:
            words += ["--loss-in-function"]
    if "lora" in run.method:
        words += lora_flag(run, recipe, program)
    if run.facts["checkpointing"]:
        words += ["--recompute", "auto"]
    if "fused" in row.get("optimizer", ""):
        words += ["--fused", "on"]
    words += parallel_flags(row, run)
    chunks = ("--kernels", "chunked-cross-entropy:2")
    if recipe.chunk and program.knows(chunks):
        rows = run.facts["batch"] * run.facts["tokens"]
        words += "--kernels", f"chunked-cross-entropy:{max(2, rows // recipe.chunk)}"
    elif recipe.chunk:
        run.without += (" ".join(chunks),)
    run.words = tuple(words)


def gpus_of(row):
    """litgpt's table names machines of four cards; one of them worked, by its text."""
    if row["source"] == "litgpt":
        is_shared = row["method"] == "full" and row["model"] in LITGPT_FULL_ON_4
        return int(row["gpus"]) if is_shared else 1
    return int(row["gpus"])


def lora_of(row):
    """Rank and targets; None where the row has none."""
    if row["source"] == "litgpt" and not row["lora_r"]:
        rank = LITGPT_ALL.get(row["model"])
        return (rank, (*LINEAR, "lm_head")) if rank else (32, TARGETS["q v"])
    targets = row["lora_targets"]
    if "c_attn" in targets and "santacoder" in row["model"]:
        return int(float(row["lora_r"])), ("qkv_proj",)
    return (int(float(row["lora_r"] or 0)),
            TARGETS.get(targets) or tuple(targets.split()))


def run_of(row, program):
    """The Run of a row in the columns of train_memory_finetuning."""
    rank, targets = lora_of(row)
    method = row["method"]
    if row["source"] == "litgpt" and method == "lora" and row["quantization"]:
        method = "qlora"
    truth = {figure: float(row[column]) for figure, column in
             ((ALLOCATED, "peak_allocated_mib"), (RESERVED, "peak_reserved_mib"),
              (PROCESS, "process_mib"), (STEP, "step_ms"))
             if row.get(column) and row["status"] != "oom"}
    run = Run(row["source"], row["model"], method, gpus_of(row), row["status"], truth,
              {"rank": rank, "targets": targets,
               "optimizer": OPTIMIZERS.get(row["optimizer"]),
               "batch": int(float(row["batch_per_gpu"] or 0)),
               "tokens": int(row["seq_len"] or 0), "attention": row.get("attention"),
               "kernels": row.get("kernels", ""), "is_dora": bool(row.get("is_dora")),
               "double": "double" in row["quantization"],
               "checkpointing": row.get("checkpointing") == "1",
               "device": row["device"], "half": half_of(row)})
    network = finetuning_networks.network(row["model"], row["source"])
    run.reason = why_not(run, row, network)
    if not run.reason:
        run.facts["network"] = network
        command(run, row, RECIPES.get(run.source, Recipe()), network, program)
    return run


def pretraining_run(row):
    """The Run of a row of train_llm_multi_gpu."""
    truth = {STEP: 1000 * int(row["micro_batch"] or 0) * int(row["seq_len"] or 0)
             / float(row["tokens_per_s_per_gpu"])}
    if row["peak_reserved_gib"]:
        truth[RESERVED] = float(row["peak_reserved_gib"]) * 1024
    method = "full, compiled" if row["compile"] == "1" else "full"
    run = Run(row["origin"], row["model"], method, int(row["gpus"]), "ok", truth,
              {"rank": 0, "targets": (), "optimizer": "adamw",
               "batch": int(row["micro_batch"] or 0), "tokens": int(row["seq_len"] or 0),
               "attention": "sdpa", "kernels": "", "is_dora": False, "double": False,
               "checkpointing": True, "device": "", "half": "bf16",
               "network": finetuning_networks.network(row["model"], row["origin"])})
    known = TITAN_RUNS.get((row["origin"], row["released"]))
    reasons = {"not a run of torchtitan's that is known": known is None,
               f"precision {row['precision'].split()[0]}": row["precision"] != "bf16",
               "tensor, pipeline or context parallelism":
                   {row["tp"], row["pp"], row["cp"]} - {"", "1"},
               f"device {row['device'].split(' (')[0]}": row["device"] not in TITAN_DEVICES,
               f"checkpointing {row['checkpointing']}":
                   row["checkpointing"] not in TITAN_CHECKPOINTS}
    run.reason = next((why for why, holds in reasons.items() if holds), "")
    if not run.reason:
        torch, runtime, flags = known
        run.words = ("predict", "zoo:" + run.facts["network"],
                     *TORCHTITAN, "--batch", row["micro_batch"], "--seq-len", row["seq_len"],
                     "--recompute", TITAN_CHECKPOINTS[row["checkpointing"]],
                     "--torch", torch, "--device", TITAN_DEVICES[row["device"]], *flags,
                     *(("--runtime", runtime) if row["compile"] == "1" else ()),
                     "--parallel", f"fsdp:{row['fsdp']},fp32-shards,reduce=fp32", "--json")
    return run


def runs(path, program):
    """The Runs of a table, in its order."""
    for row in published.rows(path):
        ours = finetuning_tables.as_finetuning(row)
        yield run_of(ours, program) if ours else pretraining_run(row)
