// transformers 5.24.0, training_args.py; trl 1.10.0.dev0, trainer/sft_config.py
// and base_config.py; peft 0.21.2, tuners/*/config.py.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr std::string_view kTypes =
    "bfloat16=bf16 float16=fp16 float32=fp32 torch.bfloat16=bf16 "
    "torch.float16=fp16 torch.float32=fp32 auto=";

constexpr KeyRow kTransformersKeys[] = {
    // ModelArguments of the examples.
    {"model_name_or_path", Setting::kModel, Kind::kText},
    {"torch_dtype", Setting::kWeights, Kind::kText, kTypes},
    {"dtype", Setting::kWeights, Kind::kText, kTypes},
    {"block_size", Setting::kLength, Kind::kCount},
    {"per_device_train_batch_size", Setting::kBatch, Kind::kCount, "", "8"},
    {"gradient_accumulation_steps", Setting::kAccumulation, Kind::kCount, "",
     "1"},
    {"optim", Setting::kOptimizer, Kind::kText, "adafactor=hf_adafactor *=*",
     "adamw_torch_fused"},
    {"bf16", Setting::kAmp, Kind::kFlag, "true=bf16 false="},
    {"fp16", Setting::kAmp, Kind::kFlag, "true=fp16 false="},
    {"tf32", Setting::kTf32, Kind::kFlag},
    {"activation_checkpointing", Setting::kCheckpointing, Kind::kFlag},
    {"gradient_checkpointing", Setting::kCheckpointing, Kind::kFlag},
    {"fsdp_config.activation_checkpointing", Setting::kCheckpointing,
     Kind::kFlag},
    {"use_liger_kernel", Setting::kLiger, Kind::kFlag},
    {"fsdp", Setting::kShard, Kind::kWords,
     "true=fsdp false= full_shard=fsdp shard_grad_op=zero2 hybrid_shard=? "
     "hybrid_shard_zero2=? no_shard=ddp auto_wrap= offload=?"},
    {"fsdp_config.cpu_offload", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_config.offload_params", Setting::kShardOffload, Kind::kFlag},
    {"fsdp_config.version", Setting::kShardVersion, Kind::kText},
    {"fsdp_config.fsdp_version", Setting::kShardVersion, Kind::kText},
    {"fsdp_config.reshard_after_forward", Setting::kGathered, Kind::kText,
     "true= full_shard= FULL_SHARD= false=true shard_grad_op=true "
     "SHARD_GRAD_OP=true *=?"},
    {"deepspeed", Setting::kEngine, Kind::kDeepSpeed},
    {"", Setting::kMethod, Kind::kText, "", "full"},
    {"", Setting::kCheckpointing, Kind::kText, "", "false"},
};

constexpr std::string_view kTransformersLeftOut =
    "torch_compile liger_kernel_config label_smoothing_factor "
    "neftune_noise_alpha auto_find_batch_size optim_args optim_target_modules "
    "activation_checkpointing_kwargs.every_n_layers=1 "
    "activation_checkpointing_kwargs.offload "
    "gradient_checkpointing_kwargs.every_n_layers=1 "
    "gradient_checkpointing_kwargs.offload "
    "activation_checkpointing_kwargs.use_reentrant "
    "gradient_checkpointing_kwargs.use_reentrant "
    "fsdp_config.xla fsdp_config.min_num_params "
    "parallelism_config use_cpu";

constexpr std::string_view kTransformersIgnored =
    "output_dir overwrite_output_dir num_train_epochs max_steps learning_rate "
    "lr_* warmup_* weight_decay adam_* average_tokens_across_devices "
    "max_grad_norm activation_checkpointing_kwargs "
    "gradient_checkpointing_kwargs torch_compile_* torchdynamo use_cache "
    "torch_empty_cache_steps logging_* log_* include_* disable_tqdm report_to "
    "run_name project trackio_* eval_* evaluation_strategy do_* "
    "per_device_eval_batch_size per_gpu_* prediction_loss_only "
    "batch_eval_metrics bf16_full_eval fp16_full_eval fp16_* half_precision_* "
    "save_* load_best_* metric_for_best_model greater_is_better enable_jit_* "
    "push_to_hub* hub_* ignore_data_skip restore_* full_determinism seed "
    "data_seed use_mps_device accelerator_config dataloader_* "
    "remove_unused_columns label_names group_by_length train_sampling_strategy "
    "length_column_name ddp_* fsdp_transformer_layer_cls_to_wrap "
    "fsdp_min_num_params fsdp_config debug skip_memory_metrics "
    "resume_from_checkpoint local_rank past_index jit_mode_eval use_ipex "
    "no_cuda ray_scope tpu_* mp_parameters dispatch_batches split_batches "
    "use_legacy_prediction_loop predict_with_generate generation_* "
    "sortish_sampler _n_gpu world_size logging_dir model_revision tokenizer_* "
    "attn_implementation config_name dataset_* validation_split_percentage "
    "preprocessing_num_workers overwrite_cache trust_remote_code";

constexpr KeyRow kTrlKeys[] = {
    {"bf16", Setting::kAmp, Kind::kFlag, "true=bf16 false=", "bf16"},
    {"max_length", Setting::kLength, Kind::kCount, "", "1024"},
    {"max_seq_length", Setting::kLength, Kind::kCount},
    {"gradient_checkpointing", Setting::kCheckpointing, Kind::kFlag,
     "true=true false=false", "true"},
    // Logits of 256 tokens at a time, computed again in the backward pass: like
    // Liger's fused loss, only these are in memory.
    {"loss_type", Setting::kFusedLinear, Kind::kText,
     "chunked_nll=true nll= *=?", "true"},
    {"beta", Setting::kObjective, Kind::kText, "*=!"},
    {"num_generations", Setting::kObjective, Kind::kText, "*=!"},
    {"reward_funcs", Setting::kObjective, Kind::kWords, "*=!"},
    {"max_prompt_length", Setting::kObjective, Kind::kText, "*=!"},
    // ModelConfig, with the defaults of an adapter.
    {"use_peft", Setting::kMethod, Kind::kFlag, "true=lora false=full"},
    {"use_peft", Setting::kRank, Kind::kImplied, "true=16 false="},
    {"use_peft", Setting::kDropout, Kind::kImplied, "true=0.05 false="},
    {"lora_r", Setting::kRank, Kind::kCount},
    {"lora_dropout", Setting::kDropout, Kind::kNumber},
    {"lora_target_modules", Setting::kTargets, Kind::kModules},
    {"lora_modules_to_save", Setting::kSave, Kind::kNames},
    {"use_dora", Setting::kDora, Kind::kFlag},
    {"load_in_4bit", Setting::kBits, Kind::kFlag, "true=4 false="},
    {"load_in_8bit", Setting::kBits, Kind::kFlag, "true=8 false="},
    {"load_in_4bit", Setting::kQuantType, Kind::kImplied, "true=nf4 false="},
    {"bnb_4bit_quant_type", Setting::kQuantType, Kind::kText,
     "nf4=nf4 fp4=fp4"},
    {"use_bnb_nested_quant", Setting::kNested, Kind::kFlag},
    {"model_init_kwargs.dtype", Setting::kWeights, Kind::kText, kTypes},
    {"model_init_kwargs.torch_dtype", Setting::kWeights, Kind::kText, kTypes},
    {"model_init_kwargs.quantization_config.load_in_4bit", Setting::kBits,
     Kind::kFlag, "true=4 false="},
    {"model_init_kwargs.quantization_config.load_in_8bit", Setting::kBits,
     Kind::kFlag, "true=8 false="},
    {"model_init_kwargs.quantization_config.bnb_4bit_quant_type",
     Setting::kQuantType, Kind::kText, "nf4=nf4 fp4=fp4", "fp4"},
    {"model_init_kwargs.quantization_config.bnb_4bit_use_double_quant",
     Setting::kNested, Kind::kFlag},
    // sft_trainer.py casts adapters of quantized weights.
    {"", Setting::kQuantizedAdapterType, Kind::kText, "", "bf16"},
};

constexpr std::string_view kAdapterLeftOut =
    "rank_pattern layers_to_transform exclude_modules target_parameters "
    "trainable_token_indices layer_replication use_qalora use_bdlora "
    "megatron_config velora_config monteclora_config arrow_config kasa_config "
    "lora_ga_config lora_bias alora_invocation_tokens runtime_config."
    "ephemeral_gpu_offload module_dropout rank_dropout boft_dropout coft "
    "block_share use_cayley_neumann=true num_cayley_neumann_terms=5 "
    "boft_n_butterfly_factor=1 encoder_dropout "
    "encoder_reparameterization_type=MLP";

constexpr KeyRow kPeftKeys[] = {
    {"peft_type", Setting::kAdapter, Kind::kText,
     "LORA=lora IA3=ia3 VERA=vera LOHA=loha LOKR=lokr OFT=oft BOFT=boft "
     "PROMPT_TUNING=prompt P_TUNING=ptuning PREFIX_TUNING=prefix"},
    {"", Setting::kMethod, Kind::kText, "", "lora"},
    {"base_model_name_or_path", Setting::kModel, Kind::kText},
    {"r", Setting::kRank, Kind::kText, "0= *=*"},
    {"boft_block_num", Setting::kRank, Kind::kText, "0= *=*"},
    {"oft_block_size", Setting::kBlock, Kind::kText, "0= *=*"},
    {"boft_block_size", Setting::kBlock, Kind::kText, "0= *=*"},
    {"decompose_factor", Setting::kFactor, Kind::kText, "-1= *=*"},
    {"decompose_both", Setting::kBoth, Kind::kFlag},
    {"num_virtual_tokens", Setting::kTokens, Kind::kCount},
    {"encoder_hidden_size", Setting::kHidden, Kind::kCount},
    {"prefix_projection", Setting::kProjection, Kind::kFlag},
    {"lora_dropout", Setting::kDropout, Kind::kNumber},
    {"vera_dropout", Setting::kDropout, Kind::kNumber},
    {"target_modules", Setting::kTargets, Kind::kModules},
    {"feedforward_modules", Setting::kFeedforward, Kind::kModules},
    {"modules_to_save", Setting::kSave, Kind::kNames},
    {"bias", Setting::kBias, Kind::kText,
     "none= all=all lora_only=lora_only vera_only=lora_only "
     "oft_only=lora_only boft_only=lora_only"},
    {"use_dora", Setting::kDora, Kind::kFlag},
};

}  // namespace

