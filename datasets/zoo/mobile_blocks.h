#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "datasets/zoo/layers.h"
#include "datasets/zoo/stochastic_depth.h"

namespace foretell::zoo {

/// AddConvNorm as a module of its own: its input then lives until the unit has
/// run, as in implementations that nest such units.
void AddConvNormUnit(Chain& chain, const ConvShape& shape,
                     std::string_view activation, double norm_epsilon = 1e-5);

/// Channel attention (Hu et al. 2018): two 1×1 convolutions on the mean image.
struct SqueezeShape {
  std::int64_t channels = 0;
  std::int64_t squeezed = 0;   ///< Channels between the convolutions.
  bool uses_silu = false;      ///< SiLU in place, else ReLU out of place.
  bool has_hard_gate = false;  ///< Hard sigmoid, else sigmoid.
};

class SqueezeExcitation : public torch::nn::Module {
 public:
  explicit SqueezeExcitation(const SqueezeShape& shape);
  /// x: [batch, channels, height, width]; the result has its shape.
  at::Tensor forward(const at::Tensor& x);

 private:
  SqueezeShape shape_;
  torch::nn::Conv2d reduce_;
  torch::nn::Conv2d expand_;
};

/// How an implementation splits an inverted residual into modules, which
/// determines the lifetimes of its intermediate images.
struct ResidualStyle {
  bool nests_units = true;       ///< Expansion and depthwise convolution.
  bool nests_projection = true;  ///< The last convolution with its norm.
  bool adds_in_place = true;     ///< The identity into the branch's result.
};

/// 1×1 expansion (unless `hidden` equals `in`), depthwise convolution, optional
/// channel attention, 1×1 projection (Sandler et al. 2018).
struct InvertedResidualShape {
  std::int64_t in = 0;
  std::int64_t hidden = 0;
  std::int64_t out = 0;
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::string activation = "relu6";
  std::optional<SqueezeShape> squeeze;
  double norm_epsilon = 1e-5;
  double stochastic_depth = 0;
  ResidualStyle style;
};

class InvertedResidual : public torch::nn::Module {
 public:
  explicit InvertedResidual(const InvertedResidualShape& shape);
  /// x: [batch, in, height, width].
  at::Tensor forward(const at::Tensor& x);

 private:
  bool has_identity_;
  bool adds_in_place_;
  Chain branch_;
  std::shared_ptr<StochasticDepth> stochastic_depth_;
};

}  // namespace foretell::zoo
