#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/graph_breaks.h"
#include "src/runtime/compile/region.h"

namespace foretell::runtime {

/// Names of the parameters and buffers of an inference `step` that freezing
/// leaves to no reader: neither one of the `compiled` regions, frozen each, nor
/// an operator of the others. `compiled` is by region; empty ones are eager.
std::set<std::string> DiscardedSources(
    const OperatorGraph& step, const Regions& regions,
    const std::vector<std::optional<Region>>& compiled);

}  // namespace foretell::runtime
