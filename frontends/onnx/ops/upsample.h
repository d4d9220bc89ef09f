#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/ops/resample.h"

namespace foretell::onnx {

/// Parameters of a Resize node.
struct Resizing {
  ResampleRule rule;
  std::vector<AxisCoordinates> axes;  ///< One for each axis of the input.
  double extrapolation = 0;
};

/// Positions on the original axis; fails (kUnsupported) for unknown rules.
std::vector<double> PositionsOf(const NodeContext& ctx, const Resizing& r,
                                const AxisCoordinates& axis);

/// Elements that the nearest rule selects; fails (kUnsupported) for unknown
/// rules.
std::vector<std::int64_t> ElementsOf(const NodeContext& ctx, const Resizing& r,
                                     const AxisCoordinates& axis);

/// True if one of ATen's upsample operators computes the node's result, up to
/// rounding.
bool IsAtenUpsample(const NodeContext& ctx, const at::Tensor& x,
                    const Resizing& r);

/// `x` resized by the upsample operator that eager PyTorch code would call:
/// chosen by kernel, antialiasing, the number of axes that change, and possibly
/// channels-last images. Its shape is the node's, and so are its values if
/// IsAtenUpsample; zeros if no axis is resized or the result is empty. An
/// undefined tensor for the nearest elements of a type that no such operator
/// supports.
at::Tensor Upsampled(const NodeContext& ctx, const at::Tensor& x,
                     const Resizing& r);

}  // namespace foretell::onnx
