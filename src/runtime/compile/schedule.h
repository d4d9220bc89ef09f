#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/runtime/compile/loops.h"

namespace foretell::runtime {

/// One kernel: nodes of the graph in their order, those that are buffers
/// (Loop::is_buffer).
using KernelNodes = std::vector<NodeId>;

/// The kernels that Inductor's scheduler fuses `loops` into (LowerLoops), in an
/// order in which each comes after those that it reads.
std::vector<KernelNodes> ScheduleKernels(const OperatorGraph& graph,
                                         const std::vector<Loop>& loops);

}  // namespace foretell::runtime