const Format kTransformersFormat = {
    .tool = "transformers 5.24.0",
    .marks = "per_device_train_batch_size optim gradient_accumulation_steps",
    .keys = kTransformersKeys,
    .left_out = kTransformersLeftOut,
    .ignored = kTransformersIgnored};

const Format kTrlFormat = {
    .tool = "trl 1.10.0",
    .marks =
        "dataset_text_field max_length max_seq_length packing "
        "completion_only_loss model_init_kwargs use_peft lora_target_modules "
        "attn_implementation chat_template dataset_mixture",
    .keys = kTrlKeys,
    .left_out =
        "activation_offloading loss_weights precompute_* "
        "lora_target_parameters",
    .ignored =
        "lora_alpha lora_task_type use_rslora bnb_4bit_quant_storage "
        "chat_template system_prompt model_init_kwargs router_aux_loss_coef "
        "trust_remote_code "
        "chat_template_path dataset_* eos_token pad_token pad_to_* "
        "truncation_mode shuffle_dataset packing packing_strategy "
        "padding_free eval_packing completion_only_loss "
        "assistant_only_loss num_of_sequences chars_per_token",
    .base = &kTransformersFormat};

const Format kPeftFormat = {
    .tool = "peft 0.21.2",
    .marks = "peft_type",
    .keys = kPeftKeys,
    .left_out = kAdapterLeftOut,
    .ignored =
        "alpha alpha_pattern auto_mapping corda_config d_initial "
        "encoder_num_layers ensure_weight_tying eps eva_config fan_in_fan_out "
        "inference_mode "
        "init_* layers_pattern num_attention_heads num_layers "
        "num_transformer_submodules loftq_config lora_alpha megatron_core "
        "peft_version projection_prng_key prompt_tuning_* qalora_group_size "
        "rank_dropout_scale "
        "revision "
        "runtime_config save_projection task_type token_dim tokenizer_* "
        "use_effective_conv2d "
        "use_rslora"};

}  // namespace foretell::recipes
