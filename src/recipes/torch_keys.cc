// torchtune 0.7.0, recipes/ and recipes/configs/; torchtitan at 6404b932,
// torchtitan/config/job_config.py. Neither states how many GPUs there are;
// torchtune's distributed recipes and torchtitan shard by fully_shard.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

/// By torchtune's names of builders, whose sizes these networks have.
constexpr std::string_view kTuneModels =
    "llama2_7b=meta-llama/Llama-2-7b-hf llama2_13b=meta-llama/Llama-2-13b-hf "
    "llama2_70b=meta-llama/Llama-2-70b-hf llama3_8b=meta-llama/Meta-Llama-3-8B "
    "llama3_70b=meta-llama/Meta-Llama-3-70B "
    "llama3_1_8b=meta-llama/Llama-3.1-8B "
    "llama3_1_70b=meta-llama/Llama-3.1-70B "
    "llama3_1_405b=meta-llama/Llama-3.1-405B "
    "llama3_2_1b=meta-llama/Llama-3.2-1B llama3_2_3b=meta-llama/Llama-3.2-3B "
    "llama3_3_70b=meta-llama/Llama-3.3-70B-Instruct "
    "code_llama2_7b=codellama/CodeLlama-7b-hf "
    "mistral_7b=mistralai/Mistral-7B-v0.1 gemma_2b=google/gemma-2b "
    "gemma_7b=google/gemma-7b gemma2_2b=google/gemma-2-2b "
    "gemma2_9b=google/gemma-2-9b gemma2_27b=google/gemma-2-27b "
    "phi3_mini=microsoft/Phi-3-mini-4k-instruct phi4_14b=microsoft/phi-4 "
    "qwen2_0_5b=Qwen/Qwen2-0.5B-Instruct qwen2_1_5b=Qwen/Qwen2-1.5B-Instruct "
    "qwen2_7b=Qwen/Qwen2-7B-Instruct qwen2_5_0_5b=Qwen/Qwen2.5-0.5B "
    "qwen2_5_1_5b*=Qwen/Qwen2.5-1.5B qwen2_5_3b=Qwen/Qwen2.5-3B "
    "qwen2_5_7b*=Qwen/Qwen2.5-7B qwen2_5_14b*=Qwen/Qwen2.5-14B "
    "qwen2_5_32b*=Qwen/Qwen2.5-32B qwen2_5_72b*=Qwen/Qwen2.5-72B "
    "qwen3_0_6b*=Qwen/Qwen3-0.6B qwen3_1_7b*=Qwen/Qwen3-1.7B "
    "qwen3_4b*=Qwen/Qwen3-4B qwen3_8b*=Qwen/Qwen3-8B "
    "qwen3_14b*=Qwen/Qwen3-14B qwen3_32b*=Qwen/Qwen3-32B *=?";

constexpr std::string_view kTuneLayers =
    "output_proj=o_proj q_proj=q_proj k_proj=k_proj v_proj=v_proj";

