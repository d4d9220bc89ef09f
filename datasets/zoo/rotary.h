#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace foretell::zoo {

/// Cosines and sines of rotary positions (Su et al. 2021), [1, 1, tokens,
/// width] each, which all layers of a pass share.
struct RotaryTables {
  at::Tensor cosine;
  at::Tensor sine;
};

/// Angles per position of half a head, f32[width / 2]: base^(-2i / width).
at::Tensor RotaryFrequencies(std::int64_t width, double base);

/// Tables of `tokens` positions starting at `first`, in `dtype`.
RotaryTables MakeRotaryTables(const at::Tensor& frequencies, std::int64_t first,
                              std::int64_t tokens, at::ScalarType dtype);

/// Replaces queries and keys [batch, heads, tokens, width] by new tensors,
/// which the tables' angles turn; a fused kernel turns them in place.
void Rotate(at::Tensor& queries, at::Tensor& keys, const RotaryTables& tables);

}  // namespace foretell::zoo
