#pragma once

#include "src/graph/block_runs.h"
#include "src/runtime/compile/joint_graph.h"

namespace foretell::runtime {

/// Sets the policies of operators in checkpointed blocks. `runs` is of the
/// graph that `joint` was made of.
void SetKeepPolicies(const BlockRuns& runs, JointGraph& joint);

}  // namespace foretell::runtime
