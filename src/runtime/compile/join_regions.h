#pragma once

#include <optional>
#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/graph_breaks.h"
#include "src/runtime/compile/region.h"

namespace foretell::runtime {

/// `step` as its `regions` run it: their forward passes in order, their
/// backward passes in the reverse one, and the step's optimizer. `compiled` has
/// those that are compiled, by region, each with its kernels. The first kernel
/// of each of their passes has kCallAttribute; operators of the others have
/// kEagerAttribute and allocate and free what they do in `step`.
///
/// What a region hands to a later one lives as long as the forward pass if the
/// whole network is compiled: the functions that Dynamo resumes in call each
/// other, and their locals stay. A call of a compiled module alone keeps its
/// operands until it returns.
OperatorGraph JoinRegions(const OperatorGraph& step, const Regions& regions,
                          const std::vector<std::optional<Region>>& compiled);

}  // namespace foretell::runtime
