#pragma once

#include <map>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Sets ModelInput::fill of every tensor of whole numbers that the user gives:
/// 1, or the nearest number that is in the ranges of all numbers that the graph
/// takes from its content. `numbers` has these ranges, by the slot of the
/// number.
void FindFills(const std::map<int, SizeRange>& numbers, Model& model);

}  // namespace foretell::exported
