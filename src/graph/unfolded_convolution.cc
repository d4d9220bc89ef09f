#include "src/graph/unfolded_convolution.h"

#include <algorithm>
#include <optional>

#include "src/graph/macs.h"

namespace foretell {
namespace {

constexpr TorchVersion kFirst = {.major = 2, .minor = 9};
constexpr TorchVersion kFirstRepaired = {.major = 2, .minor = 10};
constexpr std::size_t kDimensions = 3;

}  // namespace

bool RunsUnfolded(const OperatorGraph& graph, const Node& node,
                  const TorchVersion& torch) {
  if (torch < kFirst || torch >= kFirstRepaired) return false;
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  if (!convolution || !IsHalf(convolution->input->dtype)) return false;
  const Shape& window = convolution->window;
  const bool has_volumes =
      window.size() == kDimensions &&
      convolution->input->shape.size() == window.size() + 2;
  const bool is_depthwise =
      convolution->IsDepthwise() && !convolution->transposed;
  return has_volumes && !is_depthwise &&
         std::ranges::count(window, 1) < std::ssize(window);
}

std::int64_t Columns::Elements() const { return MulMacs(rows, positions); }

Columns ColumnsOf(const Convolution& convolution) {
  const bool transposed = convolution.transposed;
  const std::int64_t channels =
      transposed ? convolution.channels_out : convolution.channels_in;
  return {.rows = MulMacs(channels / convolution.groups, convolution.Taps()),
          .positions = transposed ? convolution.positions_in
                                  : convolution.positions_out};
}

}  // namespace foretell
