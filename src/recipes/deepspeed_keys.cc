// DeepSpeed's master of July 2026, runtime/config.py and zero/config.py;
// accelerate 1.15.0, commands/config/ and utils/dataclasses.py.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr std::string_view kStages = "0=ddp 1=zero1 2=zero2 3=fsdp";

constexpr KeyRow kDeepSpeedKeys[] = {
    {"train_micro_batch_size_per_gpu", Setting::kBatch, Kind::kCount},
    {"gradient_accumulation_steps", Setting::kAccumulation, Kind::kCount},
    {"train_batch_size", Setting::kGlobalBatch, Kind::kCount},
    {"zero_optimization.stage", Setting::kShard, Kind::kText, kStages, "ddp"},
    {"bf16.enabled", Setting::kAmp, Kind::kText, "true=bf16 false= auto="},
    {"fp16.enabled", Setting::kAmp, Kind::kText, "true=fp16 false= auto="},
    {"optimizer.type", Setting::kOptimizer, Kind::kText,
     "AdamW=adamw_torch_fused Adam=adam SGD=sgd Lion=lion_32bit "
     "Adagrad=adagrad auto= *=?"},
    {"tensor_parallel.autotp_size", Setting::kTensorGpus, Kind::kCount,
     "0= 1="},
    {"", Setting::kEngine, Kind::kText, "", "deepspeed"},
};

constexpr KeyRow kAccelerateKeys[] = {
    {"num_processes", Setting::kGpus, Kind::kCount},
    {"parallelism_config.parallelism_config_dp_shard_size", Setting::kDataGpus,
     Kind::kCount, "1="},
    {"parallelism_config.parallelism_config_tp_size", Setting::kTensorGpus,
     Kind::kCount, "1="},
    {"parallelism_config.parallelism_config_cp_size", Setting::kContextGpus,
     Kind::kCount, "1="},
    {"parallelism_config.parallelism_config_cp_comm_strategy",
     Setting::kRotation, Kind::kText, "allgather= alltoall=all-to-all"},
    {"distributed_type", Setting::kShard, Kind::kText,
     "NO= MULTI_GPU=ddp FSDP=fsdp DEEPSPEED= *=?"},
    {"mixed_precision", Setting::kAmp, Kind::kText,
     "bf16=bf16 fp16=fp16 no= false= fp8=bf16"},
    // Without a backend torchao comes first (accelerator.py).
    {"mixed_precision", Setting::kFloat8, Kind::kImplied, "fp8=float8 *="},
    {"fp8_config.backend", Setting::kFloat8, Kind::kText,
     "TE=te-fp8 AO=float8 *=?"},
    {"fsdp_config.fsdp_version", Setting::kShardVersion, Kind::kText, "", "1"},
    {"fsdp_config.fsdp_offload_params", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_config.fsdp_sharding_strategy", Setting::kGathered, Kind::kText,
     "FULL_SHARD= 1= SHARD_GRAD_OP=true 2=true *=?"},
    {"fsdp_config.fsdp_reshard_after_forward", Setting::kGathered, Kind::kText,
     "true= FULL_SHARD= false=true SHARD_GRAD_OP=true *=?"},
    {"fsdp_config.fsdp_activation_checkpointing", Setting::kCheckpointing,
     Kind::kFlag},
    {"deepspeed_config.zero_stage", Setting::kShard, Kind::kText, kStages},
    {"deepspeed_config.zero_stage", Setting::kEngine, Kind::kText,
     "*=deepspeed"},
    {"deepspeed_config.gradient_accumulation_steps", Setting::kAccumulation,
     Kind::kCount},
    {"deepspeed_config.deepspeed_config_file", Setting::kEngine,
     Kind::kDeepSpeed},
};

}  // namespace

const Format kDeepSpeedFormat = {
    .tool = "DeepSpeed",
    .marks =
        "zero_optimization train_micro_batch_size_per_gpu "
        "train_batch_size zero_allow_untested_optimizer",
    .keys = kDeepSpeedKeys,
    .left_out =
        "zero_optimization.offload_*.device zero_optimization.cpu_offload* "
        "zero_optimization.zero_hpz_partition_size=1 "
        "zero_optimization.zero_quantized_* zero_optimization.mics_* "
        "activation_checkpointing pipeline "
        "sparse_attention compression_training data_types fp8 torch_autocast "
        "compile sequence_parallel_size=1",
    .ignored =
        "zero_optimization gradient_clipping prescale_gradients "
        "gradient_predivide_factor zero_allow_* zero_force_* fp16 bf16 "
        "optimizer scheduler steps_per_print wall_clock_breakdown "
        "dump_state comms_logger flops_profiler communication_data_type "
        "amp autotuning elasticity checkpoint csv_monitor tensorboard wandb "
        "comet monitor_config aio tensor_parallel data_efficiency "
        "memory_breakdown disable_allgather"};

const Format kAccelerateFormat = {
    .tool = "accelerate 1.15.0",
    .marks = "distributed_type compute_environment",
    .keys = kAccelerateKeys,
    .left_out =
        "fp8_config.override_linear_precision "
        "fp8_config.enable_fsdp_float8_all_gather "
        "fp8_config.use_mxfp8_block_scaling dynamo_config.dynamo_backend=NO "
        "parallelism_config.parallelism_config_dp_replicate_size=1 "
        "parallelism_config.parallelism_config_sp_size=1 "
        "megatron_lm_config use_cpu "
        "fsdp_config.fsdp_min_num_params "
        "fsdp_config.fsdp_use_orig_params=true "
        "deepspeed_config.offload_*",
    .ignored =
        "compute_environment debug downcast_bf16 machine_rank "
        "main_process_* main_training_function num_machines rdzv_* "
        "same_network tpu_* enable_cpu_affinity gpu_ids mpirun_config "
        "command_file commands fsdp_config deepspeed_config "
        "parallelism_config fp8_config "
        "dynamo_config",
    .yields = true};

}  // namespace foretell::recipes
