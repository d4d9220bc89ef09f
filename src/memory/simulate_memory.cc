#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/memory/least_memory.h"
#include "src/memory/link_buffers.h"
#include "src/memory/schedule.h"

// Memory of one step: what the process would show in nvidia-smi.
//
//   total = CUDA context + NCCL's buffers + peak of the reserved segments
//
// The segments follow from replaying the lifetimes of the graph's storages and
// of the libraries' workspaces through the caching allocator. Everything that
// explains the number (roles, largest tensors, timeline) is read off the same
// replay, so the parts add up to the whole by construction.

namespace foretell {
namespace {

using memory::ScheduledEvent;

/// Shares of the moving memory, which is what is reserved apart from parameters
/// and buffers, by which a published peak may lie above and below the simulated
/// one, the context's own uncertainty apart. They are quantiles over published
/// sources, each weighing the same, rounded up: scripts/published/
/// score_interval.py prints them, and what they cover of a source left out.
constexpr double kShareAboveOfInference = 0.36;
constexpr double kShareAboveOfTraining = 0.23;
constexpr double kShareBelow = 0.10;

/// Takes refused workspaces off the account. Each is freed by the event that
/// follows.
void DropRefused(const std::vector<std::size_t>& refused,
                 std::vector<ScheduledEvent>& schedule) {
  for (const std::size_t i : refused) {
    schedule[i].allocation.bytes = 0;
    schedule[i + 1].allocation.bytes = 0;
  }
}

/// Live storages and workspace bytes after the first `count` events.
struct Snapshot {
  /// Births of what is alive, by the allocation's id.
  std::map<std::int64_t, const ScheduledEvent*> born;
  std::int64_t workspace = 0;
};

Snapshot SnapshotAfter(const std::vector<ScheduledEvent>& schedule,
                       std::size_t count) {
  Snapshot snapshot;
  for (std::size_t i = 0; i < count; ++i) {
    const ScheduledEvent& event = schedule[i];
    const bool born = event.IsBirth();
    if (event.storage == kNone) {
      snapshot.workspace +=
          born ? event.allocation.bytes : -event.allocation.bytes;
    } else if (born) {
      snapshot.born[event.allocation.id] = &event;
    } else {
      snapshot.born.erase(event.allocation.id);
    }
  }
  return snapshot;
}

std::int64_t PeakWorkspace(const std::vector<ScheduledEvent>& schedule,
                           std::size_t count) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const AllocationEvent& event = schedule[i].allocation;
    if (schedule[i].storage != kNone) continue;
    live += event.kind == AllocationEvent::Kind::kAllocate ? event.bytes
                                                           : -event.bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

/// The tensor of every storage that gave it its label, else the first; kNone
/// for a storage without one.
std::vector<ValueId> FirstValues(const OperatorGraph& graph) {
  std::vector<ValueId> first(graph.storages().size(), kNone);
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const StorageId storage = graph.values()[i].storage;
    if (storage == kNone) continue;
    ValueId& slot = first[static_cast<std::size_t>(storage)];
    const bool is_label =
        graph.values()[i].name == graph.storage(storage).label;
    if (slot == kNone || is_label) slot = static_cast<ValueId>(i);
  }
  return first;
}

LiveTensor Describe(const OperatorGraph& graph, const ScheduledEvent& born,
                    ValueId first_value) {
  const Storage& storage = graph.storage(born.storage);
  LiveTensor tensor{.label = storage.label,
                    .bytes = storage.bytes,
                    .role = storage.role,
                    .producer = born.node};
  if (first_value != kNone) {
    const Value& value = graph.value(first_value);
    tensor.type = value.type;
    if (tensor.label.empty()) tensor.label = value.name;
  }
  if (tensor.label.empty()) {
    tensor.label = fmt::format("storage {}", born.storage);
  }
  return tensor;
}

void AttributePeak(const OperatorGraph& graph, const Snapshot& snapshot,
                   MemoryBreakdown& result) {
  std::vector<const ScheduledEvent*> live;
  std::int64_t tensors = 0;
  for (const auto& [id, born] : snapshot.born) {
    const Storage& storage = graph.storage(born->storage);
    result.at_peak_by_role[static_cast<std::size_t>(storage.role)] +=
        storage.bytes;
    tensors += storage.bytes;
    if (storage.bytes > 0) live.push_back(born);
  }
  result.at_peak_workspace = snapshot.workspace;
  result.at_peak_rounding =
      result.allocated_peak - tensors - snapshot.workspace;
  std::ranges::stable_sort(
      live, std::ranges::greater(),
      [](const ScheduledEvent* event) { return event->allocation.bytes; });
  live.resize(std::min(live.size(), kMaxLiveTensors));
  const std::vector<ValueId> first = FirstValues(graph);
  for (const ScheduledEvent* born : live) {
    result.largest_at_peak.push_back(
        Describe(graph, *born, first[static_cast<std::size_t>(born->storage)]));
  }
}

/// State before the first node, then carried through nodes without events.
std::vector<NodeMemory> Timeline(const std::vector<ScheduledEvent>& schedule,
                                 const std::vector<AllocatorState>& states,
                                 std::size_t num_nodes) {
  std::vector<NodeMemory> timeline(num_nodes);
  AllocatorState state;
  std::size_t next = 0;
  for (; next < states.size() && schedule[next].IsBeforeStep(); ++next) {
    state = states[next];
  }
  for (std::size_t i = 0; i < num_nodes; ++i) {
    NodeMemory& node = timeline[i];
    node.peak_allocated = state.allocated;
    const NodeId id = static_cast<NodeId>(i);
    for (; next < states.size() && schedule[next].node == id; ++next) {
      state = states[next];
      node.peak_allocated = std::max(node.peak_allocated, state.allocated);
    }
    node.allocated_after = state.allocated;
    node.reserved_after = state.reserved;
  }
  return timeline;
}

void SetTotal(const OperatorGraph& graph, const MemoryOptions& options,
              MemoryBreakdown& result) {
  const ContextModel& context = options.context;
  result.context = memory::ContextBytes(graph, options);
  result.link_buffers = memory::LinkBufferBytes(graph, options.device);
  result.total = result.context + result.link_buffers + result.reserved_peak;
  const std::int64_t standing = result.AtPeak(TensorRole::kParameter) +
                                result.AtPeak(TensorRole::kBuffer);
  const auto moving = static_cast<double>(result.reserved_peak - standing);
  const double above = graph.info().mode == Mode::kTraining
                           ? kShareAboveOfTraining
                           : kShareAboveOfInference;
  const double doubt =
      context.context_uncertainty_mib * static_cast<double>(kMiB);
  result.total_low = std::max<std::int64_t>(
      result.allocated_peak,
      result.total - std::llround(kShareBelow * moving + doubt));
  result.total_high = result.total + std::llround(above * moving + doubt);
}

/// The first event at which the graph's step holds most, or the whole replay
/// where it does not come that far or has no warm-up.
std::size_t PeakEvent(const std::vector<ScheduledEvent>& schedule,
                      const AllocatorReplay& replay) {
  const std::vector<AllocatorState>& states = replay.timeline;
  std::size_t first = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (schedule[i].warms_up) first = i + 1;
  }
  if (first == 0 || first == states.size()) return replay.peak_event;
  const auto peak = std::ranges::max_element(
      states.begin() + static_cast<std::ptrdiff_t>(first), states.end(), {},
      &AllocatorState::allocated);
  return static_cast<std::size_t>(peak - states.begin());
}

