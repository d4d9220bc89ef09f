// Rotary positions with the operators of transformers' LlamaRotaryEmbedding
// and apply_rotary_pos_emb: the two halves of a head turn as one pair.

#include "datasets/zoo/rotary.h"

#include <ATen/Functions.h>

#include <cmath>

#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

/// (-second half, first half) of the last dimension.
at::Tensor QuarterTurn(const at::Tensor& x) {
  const std::int64_t half = x.size(-1) / 2;
  const at::Tensor first = x.narrow(-1, 0, half);
  const at::Tensor second = x.narrow(-1, half, half);
  return at::cat({at::neg(second), first}, -1);
}

at::Tensor Rotated(const at::Tensor& x, const RotaryTables& tables) {
  const at::Tensor kept = x * tables.cosine;
  at::Tensor turned = QuarterTurn(x);
  turned = turned * tables.sine;
  return kept + turned;
}

}  // namespace

at::Tensor RotaryFrequencies(std::int64_t width, double base) {
  // In place: what dies here would count as a weight's storage.
  at::Tensor rates =
      at::arange(0, width, 2, at::TensorOptions().dtype(at::kFloat));
  rates.mul_(-std::log(base) / static_cast<double>(width));
  return rates.exp_();
}

RotaryTables MakeRotaryTables(const at::Tensor& frequencies, std::int64_t first,
                              std::int64_t tokens, at::ScalarType dtype) {
  const at::Tensor positions =
      at::arange(first, first + tokens, frequencies.options());
  at::Tensor angles = positions.view({1, -1, 1}) * frequencies;
  angles = at::cat({angles, angles}, -1);
  const at::Tensor cosine = angles.cos() * 1.0;
  const at::Tensor sine = angles.sin() * 1.0;
  return {cosine.to(dtype).unsqueeze(1), sine.to(dtype).unsqueeze(1)};
}

void Rotate(at::Tensor& queries, at::Tensor& keys, const RotaryTables& tables) {
  if (FusedKernelScope::Takes(FusedKernel::kRope)) {
    return liger::Rotate(queries, keys, tables.cosine, tables.sine);
  }
  queries = Rotated(queries, tables);
  keys = Rotated(keys, tables);
}

}  // namespace foretell::zoo
