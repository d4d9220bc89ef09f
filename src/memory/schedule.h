#pragma once

#include <vector>

#include "foretell/graph.h"
#include "foretell/memory.h"

namespace foretell::memory {

/// An allocation event and what it is for.
struct ScheduledEvent {
  AllocationEvent allocation;
  StorageId storage = kNone;  ///< kNone: a workspace.
  NodeId node = kNone;        ///< Node during which it happens.
  bool warms_up = false;  ///< During the process's first step, see WithWarmUp.

  /// Before the first node of the graph's own step.
  bool IsBeforeStep() const { return warms_up || node == kNone; }
};

/// The graph's events, node by node, with those of the libraries' workspaces
/// put where LibTorch has them: cuBLAS's before the first node that needs it,
/// for good; each of cuDNN's, optional, once the result of its pass is
/// allocated, until the next event. Without options.with_workspaces the graph's
/// events alone.
std::vector<ScheduledEvent> MakeStepSchedule(const OperatorGraph& graph,
                                             const MemoryOptions& options);

/// The same, after the first step of the process (WithWarmUp).
std::vector<ScheduledEvent> MakeSchedule(const OperatorGraph& graph,
                                         const MemoryOptions& options);

/// The events as an allocator takes them.
std::vector<AllocationEvent> AllocationsOf(
    const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
