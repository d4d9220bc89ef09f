#pragma once

#include <map>

#include "frontends/exported/graph.h"

namespace foretell::exported {

/// Sets ModelInput::fill of every tensor of whole numbers that the user gives:
/// 1, or the nearest number in the ranges of all numbers that the graph reads
/// from its content. `numbers` has these ranges by slot.
void FindFills(const std::map<int, SizeRange>& numbers, Model& model);

}  // namespace foretell::exported
