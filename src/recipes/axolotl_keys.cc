// axolotl 0.18.0, src/axolotl/utils/schemas/*.py, integrations/liger/args.py;
// loaders/model.py quantizes to NF4 with quantized scales, and holds norms and
// embeddings in the type of `bf16` again after prepare_model_for_kbit_training.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr KeyRow kAxolotlKeys[] = {
    {"base_model", Setting::kModel, Kind::kText},
    {"micro_batch_size", Setting::kBatch, Kind::kCount, "", "1"},
    {"gradient_accumulation_steps", Setting::kAccumulation, Kind::kCount, "",
     "1"},
    {"batch_size", Setting::kGlobalBatch, Kind::kCount},
    {"sequence_len", Setting::kLength, Kind::kCount, "", "512"},
    {"optimizer", Setting::kOptimizer, Kind::kText,
     "adafactor=hf_adafactor *=*", "adamw_torch_fused"},
    {"bf16", Setting::kAmp, Kind::kText,
     "true=bf16 full=bf16 auto=bf16 false=", "bf16"},
    {"fp16", Setting::kAmp, Kind::kFlag, "true=fp16 false="},
    {"bfloat16", Setting::kWeights, Kind::kFlag, "true=bf16 false="},
    {"float16", Setting::kWeights, Kind::kFlag, "true=fp16 false="},
    {"", Setting::kWeights, Kind::kText, "", "fp32"},
    {"tf32", Setting::kTf32, Kind::kText, "true=true false= auto="},
    {"gradient_checkpointing", Setting::kCheckpointing, Kind::kText,
     "true=true false= offload=true? offload_disk=true? unsloth=true?"},
    {"fsdp_config.activation_checkpointing", Setting::kCheckpointing,
     Kind::kFlag},
    {"fsdp_config.fsdp_activation_checkpointing", Setting::kCheckpointing,
     Kind::kFlag},
    {"", Setting::kCheckpointing, Kind::kText, "", "false"},
    {"rl", Setting::kObjective, Kind::kText, "false= none= *=!"},
    {"reward_model", Setting::kObjective, Kind::kText, "false= *=!"},
    {"process_reward_model", Setting::kObjective, Kind::kText, "false= *=!"},
    {"torch_dtype", Setting::kWeights, Kind::kText,
     "bfloat16=bf16 float16=fp16 float32=fp32 auto= *=?"},
    {"adapter", Setting::kMethod, Kind::kText, "lora=lora qlora=lora", "full"},
    {"load_in_4bit", Setting::kBits, Kind::kFlag, "true=4 false="},
    {"load_in_8bit", Setting::kBits, Kind::kFlag, "true=8 false="},
    {"bnb_config_kwargs.bnb_4bit_quant_type", Setting::kQuantType, Kind::kText,
     "nf4=nf4 fp4=fp4", "nf4"},
    {"bnb_config_kwargs.bnb_4bit_use_double_quant", Setting::kNested,
     Kind::kFlag, "", "true"},
    {"lora_r", Setting::kRank, Kind::kCount, "", "8"},
    {"lora_dropout", Setting::kDropout, Kind::kNumber},
    {"lora_target_modules", Setting::kTargets, Kind::kModules},
    {"lora_target_linear", Setting::kAllLinear, Kind::kFlag},
    {"lora_modules_to_save", Setting::kSave, Kind::kNames},
    {"peft_use_dora", Setting::kDora, Kind::kFlag},
    {"peft_autocast_adapter_dtype", Setting::kAdapterType, Kind::kFlag,
     "true= false=bf16"},
    {"liger_rope", Setting::kRope, Kind::kFlag},
    {"liger_rms_norm", Setting::kRmsNorm, Kind::kFlag},
    {"liger_glu_activation", Setting::kSwiglu, Kind::kFlag},
    {"liger_swiglu", Setting::kSwiglu, Kind::kFlag},
    {"liger_cross_entropy", Setting::kCrossEntropy, Kind::kFlag},
    {"liger_fused_linear_cross_entropy", Setting::kFusedLinear, Kind::kFlag},
    {"fsdp", Setting::kShard, Kind::kWords,
     "full_shard=fsdp shard_grad_op=zero2 hybrid_shard=? no_shard=ddp "
     "auto_wrap= offload=?"},
    {"fsdp_config", Setting::kShard, Kind::kObject, "fsdp"},
    {"fsdp_config.offload_params", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_config.fsdp_offload_params", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_version", Setting::kShardVersion, Kind::kText},
    {"fsdp_config.fsdp_version", Setting::kShardVersion, Kind::kText, "", "1"},
    {"fsdp_config.reshard_after_forward", Setting::kGathered, Kind::kFlag,
     "true= false=true"},
    {"fsdp_config.fsdp_reshard_after_forward", Setting::kGathered, Kind::kFlag,
     "true= false=true"},
    {"dp_shard_size", Setting::kDataGpus, Kind::kCount},
    {"tensor_parallel_size", Setting::kTensorGpus, Kind::kCount, "1="},
    // By ring-flash-attn, which PyTorch's context_parallel stands for.
    {"context_parallel_size", Setting::kContextGpus, Kind::kCount, "1="},
    {"sequence_parallel_degree", Setting::kContextGpus, Kind::kCount, "1="},
    {"deepspeed", Setting::kEngine, Kind::kDeepSpeed},
};

}  // namespace

