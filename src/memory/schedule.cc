#include "src/memory/schedule.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/attributes.h"
#include "src/graph/collective.h"
#include "src/graph/parallel_plan.h"
#include "src/kernels/cublas.h"
#include "src/memory/planned_schedule.h"
#include "src/memory/te_memory.h"
#include "src/memory/workspace.h"

namespace foretell::memory {
namespace {

using Kind = AllocationEvent::Kind;

/// The first product of each thread; kNone if it has none. A cuBLAS handle
/// belongs to a thread, and autograd runs the backward pass on one of its own.
struct FirstProducts {
  NodeId main = kNone;
  NodeId autograds = kNone;
};

FirstProducts FirstProductsOf(const OperatorGraph& graph,
                              const TorchVersion& torch) {
  FirstProducts first;
  const std::vector<bool> multiplies =
      cost::CublasNodes(graph, {.torch = torch});
  for (NodeId id = 0; std::cmp_less(id, multiplies.size()); ++id) {
    if (!multiplies[static_cast<std::size_t>(id)]) continue;
    NodeId& of_thread =
        graph.node(id).phase == Phase::kBackward ? first.autograds : first.main;
    if (of_thread == kNone) of_thread = id;
  }
  return first;
}

class ScheduleMaker {
 public:
  ScheduleMaker(const OperatorGraph& graph, const MemoryOptions& options)
      : graph_(graph),
        options_(options),
        te_(TeMemoryOf(graph, options.device)),
        next_workspace_id_(static_cast<std::int64_t>(graph.storages().size())) {
    if (options.with_workspaces && !RunsInOnnxRuntime(graph) &&
        options.device.cublas_workspace_bytes > 0) {
      first_products_ = FirstProductsOf(graph, options.torch);
    }
  }

  std::vector<ScheduledEvent> Make() {
    AddEvents(TakeEventsOf(kNone), Stream::kCompute);
    for (NodeId id = 0; std::cmp_less(id, graph_.nodes().size()); ++id) {
      AddNode(id, TakeEventsOf(id));
      if (IsRecorded(id) && EndsPhase(id)) FreeCublasWorkspace(id);
    }
    return std::move(schedule_);
  }

 private:
  /// The graph's events are in the order of their nodes.
  std::span<const MemoryEvent> TakeEventsOf(NodeId node) {
    const std::span<const MemoryEvent> rest =
        graph_.events().subspan(next_event_);
    std::size_t count = 0;
    while (count < rest.size() && rest[count].node == node) ++count;
    next_event_ += count;
    return rest.first(count);
  }

  /// A replay of a CUDA graph runs it: all but the optimizer.
  bool IsRecorded(NodeId id) const {
    return graph_.info().runtime.cuda_graphs &&
           graph_.node(id).phase != Phase::kOptimizer;
  }

  bool EndsPhase(NodeId id) const {
    return std::cmp_equal(id + 1, graph_.nodes().size()) ||
           graph_.node(id + 1).phase != graph_.node(id).phase;
  }

  Stream StreamIn(NodeId id) const {
    return IsRecorded(id) ? Stream::kRecord : StreamOf(graph_.node(id));
  }

  void AddNode(NodeId id, std::span<const MemoryEvent> events) {
    const Stream stream = StreamIn(id);
    if (!options_.with_workspaces) return AddEvents(events, stream);
    AddCublasWorkspace(id);
    if (id == te_.first_product) {
      AddWorkspace(Kind::kAllocate, next_workspace_id_++, te_.workspace_bytes,
                   id);
    }
    const std::vector<WorkspaceBlock> blocks = WorkspaceBlocks(
        graph_, graph_.node(id), options_.device, options_.torch);
    for (std::span<const WorkspaceBlock> rest = blocks; !rest.empty();) {
      const auto of_another =
          std::ranges::find_if(rest, [&](const WorkspaceBlock& block) {
            return block.output != rest.front().output;
          });
      const auto count = static_cast<std::size_t>(of_another - rest.begin());
      const std::size_t split = EndOfOutput(id, rest.front().output, events);
      AddEvents(events.first(split), stream);
      events = events.subspan(split);
      AddPass(rest.first(count), id);
      rest = rest.subspan(count);
    }
    AddEvents(events, stream);
  }

  /// Blocks that live together.
  void AddPass(std::span<const WorkspaceBlock> blocks, NodeId id) {
    const std::int64_t first = next_workspace_id_;
    for (const WorkspaceBlock& block : blocks) {
      AddWorkspace(Kind::kAllocate, next_workspace_id_++, block.bytes, id);
      schedule_.back().allocation.optional = block.optional;
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      AddWorkspace(Kind::kFree, first + static_cast<std::int64_t>(i),
                   blocks[i].bytes, id);
    }
  }

