#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// By value of an inference of primitives: whether Inductor's freezing knows
/// its content: that of a parameter or buffer that the step does not write, or
/// a result computed from such values alone. The result of an operator without
/// operands, such as zeros, does not count: kernels compute it where they need
/// it.
std::vector<bool> FindConstants(const OperatorGraph& graph);

}  // namespace foretell::runtime
