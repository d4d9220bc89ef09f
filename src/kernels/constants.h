#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::cost {

/// For every value: whether it can differ from step to step, because it comes
/// from an input, from random numbers, or from a parameter or buffer that an
/// operator updates in place. Parameters and buffers themselves do not.
std::vector<bool> VaryingValues(const OperatorGraph& graph);

/// True for a node that only prepares a table: its first result is no floating
/// point number and nothing that it reads or writes is in `varying` (see
/// VaryingValues), unless it computes with integers of 8 bits, which are
/// quantised weights. Exporters spell such tables out node by node (relative
/// positions, masks, shapes); the network that was exported looks them up.
bool IsConstantTable(const OperatorGraph& graph, const Node& node,
                     const std::vector<bool>& varying);

}  // namespace foretell::cost
