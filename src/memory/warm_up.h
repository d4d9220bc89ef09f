#pragma once

#include <vector>

#include "foretell/graph.h"
#include "src/memory/schedule.h"

namespace foretell::memory {

/// Puts the first step of the process in front of that of `schedule`, which is
/// a training graph's as MakeStepSchedule gives it: what stands before its
/// first operator, the same operators and workspaces without optimizer state,
/// that state before the first operator of the optimizer, then the graph's
/// step. What the first step leaves behind, gradients and results, is freed
/// where the graph's step frees what was left to it, else before it begins.
///
/// A graph's own record of that first step has no operators, hence none of
/// their workspaces; which segments a process holds depends on them. More steps
/// change nothing: from the second on all are alike.
std::vector<ScheduledEvent> WithWarmUp(
    const OperatorGraph& graph, const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
