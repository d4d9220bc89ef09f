#pragma once

#include <torch/nn/module.h>

#include <cstdint>

#include "datasets/zoo/transformer_layers.h"

namespace foretell::zoo {

/// Shape of one block's windows on a square image of tokens.
struct WindowShape {
  std::int64_t window = 7;  ///< Tokens per side.
  std::int64_t shift = 0;   ///< Tokens by which the image is rolled.

  /// Windows of `window` x `window` tokens on an image of `resolution` tokens
  /// per side; a single, unshifted window if the image is no larger.
  static WindowShape Fit(std::int64_t resolution, std::int64_t window,
                         bool shifted);
  /// `resolution` with the padding that fills the last window.
  std::int64_t Padded(std::int64_t resolution) const {
    return (resolution + window - 1) / window * window;
  }
};

/// [batch, height, width, channels] as [batch × windows, tokens, channels];
/// height and width are multiples of `window`.
at::Tensor SplitWindows(const at::Tensor& x, std::int64_t window);
/// Inverse of SplitWindows for a square image of `side` tokens per side.
at::Tensor MergeWindows(const at::Tensor& windows, std::int64_t window,
                        std::int64_t side);

/// Masks attention between tokens that are neighbours only because the image
/// was rolled: [windows, tokens, tokens] of 0 and -100.
at::Tensor ShiftMask(const WindowShape& shape, std::int64_t padded);

/// Attention within windows with a trainable bias per relative position.
class WindowAttention final : public torch::nn::Module {
 public:
  WindowAttention(std::int64_t width, std::int64_t heads, std::int64_t window);

  /// x: [batch × windows, tokens, width]; mask: ShiftMask, or undefined.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask);

 private:
  /// [1, heads, tokens, tokens].
  at::Tensor Bias() const;

  std::int64_t heads_;
  double scale_;
  at::Tensor table_;  ///< [(2 window - 1)², heads].
  at::Tensor index_;  ///< i64[tokens, tokens] into the table's rows.
  Dense qkv_ = nullptr;
  Dense proj_ = nullptr;
};

}  // namespace foretell::zoo
