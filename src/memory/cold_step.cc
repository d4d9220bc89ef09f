#include "src/memory/cold_step.h"

#include <set>
#include <vector>

#include "src/memory/schedule.h"

namespace foretell::memory {
namespace {

bool IsOfOptimizer(const OperatorGraph& graph, const ScheduledEvent& event) {
  if (event.node != kNone &&
      graph.node(event.node).phase == Phase::kOptimizer) {
    return true;
  }
  if (event.storage == kNone) return false;
  const TensorRole role = graph.storage(event.storage).role;
  return role == TensorRole::kOptimizerState ||
         role == TensorRole::kOptimizerTemporary;
}

bool IsBorn(const OperatorGraph& graph, const ScheduledEvent& event) {
  if (IsOfOptimizer(graph, event)) return false;
  return event.node != kNone || event.storage == kNone ||
         IsSource(graph.storage(event.storage).role);
}

}  // namespace

ColdStep ReplayColdStep(const OperatorGraph& graph,
                        const MemoryOptions& options) {
  std::vector<AllocationEvent> events;
  std::set<std::int64_t> live;
  for (const ScheduledEvent& event : MakeStepSchedule(graph, options)) {
    const std::int64_t id = event.allocation.id;
    const bool kept = event.IsBirth()
                          ? IsBorn(graph, event) && live.insert(id).second
                          : live.erase(id) > 0;
    if (kept) events.push_back(event.allocation);
  }
  const AllocatorReplay replay =
      SimulateCachingAllocator(events, options.allocator);
  return {.allocated = replay.peak_allocated,
          .reserved = replay.peak_reserved,
          .fits = !replay.out_of_memory};
}

}  // namespace foretell::memory
