#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// Puts the first step of the process in front of that of `schedule`, as
/// MakeStepSchedule gives it: what comes before its first operator, the same
/// operators and workspaces, then the graph's step. In training the first one
/// has no optimizer state, which comes before the first operator of the
/// optimizer. What it leaves behind, gradients and results, is freed where the
/// graph's step frees what was left to it, else before it begins.
///
/// A training graph's own record of that first step has no operators, hence
/// none of their workspaces; which segments a process holds depends on them, as
/// on cuBLAS's workspace, which the second step finds there. More steps change
/// nothing: from the second on all are alike.
std::vector<ScheduledEvent> WithWarmUp(
    const OperatorGraph& graph, const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
