#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/resample.h"

namespace foretell::onnx {

/// What a Resize node asks for.
struct Resizing {
  ResampleRule rule;
  std::vector<AxisCoordinates> axes;  ///< One for each axis of the input.
  double extrapolation = 0;
};

/// Positions on the original axis; fails (kUnsupported) for unknown rules.
std::vector<double> PositionsOf(const NodeContext& ctx, const Resizing& r,
                                const AxisCoordinates& axis);

/// Elements that the nearest rule takes; fails (kUnsupported) for unknown
/// rules.
std::vector<std::int64_t> ElementsOf(const NodeContext& ctx, const Resizing& r,
                                     const AxisCoordinates& axis);

/// The result of one of ATen's upsample operators; an undefined tensor where
/// none computes what the node asks for.
at::Tensor UpsampleWithAten(const NodeContext& ctx, const at::Tensor& x,
                            const Resizing& r);

}  // namespace foretell::onnx
