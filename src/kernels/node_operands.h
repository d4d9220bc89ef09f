#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::cost {

/// True for a view, or for a conversion, copy, dropout or padding that returns
/// its input. In-place operators share the storage too, but work on it.
bool IsAlias(const OperatorGraph& graph, const Node& node);

/// Distinct operands of `node` whose bytes count, in their order: all, except
/// the indices in lookups of floating-point numbers. These are small compared
/// with what is looked up, except in exported graphs, where they are spelled
/// out in full.
std::vector<ValueId> ReadOperands(const OperatorGraph& graph, const Node& node);

}  // namespace foretell::cost
