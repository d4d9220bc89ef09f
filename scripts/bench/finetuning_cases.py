"""The cases of `measure_allocator.py --suite finetuning`: how networks are
fine-tuned, on one GPU and on one of several.

Decoders of published widths with few layers and their whole vocabularies: each
run takes the next of a list of plans, quantizations, adapters or loops. Every
case has the fields of allocator_cases.DEFAULTS and these:
  loop       "own" (this folder's), "trainer" (transformers), "sft" (TRL)
  autocast   bf16=True of the Trainer over weights of `precision`
  parallel   None, or the plan as one of `world` GPUs: "ddp", "zero1",
             "fsdp1" (FullyShardedDataParallel as accelerate sets it up),
             "fsdp2" (fully_shard), with the options of each
  quantize   None, "nf4" (double quantization, bf16 compute), "int8"
  adapter    None, or PEFT's method and its options
  float8     None, or the recipe of torchao
  trace      whether the last step's allocations are listed
"""

import allocator_cases
from allocator_cases import cycle, hashed, llama

DEFAULTS = dict(
    allocator_cases.DEFAULTS, source="transformers", task="causal_lm",
    use_cache=False, precision="bf16", loop="own", autocast=False,
    parallel=None, quantize=None, adapter=None, float8=None, trace=False)
# name -> (class, config)
DECODERS = {
    "mistral": ("MistralForCausalLM", llama(4096, 14336, 4, 32, 8, 32000)),
    "llama2": ("LlamaForCausalLM", llama(4096, 11008, 4, 32, 32, 32000)),
    "mixtral": ("MixtralForCausalLM", llama(
        2048, 3584, 4, 16, 4, 32000, num_local_experts=8)),
    "gemma2": ("Gemma2ForCausalLM", llama(
        2304, 9216, 4, 8, 4, 256000, head_dim=256,
        tie_word_embeddings=True)),
    "qwen2": ("Qwen2ForCausalLM", llama(
        1536, 8960, 8, 12, 2, 151936, tie_word_embeddings=True)),
    "tinyllama": ("LlamaForCausalLM", llama(2048, 5632, 8, 32, 4, 32000)),
}
# network, batch, sequence: about 4,096 tokens
RUNS = [
    ("mistral", 4, 1024), ("llama2", 1, 4096), ("qwen2", 2, 1024),
    ("tinyllama", 4, 1024), ("gemma2", 1, 1024), ("mistral", 1, 2048),
    ("llama2", 8, 512), ("mixtral", 2, 1024), ("tinyllama", 2, 4096),
    ("mistral", 2, 4096), ("qwen2", 1, 2048), ("llama2", 4, 1024),
]
LORA = {"method": "lora", "r": 16, "lora_alpha": 32,
        "target_modules": "all-linear"}
QV = {"method": "lora", "r": 8, "lora_alpha": 16, "lora_dropout": 0.1,
      "target_modules": ["q_proj", "v_proj"]}


def case(network, batch, seq, **fields):
    model, config = DECODERS[network]
    fields = dict(fields, model=model, config=config, batch=batch, seq=seq)
    unknown = set(fields) - set(DEFAULTS)
    if unknown:
        raise ValueError(f"unknown fields of a case: {sorted(unknown)}")
    return dict(DEFAULTS, **fields)


def combined(runs, settings, **fields):
    """One case per run, with the settings in turn."""
    settings = cycle(settings)
    for network, batch, seq in runs:
        yield case(network, batch, seq, **dict(fields, **next(settings)))


def is_sharded(case):
    """Whether FSDP shards the network."""
    return (case["parallel"] or {}).get("plan", "").startswith("fsdp")


def is_prepared(case):
    """Whether PEFT's prepare_model_for_kbit_training gets the network."""
    return bool(case["quantize"] and not is_sharded(case)
                and case["loop"] == "own")


# --- several GPUs -------------------------------------------------------------


def fsdp1(world, mixed=None, reduce=None, orig=False, prefetch="pre",
          strategy="FULL_SHARD"):
    return dict(plan="fsdp1", world=world, mixed=mixed, reduce=reduce,
                orig=orig, prefetch=prefetch, strategy=strategy)


