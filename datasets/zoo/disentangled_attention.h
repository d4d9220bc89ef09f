#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/dropout.h>

#include <cstdint>

#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Sizes of a DisentangledAttention.
struct DisentangledShape {
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t buckets = 256;  ///< Buckets of distances, per direction.
  double dropout = 0.1;
};

/// Distance of each pair of tokens, i64[1, seq, seq]: exact up to half of
/// `buckets`, then logarithmic up to `max_distance`.
at::Tensor LogDistances(std::int64_t seq, std::int64_t buckets,
                        std::int64_t max_distance, at::Device device);

/// Attention whose scores add content to content, content to position and
/// position to content (He et al. 2020). Positions go through the projections
/// of the content.
class DisentangledAttention final : public torch::nn::Module {
 public:
  explicit DisentangledAttention(const DisentangledShape& shape);

  /// x: [batch, seq, width]; mask: [batch, 1, seq, seq], 0 for tokens to mask
  /// out; distances: LogDistances; positions: [2 buckets, width].
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask,
                     const at::Tensor& distances, const at::Tensor& positions);

 private:
  /// Contribution of distances to the scores, [batch × heads, seq, seq].
  at::Tensor PositionScores(const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& distances,
                            const at::Tensor& positions);
  /// [batch, seq, width] as [batch × heads, seq, width / heads], a copy.
  at::Tensor Split(const at::Tensor& x) const;

  DisentangledShape shape_;
  double scale_;  ///< Divides all three scores.
  Dense query_ = nullptr;
  Dense key_ = nullptr;
  Dense value_ = nullptr;
  torch::nn::Dropout dropout_;
};

}  // namespace foretell::zoo
