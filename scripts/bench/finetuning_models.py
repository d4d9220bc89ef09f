"""Builds and runs the cases of finetuning_cases.py.

`build(case, device)` makes the network on the CPU without initial values, as a
loader does that reads a checkpoint, then quantizes, adapts and shards it as
PEFT, bitsandbytes and accelerate do, on the way to the device. Other GPUs are
PyTorch's "fake" process group: its collectives move nothing and end at once,
while buffers and streams are those of a real run.
"""

import contextlib
import functools
import importlib
import os
import tempfile

import allocator_models
import measure_allocator as allocator
import torch
from allocator_models import DTYPES, weights_dtype
from finetuning_cases import is_prepared, is_sharded
from torch.nn import functional

TINY = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4,
            num_key_value_heads=2, vocab_size=1024, num_hidden_layers=2)
VOCABULARY_OF_TOKENIZER = 16


# Imported before the fork, once for all cases.
PRELOADED = ("torch.distributed.fsdp", "torch.distributed.optim",
             "torch.testing._internal.distributed.fake_pg",
             "transformers.trainer", "torchao.float8", "peft.utils.other",
             "trl.trainer.sft_trainer")


def preload(versions):
    """Imports what the cases need, where the libraries are there."""
    for name in PRELOADED:
        if versions.get(name.split(".")[0]):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def shrink(case):
    """`case` at a toy extent, in fp32: half types are slow on a CPU."""
    config = dict(case["config"], **TINY)
    if "head_dim" in config:
        config["head_dim"] = 16
    return dict(case, config=config, batch=min(case["batch"], 2), seq=16,
                precision="fp32", autocast=False)


def runner(case):
    if case["loop"] != "own":
        return TrainerLoop
    return Sharded if case["parallel"] else Own


# --- the network --------------------------------------------------------------


def build(case, device):
    notes = {}
    if case["parallel"]:
        notes["collectives"] = "fake"
        start_group(case)
    module = make_module(case)
    if case["quantize"]:
        module = quantized(case, module, device)
    if case["adapter"]:
        module = adapted(case, module)
    if case["float8"]:
        float8(case, module)
    if case["loop"] == "own":
        use_checkpoints(case, module)
        module = placed(case, module, device)
    module.train()
    fill(module)
    kwargs, loss = inputs(case, module, device)
    return allocator_models.Workload(module, (), kwargs, loss, notes)


def make_module(case):
    import transformers
    cls = getattr(transformers, case["model"])
    config = cls.config_class(**case["config"], use_cache=False)
    with torch.device("meta"):
        module = cls._from_config(config, dtype=weights_dtype(case))
    module = module.to_empty(device="cpu")
    module.tie_weights()
    return module


def fill(module):
    """Random values in place, so that experts share their tokens evenly."""
    with torch.no_grad():
        for parameter in module.parameters():
            local = getattr(parameter, "_local_tensor", parameter)
            if local.device.type == "cuda" and local.is_floating_point():
                local.normal_(0, 0.02)


def layer_class(module):
    """The class of the decoder's layers."""
    return next(type(one) for one in module.modules()
                if type(one).__name__.endswith("DecoderLayer"))


def layers(module):
    cls = layer_class(module)
    return [one for one in module.modules() if isinstance(one, cls)]


def quantized(case, module, device):
    """The linear layers of the blocks as bitsandbytes keeps them, each
    quantized on the device as it is loaded."""
    for layer in layers(module):
        for name, child in list(layer.named_modules()):
            if isinstance(child, torch.nn.Linear):
                layer.set_submodule(name, low_bit(case, child, device))
    four = case["quantize"] == "nf4"
    module.is_loaded_in_4bit, module.is_loaded_in_8bit = four, not four
    module.is_quantized, module.quantization_method = True, "bitsandbytes"
    module.hf_quantizer = TrainableQuantizer()
    return module


class TrainableQuantizer:
    """What the Trainer asks the quantizer of a network."""
    is_trainable = True
    is_qat_trainable = False


