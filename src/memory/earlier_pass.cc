#include "src/memory/earlier_pass.h"

#include <set>

#include "src/core/units.h"
#include "src/memory/least_memory.h"
#include "src/memory/loop_schedule.h"
#include "src/memory/schedule.h"

// A pass before the first step, as a summary of the network runs it.
//
// GPUMemNet's rows of convolutional networks were measured after
// torchsummary.summary (cnn.py at c4c6aa8), which the table does not state.
// Autograd keeps all activations of its two samples until the pass is over,
// and the segments that they leave behind serve no tensor of a larger batch:
// about 2 / batch of the activations on top. Without it, simulated networks
// of one width were 5 % low, at small batches by more.

namespace foretell::memory {
namespace {

using Kind = AllocationEvent::Kind;

/// Allocations of the pass have ids from here on, beyond those of any graph.
constexpr std::int64_t kFirstId = std::int64_t{1} << 40;

/// Whether the pass has this event of a training step: its input is made, or a
/// forward operator runs.
bool IsOfPass(const OperatorGraph& graph, const ScheduledEvent& event) {
  if (event.node != kNone) {
    return graph.node(event.node).phase == Phase::kForward;
  }
  return event.storage != kNone && event.IsBirth() &&
         graph.storage(event.storage).role == TensorRole::kInput;
}

/// Whether the process has it before any pass.
bool StandsFirst(const OperatorGraph& graph, const ScheduledEvent& event) {
  if (event.node != kNone || event.storage == kNone || !event.IsBirth()) {
    return false;
  }
  const TensorRole role = graph.storage(event.storage).role;
  return IsSource(role) && role != TensorRole::kInput;
}

/// Adds the pass, all of whose tensors are dropped at its end.
void AddPass(const OperatorGraph& graph, const MemoryOptions& options,
             std::vector<AllocationEvent>& events) {
  const std::vector<ScheduledEvent> step = MakeStepSchedule(graph, options);
  const std::set<std::int64_t> lasting = LastingWorkspaces(step);
  std::set<std::int64_t> live;
  for (const ScheduledEvent& event : step) {
    if (!IsOfPass(graph, event)) continue;
    AllocationEvent one = event.allocation;
    const bool lasts = event.storage == kNone && lasting.contains(one.id);
    one.id += kFirstId;
    if (!event.IsBirth() && live.erase(one.id) == 0) continue;
    if (event.IsBirth() && !lasts) live.insert(one.id);
    events.push_back(one);
  }
  for (const std::int64_t id : live) events.push_back({Kind::kFree, id});
}

}  // namespace

std::vector<AllocationEvent> EventsAfterPass(const OperatorGraph& graph,
                                             const OperatorGraph& earlier,
                                             const MemoryOptions& options) {
  const std::vector<ScheduledEvent> schedule = MakeSchedule(graph, options);
  std::vector<AllocationEvent> events;
  for (const ScheduledEvent& event : schedule) {
    if (StandsFirst(graph, event)) events.push_back(event.allocation);
  }
  AddPass(earlier, options, events);
  const std::set<std::int64_t> lasting = LastingWorkspaces(schedule);
  for (const ScheduledEvent& event : schedule) {
    const bool is_there =
        StandsFirst(graph, event) ||
        (event.storage == kNone && lasting.contains(event.allocation.id));
    if (!is_there) events.push_back(event.allocation);
  }
  return events;
}

HeldAfterPass SimulateAfterPass(const OperatorGraph& graph,
                                const OperatorGraph& earlier,
                                const MemoryOptions& options) {
  const std::int64_t context = ContextBytes(graph, options);
  const std::int64_t limit = options.device.usable_mib * kMiB;
  const std::vector<AllocationEvent> events =
      EventsAfterPass(graph, earlier, options);
  CachingAllocatorConfig config = options.allocator;
  HeldAfterPass held = {
      context + SimulateCachingAllocator(events, config).peak_reserved, {}};
  config.device_limit_bytes = limit - context;
  const AllocatorReplay within = SimulateCachingAllocator(events, config);
  if (!within.out_of_memory) held.on_device = context + within.peak_reserved;
  return held;
}

}  // namespace foretell::memory