def fsdp2(world, mixed=None, reduce=None, reshard=True):
    return dict(plan="fsdp2", world=world, mixed=mixed, reduce=reduce,
                reshard=reshard)


def ddp(plan, world, view=False):
    return dict(plan=plan, world=world, view=view)


FULL_PLANS = [
    dict(parallel=fsdp1(8), checkpointing="non_reentrant"),
    dict(parallel=fsdp1(4, "bf16"), precision="fp32", trace=True,
         checkpointing="reentrant"),
    dict(parallel=fsdp1(4), trace=True),
    dict(parallel=fsdp2(8, "bf16", "fp32"), precision="fp32", trace=True,
         checkpointing="non_reentrant"),
    dict(parallel=fsdp1(2, "bf16", "fp32", orig=True), precision="fp32",
         checkpointing="non_reentrant"),
    dict(parallel=fsdp1(8, "bf16", orig=True), precision="fp32", clip=1.0),
    dict(parallel=fsdp1(8), checkpointing="reentrant", clip=1.0),
    dict(parallel=fsdp2(4), checkpointing="reentrant"),
    dict(parallel=ddp("ddp", 8), checkpointing="non_reentrant"),
    dict(parallel=fsdp1(4, prefetch=None), checkpointing="reentrant"),
    dict(parallel=fsdp2(8), clip=1.0),
    dict(parallel=ddp("zero1", 4, True), checkpointing="reentrant"),
    dict(parallel=fsdp1(8, "bf16"), precision="fp32", accumulation=2,
         checkpointing="non_reentrant"),
    dict(parallel=fsdp2(2, reshard=False), checkpointing="non_reentrant"),
    dict(parallel=fsdp1(4, strategy="SHARD_GRAD_OP"),
         checkpointing="non_reentrant"),
    dict(parallel=ddp("ddp", 2, True)),
    dict(parallel=fsdp1(2), loss="shifted", checkpointing="reentrant",
         trace=True),
]
ADAPTED_PLANS = [
    dict(parallel=fsdp1(8), adapter=LORA, checkpointing="reentrant",
         trace=True),
    dict(parallel=fsdp1(2), adapter=LORA, quantize="nf4", loss="shifted",
         checkpointing="reentrant", trace=True),
    dict(parallel=fsdp1(4), adapter=QV, checkpointing="non_reentrant"),
    dict(parallel=fsdp1(8), adapter=LORA, quantize="nf4",
         checkpointing="reentrant"),
    dict(parallel=fsdp1(2, orig=True), adapter=LORA,
         checkpointing="reentrant"),
    dict(parallel=fsdp2(4), adapter=LORA, checkpointing="non_reentrant"),
    dict(parallel=fsdp1(4), adapter=QV, quantize="nf4",
         checkpointing="non_reentrant"),
    dict(parallel=ddp("ddp", 8), adapter=LORA, checkpointing="non_reentrant"),
    dict(parallel=fsdp1(2), adapter=QV, loss="shifted",
         checkpointing="reentrant"),
]


def parallel_cases():
    fused = cycle(["adamw", "adamw_fused", "adamw"])
    for one in combined(RUNS * 3, FULL_PLANS):
        yield dict(one, **allocator_cases.optimizer(next(fused)))
    yield from combined(RUNS * 2, ADAPTED_PLANS)


# --- one GPU ------------------------------------------------------------------

