#include "src/memory/awaited_frees.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "src/graph/collective.h"

// What FullyShardedDataParallel frees while the GPU still reads it.
//
// A block of parameters is gathered on one stream and read on another. Autograd
// concatenates its gradients on the stream of the gathering, too, where the
// parameters were split (FlatParamHandle._use_unsharded_views), and another one
// reduces them. Both are freed right after the host has launched their readers,
// so the allocator holds them back (record_stream in
// torch/distributed/fsdp/_flat_param.py, _free_unsharded_flat_param, and in
// _runtime_utils.py, _post_backward_hook) until an event of the reader's stream
// is over. Not so a block whose gradients are complete: that hook runs on the
// stream of the gathering.
//
// Of a network worth sharding the host is ahead of the GPU as far as
// limit_all_gathers lets it: each freed block leaves an event, and before a
// gather the host waits for the oldest if there are two (_FreeEventQueue in
// _limiter_utils.py). A backward pass that gathers in advance leaves four to
// the next step. By the time of an event the reduction that was launched after
// it has run next to the following block. Before the optimizer or the next pass
// the loop reads a result, and waits for all. Traces of the allocator on a GPU
// show these orders (datasets/labels/h200-sxm-141gb/finetuning.jsonl.gz).

namespace foretell::memory {
namespace {

constexpr std::string_view kFlatPlans[] = {"fsdp1:", "hsdp1:"};
constexpr std::size_t kInFlight = 2;

bool IsGatherOfFlat(const Node& node) {
  const std::optional<Collective> one = CollectiveOf(node);
  return one && one->target == kAllGather &&
         std::ranges::any_of(kFlatPlans, [&](std::string_view kind) {
           return one->plan.starts_with(kind);
         });
}

/// Walks over a schedule and lets the host wait where FSDP 1 does.
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
  /// Waits as the host does before the event.
  void Wait(const ScheduledEvent& event) {
    const Node& node = event.graph->node(event.node);
    const bool is_read = std::exchange(pass_, event.pass) != event.pass ||
                         node.phase == Phase::kOptimizer;
    if (is_read) FreeUpTo(drops_, event);
    const bool gathers = event.IsBirth() && IsGatherOfFlat(node);
    if (!gathers || events_.size() < kInFlight) return;
    events_.pop_front();
    FreeUpTo(events_.empty() ? drops_ : events_.front(), event);
  }

  /// Frees the first `count` of all that were ever dropped, when `at` happens.
  void FreeUpTo(std::size_t count, const ScheduledEvent& at) {
    while (drops_ - dropped_.size() < count) {
      ScheduledEvent free = dropped_.front();
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
    const Node& node = event.graph->node(event.node);
    if (event.IsBirth()) {
      if (IsGatherOfFlat(node)) gathered_.insert(id);
      const bool is_reduced = event.allocation.stream != Stream::kScatter &&
                              ReducedOf(*event.graph).contains(event.storage);
      if (is_reduced) reduced_.insert(id);
    } else if (gathered_.erase(id) > 0) {
      events_.push_back(drops_);
      if (StreamOf(node) != Stream::kGather) Drop(event);
    } else if (reduced_.erase(id) > 0) {
      Drop(event);
    }
    result_.push_back(event);
  }

  void Drop(ScheduledEvent& event) {
    dropped_.push_back(event);
    ++drops_;
    event.allocation.kind = AllocationEvent::Kind::kDrop;
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
  std::size_t drops_ = 0;               ///< Ever.
  std::deque<ScheduledEvent> dropped_;  ///< The last of them, not yet freed.
  std::deque<std::size_t> events_;      ///< Of freed blocks: drops before each.
  std::size_t pass_ = 0;                ///< Of the last event.
  std::vector<ScheduledEvent> result_;
};

}  // namespace

std::vector<ScheduledEvent> WithAwaitedFrees(
    const PassSequence& passes, std::vector<ScheduledEvent> schedule) {
  const bool is_flat =
      std::ranges::any_of(passes.list, [](const RunPass& pass) {
        return std::ranges::any_of(pass.graph->nodes(), &IsGatherOfFlat);
      });
  if (!is_flat) return schedule;
  return Waits().Run(schedule);
}

}  // namespace foretell::memory
