#include "src/runtime/compile/image_layout.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/graph/convolution.h"

// GraphLowering.decide_layout_opt in torch/_inductor/graph.py (PyTorch 2.13).
// Inference weighs the arithmetic of each kind of convolution by what
// channels-last gains or loses there; training gives up where one loses.

namespace foretell::runtime {
namespace {

/// Kinds of convolutions, as far as their layout matters.
enum class Shape : std::uint8_t { kGrouped, kSmall, kInOut, kDefault };

/// Time channels-last, as a multiple of the other.
constexpr std::array<double, 4> kWeights = {1.358, 0.783, 0.725, 0.823};
constexpr std::int64_t kSmallChannels = 64;
/// Nodes per convolution from which on nothing is changed.
constexpr std::int64_t kMostNodes = 300;

bool IsGrouped(const Node& node, const TensorType& weight) {
  return node.Int("groups", 1) > 1 && weight.shape[1] > 1;
}

bool IsSmall(const TensorType& weight) {
  return weight.shape[0] <= kSmallChannels && weight.shape[1] <= kSmallChannels;
}

bool IsInOut(const TensorType& weight) {
  return weight.shape[0] * 2 <= weight.shape[1] && weight.shape[2] > 1;
}

Shape ShapeOf(const Node& node, const TensorType& weight) {
  if (IsGrouped(node, weight)) return Shape::kGrouped;
  if (IsSmall(weight)) return Shape::kSmall;
  return IsInOut(weight) ? Shape::kInOut : Shape::kDefault;
}

}  // namespace

bool PrefersChannelsLast(const OperatorGraph& graph) {
  const bool trains = graph.info().mode == Mode::kTraining;
  std::int64_t count = 0;
  double plain = 0, channels_last = 0;
  bool all_small = true;
  for (const Node& node : graph.nodes()) {
    if (!IsForwardConvolution(node.kind) || node.inputs.size() < 2) continue;
    const TensorType& weight = graph.value(node.inputs[1]).type;
    if (weight.shape.size() < 3) continue;
    ++count;
    all_small &= IsSmall(weight);
    const Shape shape = ShapeOf(node, weight);
    if (trains && (IsGrouped(node, weight) || IsInOut(weight))) return false;
    plain += static_cast<double>(node.macs);
    channels_last += static_cast<double>(node.macs) *
                     kWeights[static_cast<std::size_t>(shape)];
  }
  if (count == 0 || std::ssize(graph.nodes()) >= kMostNodes * count) {
    return false;
  }
  return trains ? !all_small : channels_last <= plain;
}

}  // namespace foretell::runtime
