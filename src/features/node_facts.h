#pragma once

#include <array>
#include <cstdint>

#include "foretell/graph.h"
#include "src/features/operator_class.h"

namespace foretell {

/// Dimensions of a result that get a slot of their own.
inline constexpr std::size_t kOutputDims = 4;

/// Plain quantities of one operator from which its features are encoded.
/// Quantities that do not apply to an operator are 0.
struct NodeFacts {
  OperatorClass op_class = OperatorClass::kOther;
  Phase phase = Phase::kForward;
  /// Window of a convolution or a pooling: its last two dimensions; the
  /// height is 1 in one dimension.
  double kernel_height = 0;
  double kernel_width = 0;
  /// Along the last dimension; negative for a transposed convolution.
  double stride = 0;
  double dilation = 0;
  double groups = 0;
  bool depthwise = false;
  /// Input channels or features summed per output element, and output channels.
  double channels_in = 0;
  double channels_out = 0;
  /// First result; dimensions beyond the fourth are multiplied into it.
  std::array<double, kOutputDims> output_dims = {};
  double macs = 0;
  double input_bytes = 0;      ///< Distinct tensor inputs except weights.
  double output_bytes = 0;     ///< All results.
  double weight_bytes = 0;     ///< Distinct inputs that are weights or buffers.
  double element_bytes = 0;    ///< Element size of the first result.
  bool aliases_input = false;  ///< The first result shares an input's storage.
};

NodeFacts FactsOf(const OperatorGraph& graph, const Node& node);

/// True if `id` is in the storage of a parameter or buffer.
bool IsWeight(const OperatorGraph& graph, ValueId id);

}  // namespace foretell
