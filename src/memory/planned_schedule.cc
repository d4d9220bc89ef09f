#include "src/memory/planned_schedule.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_set>
#include <utility>

// What a session of ONNX Runtime does with its arena:
//
//   creation     every initializer is a request of its own, so weights make the
//                arena double too (the log of the CUDA provider of 1.31; the
//                CPU provider plans one buffer for all)
//   first run    every tensor is requested when its operator begins and given
//                back after its last reader (execution_frame.cc). The sizes are
//                traced meanwhile
//   later runs   with the same input shapes one block holds all traced tensors
//                at offsets planned by best fit (mem_pattern_planner.h). It is
//                one request, so the arena may grow once more: what the first
//                run left is in pieces. Results of the network and workspaces
//                of kernels are not traced and are requested as before

namespace foretell::memory {
namespace {

constexpr std::int64_t kTensorAlignment = 256;

class PassPlanner {
 public:
  explicit PassPlanner(std::vector<ScheduledEvent>& schedule)
      : schedule_(schedule) {}

  void Run() {
    std::vector<ScheduledEvent> planned;
    for (std::size_t begin = 0; begin < schedule_.size();) {
      std::size_t end = begin;
      while (end < schedule_.size() && IsOfPass(schedule_[end], begin)) ++end;
      AddPass(begin, end, planned);
      begin = end;
    }
    schedule_ = std::move(planned);
  }

 private:
  /// Standing memory counts as part of the pass that it comes before.
  bool IsOfPass(const ScheduledEvent& event, std::size_t begin) const {
    return event.pass == schedule_[begin].pass;
  }

  /// Ids that the pass makes and frees.
  std::unordered_set<std::int64_t> OwnOf(std::size_t begin,
                                         std::size_t end) const {
    std::unordered_set<std::int64_t> born;
    std::unordered_set<std::int64_t> own;
    for (std::size_t i = begin; i < end; ++i) {
      const ScheduledEvent& event = schedule_[i];
      if (event.storage == kNone || event.node == kNone) continue;
      const std::int64_t id = event.allocation.id;
      if (event.IsBirth()) {
        born.insert(id);
      } else if (born.contains(id)) {
        own.insert(id);
      }
    }
    return own;
  }

  void AddPass(std::size_t begin, std::size_t end,
               std::vector<ScheduledEvent>& planned) {
    const bool is_first = schedule_[begin].pass == 0;
    const auto own =
        is_first ? std::unordered_set<std::int64_t>() : OwnOf(begin, end);
    PassPlan plan;
    std::size_t place = planned.size();
    bool placed = false;
    for (std::size_t i = begin; i < end; ++i) {
      ScheduledEvent event = schedule_[i];
      if (own.contains(event.allocation.id)) {
        if (!std::exchange(placed, true)) place = planned.size();
        event.allocation.place = AllocationPlace::kPlanned;
        event.IsBirth()
            ? plan.Allocate(event.allocation.id, event.allocation.bytes)
            : plan.Free(event.allocation.id);
      }
      planned.push_back(event);
    }
    if (plan.bytes() > 0) AddBlock(place, plan.bytes(), planned);
  }

  /// A block around the events from `place` on.
  static void AddBlock(std::size_t place, std::int64_t bytes,
                       std::vector<ScheduledEvent>& planned) {
    ScheduledEvent block = planned[place];
    block.storage = kNone;
    block.allocation = {.kind = AllocationEvent::Kind::kAllocate,
                        .id = -1 - static_cast<std::int64_t>(block.pass),
                        .bytes = bytes,
                        .place = AllocationPlace::kPlan};
    ScheduledEvent end = block;
    end.allocation.kind = AllocationEvent::Kind::kFree;
    end.node = planned.back().node;
    planned.insert(planned.begin() + static_cast<std::ptrdiff_t>(place), block);
    planned.push_back(end);
  }

  std::vector<ScheduledEvent>& schedule_;
};

}  // namespace

CachingAllocatorConfig AllocatorOf(const PassSequence& passes,
                                   const MemoryOptions& options) {
  CachingAllocatorConfig config = options.allocator;
  const OperatorGraph& graph = *passes.list.front().graph;
  if (RunsInOnnxRuntime(graph)) {
    config.bfc_arena = {.exact = graph.info().runtime.exact_arena};
  }
  return config;
}

void PassPlan::Allocate(std::int64_t id, std::int64_t bytes) {
  const std::int64_t size =
      (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
  std::int64_t offset =
      live_.empty() ? 0 : live_.back().offset + live_.back().bytes;
  auto before = live_.end();
  std::int64_t current = 0;
  std::int64_t waste = std::numeric_limits<std::int64_t>::max();
  for (auto it = live_.begin(); it != live_.end(); ++it) {
    const std::int64_t left = it->offset - current - size;
    if (left >= 0 && left < waste) {
      waste = left;
      offset = current;
      before = it;
    }
    current = it->offset + it->bytes;
  }
  bytes_ = std::max(bytes_, offset + size);
  live_.insert(before, {.id = id, .offset = offset, .bytes = size});
}

void PassPlan::Free(std::int64_t id) {
  const auto found = std::ranges::find(live_, id, &Tensor::id);
  if (found != live_.end()) live_.erase(found);
}

void PlanPasses(std::vector<ScheduledEvent>& schedule) {
  PassPlanner(schedule).Run();
}

}  // namespace foretell::memory
