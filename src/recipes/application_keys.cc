// Applications that train with the Trainer of transformers or a loop of their
// own: unsloth 2026.10.9, unsloth_cli/config.py and studio's
// core/training/trainer.py; AutoTrain 0.8.36, trainers/clm/params.py and
// utils.py; H2O LLM Studio at a4971c11,
// python_configs/text_causal_language_modeling_config.py and
// src/utils/modeling_utils.py; Open Instruct at e6c3044a,
// open_instruct/finetune.py.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr std::string_view kLlamaLayers =
    "q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj";

constexpr KeyRow kUnslothKeys[] = {
    {"model", Setting::kModel, Kind::kText},
    {"training.training_type", Setting::kMethod, Kind::kText,
     "lora=lora full=full", "lora"},
    {"training.max_seq_length", Setting::kLength, Kind::kCount, "", "2048"},
    {"training.batch_size", Setting::kBatch, Kind::kCount, "", "2"},
    {"training.gradient_accumulation_steps", Setting::kAccumulation,
     Kind::kCount, "", "4"},
    {"training.optim", Setting::kOptimizer, Kind::kText,
     "adafactor=hf_adafactor *=*", "adamw_8bit"},
    // Inputs of blocks wait on the host.
    {"training.gradient_checkpointing", Setting::kCheckpointing, Kind::kText,
     "unsloth=true? true=true none=false false=false", "true"},
    {"training.load_in_4bit", Setting::kBits, Kind::kFlag,
     "true=4 false=", "4"},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    {"", Setting::kNested, Kind::kText, "", "true"},
    {"", Setting::kAmp, Kind::kText, "", "bf16"},
    {"lora.lora_r", Setting::kRank, Kind::kCount, "", "64"},
    {"lora.lora_dropout", Setting::kDropout, Kind::kNumber},
    {"lora.target_modules", Setting::kTargets, Kind::kNames, "", kLlamaLayers},
    {"lora.use_dora", Setting::kDora, Kind::kFlag},
    {"", Setting::kRope, Kind::kText, "", "true"},
    {"", Setting::kRmsNorm, Kind::kText, "", "true"},
    {"", Setting::kCrossEntropy, Kind::kText, "", "true"},
};

constexpr KeyRow kAutotrainKeys[] = {
    {"base_model", Setting::kModel, Kind::kText},
    {"task", Setting::kObjective, Kind::kText,
     "llm= llm-sft= llm-generic= llm-default= *=!"},
    // from_pretrained without a type, as in its transformers 4.48.
    {"task", Setting::kWeights, Kind::kText, "*=fp32"},
    {"params.batch_size", Setting::kBatch, Kind::kCount, "", "2"},
    {"params.gradient_accumulation", Setting::kAccumulation, Kind::kCount, "",
     "4"},
    {"params.block_size", Setting::kLength, Kind::kCount, "-1=", "1024"},
    {"params.optimizer", Setting::kOptimizer, Kind::kText,
     "adafactor=hf_adafactor *=*", "adamw_torch"},
    {"params.mixed_precision", Setting::kAmp, Kind::kText,
     "bf16=bf16 fp16=fp16 no= none="},
    {"params.disable_gradient_checkpointing", Setting::kCheckpointing,
     Kind::kFlag, "true=false false=true", "true"},
    {"params.peft", Setting::kMethod, Kind::kFlag, "true=lora false=full",
     "full"},
    {"params.quantization", Setting::kBits, Kind::kImplied,
     "int4=4 int8=8 none=", "4"},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    {"params.lora_r", Setting::kRank, Kind::kCount, "", "16"},
    {"params.lora_dropout", Setting::kDropout, Kind::kNumber, "", "0.05"},
    {"params.target_modules", Setting::kTargets, Kind::kNames, "", "all"},
};

constexpr KeyRow kLlmStudioKeys[] = {
    {"llm_backbone", Setting::kModel, Kind::kText},
    {"problem_type", Setting::kObjective, Kind::kText,
     "text_causal_language_modeling= *=!"},
    {"tokenizer.max_length", Setting::kLength, Kind::kCount, "", "512"},
    {"training.batch_size", Setting::kBatch, Kind::kCount, "", "2"},
    {"training.grad_accumulation", Setting::kAccumulation, Kind::kCount, "",
     "1"},
    {"training.optimizer", Setting::kOptimizer, Kind::kText,
     "AdamW=adamw Adam=adam SGD=sgd AdamW8bit=adamw_8bit *=?", "adamw"},
    {"architecture.backbone_dtype", Setting::kBits, Kind::kText,
     "int4=4 int8=8 *=", "4"},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    {"architecture.backbone_dtype", Setting::kWeights, Kind::kText,
     "bfloat16=bf16 float16=fp16 float32=fp32 int4= int8="},
    {"environment.mixed_precision_dtype", Setting::kAmp, Kind::kText,
     "bfloat16=bf16 float16=fp16", "bf16"},
    {"architecture.gradient_checkpointing", Setting::kCheckpointing,
     Kind::kFlag, "true=true false=false", "true"},
    {"training.lora", Setting::kMethod, Kind::kFlag, "true=lora false=full",
     "lora"},
    {"training.lora_r", Setting::kRank, Kind::kCount, "", "4"},
    {"training.lora_dropout", Setting::kDropout, Kind::kNumber, "", "0.05"},
    {"training.lora_target_modules", Setting::kTargets, Kind::kNames, "",
     "all"},
    {"training.use_dora", Setting::kDora, Kind::kFlag},
};