constexpr KeyRow kTorchtuneKeys[] = {
    {"model._component_", Setting::kModel, Kind::kComponent, kTuneModels},
    {"model._component_", Setting::kMethod, Kind::kText,
     "*.lora_*=lora *.qlora_*=lora *=full", "full"},
    {"model._component_", Setting::kBits, Kind::kText, "*.qlora_*=4 *="},
    {"model.quantize_base", Setting::kBits, Kind::kFlag, "true=4 false="},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    // torchao's NF4Tensor quantizes its scales.
    {"", Setting::kNested, Kind::kFlag, "", "true"},
    {"model.lora_rank", Setting::kRank, Kind::kCount, "", "8"},
    {"model.lora_dropout", Setting::kDropout, Kind::kNumber},
    {"model.lora_attn_modules", Setting::kTargets, Kind::kNames, kTuneLayers},
    {"model.apply_lora_to_mlp", Setting::kMlpTargets, Kind::kFlag},
    {"model.apply_lora_to_output", Setting::kHeadTarget, Kind::kFlag},
    {"model.use_dora", Setting::kDora, Kind::kFlag},
    {"tokenizer.max_seq_len", Setting::kLength, Kind::kCount},
    {"batch_size", Setting::kBatch, Kind::kCount},
    {"gradient_accumulation_steps", Setting::kAccumulation, Kind::kCount, "",
     "1"},
    {"optimizer._component_", Setting::kOptimizer, Kind::kText,
     "torch.optim.AdamW=adamw torch.optim.Adam=adam torch.optim.SGD=sgd "
     "bitsandbytes.optim.AdamW8bit=adamw_8bit "
     "bitsandbytes.optim.PagedAdamW=paged_adamw_32bit "
     "bitsandbytes.optim.PagedAdamW8bit=paged_adamw_8bit "
     "torchao.*.AdamW8bit=adamw_torch_8bit "
     "torchao.*.AdamW4bit=adamw_torch_4bit *=?"},
    {"optimizer.fused", Setting::kFused, Kind::kFlag, "true=on false="},
    {"optimizer.foreach", Setting::kForeach, Kind::kFlag, "true= false=off"},
    {"optimizer_in_bwd", Setting::kInBackward, Kind::kFlag},
    {"loss._component_", Setting::kObjective, Kind::kText,
     "torchtune.rlhf.*=! *="},
    {"policy_model._component_", Setting::kObjective, Kind::kText, "*=!"},
    {"teacher_model._component_", Setting::kObjective, Kind::kText, "*=!"},
    {"loss._component_", Setting::kChunkedLoss, Kind::kText,
     "*.LinearCrossEntropyLoss=8 *.CEWithChunkedOutputLoss=8 "
     "torch.nn.CrossEntropyLoss= *=?"},
    {"dtype", Setting::kWeights, Kind::kText, "bf16=bf16 fp16=fp16 fp32=fp32"},
    {"dtype", Setting::kAdapterType, Kind::kText, "bf16=bf16 fp16=f16 fp32="},
    {"enable_activation_checkpointing", Setting::kCheckpointing, Kind::kFlag},
    {"", Setting::kCheckpointing, Kind::kText, "", "false"},
    {"fsdp_cpu_offload", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_reshard_after_forward", Setting::kGathered, Kind::kFlag,
     "true= false=true"},
    {"", Setting::kShard, Kind::kText, "", "fsdp"},
    {"", Setting::kSyncsEach, Kind::kText, "", "true"},
};

