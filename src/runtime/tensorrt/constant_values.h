#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// By value: whether TensorRT's builder knows it, because it follows from
/// weights, buffers and constants alone. What random numbers, inputs or a write
/// in place into one of them had a part in is not.
std::vector<bool> ConstantValues(const OperatorGraph& graph);

}  // namespace foretell::runtime