constexpr KeyRow kOpenInstructKeys[] = {
    {"max_seq_length", Setting::kLength, Kind::kCount},
    {"use_lora", Setting::kMethod, Kind::kFlag, "true=lora false=full", "full"},
    {"lora_rank", Setting::kRank, Kind::kCount, "", "64"},
    {"lora_dropout", Setting::kDropout, Kind::kNumber, "", "0.1"},
    {"", Setting::kTargets, Kind::kText, "", kLlamaLayers},
    {"use_qlora", Setting::kBits, Kind::kFlag, "true=4 false="},
    {"", Setting::kQuantType, Kind::kText, "", "nf4"},
    {"", Setting::kNested, Kind::kText, "", "true"},
    {"use_8bit_optimizer", Setting::kOptimizer, Kind::kImplied,
     "true=paged_adamw_8bit false="},
    {"use_qlora", Setting::kOptimizer, Kind::kImplied,
     "true=paged_adamw_32bit false="},
    {"", Setting::kOptimizer, Kind::kText, "", "adamw"},
    {"fused_optimizer", Setting::kFused, Kind::kFlag, "true=on false=", "on"},
    // Its scripts run accelerate with --mixed_precision bf16.
    {"", Setting::kAmp, Kind::kText, "", "bf16"},
    {"beta", Setting::kObjective, Kind::kText, "*=!"},
    {"dpo_beta", Setting::kObjective, Kind::kText, "*=!"},
    {"loss_type", Setting::kObjective, Kind::kText, "*=!"},
    {"dpo_loss_type", Setting::kObjective, Kind::kText, "*=!"},
};

}  // namespace

const Format kUnslothFormat = {
    .tool = "unsloth 2026.10.9",
    .marks =
        "training.train_on_completions training.training_type "
        "training.load_in_4bit lora.use_rslora",
    .keys = kUnslothKeys,
    .left_out = "training.packing lora.use_loftq lora.init_lora_weights",
    .ignored = "data training lora logging inference audio_type audio_input"};

const Format kAutotrainFormat = {
    .tool = "autotrain-advanced 0.8.36",
    .marks = "data.column_mapping params.model_max_length params.block_size",
    .keys = kAutotrainKeys,
    .left_out =
        "params.unsloth params.auto_find_batch_size "
        "params.distributed_backend",
    .ignored = "project_name log backend data params hub"};

const Format kLlmStudioFormat = {
    .tool = "h2o-llmstudio at a4971c11",
    .marks = "llm_backbone",
    .keys = kLlmStudioKeys,
    .left_out =
        "training.freeze_layers training.lora_unfreeze_layers "
        "environment.compile_model environment.use_deepspeed "
        "augmentation.neftune_noise_alpha "
        "architecture.intermediate_dropout",
    .ignored =
        "experiment_name output_directory architecture augmentation dataset "
        "environment logging prediction tokenizer training"};

const Format kOpenInstructFormat = {
    .tool = "open-instruct at e6c3044a",
    .marks = "checkpointing_steps with_tracking use_slow_tokenizer use_qlora",
    .keys = kOpenInstructKeys,
    .left_out = "load_balancing_loss sequence_parallel_size=1",
    .ignored =
        "model_revision config_name additional_model_arguments exp_name "
        "run_name tokenizer_* use_slow_tokenizer use_flash_attn dataset_* "
        "chat_template_name train_file preprocessing_num_workers "
        "overwrite_cache "
        "max_train_samples max_train_steps num_epochs clip_grad_norm "
        "lora_alpha "
        "timeout checkpointing_steps keep_last_n_checkpoints "
        "load_balancing_weight final_lr_ratio clean_checkpoints_at_end "
        "with_tracking wandb_* hf_* try_* gs_bucket_path oe_eval_* packing "
        "sync_each_batch add_bos cache_dataset_only verbose low_cpu_mem_usage "
        "trust_remote_code gamma_beta_ratio reduce_loss",
    .base = &kTransformersFormat};

}  // namespace foretell::recipes
