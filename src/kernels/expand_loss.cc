#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/kernels/expansion.h"

// Losses that are computed element by element and then reduced, inside of a
// kernel of PyTorch's (aten/src/ATen/native/Loss.cpp, cuda/Loss.cu, 2.13).

namespace foretell::cost {
namespace {

constexpr std::string_view kReducedLosses[] = {"huber_loss", "mse_loss",
                                               "smooth_l1_loss"};
/// Its weights are multiplied in by a second kernel, and what it is reduced to
/// is stored in place of the elements.
constexpr std::string_view kWeightedLoss = "binary_cross_entropy";
constexpr std::size_t kWeights = 2;

/// The loss's own kernel, as many elements as the larger operand has.
Kernel ElementsOfLoss(const Tensors& tensors, const ExpandedNode& loss) {
  const ValueId input = loss.node.inputs[0], target = loss.node.inputs[1];
  const Shape &left = tensors.ShapeOf(input), &right = tensors.ShapeOf(target);
  const bool grows = NumElements(left) < NumElements(right);
  const Shape& shape = grows ? right : left;
  const std::int64_t width = tensors.ElementBytes(input);
  Kernel kernel = {
      .kernel_class = KernelClass::kAdd,
      .node = loss.id,
      .bytes_out = width * NumElements(shape),
      .element_bytes_in = width,
      .element_bytes_out = width,
      .inner_extent = LastOf(shape),
      .channels_last = tensors.IsChannelsLast(grows ? target : input),
      .mixed_layouts =
          left == right && !HaveSameOrder(left, tensors.StridesOf(input),
                                          tensors.StridesOf(target)),
      .variant = NumElements(left) != NumElements(right)};
  CountRead(tensors, input, kernel);
  if (target != input) CountRead(tensors, target, kernel);
  return kernel;
}

Kernel Weighted(const Tensors& tensors, ValueId weight, Kernel elements) {
  elements.kernel_class = KernelClass::kMultiply;
  elements.bytes_in = elements.bytes_out;
  elements.bytes_weight = 0;
  elements.mixed_layouts = false;
  CountRead(tensors, weight, elements);
  elements.variant = elements.bytes_in < 2 * elements.bytes_out;
  return elements;
}

/// A kernel from `bytes` to one element.
Kernel ToOne(const Kernel& elements, KernelClass kernel_class,
             std::int64_t bytes) {
  const std::int64_t width = elements.element_bytes_out;
  return {.kernel_class = kernel_class,
          .node = elements.node,
          .bytes_in = bytes,
          .bytes_out = width,
          .element_bytes_in = width,
          .element_bytes_out = width,
          .inner_extent = bytes / width,
          .variant = kernel_class == KernelClass::kReduce};
}

}  // namespace

bool ExpandLoss(Expansion& expansion, const ExpandedNode& expanded) {
  const Node& node = expanded.node;
  const bool is_weighted = node.target == kWeightedLoss;
  if (node.inputs.size() < 2 ||
      !(is_weighted || std::ranges::count(kReducedLosses, node.target) > 0)) {
    return false;
  }
  const bool weighs = is_weighted && node.inputs.size() > kWeights;
  const bool reduces = node.Int("reduction", 1) != 0;
  if (!reduces && !weighs) return false;
  std::vector<Kernel>& kernels = expansion.kernels;
  const Kernel elements = ElementsOfLoss(expansion.tensors, expanded);
  kernels.push_back(elements);
  if (weighs) {
    kernels.push_back(
        Weighted(expansion.tensors, node.inputs[kWeights], elements));
  }
  if (!reduces) return true;
  kernels.push_back(ToOne(elements, KernelClass::kReduce, elements.bytes_out));
  if (!is_weighted) return true;
  kernels.push_back(
      ToOne(elements, KernelClass::kCopy, elements.element_bytes_out));
  return true;
}

}  // namespace foretell::cost