def low_bit(case, linear, device):
    import bitsandbytes
    shape = linear.in_features, linear.out_features, linear.bias is not None
    weight = linear.weight.data
    if case["quantize"] == "int8":
        made = bitsandbytes.nn.Linear8bitLt(*shape, has_fp16_weights=False,
                                            device="meta")
        made.weight = bitsandbytes.nn.Int8Params(
            weight, requires_grad=False, has_fp16_weights=False).to(device)
    else:
        # Under FSDP, storage of the type of the other parameters.
        storage = weights_dtype(case) if case["parallel"] else torch.uint8
        options = dict(quant_type="nf4", compress_statistics=True,
                       quant_storage=storage)
        made = bitsandbytes.nn.Linear4bit(
            *shape, compute_dtype=weights_dtype(case), device="meta",
            **options)
        made.weight = bitsandbytes.nn.Params4bit(
            weight, requires_grad=False, module=made, **options).to(device)
    made.bias = linear.bias
    return made


def adapted(case, module):
    import peft
    options = dict(case["adapter"])
    method = options.pop("method")
    classes = {"lora": peft.LoraConfig, "oft": peft.OFTConfig,
               "vera": peft.VeraConfig, "prompt": peft.PromptTuningConfig,
               "ia3": peft.IA3Config, "loha": peft.LoHaConfig,
               "lokr": peft.LoKrConfig, "prefix": peft.PrefixTuningConfig}
    if is_prepared(case):
        module = peft.prepare_model_for_kbit_training(
            module, use_gradient_checkpointing=bool(case["checkpointing"]),
            gradient_checkpointing_kwargs=checkpoint_options(case))
    elif case["checkpointing"] == "reentrant":
        module.enable_input_require_grads()
    return peft.get_peft_model(
        module, classes[method](task_type="CAUSAL_LM", **options),
        autocast_adapter_dtype=not is_sharded(case))


def float8(case, module):
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training
    convert_to_float8_training(
        module, config=Float8LinearConfig.from_recipe_name(case["float8"]),
        module_filter_fn=lambda one, name: "lm_head" not in name)


def checkpoint_options(case):
    return {"use_reentrant": case["checkpointing"] == "reentrant"}


def use_checkpoints(case, module):
    if case["checkpointing"]:
        module.gradient_checkpointing_enable(
            gradient_checkpointing_kwargs=checkpoint_options(case))


def inputs(case, module, device):
    vocabulary = case["config"]["vocab_size"]
    ids = torch.randint(5, vocabulary, (case["batch"], case["seq"]),
                        device=device)
    if case["loss"] != "shifted":
        return {"input_ids": ids, "labels": ids.clone()}, lambda out: out.loss
    labels = ids.clone()
    return {"input_ids": ids}, lambda out: shifted_loss(out.logits, labels)


def shifted_loss(logits, labels):
    """The loss as transformers had it until 4.45: in fp32, of a copy."""
    logits = logits.float()
    scores = logits[..., :-1, :].contiguous()
    targets = labels[..., 1:].contiguous()
    return functional.cross_entropy(scores.view(-1, scores.shape[-1]),
                                    targets.view(-1))


# --- several GPUs -------------------------------------------------------------


def start_group(case):
    from torch.testing._internal.distributed.fake_pg import FakeStore
    world = case["parallel"]["world"]
    os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(world),
                      LOCAL_WORLD_SIZE=str(world), MASTER_PORT="29511",
                      MASTER_ADDR="127.0.0.1")
    torch.distributed.init_process_group(
        "fake", rank=0, world_size=world, store=FakeStore())


def placed(case, module, device):
    """`module` on the device, whole or as the plan shards it."""
    plan = case["parallel"]
    if plan and plan["plan"] == "fsdp1":
        return fsdp1(case, module, device)
    if plan and plan["plan"] == "fsdp2":
        return fsdp2(case, module, device)
    module = module.to(device)
    if not plan:
        return module
    module = torch.nn.parallel.DistributedDataParallel(
        module, device_ids=[0] if device == "cuda" else None,
        gradient_as_bucket_view=plan["view"])
    module.register_comm_hook(None, exchanged)
    return module


