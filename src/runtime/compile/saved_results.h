#pragma once

#include "foretell/graph.h"

namespace foretell::runtime {

/// `graph` in which tensors that an operator makes inside and keeps for its
/// backward operator (means of a norm, the mask of a dropout, indices of a
/// pooling) are further results of it, in the order in which it allocates them,
/// instead of sources of the backward pass. Lifetimes are derived.
OperatorGraph ExposeSaved(const OperatorGraph& graph);

}  // namespace foretell::runtime
