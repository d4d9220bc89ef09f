"""What the keyword arguments mean, for help() and for messages of the program."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from ._flags import ON_OR_OFF

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS: dict[str, str] = {
    "batch": "samples of one step; it replaces the leading dimension of the inputs. "
             "Also batch_size=",
    "mode": '"inference" or "training" (forward, backward and optimizer step); also '
            "training=True",
    "optimizer": 'of training: "sgd", "momentum", "adam", "adamw", "rmsprop", '
                 '"adagrad", "adafactor", "amsgrad", "muon", "adamw8bit", "lion" or '
                 "another name of --optimizer, or an object of torch.optim, "
                 "bitsandbytes, torchao or transformers",
    "precision": 'of weights and products: "fp32", "tf32", "fp16", "bf16" or a '
                 "torch.dtype; a module is cast to it. Also dtype=",
    "autocast": 'mixed precision as torch.autocast: True, "bf16" or "fp16"; also amp=',
    "device": "the GPU, by a name that `foretell devices` lists, as nvidia-smi calls "
              'it, or "cuda": the GPU of this machine. Default: a100-sxm4-40gb',
    "input": 'types of a file\'s inputs: "f32[8,3,224,224]", or a dict by name',
    "dim": 'sizes of open dimensions by name: {"seq": 128}',
    "seq_len": "length of the sequences, where the model has one that is open",
    "lengths": 'lengths of steps that one process runs in turn: "32..512" at random, '
               "or a list, in its order",
    "evaluate": "batch of an inference pass between training steps",
    "trainable": "regular expression: only parameters in whose names it is found train",
    "lora": 'adapters, of which alone is trained: "r=16,targets=q_proj|v_proj", and '
            "more keys of peft.LoraConfig: dropout=0.05, type=bf16, save=lm_head, "
            "bias=all, dora, kbit, vera, ia3, method=oft; or virtual tokens: "
            '"method=prompt,tokens=20"',
    "quantize": 'weights of linear layers in few bits: "nf4", "nf4,double", "int8", '
                '"gptq:4", "awq:4", "fp8"',
    "input_grad": "True: inputs of floating point require gradients in training",
    "recompute": 'activation checkpointing: "auto", or paths of modules: "blocks.*", '
                 '"blocks.*/2" (each second), "auto,save=mm|sdpa", "auto,reentrant"; '
                 "also gradient_checkpointing=True",
    "kernels": 'of other libraries instead of PyTorch\'s: "liger", "rms-norm,rope", "float8"',
    "accumulate": "batches whose gradients are added up before the optimizer runs",
    "parallel": 'how GPUs share the step: "ddp:8", "fsdp:8"',
    "link": "GB/s between GPUs, for parallel=",
    "grad": "inference without torch.no_grad()",
    "runtime": 'what runs the model: "eager", "compile", "compile,reduce-overhead", '
               '"onnxruntime", "tensorrt", "tensorrt,int8"',
    "half_weights": "under autocast=True weights are in its type, as loaded in 16 bits",
    "channels_last": "images lie in memory with their channels last",
    "foreach": "False: the optimizer takes parameters one by one",
    "fused": "True: the optimizer runs as one kernel",
    "loss_in_function": "True: a function returns the loss, as transformers' Trainer "
                        "has it, and results die before the backward pass",
    "step_in_function": "True: a function does a whole step, and results die with it",
    "keep_result": "inference in a loop of y = net(x): the last result is kept",
    "offload_optimizer": '"states" or "gradients": large parameters are stepped on the '
                         "host, as torchao's CPUOffloadOptimizer does",
    "offload_activations": "saved tensors lie on the host until the backward pass, as "
                           "with torchtune's OffloadActivations",
    "optimizer_in_backward": "each parameter is updated, and its gradient freed, as "
                             "soon as the backward pass has made it",
    "late_zero_grad": "zero_grad() stands between forward and backward pass",
    "set_to_none": "False: zero_grad() fills gradients with zeros",
    "expandable_segments": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    "phase": 'of a language model: "forward", "prefill" or "decode"',
    "cache": "tokens in the key-value cache, for phase=",
    "host": 'who launches kernels: "python" or "cpp"; or a machine: "fast", "slow", or a '
            "measured one",
    "host_memory": 'left to the host where memory is shared with it: "8GiB"',
    "torch": 'the version of PyTorch that runs the step: "2.9"',
    "environment": "the CUDA context, by a name of `foretell devices`",
    "power_limit": "watts that the GPU may take",
    "device_file": "JSON of a GPU of your own",
    "environment_file": "JSON of a CUDA context of your own",
    "method": '"auto", "analytic", "learned" or "pmgns"',
    "checkpoint": "a trained network that corrects or gives the figures",
    "adaptation": "corrections from measurements of your own",
    "mig_rule": '"usable-memory", or "dippm": the rule of the paper',
    "trace": '"meta", or "cpu" for sizes that follow from values',
    "fuse": 'operators as one: "none", "exported" or "equivalent"',
    "sandbox": 'how files are opened: "auto", "require" or "off"',
    "timeout": "seconds for one file",
    "convert": "True: files of other frameworks are converted, and what that needs is "
               "installed",
    "no_convert": "True: files of other frameworks are not converted",
}
LIMITS: dict[str, str] = {
    "profile": 'a MIG profile that must hold the step: "1g.5gb"',
    "max_memory": "MiB that the step may take at most, or text with a unit: '10GB'",
    "max_latency": "ms that one step may take at most, or text with a unit: '20ms'",
    "max_energy": "J that one step may take at most, or text with a unit: '2Wh'",
    "strict": "True: latency and energy count at their upper ends, too",
    "tight": "True: memory counts without what the allocator's cache could give back",
}
_SWITCHES = ("autocast", "grad", "channels_last", "expandable_segments", "half_weights",
             "input_grad", "keep_result", "late_zero_grad", "loss_in_function",
             "no_convert", "offload_activations", "optimizer_in_backward",
             "step_in_function", "strict", "tight")
# A word after a flag that is its value: a placeholder, a number, or a value's form.
_VALUE = (r"(?:'[^']*'|[A-Z][A-Z]+\b|[A-Z]\b|\S*(?:[=\[\]0-9*]|:\b)\S*?|{words})"
          r"(?=,?(?:[\s;:)'.]|$))")
_WORDS = ("training|inference|auto|analytic|learned|pmgns|cpu|meta|on|off|require|none|"
          "fp32|tf32|fp16|bf16|adamw|adam|sgd|momentum|decode|prefill|"
          "eager|compile|onnxruntime|tensorrt")
_FLAG = re.compile(r"--([a-z][a-z0-9-]*)(?:[= ](" + _VALUE.format(words=_WORDS) + "))?")


def _as_keyword(found: re.Match[str]) -> str:
    name = found[1].replace("-", "_")
    value = found[2]
    if name not in OPTIONS and name not in LIMITS:
        return found[0]  # Of another command, or part of a path.
    if value is None:
        return f"{name}=True" if name in _SWITCHES else f"{name}="
    value = value.strip("'")
    if name in ON_OR_OFF:
        return f"{name}={value == 'on'}"
    key, equals, one = value.partition("=")
    if name == "dim" and equals:
        return f"dim={{{key!r}: {one}}}"
    is_plain = value.isupper() or re.fullmatch(r"[0-9.]+", value)
    return f"{name}={value if is_plain else repr(value)}"


def _unknown_option(found: re.Match[str]) -> str:
    name = found[1].replace("-", "_")
    near = difflib.get_close_matches(name, (*OPTIONS, *LIMITS), cutoff=0.7)
    hint = f"; did you mean {near[0]}=?" if near else ""
    return f"no option {name}={hint}; help(foretell.predict) lists all"


def in_python(text: str) -> str:
    """The program's text with keyword arguments for flags: batch=N for --batch N."""
    text = re.sub(r"no flag '--([a-z0-9-]+).*", _unknown_option, text)
    text = re.sub(r"see foretell ([a-z]+)(?:-([a-z]+))? --help",
                  lambda found: "see help(foretell." +
                  "_".join(filter(None, found.groups())) + ")", text)
    return _FLAG.sub(_as_keyword, text)


def _listed(meanings: dict[str, str]) -> str:
    lines = []
    for name, meaning in meanings.items():
        lines += textwrap.wrap(f"{name}: {meaning}", 79, initial_indent="    ",
                               subsequent_indent="        ")
    return "\n".join(lines)


def with_options(*tables: dict[str, str]) -> Callable[[Function], Function]:
    """Adds the meaning of the options to a function's docstring."""
    def add(function: Function) -> Function:
        if function.__doc__:
            listed = "\n".join(map(_listed, tables))
            function.__doc__ = (function.__doc__.rstrip() + "\n\n    Options:\n"
                                + textwrap.indent(listed, "    ") + "\n")
        return function

    return add
