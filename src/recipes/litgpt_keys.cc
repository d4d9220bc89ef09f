// litgpt 0.5.13, litgpt/finetune/lora.py, full.py and args.py; utils.py steps
// bitsandbytes' paged AdamW if weights are quantized, and Lightning's
// BitsandbytesPrecision quantizes FP16 copies of all linear layers, the head's
// too. Only processes that share weights checkpoint blocks.

#include "src/recipes/formats.h"

namespace foretell::recipes {
namespace {

constexpr KeyRow kLitgptKeys[] = {
    {"checkpoint_dir", Setting::kModel, Kind::kText},
    {"precision", Setting::kWeights, Kind::kText,
     "bf16-true=bf16 16-true=fp16 32-true=fp32 bf16-mixed=fp32 16-mixed=fp32",
     "bf16"},
    {"precision", Setting::kAmp, Kind::kText,
     "bf16-mixed=bf16 16-mixed=fp16 *="},
    {"precision", Setting::kAdapterType, Kind::kText,
     "bf16-true=bf16 16-true=f16 *=", "bf16"},
    {"lora_r", Setting::kMethod, Kind::kText, "*=lora", "full"},
    {"lora_r", Setting::kRank, Kind::kCount},
    {"lora_dropout", Setting::kDropout, Kind::kNumber, "", "0.05"},
    {"lora_query", Setting::kQueryTarget, Kind::kFlag, "", "true"},
    {"lora_key", Setting::kKeyTarget, Kind::kFlag},
    {"lora_value", Setting::kValueTarget, Kind::kFlag, "", "true"},
    {"lora_projection", Setting::kOutTarget, Kind::kFlag},
    {"lora_mlp", Setting::kMlpTargets, Kind::kFlag},
    {"lora_head", Setting::kHeadTarget, Kind::kFlag},
    {"quantize", Setting::kBits, Kind::kText,
     "bnb.nf4*=4 bnb.fp4*=4 bnb.int8-training=8"},
    {"quantize", Setting::kQuantType, Kind::kText,
     "bnb.nf4*=nf4,from=fp16,skip=^$ bnb.fp4*=fp4,from=fp16,skip=^$ *="},
    {"quantize", Setting::kNested, Kind::kText, "*-dq=true *="},
    {"quantize", Setting::kOptimizer, Kind::kImplied,
     "bnb.*=paged_adamw_32bit"},
    {"optimizer.class_path", Setting::kOptimizer, Kind::kImplied,
     "torch.optim.AdamW=adamw torch.optim.Adam=adam torch.optim.SGD=sgd *=?",
     "adamw"},
    {"train.micro_batch_size", Setting::kBatch, Kind::kCount, "", "1"},
    {"train.global_batch_size", Setting::kGlobalBatch, Kind::kCount, "", "16"},
    {"train.max_seq_length", Setting::kLength, Kind::kCount},
    {"", Setting::kLossChunk, Kind::kText, "", "128"},
    {"devices", Setting::kGpus, Kind::kCount},
    {"devices", Setting::kCheckpointing, Kind::kText, "1=false auto=? *=true",
     "false"},
    {"", Setting::kShard, Kind::kText, "", "fsdp"},
    {"lora_r", Setting::kShardVersion, Kind::kImplied, "*=2", "1"},
};

}  // namespace

const Format kLitgptFormat = {
    .tool = "litgpt 0.5.13",
    .marks = "train.micro_batch_size train.global_batch_size lora_query",
    .keys = kLitgptKeys,
    .left_out = "num_nodes=1 train.tie_embeddings",
    .ignored =
        "model_name model_config out_dir initial_checkpoint_dir resume data "
        "tokenizer_dir lora_alpha train eval log optimizer logger_name seed "
        "access_token"};

}  // namespace foretell::recipes
