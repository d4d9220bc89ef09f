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

/// Differences between the operators that share the code.
struct NormalizationOptions {
  double default_epsilon = 1e-5;   ///< Default of attribute `epsilon`.
  std::size_t mean_output = 1;     ///< Output that receives the mean.
  std::size_t inverse_output = 2;  ///< Output for 1 / standard deviation.
};

/// Sets output 0 to the layer normalization of `x` over its dimensions starting
/// at attribute `axis` (default -1), and the statistics that the node wants.
void LayerNormalize(NodeContext& ctx, const at::Tensor& x, const Affine& affine,
                    const NormalizationOptions& options = {});

/// As LayerNormalize without a mean: x / root mean square · scale.
void RmsNormalize(NodeContext& ctx, const at::Tensor& x,
                  const at::Tensor& scale, const NormalizationOptions& options);

}  // namespace foretell::onnx
