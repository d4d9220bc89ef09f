#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "frontends/onnx/node_context.h"

namespace foretell::onnx {

/// A window that slides over the k spatial axes of an [N, C, D1 … Dk] tensor:
/// the attributes that convolution and pooling share. All vectors have k
/// elements; pads count elements added before and after each axis.
struct Window {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads_begin;
  std::vector<std::int64_t> pads_end;

  size_t rank() const { return kernel.size(); }
  /// Elements that the window spans along axis `i`, gaps included.
  std::int64_t Extent(size_t i) const {
    return dilations[i] * (kernel[i] - 1) + 1;
  }
  /// True when both ends of every axis are padded alike and by no negative
  /// number, as ATen's `padding` argument requires.
  bool HasSymmetricPads() const;
  bool HasDilation() const;
  /// Pads in the order of at::constant_pad_nd: last axis first, begin and end.
  std::vector<std::int64_t> PadsLastAxisFirst() const;
};

/// Sizes of axes 2 and above. Fails (kCorrupt) when `x` has fewer than 3 axes.
std::vector<std::int64_t> SpatialSizes(const NodeContext& ctx,
                                       const at::Tensor& x);

/// Reads strides, dilations, pads and auto_pad of a node whose kernel is
/// `kernel` and whose input has the spatial sizes `spatial`. SAME_UPPER and
/// SAME_LOWER give ceil(size / stride) outputs. Fails (kCorrupt) when lengths
/// differ from k or a stride, dilation or kernel size is not positive.
Window ReadWindow(const NodeContext& ctx, std::vector<std::int64_t> kernel,
                  const std::vector<std::int64_t>& spatial);

/// `x` with the window's pads added to its spatial axes, filled with `value`.
at::Tensor PadSpatially(const at::Tensor& x, const Window& window,
                        double value);

}  // namespace foretell::onnx
