#pragma once

#include <torch/nn/module.h>

namespace foretell::zoo {

/// Drops whole samples of a residual branch while training, each with
/// `probability`, and scales the others up to keep the mean (Huang et al.
/// 2016), with torchvision's operators. The identity in inference.
class StochasticDepth : public torch::nn::Module {
 public:
  /// probability: in [0, 1], throws Error(kInvalidArgument) otherwise.
  explicit StochasticDepth(double probability);

  /// x: [batch, …]; the result has its shape.
  at::Tensor forward(const at::Tensor& x);

 private:
  double probability_;
};

}  // namespace foretell::zoo
