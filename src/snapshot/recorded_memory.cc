#include "src/snapshot/recorded_memory.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "src/core/checked.h"

namespace foretell::snapshot {
namespace {

/// The one with the most reserved memory; without segments the first.
std::int64_t FullestDevice(const MemorySnapshot& snapshot) {
  std::map<std::int64_t, std::int64_t> reserved;
  for (const Segment& segment : snapshot.segments) {
    reserved[segment.device] += segment.size;
  }
  const auto fullest = std::ranges::max_element(
      reserved, {}, [](const auto& row) { return row.second; });
  return fullest == reserved.end() ? 0 : fullest->first;
}

class TraceWalk {
 public:
  TraceWalk(const MemorySnapshot& snapshot, const StackWords& words)
      : snapshot_(snapshot), words_(words) {
    const std::int64_t device = FullestDevice(snapshot);
    result_.device = device;
    if (device >= 0 && device < std::ssize(snapshot.traces)) {
      trace_ = &snapshot.traces[static_cast<std::size_t>(device)];
      result_.entries = std::ssize(*trace_);
    }
  }

  RecordedMemory Run() {
    for (EntryId i = 0; i < result_.entries; ++i) Follow(i);
    AddLastBlocks();
    FindPeak();
    FindReserved();
    for (const RecordedBlock& block : blocks_) {
      const bool is_live =
          block.born <= result_.peak_entry && block.died > result_.peak_entry;
      if (is_live) result_.live.push_back(block);
    }
    std::ranges::stable_sort(result_.live, {}, &RecordedBlock::born);
    return std::move(result_);
  }

 private:
  const TraceEntry& EntryAt(EntryId i) const {
    return (*trace_)[static_cast<std::size_t>(i)];
  }

  void Follow(EntryId i) {
    const TraceEntry& entry = EntryAt(i);
    switch (entry.action) {
      case Action::kAllocate:
        End(entry.address, i);
        live_[entry.address] = blocks_.size();
        blocks_.push_back({RoundUp(entry.size, kAllocationUnit), entry.stack, i,
                           result_.entries});
        break;
      case Action::kFreeRequested:
        pending_.insert(entry.address);
        EndOrOlder(entry, i);
        break;
      case Action::kFreeCompleted:
        if (pending_.erase(entry.address) == 0) EndOrOlder(entry, i);
        break;
      case Action::kOutOfMemory:
        result_.shortage = {i, entry.size, entry.address};
        break;
      default:
        break;
    }
  }

  bool End(std::int64_t address, EntryId i) {
    const auto found = live_.find(address);
    if (found == live_.end()) return false;
    blocks_[found->second].died = i;
    live_.erase(found);
    return true;
  }
  /// The stack of a free may be that of the free, so it is not known here.
  void EndOrOlder(const TraceEntry& entry, EntryId i) {
    if (End(entry.address, i)) return;
    blocks_.push_back(
        {RoundUp(entry.size, kAllocationUnit), kNoStack, kBeforeTrace, i});
  }

  void AddLastBlocks() {
    for (const Segment& segment : snapshot_.segments) {
      if (segment.device != result_.device) continue;
      std::int64_t free = 0;
      std::int64_t free_blocks = 0;
      for (const Block& block : segment.blocks) {
        if (block.state == BlockState::kFree) {
          free += block.size;
          ++free_blocks;
        }
        if (block.state == BlockState::kAllocated) AddLastBlock(block);
      }
      if (free_blocks == std::ssize(segment.blocks)) {
        result_.free_segments += segment.size;
      } else {
        result_.split_bytes += free;
        result_.split_blocks += free_blocks;
      }
    }
  }
  void AddLastBlock(const Block& block) {
    const auto found = live_.find(block.address);
    if (found != live_.end()) {
      blocks_[found->second].bytes = block.size;
      return;
    }
    blocks_.push_back({block.size, block.stack, kBeforeTrace, result_.entries});
  }

  void FindPeak() {
    std::vector<std::int64_t> change(static_cast<std::size_t>(result_.entries) +
                                     1);
    std::int64_t allocated = 0;
    for (const RecordedBlock& block : blocks_) {
      if (block.born == kBeforeTrace) {
        allocated += block.bytes;
      } else {
        change[static_cast<std::size_t>(block.born)] += block.bytes;
      }
      change[static_cast<std::size_t>(block.died)] -= block.bytes;
    }
    result_.peak_allocated = allocated;
    for (EntryId i = 0; i < result_.entries; ++i) {
      allocated += change[static_cast<std::size_t>(i)];
      if (EntryAt(i).action != Action::kAllocate) continue;
      if (allocated > result_.peak_allocated) {
        result_.peak_allocated = allocated;
        result_.peak_entry = i;
      }
      const auto origin =
          static_cast<std::size_t>(words_.OriginOf(EntryAt(i).stack));
      std::int64_t& most = result_.peak_by_origin[origin];
      most = std::max(most, allocated);
    }
  }

  /// Backwards from the segments at the end.
  void FindReserved() {
    std::int64_t reserved = 0;
    for (const Segment& segment : snapshot_.segments) {
      if (segment.device == result_.device) {
        reserved += segment.size;
      }
    }
    result_.peak_reserved = reserved;
    for (EntryId i = result_.entries - 1; i >= 0; --i) {
      if (i == result_.peak_entry) result_.reserved_at_peak = reserved;
      const TraceEntry& entry = EntryAt(i);
      if (entry.action == Action::kSegmentTaken) reserved -= entry.size;
      if (entry.action == Action::kSegmentGiven) reserved += entry.size;
      result_.peak_reserved = std::max(result_.peak_reserved, reserved);
    }
    if (result_.peak_entry == kBeforeTrace) result_.reserved_at_peak = reserved;
  }

  const MemorySnapshot& snapshot_;
  const StackWords& words_;
  const std::vector<TraceEntry>* trace_ = nullptr;
  RecordedMemory result_;
  std::vector<RecordedBlock> blocks_;
  std::unordered_map<std::int64_t, std::size_t> live_;  ///< By address.
  std::unordered_set<std::int64_t> pending_;  ///< Addresses freed in part.
};

}  // namespace

RecordedMemory FollowTrace(const MemorySnapshot& snapshot,
                           const StackWords& words) {
  return TraceWalk(snapshot, words).Run();
}

}  // namespace foretell::snapshot
