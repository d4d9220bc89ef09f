#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/graph/storage_bytes.h"
#include "src/memory/least_memory.h"
#include "src/memory/link_buffers.h"
#include "src/memory/loop_schedule.h"
#include "src/memory/planned_schedule.h"
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
/// one, the context's own uncertainty apart.
struct MovingShares {
  double above;
  double below;
};

/// Fitted: 5 % of the rows lie beyond either end. scripts/published/
/// score_interval.py prints what they cover of a source left out.
constexpr MovingShares kTraining = {0.10, 0.08};
constexpr MovingShares kAdapters = {0.21, 0.18};

/// Chosen, because the few sources there are disagree. In inference one network
/// of one source decides (docs/memory.md#the-interval). Only one source has
/// processes on several GPUs, which hold more than the graph shows, some of it
/// only for a moment.
constexpr MovingShares kInference = {0.25, 0.05};
constexpr MovingShares kShared = {0.30, 0.12};

/// Of a guessed environment: the least share above, with which nine in ten of
/// reported figures lie inside (scripts/published/score_field_reports.py), and
/// further MiB of the context: those of PyTorch 2 that were measured or reported
/// lie within 150 MiB of the default (data/environments.json).
constexpr double kGuessedShare = 0.23;
constexpr double kGuessedContextMib = 70;

/// Of an engine of TensorRT. It holds its weights and one block for its
/// activations, planned when it was built (ICudaEngine::getDeviceMemorySizeV2);
/// since TensorRT 10 neither cuDNN nor cuBLAS is used by default. From above it
/// is known badly: published processes that ran one through ONNX Runtime on an
/// A100 (BGE base, optimum-benchmark 06dab189) hold 300 MiB more than the same
/// without TensorRT, and grow three times as fast with the batch as the
/// activations, inputs and results of that runtime included.
constexpr MovingShares kEngine = {2.2, 0.10};
constexpr double kEngineRuntimeMib = 300;

bool RunsEngine(const PassSequence& passes) {
  return passes.list.front().graph->info().runtime.runtime ==
         Runtime::kTensorRt;
}

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
    if (event.allocation.place == AllocationPlace::kPlan) continue;
    if (born && event.allocation.bytes == 0) continue;
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
    if (event.place == AllocationPlace::kPlan) continue;
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

