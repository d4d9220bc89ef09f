#include "src/memory/momentum_step.h"

#include <set>
#include <vector>

#include "src/graph/storage_bytes.h"
#include "src/memory/schedule.h"

namespace foretell::memory {
namespace {

using Kind = AllocationEvent::Kind;

/// Storages of the optimizer that momentum does not need: temporaries, and
/// states beyond one per parameter.
std::set<StorageId> Needless(const OperatorGraph& graph) {
  std::set<StorageId> needless;
  std::int64_t room = BytesOfRole(graph, TensorRole::kParameter);
  for (std::size_t i = 0; i < graph.storages().size(); ++i) {
    const Storage& storage = graph.storages()[i];
    const auto id = static_cast<StorageId>(i);
    if (storage.role == TensorRole::kOptimizerTemporary) needless.insert(id);
    if (storage.role != TensorRole::kOptimizerState) continue;
    if (storage.bytes > room) {
      needless.insert(id);
    } else {
      room -= storage.bytes;
    }
  }
  return needless;
}

/// A state per parameter, under ids of their own.
void AddStates(const OperatorGraph& graph,
               std::vector<AllocationEvent>& events) {
  for (std::size_t i = 0; i < graph.storages().size(); ++i) {
    const Storage& storage = graph.storages()[i];
    if (storage.role != TensorRole::kParameter) continue;
    events.push_back(
        {Kind::kAllocate, -1 - static_cast<std::int64_t>(i), storage.bytes});
  }
}

std::vector<AllocationEvent> WithMomentum(
    const OperatorGraph& graph, const std::vector<ScheduledEvent>& schedule) {
  const std::set<StorageId> needless = Needless(graph);
  bool has_states = BytesOfRole(graph, TensorRole::kOptimizerState) > 0;
  std::vector<AllocationEvent> events;
  for (const ScheduledEvent& event : schedule) {
    if (event.node != kNone && !has_states) {
      has_states = true;
      AddStates(graph, events);
    }
    if (event.storage == kNone || !needless.contains(event.storage)) {
      events.push_back(event.allocation);
    }
  }
  return events;
}

}  // namespace

std::int64_t ReservedBeyondMomentum(const OperatorGraph& graph,
                                    MemoryOptions options) {
  options.allocator.device_limit_bytes = kUnlimitedBytes;
  const std::vector<ScheduledEvent> schedule = MakeStepSchedule(graph, options);
  const auto reserved = [&options](const std::vector<AllocationEvent>& events) {
    return SimulateCachingAllocator(events, options.allocator).peak_reserved;
  };
  return reserved(AllocationsOf(schedule)) -
         reserved(WithMomentum(graph, schedule));
}

}  // namespace foretell::memory
