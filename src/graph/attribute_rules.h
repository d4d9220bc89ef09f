#pragma once

#include "foretell/graph.h"

namespace foretell {

/// Checks the attributes of `node` against the table of what each attribute of
/// each operator may be: dimensions within the rank of the tensor that they
/// count, permutations, windows, counts, flags. Attributes and operators that
/// the table does not name are free, and no reader may index by them.
///
/// Throws Error(kInvalidArgument) that names the attribute, its value and what
/// was expected.
void CheckAttributes(const OperatorGraph& graph, const Node& node);

}  // namespace foretell
