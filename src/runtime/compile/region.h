#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// One of the parts that graph breaks leave of a step.
struct Region {
  /// Its operators alone. Tensors that other regions make are sources of their
  /// own names: kActivation, and in the backward pass kBackwardTemporary.
  OperatorGraph graph;
  /// Tensors of the step that other regions, the optimizer or the caller read,
  /// in the order of the graph's outputs.
  std::vector<ValueId> results;
};

/// The region `region` of `step`, whose nodes are of the regions `region_of`
/// (FindRegions).
Region CutRegion(const OperatorGraph& step, const std::vector<int>& region_of,
                 int region);

}  // namespace foretell::runtime