MemoryShortage ShortageOf(const OutOfMemory& oom,
                          const std::vector<ScheduledEvent>& schedule) {
  return {.node = schedule[oom.event].node,
          .requested_bytes = oom.requested_bytes,
          .reserved = oom.before.reserved};
}

}  // namespace

MemoryBreakdown SimulateMemory(const OperatorGraph& graph,
                               const MemoryOptions& options) {
  std::vector<ScheduledEvent> schedule = memory::MakeSchedule(graph, options);
  const AllocatorReplay replay = SimulateCachingAllocator(
      memory::AllocationsOf(schedule), options.allocator);
  DropRefused(replay.refused, schedule);
  const std::size_t done = replay.timeline.size();
  MemoryBreakdown result;
  result.reserved_peak = replay.peak_reserved;
  result.workspace_peak = PeakWorkspace(schedule, done);
  if (done > 0) {
    const std::size_t peak = PeakEvent(schedule, replay);
    result.allocated_peak = replay.timeline[peak].allocated;
    result.peak_node = schedule[peak].node;
    AttributePeak(graph, SnapshotAfter(schedule, peak + 1), result);
  }
  result.timeline = Timeline(schedule, replay.timeline, graph.nodes().size());
  if (replay.out_of_memory) {
    result.shortage = ShortageOf(*replay.out_of_memory, schedule);
  }
  SetTotal(graph, options, result);
  return result;
}

}  // namespace foretell
