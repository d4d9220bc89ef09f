"""How GPUs share a training of transformers' Trainer, as options of the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ._errors import warn

# Stages of DeepSpeed's ZeRO: 1 shards states, 2 gradients too, 3 parameters too.
_STAGES: Mapping[int, str] = {0: "ddp", 1: "zero1", 2: "zero2", 3: "fsdp"}


def _state_of(args: Any) -> Any:
    """accelerate's state of this process, which knows the plugins that its launcher
    configured, too (accelerate/state.py, 1.15); without one the arguments."""
    module: Any = sys.modules.get("accelerate.state")
    is_there = module is not None and module.is_initialized()
    return module.AcceleratorState() if is_there else args


def _gpus(state: Any) -> int:
    gpus: Any = getattr(state, "num_processes", None) or getattr(state, "world_size", 1)
    return int(gpus)


def _text(value: Any) -> str:
    """"SHARD_GRAD_OP" of ShardingStrategy.SHARD_GRAD_OP, "False" of False."""
    return str(getattr(value, "name", value)).upper()


def _fsdp_plan(plugin: Any) -> str:
    strategy = _text(getattr(plugin, "sharding_strategy", None) or "")
    keeps = (_text(getattr(plugin, "reshard_after_forward", True)), strategy)
    if "NO_SHARD" in keeps:
        return "ddp"
    if "FALSE" in keeps or "SHARD_GRAD_OP" in keeps:
        return "zero2"
    return "fsdp" if getattr(plugin, "fsdp_version", 1) == 2 else "fsdp1"


def _offloads(deepspeed: Any, fsdp: Any) -> bool:
    kinds = (getattr(deepspeed, "offload_optimizer_device", None),
             getattr(deepspeed, "offload_param_device", None))
    offloaded = getattr(fsdp, "cpu_offload", False)
    return bool(getattr(offloaded, "offload_params", offloaded)) or any(
        kind not in (None, "none") for kind in kinds)


def sharing_options(args: Any) -> dict[str, Any]:
    """Options of how GPUs share the step, of FSDP's activation checkpointing and of
    accumulated gradients; warns of what is not counted."""
    state = _state_of(args)
    deepspeed = getattr(state, "deepspeed_plugin", None)
    fsdp = getattr(state, "fsdp_plugin", None)
    options: dict[str, Any] = {}
    if getattr(fsdp, "activation_checkpointing", False):
        options["recompute"] = "auto"
    if _offloads(deepspeed, fsdp):
        warn("foretell: offloading to the CPU is not counted: the step needs less")
    plan = "ddp"
    if deepspeed is not None:
        # "auto" in a file is accelerate's default stage.
        plan = _STAGES.get(getattr(deepspeed, "zero_stage", 2), "zero2")
    elif fsdp is not None:
        plan = _fsdp_plan(fsdp)
    gpus = _gpus(state)
    if gpus > 1:
        options["parallel"] = f"{plan}:{gpus}"
    # The program refuses it with shards, whose peak hardly depends on it.
    if gpus == 1 or plan == "ddp":
        options["accumulate"] = getattr(args, "gradient_accumulation_steps", 1)
    return options
