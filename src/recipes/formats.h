#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace foretell::recipes {

/// In kTargets: the linear layers of all blocks.
inline constexpr std::string_view kAllLayers = "all";

/// What a key sets: a flag of `foretell finetune`, or a part of one.
enum class Setting : std::uint8_t {
  kModel,
  kBatch,        ///< Sequences of a GPU's forward pass.
  kGlobalBatch,  ///< Sequences of an optimizer step of all GPUs.
  kLength,
  kAccumulation,
  kOptimizer,  ///< As transformers calls it.
  kFused,      ///< on, off.
  kForeach,    ///< on, off.
  kInBackward,
  kCheckpointing,
  kAmp,      ///< bf16, fp16: what products run in.
  kWeights,  ///< bf16, fp16, fp32: weights that kAmp does not convert.
  kMaster,   ///< Trained weights are FP32 next to kAmp; false: they are not.
  kTf32,
  kMethod,   ///< full, lora.
  kAdapter,  ///< A method of --lora.
  kRank,
  kBlock,       ///< Of oft and boft.
  kFactor,      ///< Of lokr.
  kBoth,        ///< Of lokr.
  kTokens,      ///< Virtual ones.
  kHidden,      ///< Width of their encoder.
  kProjection,  ///< Prefixes have such an encoder.
  kDropout,
  kTargets,
  kAllLinear,    ///< kBlockLayers instead of kTargets.
  kQueryTarget,  ///< These layers in addition to kTargets.
  kKeyTarget,
  kValueTarget,
  kOutTarget,
  kMlpTargets,
  kHeadTarget,
  kFeedforward,  ///< Of ia3.
  kSave,
  kBias,
  kDora,
  kAdapterType,           ///< bf16, fp16; unset: FP32.
  kQuantizedAdapterType,  ///< The same for adapters of quantized weights.
  kBits,                  ///< 4, 8.
  kQuantType,             ///< nf4, fp4.
  kNested,                ///< Double quantization.
  kFloat8,                ///< A name of --kernels for all linear layers.
  kLiger,                 ///< All of its kernels.
  kRope,
  kRmsNorm,
  kSwiglu,
  kCrossEntropy,
  kFusedLinear,
  kChunkedLoss,  ///< Number of chunks.
  kLossChunk,    ///< Tokens of a sequence in a chunk, instead.
  kShard,        ///< ddp, zero1, zero2, fsdp.
  kShardVersion,
  kShardOffload,
  kGathered,     ///< Weights stay gathered from forward to backward pass.
  kSyncsEach,    ///< Gradients are exchanged after each of several batches.
  kGpus,         ///< Of the whole run.
  kDataGpus,     ///< Copies of the network: kGpus over the next two.
  kTensorGpus,   ///< That share the layers of a copy.
  kContextGpus,  ///< That share its sequences.
  kRotation,     ///< all-to-all; unset: all keys and values at once.
  kEngine,       ///< deepspeed.
  kObjective,    ///< Never set: what is minimised, if it is not supported.
};

/// How a key's value becomes text.
enum class Kind : std::uint8_t {
  kCount,   ///< A whole number from 1; null and "auto": unset.
  kNumber,  ///< A number from 0.
  kFlag,    ///< A Boolean.
  kText,
  kImplied,    ///< Text whose setting any other key's replaces.
  kComponent,  ///< The last name of a dotted path, without `lora_` or `qlora_`.
  kNames,      ///< A list of modules, or names separated by commas.
  kModules,  ///< A list of modules, or an expression that matches whole names.
  kWords,    ///< A list of words, or words separated by blanks.
  kObject,   ///< Any object that is not empty, unless another key sets it.
  kDeepSpeed,  ///< A configuration of DeepSpeed, or the path of one.
};

/// What a key means.
struct KeyRow {
  /// "a.b" for b in the object a; "a+b": both values with '/' between them.
  /// Empty: the tool always has `absent`.
  std::string_view key;
  Setting setting;
  Kind kind;
  /// Conversions "theirs=ours" separated by blanks, of each name of a list; the
  /// first that matches, where '*' is any text. Nothing after '=': unset; '*':
  /// the same; a '?' at the end: left out as well; '!': an error, because the
  /// step has more than supervised training. Empty: values are the same, and
  /// false is unset; otherwise others are errors.
  std::string_view values = {};
  /// The setting if the key is missing or, except for kLength and kBits, null;
  /// empty: unset; '?': left out.
  std::string_view absent = {};
};

/// A tool's configuration file.
struct Format {
  std::string_view tool;  ///< With the version of its source.
  /// Keys that only this tool has, after those of the formats before it; a
  /// file with one of them is of this format.
  std::string_view marks;
  std::span<const KeyRow> keys;
  /// Keys that change memory and are not predicted, unless their value is
  /// false, null, zero, empty, "none", or what follows '='. "fp8*" is any with
  /// this beginning; a key stands for the keys inside it as well.
  std::string_view left_out;
  /// Keys that change no memory of a step, in the same form.
  std::string_view ignored;
  /// Tool whose rows and lists hold as well, for keys without a row here.
  const Format* base = nullptr;
  /// A launcher: what other files state takes precedence.
  bool yields = false;
};

extern const Format kDeepSpeedFormat;
extern const Format kAccelerateFormat;
extern const Format kPeftFormat;
extern const Format kTorchtuneFormat;
extern const Format kUnslothFormat;
extern const Format kTorchtitanFormat;
extern const Format kLitgptFormat;
extern const Format kAutotrainFormat;
extern const Format kLlmStudioFormat;
extern const Format kAxolotlFormat;
extern const Format kLlamaFactoryFormat;
extern const Format kLlamaFactoryV1Format;
extern const Format kOpenInstructFormat;
extern const Format kTrlFormat;
extern const Format kTransformersFormat;

}  // namespace foretell::recipes
