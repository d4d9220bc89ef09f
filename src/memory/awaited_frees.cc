#include "src/memory/awaited_frees.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "src/graph/collective.h"

// What FullyShardedDataParallel frees while the GPU still reads it.
//
// A block of parameters is gathered on one stream and read on another, a flat
// gradient is made on the stream that computes and reduced on another. Both are
// freed right after the host has launched their readers, so the allocator holds
// them back (record_stream in torch/distributed/fsdp/_flat_param.py,
// _free_unsharded_flat_param, and in _runtime_utils.py, _post_backward_hook)
// until an event of that stream is over. Of a network worth sharding the host
// is ahead of the GPU as far as limit_all_gathers lets it: before a gather it
// waits until at most one freed block is still read (_FreeEventQueue in
// _limiter_utils.py, two in flight). By then the reduction that was launched
// after that block has run beside the next block. Before the optimizer or the
// next pass the loop reads a result, and waits for all.

namespace foretell::memory {
namespace {

constexpr std::string_view kFlatPlans[] = {"fsdp1:", "hsdp1:"};
constexpr std::ptrdiff_t kInFlight = 2;

bool IsGatherOfFlat(const Node& node) {
  const std::optional<Collective> one = CollectiveOf(node);
  return one && one->target == kAllGather &&
         std::ranges::any_of(kFlatPlans, [&](std::string_view kind) {
           return one->plan.starts_with(kind);
         });
}

class Waits {
 public:
  std::vector<ScheduledEvent> Run(const std::vector<ScheduledEvent>& schedule) {
    for (const ScheduledEvent& event : schedule) {
      if (event.storage == kNone || event.node == kNone) {
        result_.push_back(event);
        continue;
      }
      Wait(event);
      Add(event);
    }
    return std::move(result_);
  }

 private:
  struct Dropped {
    ScheduledEvent event;
    bool is_gathered = false;
  };

  /// Waits as the host does before the event.
  void Wait(const ScheduledEvent& event) {
    const Node& node = event.graph->node(event.node);
    const bool is_read = std::exchange(pass_, event.pass) != event.pass ||
                         node.phase == Phase::kOptimizer;
    if (is_read) return FreeFirst(dropped_.size(), event);
    if (!event.IsBirth() || !IsGatherOfFlat(node)) return;
    if (std::ranges::count_if(dropped_, &Dropped::is_gathered) < kInFlight) {
      return;
    }
    const auto is_gathered = [](const Dropped& one) { return one.is_gathered; };
    const auto first = std::ranges::find_if(dropped_, is_gathered);
    const auto next = std::find_if(first + 1, dropped_.end(), is_gathered);
    FreeFirst(static_cast<std::size_t>(next - dropped_.begin()), event);
  }

  void FreeFirst(std::size_t count, const ScheduledEvent& at) {
    for (std::size_t i = 0; i < count; ++i) {
      ScheduledEvent free = dropped_.front().event;
      dropped_.pop_front();
      free.allocation.bytes = 0;  // The drop has them.
      free.node = at.node;
      free.graph = at.graph;
      free.pass = at.pass;
      result_.push_back(free);
    }
  }

  void Add(ScheduledEvent event) {
    const std::int64_t id = event.allocation.id;
    if (event.IsBirth()) {
      const Node& node = event.graph->node(event.node);
      if (IsGatherOfFlat(node)) gathered_.insert(id);
      const bool is_reduced = event.allocation.stream == Stream::kCompute &&
                              ReducedOf(*event.graph).contains(event.storage);
      if (is_reduced) reduced_.insert(id);
    } else {
      const bool is_gathered = gathered_.erase(id) > 0;
      if (is_gathered || reduced_.erase(id) > 0) {
        dropped_.push_back({event, is_gathered});
        event.allocation.kind = AllocationEvent::Kind::kDrop;
      }
    }
    result_.push_back(event);
  }

  /// Storages that the stream of reductions reads.
  const std::set<StorageId>& ReducedOf(const OperatorGraph& graph) {
    const auto [place, is_new] = reduced_of_.try_emplace(&graph);
    if (!is_new) return place->second;
    for (const Node& node : graph.nodes()) {
      if (StreamOf(node) != Stream::kScatter) continue;
      for (const ValueId input : node.inputs) {
        place->second.insert(graph.value(input).storage);
      }
    }
    return place->second;
  }

  std::map<const OperatorGraph*, std::set<StorageId>> reduced_of_;
  std::set<std::int64_t> gathered_;  ///< Live allocations.
  std::set<std::int64_t> reduced_;
  std::deque<Dropped> dropped_;
  std::size_t pass_ = 0;  ///< Of the last event.
  std::vector<ScheduledEvent> result_;
};

}  // namespace

std::vector<ScheduledEvent> WithAwaitedFrees(
    std::vector<ScheduledEvent> schedule) {
  std::set<const OperatorGraph*> graphs;
  for (const ScheduledEvent& event : schedule) {
    if (event.graph != nullptr) graphs.insert(event.graph);
  }
  const bool is_flat =
      std::ranges::any_of(graphs, [](const OperatorGraph* graph) {
        return std::ranges::any_of(graph->nodes(), &IsGatherOfFlat);
      });
  if (!is_flat) return schedule;
  return Waits().Run(schedule);
}

}  // namespace foretell::memory