def exchanged(state, bucket):
    """A bucket's sum over the GPUs: the fake group's own has no result."""
    future = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def wrap_policy(case, module):
    """accelerate's, or PEFT's where some parameters train."""
    cls = layer_class(module)
    if case["adapter"] and not case["parallel"]["orig"]:
        from peft.utils.other import fsdp_auto_wrap_policy
        os.environ["FSDP_TRANSFORMER_CLS_TO_WRAP"] = cls.__name__
        return fsdp_auto_wrap_policy(module)
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
    return functools.partial(transformer_auto_wrap_policy,
                             transformer_layer_cls={cls})


def fsdp1(case, module, device):
    from torch.distributed import fsdp
    plan = case["parallel"]
    mixed = plan["mixed"] and fsdp.MixedPrecision(
        param_dtype=DTYPES[plan["mixed"]], buffer_dtype=DTYPES[plan["mixed"]],
        reduce_dtype=DTYPES.get(plan["reduce"] or plan["mixed"],
                                torch.float32))
    prefetch = fsdp.BackwardPrefetch.BACKWARD_PRE
    return fsdp.FullyShardedDataParallel(
        module, auto_wrap_policy=wrap_policy(case, module),
        mixed_precision=mixed, use_orig_params=plan["orig"],
        sharding_strategy=fsdp.ShardingStrategy[plan["strategy"]],
        backward_prefetch=prefetch if plan["prefetch"] else None,
        limit_all_gathers=True,
        device_id=torch.device("cuda:0" if device == "cuda" else "cpu"))


def fsdp2(case, module, device):
    from torch.distributed import fsdp
    from torch.distributed.device_mesh import init_device_mesh
    plan = case["parallel"]
    mesh = init_device_mesh(device, (plan["world"],))
    policy = fsdp.MixedPrecisionPolicy(
        param_dtype=DTYPES.get(plan["mixed"]),
        reduce_dtype={None: None, "fp32": torch.float32}[plan["reduce"]])
    options = dict(mesh=mesh, mp_policy=policy,
                   reshard_after_forward=plan["reshard"])
    for layer in layers(module):
        fsdp.fully_shard(layer, **options)
    fsdp.fully_shard(module, **options)
    return module.to(device)


# --- the loops ----------------------------------------------------------------


class Own(allocator.Training):
    """The steps of measure_allocator.py, with bitsandbytes' optimizers."""

    def new_optimizer(self):
        kind = self.case["optimizer"]
        if kind.startswith("paged") or kind.endswith("8bit"):
            import bitsandbytes
            cls = {"adamw_8bit": "AdamW8bit", "paged_adamw": "PagedAdamW",
                   "paged_adamw_8bit": "PagedAdamW8bit"}[kind]
            return getattr(bitsandbytes.optim, cls)(self.parameters)
        return super().new_optimizer()


class Sharded(Own):
    """As one of several GPUs."""

    def new_optimizer(self):
        if self.case["parallel"]["plan"] != "zero1":
            return super().new_optimizer()
        from torch.distributed.optim import ZeroRedundancyOptimizer
        return ZeroRedundancyOptimizer(
            self.parameters, optimizer_class=torch.optim.AdamW,
            **self.case["optimizer_options"])

    def update(self):
        if self.case["clip"] and self.case["parallel"]["plan"] == "fsdp1":
            self.work.module.clip_grad_norm_(self.case["clip"])
            self.optimizer.step()
        else:
            super().update()

    def storages(self):
        own = getattr(self.optimizer, "optim", self.optimizer)
        yield "gradients", [p.grad for p in self.parameters
                            if p.grad is not None]
        yield "optimizer", [list(values.values())
                            for values in own.state.values()]


class Texts(torch.utils.data.Dataset):
    """Random texts of one length."""

    def __init__(self, case):
        self.ids = torch.randint(5, case["config"]["vocab_size"],
                                 (64, case["seq"]))

    def __len__(self):
        return 4096

    def __getitem__(self, index):
        ids = self.ids[index % len(self.ids)]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids),
                "labels": ids}


