#pragma once

#include <cstdint>
#include <set>
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

  /// Whether something is allocated, in place of freed.
  bool IsBirth() const {
    return allocation.kind == AllocationEvent::Kind::kAllocate;
  }
  /// Before the first node of the graph's own step.
  bool IsBeforeStep() const { return warms_up || node == kNone; }
};

/// The graph's events, node by node, with those of the libraries' workspaces
/// put where LibTorch has them: cuBLAS's before the first node that multiplies,
/// in the backward pass another, both for good; each of a convolution's,
/// optional where it is cuDNN's, once the result of its pass is allocated,
/// until the next event. Without options.with_workspaces the graph's events
/// alone.
std::vector<ScheduledEvent> MakeStepSchedule(const OperatorGraph& graph,
                                             const MemoryOptions& options);

/// The same, after the first step of the process (WithWarmUp).
std::vector<ScheduledEvent> MakeSchedule(const OperatorGraph& graph,
                                         const MemoryOptions& options);

/// How many threads of a step use a cuBLAS handle: none, one or two.
int CountCublasHandles(const OperatorGraph& graph, const TorchVersion& torch);

/// Ids of the workspaces that `schedule` allocates for good: cuBLAS's.
std::set<std::int64_t> LastingWorkspaces(
    const std::vector<ScheduledEvent>& schedule);

/// Whether a process has it before its first step: parameters, buffers, inputs.
bool IsSource(TensorRole role);

/// The events as an allocator reads them.
std::vector<AllocationEvent> AllocationsOf(
    const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
