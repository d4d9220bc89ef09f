"""Other tools' estimates of published fine-tuning, for what their packages can say.

`TOOLS` are rows: a name, the package that it needs, the figure that its estimate is
compared with, and the function that asks it for a Run (finetuning_runs.py) and the
network's configuration as `foretell zoo show` prints it. An estimate of None is a run
that the tool does not know: several GPUs, 4-bit weights, kernels.
"""

import dataclasses
import functools
import importlib
from collections.abc import Callable

import foretell
from finetuning_runs import ALLOCATED, LINEAR, PROCESS

MIB = 2**20
FITCHECK_CARDS = {"T4": "t4", "A100-SXM-80GB": "a100-80", "A100-SXM-40GB": "a100-40",
                  "RTX-A6000": "a6000", "L40S": "l40s", "RTX-4090": "4090"}


@functools.cache
def configuration(network):
    """The fields of a zoo network of LLaMA's kind; None for another."""
    shown = foretell.run_json("zoo", "show", network)
    return shown["configuration"] if shown["family"] == "llama" else None


def parameters(c):
    """Weights of a network of LLaMA's kind."""
    head = c["width"] // c["heads"]
    attention = 2 * c["width"] * head * (c["heads"] + c["kv_heads"])
    block = attention + 3 * c["width"] * c["inner"] + 2 * c["width"]
    words = c["vocabulary"] * c["width"] * (1 if c["tied_head"] else 2)
    return c["depth"] * block + words + c["width"]


def hub_config(c):
    """The same fields under the names of a config.json."""
    return {"model_type": "qwen2" if c["qkv_bias"] else "llama",
            "hidden_size": c["width"], "num_hidden_layers": c["depth"],
            "num_attention_heads": c["heads"], "num_key_value_heads": c["kv_heads"],
            "intermediate_size": c["inner"], "vocab_size": c["vocabulary"],
            "tie_word_embeddings": c["tied_head"]}


def ask_fitcheck(run, c):
    """Its total, which is that of the process."""
    import fitcheck

    card = FITCHECK_CARDS.get(run.facts["device"])
    if run.method not in ("full", "lora", "qlora") or run.gpus > 1 or card is None:
        return None
    if run.method != "full" and not set(run.facts["targets"]) <= set(LINEAR):
        return None
    head = c["width"] // c["heads"]
    model = fitcheck.ModelConfig(run.model, parameters(c), c["width"], c["depth"],
                                 c["heads"], c["kv_heads"], c["inner"], c["vocabulary"],
                                 head, c["tied_head"])
    lora = {"lora_rank": None} if run.method == "full" else {
        "lora_rank": run.facts["rank"], "lora_targets": list(run.facts["targets"])}
    asked = fitcheck.TrainingConfig(
        precision=run.facts["half"], quantization="nf4" if run.method == "qlora" else
        "none", double_quant=run.facts["double"], batch_size=run.facts["batch"],
        seq_len=run.facts["tokens"], grad_checkpoint=run.facts["checkpointing"],
        flash_attn=run.facts["attention"] != "eager", **lora)
    return fitcheck.estimate(model, asked, fitcheck.get_gpu(card)).total_mib


def ask_vramcalc(run, c):
    """Its total, which is what torch allocates; LoRA on attention only."""
    import vramcalc

    if run.method not in ("full", "lora") or run.gpus > 1:
        return None
    attention = {"flash_attention_2": "flash", "eager": "eager"}
    estimate = vramcalc.estimate(
        hub_config(c), mode="train", dtype=run.facts["half"], batch=run.facts["batch"],
        seq_len=run.facts["tokens"], precision="pure",
        lora_rank=run.facts["rank"] if run.method == "lora" else None,
        grad_checkpoint=run.facts["checkpointing"],
        attn_impl=attention.get(run.facts["attention"], "sdpa"))
    return estimate.total / MIB


@functools.cache
def module(network, half):
    """The network as a module of transformers without weights."""
    import torch
    import transformers

    c = hub_config(configuration(network))
    config = transformers.AutoConfig.for_model(c.pop("model_type"), **c)
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(
            config, dtype={"bf16": torch.bfloat16, "fp16": torch.float16,
                                 "fp32": torch.float32}[half])


def ask_kitsune(run, c):
    """Its total with 15 % for everything else; QLoRA starts from FP32 weights. It calls
    a module with floats, so that activations of tokens are those of its formulas."""
    from kitsune.predict import predict_memory
    from kitsune.predict.lora_estimator import LoRAConfig, estimate_lora_memory

    if run.method not in ("full", "lora", "qlora") or run.gpus > 1:
        return None
    half = "fp32" if run.method == "qlora" else run.facts["half"]
    network = module(run.facts["network"], half)
    sizes = ((run.facts["tokens"],), run.facts["batch"])
    if run.method == "full":
        return predict_memory(network, *sizes, dtype=half,
                              optimizer="adamw").total_bytes / MIB
    config = LoRAConfig(rank=run.facts["rank"], use_qlora=run.method == "qlora",
                        target_modules=tuple(run.facts["targets"]))
    return estimate_lora_memory(network, *sizes, dtype=run.facts["half"],
                                config=config).total_bytes / MIB


def ask_accelerate(run, c):
    """What `accelerate estimate-memory` prints for Adam and full training."""
    from accelerate.commands.estimate import estimate_training_usage

    if run.method != "full" or run.gpus > 1:
        return None
    half = {"bf16": "bfloat16", "fp16": "float16"}[run.facts["half"]]
    usage = estimate_training_usage(2 * parameters(c), half)
    return max(usage.values()) / MIB


def ask_deepspeed(run, c):
    """Model states of ZeRO-3 on each GPU, of ZeRO-2 on one; full training only."""
    from deepspeed.runtime.zero import stage3
    from deepspeed.runtime.zero.stage_1_and_2 import (
        estimate_zero2_model_states_mem_needs)

    if run.method != "full":
        return None
    if run.gpus == 1:
        _, on_gpu = estimate_zero2_model_states_mem_needs(
            parameters(c), num_gpus_per_node=1, num_nodes=1, cpu_offload=False)
        return on_gpu / MIB
    _, on_gpu, _ = stage3.estimate_zero3_model_states_mem_needs(
        parameters(c), c["vocabulary"] * c["width"], num_gpus_per_node=run.gpus,
        num_nodes=1, cpu_offload=False, cpu_offload_params=False, zero_init=True)
    return on_gpu / MIB


@dataclasses.dataclass(frozen=True)
class Tool:
    name: str
    package: str
    figure: str
    ask: Callable
    own: str = ""  # The source of its authors' rows.

    def is_here(self):
        try:
            importlib.import_module(self.package)
        except ImportError:
            return False
        return True


TOOLS = (
    Tool("fitcheck-llm", "fitcheck", PROCESS, ask_fitcheck, "fitcheck"),
    Tool("vramcalc", "vramcalc", ALLOCATED, ask_vramcalc, "vramcalc"),
    Tool("torch-kitsune", "kitsune", PROCESS, ask_kitsune),
    Tool("accelerate estimate-memory", "accelerate", ALLOCATED, ask_accelerate),
    Tool("DeepSpeed's estimator", "deepspeed", ALLOCATED, ask_deepspeed),
)
