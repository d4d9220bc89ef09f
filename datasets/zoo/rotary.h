#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace foretell::zoo {

/// Whose operators turn queries and keys. What they keep differs, not what
/// they compute.
enum class RotaryKind {
  kHalves,  ///< Halves of a head as pairs.
  kOlmo,    ///< The same, in 32 bits.
  kGptOss,  ///< The same, half by half.
  kGlm,     ///< Neighbours as pairs; each layer repeats the tables.
  kErnie,   ///< The same, in 32 bits.
  kCohere,  ///< Neighbours as pairs, in 32 bits; the tables are repeated once.
};

/// The kind that `name` (llama, olmo, gpt_oss, glm, ernie, cohere) states;
/// throws Error(kInvalidArgument) for another.
RotaryKind ParseRotaryKind(std::string_view name);

/// Cosines and sines of rotary positions (Su et al. 2021), [1, 1, tokens,
/// width] each, of kGptOss half as wide, which all layers of a pass share.
struct RotaryTables {
  at::Tensor cosine;
  at::Tensor sine;
  RotaryKind kind = RotaryKind::kHalves;
};

/// Angles per position of half a head, f32[width / 2]: base^(-2i / width).
at::Tensor RotaryFrequencies(std::int64_t width, double base);

/// Tables of the positions of `words` [batch, tokens, width], which start at
/// `first`, in the type of the words or in 32 bits, as `kind` has it.
RotaryTables MakeRotaryTables(const at::Tensor& frequencies, std::int64_t first,
                              const at::Tensor& words, RotaryKind kind);

/// x [batch, heads, tokens, width] turned by the tables' angles: a new tensor.
at::Tensor Rotate(const at::Tensor& x, const RotaryTables& tables);

/// What a layer reads of `tables`, which it shares with its keys.
RotaryTables TablesOfLayer(const RotaryTables& tables);

}  // namespace foretell::zoo
