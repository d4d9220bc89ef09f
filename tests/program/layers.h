#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/program/fake_program.h"

namespace foretell::program_test {

/// A layer owns its weights and may be called any number of times.
using Layer = std::function<at::Tensor(const at::Tensor&)>;

struct ConvOptions {
  std::vector<std::int64_t> stride = {1};
  std::vector<std::int64_t> padding = {0};
  std::vector<std::int64_t> dilation = {1};
  std::int64_t groups = 1;
  bool bias = false;
};

/// Layers of the usual kinds, as torch::nn has them, made of ATen calls alone.
/// Their weights are named by order: "conv2d0", "linear1" …
class Layers {
 public:
  explicit Layers(Weights& weights) : weights_(weights) {}

  /// Convolution over kernel.size() axes.
  Layer Conv(std::int64_t in, std::int64_t out,
             std::vector<std::int64_t> kernel, ConvOptions options = {});
  /// Upsamples by two.
  Layer ConvTranspose2d(std::int64_t in, std::int64_t out);
  Layer BatchNorm(std::int64_t size);
  Layer LayerNorm(std::int64_t size);
  Layer GroupNorm(std::int64_t groups, std::int64_t size);
  Layer Linear(std::int64_t in, std::int64_t out);
  Layer Embedding(std::int64_t count, std::int64_t size);
  Layer Dropout(double probability);
  /// [batch, tokens, width] to the same.
  Layer SelfAttention(std::int64_t width, std::int64_t heads, bool causal);
  /// x * sigmoid(…mean over pixels…).
  Layer SqueezeExcite(std::int64_t width, std::int64_t inner);
  /// Batch norm and relu after a convolution.
  Layer ConvNormRelu(std::int64_t in, std::int64_t out, std::int64_t kernel,
                     std::int64_t stride = 1, std::int64_t groups = 1);

  Weights& weights() { return weights_; }

 private:
  std::string Name(const std::string& kind);

  Weights& weights_;
  int count_ = 0;
};

/// Layers one after another; a result dies once the next layer has run.
Layer Chain(std::vector<Layer> layers);
/// x + layer(x).
Layer Residual(Layer layer);
/// Global average pooling and flattening of [batch, channels, …].
at::Tensor PoolToVector(const at::Tensor& x);

/// A network with one input and output made of `layer`.
Network Simple(std::function<Layer(Layers&)> make);

}  // namespace foretell::program_test
