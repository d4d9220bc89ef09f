#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// Operands of convolutions and linear layers.
inline constexpr std::size_t kWeight = 1, kBias = 2;

/// What freezing computes into the weight and the bias of a convolution.
struct FoldedChain {
  std::vector<NodeId> nodes;  ///< Behind the convolution, in order.
  ValueId result = kNone;     ///< Of the last.
  bool scales = false;        ///< The weight is another.
  bool shifts = false;        ///< There is another bias.
};

/// Products that freezing changes. `is_constant` is by value (FindConstants).
struct FrozenProducts {
  std::map<NodeId, FoldedChain> convolutions;
  /// Linear layers of one operand that become one, by the first of them.
  std::map<NodeId, std::vector<NodeId>> linears;
};

FrozenProducts FindFrozenProducts(const OperatorGraph& graph,
                                  const std::vector<bool>& is_constant);

}  // namespace foretell::runtime
