// LLaMA-Factory 0.9.6.dev0, src/llamafactory/hparams/*.py; model/adapter.py
// casts trained parameters to FP32 unless `pure_bf16` is set, and
// model/model_utils/quantization.py quantizes to NF4.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr KeyRow kLlamaFactoryKeys[] = {
    {"cutoff_len", Setting::kLength, Kind::kCount, "", "2048"},
    {"finetuning_type", Setting::kMethod, Kind::kText,
     "lora=lora full=full oft=lora", "lora"},
    {"finetuning_type", Setting::kAdapter, Kind::kText, "oft=oft *="},
    {"stage", Setting::kObjective, Kind::kText, "sft= pt= *=!"},
    {"lora_rank", Setting::kRank, Kind::kCount, "", "8"},
    {"lora_dropout", Setting::kDropout, Kind::kNumber},
    {"lora_target", Setting::kTargets, Kind::kNames, "", "all"},
    {"oft_target", Setting::kTargets, Kind::kNames},
    {"oft_block_size", Setting::kBlock, Kind::kText, "0= *=*"},
    {"additional_target", Setting::kSave, Kind::kNames},
    {"use_dora", Setting::kDora, Kind::kFlag},
    {"quantization_bit", Setting::kBits, Kind::kText, "4=4 8=8"},
    {"quantization_type", Setting::kQuantType, Kind::kText, "nf4=nf4 fp4=fp4",
     "nf4"},
    {"double_quantization", Setting::kNested, Kind::kFlag, "", "true"},
    {"disable_gradient_checkpointing", Setting::kCheckpointing, Kind::kFlag,
     "true=false false=true", "true"},
    {"gradient_checkpointing", Setting::kCheckpointing, Kind::kText, "*="},
    {"enable_liger_kernel", Setting::kLiger, Kind::kFlag},
    {"", Setting::kMaster, Kind::kText, "", "true"},
    {"pure_bf16", Setting::kMaster, Kind::kFlag, "true=false false="},
    {"pure_bf16", Setting::kWeights, Kind::kFlag, "true=bf16 false="},
};

constexpr KeyRow kLlamaFactoryV1Keys[] = {
    {"model", Setting::kModel, Kind::kText},
    {"model_class", Setting::kObjective, Kind::kText, "llm= *=!"},
    {"micro_batch_size", Setting::kBatch, Kind::kCount, "", "1"},
    {"global_batch_size", Setting::kGlobalBatch, Kind::kCount},
    {"cutoff_len", Setting::kLength, Kind::kCount, "", "2048"},
    {"peft_config.name", Setting::kMethod, Kind::kText, "lora=lora", "full"},
    {"peft_config.r", Setting::kRank, Kind::kCount, "", "8"},
    {"peft_config.lora_dropout", Setting::kDropout, Kind::kNumber, "", "0.05"},
    {"peft_config.target_modules", Setting::kTargets, Kind::kNames, "", "all"},
    {"peft_config.modules_to_save", Setting::kSave, Kind::kNames},
    {"peft_config.use_dora", Setting::kDora, Kind::kFlag},
    {"quant_config.quantization_bit", Setting::kBits, Kind::kText, "4=4 8=8"},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    {"", Setting::kNested, Kind::kText, "", "true"},
    // Weights have the file's type, in which the optimizer steps.
    {"bf16", Setting::kAmp, Kind::kFlag, "true=bf16 false=", "bf16"},
    {"", Setting::kMaster, Kind::kText, "", "false"},
    {"", Setting::kOptimizer, Kind::kText, "", "adamw"},
    {"enable_activation_checkpointing", Setting::kCheckpointing, Kind::kFlag,
     "true=true false=false", "true"},
    {"kernel_config.name", Setting::kLiger, Kind::kText,
     "liger_kernel=true auto= *=?"},
    {"dist_config.name", Setting::kShard, Kind::kText,
     "fsdp2=fsdp deepspeed= *=?"},
    {"dist_config.offload_params", Setting::kShardOffload, Kind::kFlag},
    {"dist_config.reshard_after_forward", Setting::kGathered, Kind::kFlag,
     "true= false=true"},
    {"dist_config.config_file", Setting::kEngine, Kind::kDeepSpeed},
};

}  // namespace

const Format kLlamaFactoryFormat = {
    .tool = "LLaMA-Factory 0.9.6",
    .marks =
        "finetuning_type lora_target quantization_bit cutoff_len template "
        "stage",
    .keys = kLlamaFactoryKeys,
    .left_out =
        "quantization_method=bnb adapter_name_or_path resize_vocab "
        "shift_attn mixture_of_depths use_unsloth use_unsloth_gc "
        "upcast_layernorm upcast_lmhead_output use_galore use_apollo use_badam "
        "use_adam_mini use_muon use_mca use_megatron_bridge use_hyper_parallel "
        "use_llama_pro use_kt use_asft_loss use_eaft_loss use_dft_loss fp8* "
        "freeze_vision_tower=true freeze_multi_modal_projector=true "
        "pissa_init",
    .ignored =
        "adapter_folder cache_dir use_fast_tokenizer split_special_tokens "
        "add_tokens add_special_tokens new_special_tokens_config "
        "init_special_* "
        "model_revision low_cpu_mem_usage rope_scaling flash_attn "
        "moe_aux_loss_coef use_reentrant_gc train_from_scratch infer_* "
        "offload_folder use_kv_cache use_v1_kernels hf_hub_token ms_hub_token "
        "om_hub_token print_param_status trust_remote_code "
        "quantization_device_map image_* video_* audio_* crop_to_patches "
        "use_audio_in_video export_* vllm_* sglang_* kt_* template dataset* "
        "eval_dataset media_dir train_on_prompt mask_history streaming "
        "buffer_size mix_strategy interleave_probs overwrite_cache "
        "preprocessing_* max_samples ignore_pad_token_for_loss val_size "
        "packing "
        "neat_packing tool_format default_system enable_thinking "
        "preserve_thinking tokenized_path data_shared_file_system "
        "freeze_trainable_* freeze_extra_modules freeze_language_model "
        "lora_alpha loraplus_* use_rslora pissa_* create_new_adapter pref_* "
        "dpo_* kto_* simpo_* ppo_* ref_model* reward_model* ld_alpha galore_* "
        "apollo_* badam_* asft_* eaft_* hyper_parallel_* megatron_bridge_* "
        "compute_accuracy disable_shuffling early_stopping_steps plot_loss "
        "use_swanlab swanlab_* ray_* resources_per_worker placement_strategy "
        "profiler_* profile_modules enable_torch_profiler oft_* module_dropout",
    .base = &kTransformersFormat};

const Format kLlamaFactoryV1Format = {
    .tool = "LLaMA-Factory 0.9.6 v1",
    .marks = "model_class kernel_config dist_config quant_config peft_config",
    .keys = kLlamaFactoryV1Keys,
    .left_out =
        "optim_config cp_size=1 mp_replicate_size=1 quant_config.name=bnb "
        "batching_strategy=normal peft_config.adapter_name_or_path",
    .ignored =
        "custom_chat_template trust_remote_code flash_attn init_config "
        "peft_config quant_config kernel_config dist_config train_dataset "
        "eval_dataset output_dir learning_rate num_train_epochs max_steps "
        "max_grad_norm batching_workers dp_size cp_mode mp_shard_size "
        "dist_timeout lr_scheduler_config seed full_determinism "
        "resume_from_checkpoint save_* logging_* sample_backend "
        "max_new_tokens"};

}  // namespace foretell::recipes