class TrainerLoop:
    """The loop of transformers' Trainer or TRL's SFTTrainer."""

    OPTIMIZERS = {"adamw": "adamw_torch", "adamw_8bit": "adamw_bnb_8bit"}

    def __init__(self, case, work, device, mark):
        self.case, self.work, self.device = case, work, device
        self.mark, self.trainer = mark, None

    def run(self, steps, start_step, end_step):
        with tempfile.TemporaryDirectory() as folder:
            cls, arguments, options = self.parts(folder, steps)
            self.trainer = marking(cls, self.mark)(
                model=self.work.module, args=arguments,
                callbacks=[callback(self.mark, start_step, end_step)],
                **options)
            self.trainer.train()

    def parts(self, folder, steps):
        """The Trainer's class, its arguments, and what else it is given."""
        import transformers
        fields = self.arguments(folder, steps)
        if self.case["loop"] == "trainer":
            return (transformers.Trainer,
                    transformers.TrainingArguments(**fields),
                    {"train_dataset": Texts(self.case)})
        import datasets
        import trl
        texts = Texts(self.case).ids.tolist()
        arguments = trl.SFTConfig(**fields, max_length=self.case["seq"])
        return trl.SFTTrainer, arguments, {
            "train_dataset": datasets.Dataset.from_dict({
                "input_ids": texts * 4}),
            "processing_class": tokenizer()}

    def arguments(self, folder, steps):
        case = self.case
        kind = case["optimizer"]
        if case["optimizer_options"].get("fused"):
            kind = "adamw_torch_fused"
        fields = dict(
            output_dir=folder, max_steps=steps, logging_steps=1,
            per_device_train_batch_size=case["batch"],
            gradient_accumulation_steps=case["accumulation"],
            max_grad_norm=case["clip"] or 0.0, bf16=case["autocast"],
            optim=self.OPTIMIZERS.get(kind, kind), report_to=[],
            save_strategy="no", disable_tqdm=True, seed=1,
            gradient_checkpointing=bool(case["checkpointing"]),
            use_cpu=self.device == "cpu")
        if case["checkpointing"]:
            fields["gradient_checkpointing_kwargs"] = checkpoint_options(case)
        return dict(fields, **self.sharding())

    def sharding(self):
        plan = self.case["parallel"]
        if not plan:
            return {}
        os.environ["ACCELERATE_USE_FSDP"] = "true"
        config = {"use_orig_params": str(plan["orig"]).lower(), "version": 1,
                  "backward_prefetch": "backward_pre",
                  "transformer_layer_cls_to_wrap": [
                      layer_class(self.work.module).__name__]}
        return {"fsdp": "full_shard auto_wrap", "fsdp_config": config}

    def storages(self):
        model = self.trainer.model_wrapped
        yield "parameters", list(model.parameters())
        yield "gradients", [p.grad for p in model.parameters()
                            if p.grad is not None]
        optimizer = self.trainer.optimizer
        state = getattr(optimizer, "optimizer", optimizer).state
        yield "optimizer", [list(values.values()) for values in state.values()]


def marking(cls, mark):
    """`cls` that tells each end of a forward and a backward pass."""

    class Marked(cls):
        def compute_loss(self, *args, **kwargs):
            result = super().compute_loss(*args, **kwargs)
            mark("forward")
            return result

        def training_step(self, *args, **kwargs):
            result = super().training_step(*args, **kwargs)
            mark("backward")
            return result

    return Marked


def callback(mark, start_step, end_step):
    import transformers

    class Steps(transformers.TrainerCallback):
        def on_step_begin(self, *args, **kwargs):
            start_step()

        def on_pre_optimizer_step(self, *args, **kwargs):
            mark("clip")

        def on_optimizer_step(self, *args, **kwargs):
            mark("optimizer")

        def on_step_end(self, *args, **kwargs):
            end_step()

    return Steps()


def tokenizer():
    """A tokenizer that no text goes through."""
    import tokenizers
    import transformers
    words = {f"w{i}": i for i in range(VOCABULARY_OF_TOKENIZER)}
    model = tokenizers.models.WordLevel(words, unk_token="w0")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model), unk_token="w0",
        pad_token="w1", eos_token="w2")