QUANTIZED = [
    dict(quantize="nf4", adapter=LORA, checkpointing="reentrant"),
    dict(quantize="nf4", adapter=LORA, checkpointing="non_reentrant",
         optimizer="paged_adamw_8bit"),
    dict(quantize="int8", adapter=QV, checkpointing="reentrant"),
    dict(quantize="nf4", adapter=QV, checkpointing="reentrant",
         optimizer="adamw_8bit", loss="shifted", trace=True),
    dict(quantize="nf4", adapter=LORA),
    dict(quantize="nf4", adapter=QV, checkpointing="non_reentrant",
         optimizer="paged_adamw", accumulation=4),
    dict(quantize="int8", adapter=LORA, checkpointing="non_reentrant"),
]
LOSSES = [
    dict(loss="shifted", adapter=LORA, checkpointing="reentrant", trace=True),
    dict(adapter=QV, checkpointing="reentrant", trace=True),
    dict(loss="shifted", adapter=QV, autocast=True,
         checkpointing="non_reentrant"),
    dict(loss="shifted", checkpointing="reentrant", trace=True),
    dict(optimizer="adamw_8bit", checkpointing="non_reentrant", clip=1.0),
]
TRAINERS = [
    dict(loop="trainer", adapter=LORA, autocast=True, clip=1.0,
         checkpointing="non_reentrant"),
    dict(loop="trainer", clip=1.0, autocast=True,
         checkpointing="non_reentrant", optimizer_options={"fused": True}),
    dict(loop="trainer", quantize="nf4", adapter=LORA, autocast=True,
         clip=0.3, checkpointing="reentrant", accumulation=2,
         optimizer="paged_adamw_8bit", trace=True),
    dict(loop="sft", adapter=LORA, autocast=True, clip=1.0,
         checkpointing="non_reentrant"),
    dict(loop="trainer", adapter=QV, autocast=True, precision="fp32",
         clip=1.0, accumulation=4),
    dict(loop="sft", quantize="nf4", adapter=LORA, autocast=True, clip=1.0,
         checkpointing="reentrant", optimizer="paged_adamw_8bit"),
    dict(loop="trainer", optimizer="adafactor", clip=1.0, autocast=True,
         checkpointing="reentrant", accumulation=2),
    dict(loop="trainer", parallel=fsdp1(8, "bf16"), clip=1.0,
         precision="fp32", autocast=True, checkpointing="reentrant"),
    dict(loop="trainer", parallel=fsdp1(4, "bf16"), adapter=LORA, clip=1.0,
         autocast=True, checkpointing="non_reentrant"),
]
ADAPTERS = [
    dict(adapter={"method": "lora", "r": 16, "use_dora": True,
                  "target_modules": "all-linear"}),
    dict(adapter={"method": "oft", "r": 0, "oft_block_size": 32,
                  "target_modules": "all-linear"}),
    dict(adapter={"method": "vera", "r": 64,
                  "target_modules": ["q_proj", "v_proj"]}),
    dict(adapter={"method": "prompt", "num_virtual_tokens": 20}),
    dict(adapter={"method": "ia3", "target_modules": [
        "k_proj", "v_proj", "down_proj"], "feedforward_modules": [
        "down_proj"]}),
    dict(adapter={"method": "lora", "r": 16, "use_dora": True,
                  "target_modules": ["q_proj", "v_proj"]}, quantize="nf4",
         checkpointing="reentrant"),
    dict(adapter={"method": "loha", "r": 8,
                  "target_modules": ["q_proj", "v_proj"]}),
    dict(adapter={"method": "lokr", "r": 8,
                  "target_modules": ["q_proj", "v_proj"]}),
    dict(adapter={"method": "prefix", "num_virtual_tokens": 20}),
]
ADAPTED_RUNS = [("tinyllama", 2, 1024), ("qwen2", 1, 1024)]
FLOAT8 = [
    dict(float8="tensorwise"), dict(float8="rowwise"),
    dict(float8="tensorwise", runtime="compile"),
    dict(float8="tensorwise", checkpointing="non_reentrant"),
    dict(float8="rowwise", runtime="compile"),
    dict(runtime="compile"), dict(),
]
FLOAT8_RUNS = [("tinyllama", 4, 1024), ("llama2", 1, 2048)]


def single_cases():
    yield from combined(RUNS, QUANTIZED)
    yield from combined(RUNS + RUNS[::-1], LOSSES)
    yield from combined(RUNS + RUNS[::-1], TRAINERS)
    for run in ADAPTED_RUNS:
        yield from combined([run] * len(ADAPTERS), ADAPTERS)
    for run in FLOAT8_RUNS:
        yield from combined([run] * len(FLOAT8), FLOAT8)


def all_cases():
    return hashed([*parallel_cases(), *single_cases()])
