#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Biases that are trained in addition to adapters: peft's bias="none", "all"
/// and "lora_only".
enum class TrainedBiases : std::uint8_t { kNoBias, kEveryBias, kAdaptedBias };

/// What is trained next to a weight.
enum class AdapterMethod : std::uint8_t {
  kLora,
  kIa3,      ///< A vector that scales the layer's result, or its input.
  kVera,     ///< Vectors around two frozen matrices that all layers share.
  kLoHa,     ///< The elementwise product of two matrices of low rank.
  kLoKr,     ///< The Kronecker product of two matrices.
  kOft,      ///< Rotations of blocks of the layer's input.
  kBoft,     ///< A rotation of the whole input, made of blocks.
  kPrompt,   ///< Virtual tokens before the words' embeddings.
  kPTuning,  ///< The same, made by a network of three layers.
  kPrefix,   ///< Keys and values before those of every attention.
};

/// Adapters trained instead of the weights, as peft.LoraConfig, IA3Config,
/// VeraConfig, LoHaConfig, LoKrConfig, OFTConfig and BOFTConfig have them and
/// get_peft_model makes them, or virtual tokens, as PromptTuningConfig,
/// PromptEncoderConfig and PrefixTuningConfig.
struct LoraSpec {
  /// Of kOft and kBoft the number of blocks. 0: no adapters, those of kIa3,
  /// which have none, or those of blocks of size `block`.
  int rank = 0;
  /// Regular expression (RE2) that matches part of the names of the adapted
  /// layers' weights. Empty with virtual tokens.
  std::string targets = {};
  /// Probability of the dropout before the first of a pair of adapters, in
  /// [0, 1).
  double dropout = 0;
  /// Of the adapters: f32, f16 or bf16.
  DType type = DType::kF32;
  /// Regular expression of the names of parameters whose copies are trained,
  /// with the frozen originals kept (modules_to_save); empty: none.
  std::string save = {};
  TrainedBiases bias = TrainedBiases::kNoBias;
  /// Magnitudes are trained apart from directions (use_dora=True).
  bool dora = false;
  /// prepare_model_for_kbit_training: parameters of 16 bits become f32, and the
  /// results of the first embedding require gradients.
  bool kbit = false;
  AdapterMethod method = AdapterMethod::kLora;
  /// Regular expression of those targets of kIa3 whose inputs are scaled
  /// (feedforward_modules); empty: none.
  std::string feedforward = {};
  int block = 0;      ///< Size of a block of kOft and kBoft; 0: by `rank`.
  int factor = -1;    ///< LoKr's decompose_factor; -1: near the square root.
  bool both = false;  ///< LoKr's decompose_both.
  int tokens = 0;     ///< num_virtual_tokens of the last three methods.
  /// encoder_hidden_size of kPTuning, 0: the embedding's width, and of kPrefix
  /// with prefix_projection, 0: without.
  int hidden = 0;

  bool operator==(const LoraSpec&) const = default;
};

/// "r=16,targets=q_proj|v_proj,dropout=0.05"; "" of a default spec.
std::string ToString(const LoraSpec& spec);

/// Whether the method trains virtual tokens.
inline bool HasVirtualTokens(const LoraSpec& spec) { return spec.tokens > 0; }

/// Reads what ToString writes, in any order, and the keys alpha=A and rslora,
/// which change no cost, and method=vera for vera. A comma separates keys only
/// where a lower-case word follows, up to the end or to a further comma or '=':
/// others belong to an expression (`h.{1,2}`). Keys must fit the method: IA3
/// has no rank, OFT and BOFT either a rank or a block, only LoRA and VeRA have
/// dropout, only LoRA has DoRA. Throws Error(kInvalidArgument) that begins with
/// `flag` and lists the keys.
LoraSpec ParseLora(std::string_view flag, std::string_view text);

}  // namespace foretell
