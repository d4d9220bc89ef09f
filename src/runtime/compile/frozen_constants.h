#pragma once

#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// By value of an inference of primitives: whether Inductor's freezing knows
/// its content, a parameter or buffer that the step does not write, and what is
/// computed of such alone. What is made of nothing, as by zeros, is none:
/// kernels make it as they need it.
std::vector<bool> FindConstants(const OperatorGraph& graph);

}  // namespace foretell::runtime