constexpr KeyRow kTorchtitanKeys[] = {
    {"model.name+model.flavor", Setting::kModel, Kind::kText,
     "llama3/8B=meta-llama/Llama-3.1-8B llama3/70B=meta-llama/Llama-3.1-70B "
     "llama3/405B=meta-llama/Llama-3.1-405B qwen3/0.6B=Qwen/Qwen3-0.6B "
     "qwen3/1.7B=Qwen/Qwen3-1.7B qwen3/4B=Qwen/Qwen3-4B "
     "qwen3/8B=Qwen/Qwen3-8B qwen3/14B=Qwen/Qwen3-14B "
     "qwen3/32B=Qwen/Qwen3-32B *=?"},
    {"training.local_batch_size", Setting::kBatch, Kind::kCount, "", "8"},
    {"training.batch_size", Setting::kBatch, Kind::kCount},
    {"training.global_batch_size", Setting::kGlobalBatch, Kind::kCount, "-1="},
    {"training.seq_len", Setting::kLength, Kind::kCount, "", "2048"},
    {"training.mixed_precision_param", Setting::kAmp, Kind::kText,
     "bfloat16=bf16 float32=", "bf16"},
    {"", Setting::kMaster, Kind::kText, "", "true"},
    {"", Setting::kWeights, Kind::kText, "", "fp32"},
    {"", Setting::kMethod, Kind::kText, "", "full"},
    {"optimizer.name", Setting::kOptimizer, Kind::kText,
     "AdamW=adamw Adam=adam *=?", "adamw"},
    {"optimizer.implementation", Setting::kFused, Kind::kText,
     "fused=on foreach= for-loop=", "on"},
    {"optimizer.implementation", Setting::kForeach, Kind::kText,
     "fused= foreach= for-loop=off"},
    {"optimizer.early_step_in_backward", Setting::kInBackward, Kind::kFlag},
    {"activation_checkpoint.mode", Setting::kCheckpointing, Kind::kText,
     "full=true none= selective=?", "?"},
    {"", Setting::kCheckpointing, Kind::kText, "", "false"},
    {"liger_kernel.enable_fused_linear_cross_entropy", Setting::kFusedLinear,
     Kind::kFlag},
    {"parallelism.data_parallel_shard_degree", Setting::kDataGpus, Kind::kCount,
     "-1= 1="},
    {"parallelism.tensor_parallel_degree", Setting::kTensorGpus, Kind::kCount,
     "1="},
    {"parallelism.context_parallel_degree", Setting::kContextGpus, Kind::kCount,
     "1="},
    {"experimental.context_parallel_degree", Setting::kContextGpus,
     Kind::kCount, "1="},
    {"parallelism.context_parallel_rotate_method", Setting::kRotation,
     Kind::kText, "allgather= alltoall=all-to-all"},
    {"training.enable_cpu_offload", Setting::kShardOffload, Kind::kFlag},
    {"parallelism.fsdp_reshard_after_forward", Setting::kGathered, Kind::kText,
     "default= always= never=true"},
    {"", Setting::kShard, Kind::kText, "", "fsdp"},
    {"", Setting::kSyncsEach, Kind::kText, "", "true"},
};

}  // namespace

const Format kTorchtuneFormat = {
    .tool = "torchtune 0.7.0",
    .marks = "model._component_ optimizer._component_ tokenizer._component_",
    .keys = kTorchtuneKeys,
    .left_out =
        "compile enable_activation_offloading "
        "quantizer teacher_* ref_* value_model reward_and_value_model "
        "num_generations tensor_parallel_* "
        "context_parallel_dim=1 data_parallel_replicate_dim=1 "
        "custom_sharded_layers activation_checkpointing_mode "
        "kd_loss enable_fp8_training ac_mode dataset.packed",
    .ignored =
        "output_dir tokenizer checkpointer resume_from_checkpoint "
        "save_* dataset* batch_size_val run_val_every_n_steps seed "
        "shuffle epochs max_steps_per_epoch clip_grad_norm optimizer "
        "lr_scheduler loss model metric_logger log_* device profiler "
        "low_cpu_ram base_dir data_dir collate_fn cudnn_* "
        "enable_async_checkpointing keep_last_n_checkpoints "
        "load_* fsdp_sharding_strategy parallelize_plan"};

const Format kTorchtitanFormat = {
    .tool = "torchtitan at 6404b932",
    .marks =
        "training.seq_len training.local_batch_size "
        "model.flavor activation_checkpoint.mode",
    .keys = kTorchtitanKeys,
    .left_out =
        "training.compile compile.enable "
        "model.converters "
        "parallelism.pipeline_parallel_degree=1 "
        "parallelism.expert_parallel_degree=1 "
        "parallelism.data_parallel_replicate_degree=1 "
        "fault_tolerance.enable fp8* "
        "training.mixed_precision_reduce=float32 "
        "experimental.pipeline_parallel_degree=1",
    .ignored =
        "job profiling metrics model optimizer lr_scheduler training "
        "parallelism checkpoint activation_checkpoint float8 mx comm "
        "memory_estimation fault_tolerance liger_kernel experimental "
        "validation compile debug quantize deepep"};

}  // namespace foretell::recipes
