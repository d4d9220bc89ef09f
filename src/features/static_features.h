#pragma once

#include "foretell/graph.h"

namespace foretell {

/// True for any form in which exporters write a fully connected layer: a linear
/// layer, a product of two matrices (mm, addmm), or of anything with a weight
/// matrix.
bool IsDense(const OperatorGraph& graph, const Node& node);

}  // namespace foretell