LiveTensor Describe(const ScheduledEvent& born, ValueId first_value) {
  const OperatorGraph& graph = *born.graph;
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

/// The largest of `live`, which is sorted. A producer in another graph than
/// `graph` has no name there.
std::vector<LiveTensor> LargestOf(std::vector<const ScheduledEvent*> live,
                                  const OperatorGraph& graph) {
  live.resize(std::min(live.size(), kMaxLiveTensors));
  std::map<const OperatorGraph*, std::vector<ValueId>> first;
  std::vector<LiveTensor> largest;
  for (const ScheduledEvent* born : live) {
    const auto [values, is_new] = first.try_emplace(born->graph);
    if (is_new) values->second = FirstValues(*born->graph);
    largest.push_back(Describe(
        *born, values->second[static_cast<std::size_t>(born->storage)]));
    if (born->graph != &graph) largest.back().producer = kNone;
  }
  return largest;
}

void AttributePeak(const OperatorGraph& graph, const Snapshot& snapshot,
                   MemoryBreakdown& result) {
  std::vector<const ScheduledEvent*> live;
  std::int64_t tensors = 0;
  for (const auto& [id, born] : snapshot.born) {
    const Storage& storage = born->graph->storage(born->storage);
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
  result.largest_at_peak = LargestOf(std::move(live), graph);
}

/// State before the first node of `pass`, then carried through nodes without
/// events.
std::vector<NodeMemory> Timeline(const std::vector<ScheduledEvent>& schedule,
                                 const std::vector<AllocatorState>& states,
                                 std::size_t pass, std::size_t num_nodes) {
  std::vector<NodeMemory> timeline(num_nodes);
  AllocatorState state;
  std::size_t next = 0;
  const auto is_before = [pass](const ScheduledEvent& event) {
    return event.pass < pass || event.node == kNone;
  };
  for (; next < states.size() && is_before(schedule[next]); ++next) {
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

/// Whether a step computes gradients of less than half of its parameters, by
/// bytes: of adapters, or of the last layers.
bool TrainsSmallPart(const OperatorGraph& graph) {
  return 2 * BytesOfRole(graph, TensorRole::kGradient) <
         BytesOfRole(graph, TensorRole::kParameter);
}

MovingShares SharesOf(const PassSequence& passes, bool on_several_gpus) {
  if (RunsEngine(passes)) return kEngine;
  const auto training =
      std::ranges::find_if(passes.list, [](const RunPass& pass) {
        return pass.graph->info().mode == Mode::kTraining;
      });
  if (training == passes.list.end()) return kInference;
  if (on_several_gpus) return kShared;
  return TrainsSmallPart(*training->graph) ? kAdapters : kTraining;
}

void SetTotal(const PassSequence& passes, const MemoryOptions& options,
              MemoryBreakdown& result) {
  const ContextModel& context = options.context;
  result.context = memory::ContextBytes(passes, options);
  result.link_buffers =
      memory::LinkBufferBytes(*passes.list.front().graph, options.device);
  result.total = result.context + result.link_buffers + result.reserved_peak;
  const std::int64_t standing = result.AtPeak(TensorRole::kParameter) +
                                result.AtPeak(TensorRole::kBuffer);
  const auto moving = static_cast<double>(result.reserved_peak - standing);
  MovingShares shares = SharesOf(passes, result.link_buffers > 0);
  const auto mib = static_cast<double>(kMiB);
  double doubt = context.context_uncertainty_mib * mib;
  if (options.guessed_environment) {
    shares.above = std::max(shares.above, kGuessedShare);
    doubt += kGuessedContextMib * mib;
  }
  result.total_low = std::max<std::int64_t>(
      result.allocated_peak,
      result.total - std::llround(shares.below * moving + doubt));
  const double runtime = RunsEngine(passes) ? kEngineRuntimeMib * mib : 0;
  result.total_high =
      result.total + std::llround(shares.above * moving + doubt + runtime);
}

/// The first event at which the passes since `counted` hold most, or the whole
/// replay where it does not come that far or has no warm-up.
std::size_t PeakEvent(const std::vector<ScheduledEvent>& schedule,
                      const AllocatorReplay& replay, std::size_t counted) {
  const std::vector<AllocatorState>& states = replay.timeline;
  std::size_t first = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (schedule[i].pass < counted) first = i + 1;
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

/// Of the passes since `counted`, one for each of the sequence.
std::vector<PassMemory> MemoryOfPasses(
    const std::vector<ScheduledEvent>& schedule,
    const std::vector<AllocatorState>& states, std::size_t counted,
    std::size_t num_passes) {
  std::vector<PassMemory> passes(num_passes);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (schedule[i].pass < counted) continue;
    PassMemory& pass = passes.at((schedule[i].pass - counted) % num_passes);
    pass.allocated_peak = std::max(pass.allocated_peak, states[i].allocated);
    pass.reserved_after = states[i].reserved;
  }
  return passes;
}

}  // namespace

MemoryBreakdown SimulateMemory(const PassSequence& passes,
                               const MemoryOptions& given) {
  MemoryOptions options = given;
  options.with_workspaces &= !RunsEngine(passes);
  std::vector<ScheduledEvent> schedule = memory::MakeSchedule(passes, options);
  const AllocatorReplay replay = SimulateCachingAllocator(
      memory::AllocationsOf(schedule), memory::AllocatorOf(passes, options));
  DropRefused(replay.refused, schedule);
  const std::size_t done = replay.timeline.size();
  const std::size_t counted = memory::FirstCounted(passes);
  const std::size_t size = passes.list.size();
  MemoryBreakdown result;
  result.reserved_peak =
      RunsEngine(passes) ? replay.peak_allocated : replay.peak_reserved;
  result.workspace_peak = PeakWorkspace(schedule, done);
  const std::size_t peak = done > 0 ? PeakEvent(schedule, replay, counted) : 0;
  if (done > 0) result.peak_pass = schedule[peak].pass % size;
  const OperatorGraph& graph = *passes.list[result.peak_pass].graph;
  if (done > 0) {
    result.allocated_peak = replay.timeline[peak].allocated;
    result.peak_node = schedule[peak].node;
    AttributePeak(graph, SnapshotAfter(schedule, peak + 1), result);
  }
  result.timeline = Timeline(schedule, replay.timeline,
                             counted + result.peak_pass, graph.nodes().size());
  result.passes = MemoryOfPasses(schedule, replay.timeline, counted, size);
  if (replay.out_of_memory) {
    result.shortage = ShortageOf(*replay.out_of_memory, schedule);
  }
  SetTotal(passes, options, result);
  return result;
}

}  // namespace foretell
