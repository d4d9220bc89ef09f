#pragma once

#include <string>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// By node of a step of PyTorch's operators: the region that Dynamo compiles it
/// in, from 0 in the order of the forward pass; kNone for the optimizer's.
///
/// The graph breaks after each run of operators in one of the modules `breaks`,
/// paths from the network's root with "*" for any one name. Throws
/// Error(kInvalidArgument) for a path of which the forward pass runs nothing
/// and for accumulated batches.
std::vector<int> FindRegions(const OperatorGraph& graph,
                             const std::vector<std::string>& breaks);

}  // namespace foretell::runtime
