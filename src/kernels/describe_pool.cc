#include "src/kernels/describe_pool.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "src/core/checked.h"

// Poolings as aten/src/ATen/native/cuda launches them.
//
//   images         a thread per result
//   volumes        blocks of 32 x 8 threads over the last two dimensions of the
//                  result (AveragePool3d.cu, DilatedMaxPool3d.cu)
//   adaptive       the same; a block goes over a whole plane of the result, and
//                  of images of few channels several share one
//                  (AdaptiveAveragePooling.cu, AdaptiveMaxPooling2d.cu and
//                  their like for volumes)
//   adaptive, channels-last average of images
//                  a thread per result (adaptive_average_pool_nhwc)

namespace foretell::cost {
namespace {

constexpr std::int64_t kBlockWidth = 32;
constexpr std::int64_t kBlockHeight = 8;

bool IsAdaptive(const Node& node) {
  return node.target.find("adaptive") != std::string::npos;
}

/// The extent of a dimension counted from the last, at least 1; 1 if the shape
/// has fewer dimensions.
std::int64_t FromLast(const Shape& shape, std::size_t back) {
  return back > shape.size()
             ? 1
             : std::max<std::int64_t>(1, shape[shape.size() - back]);
}

/// Number of dimensions that a pooling slides over: the digit of "max_pool3d".
std::size_t PooledDims(const Node& node) {
  const std::size_t digit = node.target.find_first_of("123");
  return digit == std::string::npos
             ? 2
             : static_cast<std::size_t>(node.target[digit] - '0');
}

/// Extents of a pooling window; those of an adaptive one follow from the sizes.
Shape PoolWindow(const Node& node, const Shape& input, const Shape& result) {
  const std::size_t dims = PooledDims(node);
  if (!IsAdaptive(node)) {
    Shape window = node.Ints("kernel_size", {0});
    if (window.size() == 1) window.resize(dims, window.front());
    return window;
  }
  Shape window;
  const std::size_t rank = std::min(input.size(), result.size());
  for (std::size_t back = std::min(dims, rank); back > 0; --back) {
    window.push_back(input[input.size() - back] / FromLast(result, back));
  }
  return window;
}

/// Threads of blocks that cover the last two dimensions of the result.
std::int64_t ThreadsInBlocks(const Shape& result) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;  // Cannot overflow.
  const std::int64_t width = FromLast(result, 1), height = FromLast(result, 2);
  return std::min(NumElements(result), kMost) / width / height *
         RoundUp(width, kBlockWidth) * RoundUp(height, kBlockHeight);
}

/// Threads of the warps that have a result, and the blocks that have such a
/// warp.
void SetAdaptiveBlocks(const Expansion& expansion, const ExpandedNode& expanded,
                       Kernel& kernel) {
  constexpr std::int64_t kLeastBlocks = 16;  // Of the channels of an image.
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  const std::int64_t width = FromLast(result, 1), height = FromLast(result, 2);
  const std::int64_t planes = NumElements(result) / width / height;
  const bool shares = PooledDims(expanded.node) < 3 &&
                      kernel.channels_in < kLeastBlocks &&
                      kernel.channels_in > 0;
  kernel.rows = planes * height * RoundUp(width, kBlockWidth);
  kernel.row_step =
      planes * std::min(shares ? kLeastBlocks / kernel.channels_in : 1,
                        CeilDiv(height, kBlockHeight));
}

/// Adaptive average pooling to one element is a mean
/// (aten/src/ATen/native/AdaptiveAveragePooling.cpp).
bool IsMean(const Node& node, const Shape& result) {
  return node.kind == OpKind::kAveragePool && IsAdaptive(node) &&
         LastOf(result) == 1 && PositionsOf(result) == 1;
}

void SetThreads(const Expansion& expansion, const ExpandedNode& expanded,
                const Shape& window, Kernel& kernel) {
  const Node& node = expanded.node;
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  kernel.volume = window.size() > 2;
  kernel.variant = kernel.volume || IsAdaptive(node);
  kernel.rows = kernel.variant ? ThreadsInBlocks(result) : NumElements(result);
  kernel.row_elements = NumElements(window);
  if (!IsAdaptive(node)) return;
  kernel.row_elements = AdaptiveWindow(
      expansion.tensors.ShapeOf(node.inputs.front()), result, PooledDims(node));
  SetAdaptiveBlocks(expansion, expanded, kernel);
  if (kernel.channels_last && node.kind == OpKind::kAveragePool) {
    kernel.rows = NumElements(result);
  }
}

}  // namespace

std::int64_t AdaptiveWindow(const Shape& input, const Shape& result,
                            std::size_t dims) {
  double elements = 1;
  for (std::size_t back = 1; back <= dims; ++back) {
    const std::int64_t in = FromLast(input, back), out = FromLast(result, back);
    elements *= Real(in + out - std::gcd(in, out)) / Real(out);
  }
  return std::max<std::int64_t>(1, std::llround(elements));
}

void DescribePool(const Expansion& expansion, const ExpandedNode& expanded,
                  Kernel& kernel) {
  const Node& node = expanded.node;
  const Shape& result = expansion.tensors.ShapeOf(expanded.result());
  const Shape& input = expansion.tensors.ShapeOf(node.inputs.front());
  const Shape window = PoolWindow(node, input, result);
  if (window.empty()) return;
  kernel.window_height = window.front();
  kernel.window_width = window.back();
  const Shape stride = node.Ints("stride", window);
  kernel.stride = stride.empty() ? window.back() : stride.back();
  kernel.positions = PositionsOf(result);
  kernel.channels_in = result.size() > 1 ? result[1] : 1;
  kernel.inner_extent = LastOf(input);
  if (IsMean(node, result)) {
    kernel.kernel_class = KernelClass::kReduce;
    kernel.variant = true;
    return SetRows(input, PositionsOf(input), 1, kernel);
  }
  SetThreads(expansion, expanded, window, kernel);
}

}  // namespace foretell::cost
