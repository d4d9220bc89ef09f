#include <fmt/core.h>

#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "foretell/error.h"
#include "foretell/memory.h"
#include "src/core/numbers.h"
#include "src/memory/bfc_arena.h"
#include "src/memory/caching_allocator.h"
#include "src/memory/expandable_allocator.h"

namespace foretell {
namespace {

using memory::BfcArena;
using memory::BlockId;
using memory::CachingAllocator;
using memory::ExpandableAllocator;

/// Denotes a live request without a block: of zero bytes, or optional and
/// refused.
constexpr BlockId kNoBlock = -1;

[[noreturn]] void Refuse(std::size_t index, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("allocation event {}: {}", index, reason));
}

/// Runs the events one by one and keeps the score.
template <typename Allocator>
class Replay {
 public:
  explicit Replay(const CachingAllocatorConfig& config) : allocator_(config) {}

  /// False when the request is out of memory.
  bool Step(const AllocationEvent& event, std::size_t index) {
    if (event.kind == AllocationEvent::Kind::kDrop) {
      Drop(event, index);
    } else if (event.kind == AllocationEvent::Kind::kFree) {
      Free(event, index);
    } else if (!Allocate(event, index)) {
      result_.out_of_memory = {index, event.bytes, allocator_.state()};
      return false;
    }
    Record(index);
    return true;
  }

  AllocatorReplay TakeResult() { return std::move(result_); }

 private:
  bool Allocate(const AllocationEvent& event, std::size_t index) {
    if (event.bytes < 0) {
      Refuse(index, fmt::format("size is {}, expected at least 0",
                                Counted(event.bytes, "byte")));
    }
    const auto [slot, is_new] = live_.try_emplace(event.id, kNoBlock);
    if (!is_new) {
      Refuse(index, fmt::format("id {} is already live", event.id));
    }
    if (event.bytes == 0) return true;
    try {
      std::optional<BlockId> block = Request(event);
      if (!block && FreeDropped()) block = Request(event);
      if (block) {
        slot->second = *block;
      } else if (event.optional) {
        result_.refused.push_back(index);
      }
      return block || event.optional;
    } catch (const Error& error) {
      throw WithContext(fmt::format("allocation event {}", index), error);
    }
  }

  std::optional<BlockId> Request(const AllocationEvent& event) {
    if constexpr (std::is_same_v<Allocator, BfcArena>) {
      return allocator_.Allocate(event);
    } else {
      return allocator_.Allocate(event.bytes, event.stream);
    }
  }

  BlockId& LiveBlock(const AllocationEvent& event, std::size_t index) {
    const auto slot = live_.find(event.id);
    if (slot == live_.end()) {
      Refuse(index, fmt::format("id {} is not live", event.id));
    }
    return slot->second;
  }

  void Drop(const AllocationEvent& event, std::size_t index) {
    const BlockId block = LiveBlock(event, index);
    if constexpr (!std::is_same_v<Allocator, BfcArena>) {
      if (block == kNoBlock) return;
      allocator_.Drop(block);
      dropped_.insert(event.id);
    }
  }

  void Free(const AllocationEvent& event, std::size_t index) {
    const BlockId block = LiveBlock(event, index);
    if (block != kNoBlock) allocator_.Free(block);
    live_.erase(event.id);
    dropped_.erase(event.id);
  }

  /// Waits for other streams, as the allocator does before it gives segments
  /// back; false if nothing was dropped.
  bool FreeDropped() {
    for (const std::int64_t id : dropped_) {
      allocator_.Free(std::exchange(live_.at(id), kNoBlock));
    }
    return !std::exchange(dropped_, {}).empty();
  }

  void Record(std::size_t index) {
    const AllocatorState& state = allocator_.state();
    if (state.allocated > result_.peak_allocated) {
      result_.peak_allocated = state.allocated;
      result_.peak_event = index;
    }
    result_.peak_requested = std::max(result_.peak_requested, state.requested);
    result_.peak_reserved = std::max(result_.peak_reserved, state.reserved);
    result_.timeline.push_back(state);
  }

  Allocator allocator_;
  std::unordered_map<std::int64_t, BlockId> live_;
  std::set<std::int64_t> dropped_;  ///< Ids of live_.
  AllocatorReplay result_;
};

template <typename Allocator>
AllocatorReplay ReplayThrough(std::span<const AllocationEvent> events,
                              const CachingAllocatorConfig& config) {
  Replay<Allocator> replay(config);
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!replay.Step(events[i], i)) break;
  }
  return replay.TakeResult();
}

}  // namespace

AllocatorReplay SimulateCachingAllocator(
    std::span<const AllocationEvent> events,
    const CachingAllocatorConfig& config) {
  if (config.bfc_arena) return ReplayThrough<BfcArena>(events, config);
  return config.expandable_segments
             ? ReplayThrough<ExpandableAllocator>(events, config)
             : ReplayThrough<CachingAllocator>(events, config);
}

}  // namespace foretell
