#pragma once

#include "foretell/graph.h"

namespace foretell {

/// Checks the attributes of `node` against the table of valid attribute values:
/// dimensions within the rank of the tensor that they count, permutations,
/// windows, counts, flags. Attributes and operators outside the table are not
/// checked, and code must not index by them.
///
/// Throws Error(kInvalidArgument) that names the attribute, its value and what
/// was expected.
void CheckAttributes(const OperatorGraph& graph, const Node& node);

}  // namespace foretell
