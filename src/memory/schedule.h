#pragma once

#include <cstddef>
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
  /// Has the storage, and for a birth the node.
  const OperatorGraph* graph = nullptr;
  std::size_t pass =
      0;  ///< Index in the run of the process; see loop_schedule.h.

  /// True for an allocation, false for a free.
  bool IsBirth() const {
    return allocation.kind == AllocationEvent::Kind::kAllocate;
  }
};

/// The graph's events, node by node, with the libraries' workspaces inserted as
/// in LibTorch: cuBLAS's before the first node that multiplies, another one in
/// the backward pass, both permanent; each of a convolution's, optional if it
/// is cuDNN's, from the allocation of its pass's result to the next event.
/// Without options.with_workspaces only the graph's events.
std::vector<ScheduledEvent> MakeStepSchedule(const OperatorGraph& graph,
                                             const MemoryOptions& options);

/// The stream on which a node's results are allocated.
Stream StreamOf(const Node& node);

/// Number of threads of a step that use a cuBLAS handle: 0, 1 or 2.
int CountCublasHandles(const OperatorGraph& graph, const TorchVersion& torch);

/// Ids of the permanent workspaces in `schedule`: cuBLAS's.
std::set<std::int64_t> LastingWorkspaces(
    const std::vector<ScheduledEvent>& schedule);

/// True for storages that exist before the first step: parameters, buffers,
/// inputs.
bool IsSource(TensorRole role);

/// The events as an allocator reads them.
std::vector<AllocationEvent> AllocationsOf(
    const std::vector<ScheduledEvent>& schedule);

}  // namespace foretell::memory
