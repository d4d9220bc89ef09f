#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// Inserts the first step of the process before that of `schedule` (from
/// MakeStepSchedule): events before its first operator, the same operators and
/// workspaces, then the graph's step. In training the first step allocates
/// optimizer state before the first operator of the optimizer. Its remaining
/// gradients and results are freed where the graph's step frees such memory,
/// else before that step begins.
///
/// A training graph's own record of that first step has no operators, hence
/// none of their workspaces; which segments a process holds depends on them, as
/// on cuBLAS's workspace, which the second step finds there. Further steps
/// change nothing: all from the second are identical.
std::vector<ScheduledEvent> WithWarmUp(
    const OperatorGraph& graph, const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
