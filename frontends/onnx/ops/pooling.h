#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/window.h"

namespace foretell::onnx {

/// A pooling node's windows over the k spatial axes of its input.
struct Pooling {
  Window window;
  std::vector<std::int64_t> spatial;  ///< Sizes of the input.
  std::vector<std::int64_t> outputs;  ///< Sizes of the output.
  bool ceil_mode = false;
};

/// Reads kernel_shape, strides, pads, dilations, auto_pad and ceil_mode. Fails
/// (kCorrupt) when a window spans more than the padded input.
Pooling ReadPooling(const NodeContext& ctx, const at::Tensor& x);

/// True when ATen's own `padding` argument can express the pads.
bool AtenCanPad(const Window& window);

/// The pads after which the windows fit exactly and none is needed.
Window ExactPads(const Pooling& pooling);

/// `window` with all pads zero.
Window WithoutPads(Window window);

/// Fails (kUnsupported) for pooling over `spatial_rank` axes.
[[noreturn]] void FailPoolingRank(const NodeContext& ctx, size_t spatial_rank);

/// The results of AveragePool, with the node's attributes, and of
/// GlobalAveragePool for an input [N, C, D1 … Dk].
at::Tensor AveragePool(NodeContext& ctx, const at::Tensor& x);
at::Tensor GlobalAveragePool(NodeContext& ctx, const at::Tensor& x);

/// Lowerings of max_pool.cc.
void LowerMaxPool(NodeContext& ctx);
void LowerMaxUnpool(NodeContext& ctx);

}  // namespace foretell::onnx