const Format kAxolotlFormat = {
    .tool = "axolotl 0.18.0",
    .marks = "base_model",
    .keys = kAxolotlKeys,
    .left_out =
        "sample_packing trl qat quantization dynamic_checkpoint fp8* "
        "torch_compile "
        "activation_offloading layer_offloading selective_checkpointing "
        "unfrozen_parameters resize_token_embeddings_to_32x tiled_mlp* "
        "chunked_cross_entropy cut_cross_entropy flash_attn_cross_entropy "
        "flash_attn_fuse_mlp flash_optimum lora_mlp_kernel lora_qkv_kernel "
        "lora_o_kernel lora_embedding_kernel lora_target_parameters "
        "lora_rank_pattern peft_layers_to_transform peft_layer_replication "
        "peft_trainable_token_indices peft.loftq_config gptq relora* "
        "lisa_* galore_* qgalore_* optim_args optim_target_modules "
        "xformers_attention eager_attention fp32_norms liger_layer_norm "
        "liger_rms_norm_gated dp_replicate_size=1 neftune_noise_alpha "
        "embeddings_skip_upcast quantize_moe_experts use_kernels "
        "auto_find_batch_size use_scattermoe use_sonicmoe "
        "experts_implementation expert_parallel_size "
        "llama4_linearized_experts ebft diffusion",
    .ignored =
        "base_model_config base_model_ignore_patterns cls_model_config "
        "model_type type_of_model tokenizer_* is_*_derived_model "
        "is_llama_derived_model is_mistral_derived_model is_qwen_derived_model "
        "is_falcon_derived_model trust_remote_code revision_of_model "
        "model_config overrides_of_model_* processor_* datasets test_datasets "
        "dataset_* shuffle_* skip_prepare_dataset pretraining_* "
        "pretrain_multipack_* push_dataset_to_hub hf_use_auth_token "
        "val_set_size eval_* evals_per_epoch do_* bench_* sample_packing_* "
        "pad_to_* curriculum_sampling group_by_length train_on_inputs "
        "streaming* lora_alpha lora_alpha_pattern lora_fan_in_fan_out "
        "lora_model_dir lora_on_cpu lora_bias peft peft_* loraplus_* "
        "qlora_sharded_model_loading merge_* bnb_config_kwargs wandb_* "
        "mlflow_* "
        "comet_* trackio_* swanlab_* use_wandb use_mlflow use_comet "
        "use_tensorboard gradient_checkpointing_kwargs num_epochs max_steps "
        "learning_rate lr_* embedding_lr* cosine_* weight_decay adam_* "
        "adam_beta* max_grad_norm warmup_* logging_steps save_* "
        "saves_per_epoch "
        "output_dir hub_* resume_from_checkpoint auto_resume_* local_rank "
        "world_size seed early_stopping_patience loss_watchdog_* gc_* "
        "torch_empty_cache_steps torch_compile_* flash_attention sdp_attention "
        "flex_attention sage_attention attn_implementation s2_attention "
        "flash_attn_* special_tokens tokens added_tokens_overrides "
        "chat_template* eot_tokens default_system_message fix_untrained_tokens "
        "plugins strict debug ddp* device device_map low_cpu_mem_usage "
        "max_memory gpu_memory_limit fsdp_config fsdp_final_state_dict_type "
        "dataloader_* accelerator_config remove_unused_columns include_* "
        "profiler_* excess_length_strategy min_sample_len max_prompt_len "
        "experimental_skip_move_to_device metric_for_best_model "
        "greater_is_better load_best_model_at_end save_safetensors "
        "mean_resizing_embeddings use_ray ray_* roles_to_train message_* type "
        "xformers_* liger_use_token_scaling generate_samples "
        "num_generation_samples generation_* vllm evaluation_strategy "
        "flex_attn_compile_kwargs freeze_mm_modules num_labels"};

}  // namespace foretell::recipes
