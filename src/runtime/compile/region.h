#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// One of the parts of a step that are compiled.
struct Region {
  /// Its operators alone. Tensors that other regions make are sources of their
  /// own names: kActivation, and in the backward pass kBackwardTemporary.
  OperatorGraph graph;
  /// Names of the tensors of the step that other regions, the optimizer or the
  /// caller read, in the order of the graph's outputs.
  std::vector<std::string> results;
};

/// The region `region` of `step`, whose nodes are of the regions `region_of`
/// (FindRegions).
Region CutRegion(const OperatorGraph& step, const std::vector<int>& region_of,
                 int region);

}  // namespace foretell::runtime
