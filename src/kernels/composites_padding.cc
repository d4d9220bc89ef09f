#include <cstddef>
#include <string>

#include "src/graph/convolution.h"
#include "src/kernels/composite_calls.h"
#include "src/kernels/composites.h"

// Convolutions whose padding is the word "same" (`convolution_same` in
// aten/src/ATen/native/Convolution.cpp, 2.13). Where the padding of a dimension
// is odd in sum, which is so for an even window and an odd dilation, no backend
// can pad alike on both sides: the image is copied with one more element behind
// it, and convolved with what is left. The backward pass shows both operators
// in the graph.

namespace foretell::cost {
namespace {

bool PadsToSame(const Node& node) {
  const auto* const padding =
      std::get_if<std::string>(node.FindAttribute("padding"));
  return padding != nullptr && *padding == "same";
}

/// `shape` of the images with one more element along each dimension whose
/// padding is odd in sum.
Shape WithOddPadding(CompositeSteps& steps, Shape shape) {
  const Shape weight = steps.ShapeOf(steps.Operand(1));
  const Shape dilation = steps.node().Ints("dilation", {1});
  const std::size_t dims = weight.size() < 2 ? 0 : weight.size() - 2;
  if (dims == 0 || shape.size() < dims || dilation.empty()) return shape;
  for (std::size_t i = 0; i < dims; ++i) {
    const std::int64_t spread = dilation[std::min(i, dilation.size() - 1)];
    const bool is_odd = spread % 2 != 0 && weight[2 + i] % 2 == 0;
    if (is_odd) ++shape[shape.size() - dims + i];
  }
  return shape;
}

bool SameConvolution(CompositeSteps& steps) {
  if (!steps.TakesTwo() || !PadsToSame(steps.node())) return false;
  const ValueId image = steps.Operand(0);
  const Shape padded = WithOddPadding(steps, steps.ShapeOf(image));
  if (padded == steps.ShapeOf(image)) return false;
  std::vector<ValueId> operands = {
      steps.Call("constant_pad_nd", {image}, padded)};
  for (std::size_t i = 1; i < steps.num_operands(); ++i) {
    operands.push_back(steps.Operand(i));
  }
  Attributes attributes = steps.node().attributes;
  steps.Return(steps.Call("convolution", std::move(operands),
                          steps.result().shape, std::move(attributes)));
  return true;
}

constexpr Composite kPaddingComposites[] = {
    {"_convolution_mode", CompositeCasts::kBefore, &SameConvolution},
    {"conv1d", CompositeCasts::kBefore, &SameConvolution},
    {"conv2d", CompositeCasts::kBefore, &SameConvolution},
    {"conv3d", CompositeCasts::kBefore, &SameConvolution},
};

}  // namespace

std::span<const Composite> PaddingComposites() { return kPaddingComposites; }

}  // namespace foretell::cost
