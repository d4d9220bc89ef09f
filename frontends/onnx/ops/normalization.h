#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "frontends/onnx/node_context.h"

/// Normalizations over trailing dimensions, shared with fused operators.
namespace foretell::onnx {

/// Scale and bias of a normalization; undefined tensors when absent.
struct Affine {
  at::Tensor scale;
  at::Tensor bias;
};

/// Numbers of the outputs that receive the statistics.
struct StatisticsOutputs {
  std::size_t mean = 1;
  std::size_t inverse_deviation = 2;
};

/// Sets output 0 to the layer normalization of `x` over its dimensions from
/// attribute `axis` (default -1) on with attribute `epsilon`, and the
/// statistics as the node wants them.
void LayerNormalize(NodeContext& ctx, const at::Tensor& x, const Affine& affine,
                    const StatisticsOutputs& outputs = {});

/// As LayerNormalize without a mean: x / root mean square · scale.
/// `inverse_output` receives the inverse root mean square.
void RmsNormalize(NodeContext& ctx, const at::Tensor& x,
                  const at::Tensor& scale, std::size_t inverse_output = 1);

}  // namespace foretell::onnx
