#pragma once

#include <torch/nn/module.h>

#include <cstdint>

namespace foretell::zoo {

/// x / √(mean x² + ε) over the last dimension in 32 bits, times a weight, with
/// the operators of transformers' LlamaRMSNorm.
class RmsNorm final : public torch::nn::Module {
 public:
  explicit RmsNorm(std::int64_t width);

  /// x: [..., width]; returns the same shape and type.
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor weight_;
};

}  // namespace foretell::zoo