  /// Before the first product of each thread.
  void AddCublasWorkspace(NodeId id) {
    if (id != first_products_.main && id != first_products_.autograds) return;
    cublas_workspace_id_ = next_workspace_id_;
    AddWorkspace(Kind::kAllocate, next_workspace_id_++,
                 options_.device.cublas_workspace_bytes, id);
  }

  /// Each recording has a workspace of its own (clear_cublas_manager in
  /// torch/_inductor/cudagraph_trees.py).
  void FreeCublasWorkspace(NodeId id) {
    if (cublas_workspace_id_ == kNone) return;
    AddWorkspace(Kind::kFree, cublas_workspace_id_,
                 options_.device.cublas_workspace_bytes, id);
    cublas_workspace_id_ = kNone;
  }

  /// How many of the events are over when the pass that makes `output` begins:
  /// those up to its allocation. All allocations, if it is the node's last
  /// output; none, if it was not allocated by the node.
  std::size_t EndOfOutput(NodeId id, std::size_t output,
                          std::span<const MemoryEvent> events) const {
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    const bool last = output + 1 >= outputs.size();
    const StorageId storage =
        graph_.value(outputs[std::min(output, outputs.size() - 1)]).storage;
    std::size_t end = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].kind != MemoryEvent::Kind::kAllocate) continue;
      if (last || events[i].storage == storage) end = i + 1;
    }
    return end;
  }

  void AddEvents(std::span<const MemoryEvent> events, Stream stream) {
    for (const MemoryEvent& event : events) {
      if (te_.needless.contains(event.storage)) continue;
      const bool allocate = event.kind == MemoryEvent::Kind::kAllocate;
      schedule_.push_back(
          {.allocation = {.kind = allocate ? Kind::kAllocate : Kind::kFree,
                          .id = event.storage,
                          .bytes = graph_.storage(event.storage).bytes,
                          .stream = stream},
           .storage = event.storage,
           .node = event.node,
           .graph = &graph_});
    }
  }

  void AddWorkspace(Kind kind, std::int64_t id, std::int64_t bytes,
                    NodeId node) {
    schedule_.push_back(
        {.allocation = {.kind = kind,
                        .id = id,
                        .bytes = bytes,
                        .stream = IsRecorded(node) ? Stream::kRecord
                                                   : Stream::kCompute},
         .node = node,
         .graph = &graph_});
  }

  const OperatorGraph& graph_;
  const MemoryOptions& options_;
  const TeMemory te_;
  std::size_t next_event_ = 0;
  std::int64_t next_workspace_id_;
  std::int64_t cublas_workspace_id_ = kNone;  ///< Of the open recording.
  FirstProducts first_products_;              ///< None: no workspace of cuBLAS.
  std::vector<ScheduledEvent> schedule_;
};

}  // namespace

// What fully_shard gathers is allocated on a copy-in stream, what it scatters
// on the stream that reduces (foreach_all_gather and foreach_reduce_scatter in
// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py).
Stream StreamOf(const Node& node) {
  if (node.target == kFromHost) return Stream::kGather;
  const std::string_view name = TextOf(node, kStreamAttribute);
  if (name == kConvertStream) return Stream::kConvert;
  if (name == kGatherStream) return Stream::kGather;
  if (name == kScatterStream) return Stream::kScatter;
  const std::optional<Collective> one = CollectiveOf(node);
  if (!one || TraitsOf(one->plan).is_functional) return Stream::kCompute;
  if (one->target == kAllGather) return Stream::kGather;
  return one->target == kReduceScatter ? Stream::kScatter : Stream::kCompute;
}

std::vector<ScheduledEvent> MakeStepSchedule(const OperatorGraph& graph,
                                             const MemoryOptions& options) {
  return ScheduleMaker(graph, options).Make();
}

int CountCublasHandles(const OperatorGraph& graph, const TorchVersion& torch) {
  const FirstProducts first = FirstProductsOf(graph, torch);
  return (first.main == kNone ? 0 : 1) + (first.autograds == kNone ? 0 : 1);
}

std::set<std::int64_t> LastingWorkspaces(
    const std::vector<ScheduledEvent>& schedule) {
  std::set<std::int64_t> lasting;
  for (const ScheduledEvent& event : schedule) {
    if (event.storage != kNone) continue;
    const std::int64_t id = event.allocation.id;
    if (event.IsBirth()) {
      lasting.insert(id);
    } else {
      lasting.erase(id);
    }
  }
  return lasting;
}

bool IsSource(TensorRole role) {
  return role == TensorRole::kParameter || role == TensorRole::kBuffer ||
         role == TensorRole::kInput;
}

std::vector<AllocationEvent> AllocationsOf(
    const std::vector<ScheduledEvent>& schedule) {
  std::vector<AllocationEvent> events;
  events.reserve(schedule.size());
  for (const ScheduledEvent& event : schedule) {
    events.push_back(event.allocation);
  }
  return events;
}

}  // namespace foretell::memory
