#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "src/snapshot/memory_snapshot.h"
#include "src/snapshot/stack_words.h"

namespace foretell::snapshot {

/// Every allocation occupies a multiple of this many bytes (kMinBlockSize,
/// c10/cuda/CUDACachingAllocator.cpp).
inline constexpr std::int64_t kAllocationUnit = 512;

/// Number of an entry of the trace; see RecordedBlock.
using EntryId = std::int64_t;
inline constexpr EntryId kBeforeTrace = -1;

/// Memory of a tensor or a workspace, from one entry of the trace to another.
struct RecordedBlock {
  std::int64_t bytes = 0;  ///< Rounded as the allocator does.
  StackId stack = kNoStack;
  EntryId born = kBeforeTrace;
  EntryId died = 0;  ///< The number of entries for one that is still there.
};

/// A request that failed.
struct RecordedShortage {
  EntryId entry = 0;
  std::int64_t requested = 0;
  std::int64_t device_free = 0;
};

/// What one GPU held while a snapshot recorded it, in bytes.
struct RecordedMemory {
  std::int64_t device = 0;
  EntryId entries = 0;  ///< 0: only the moment of the snapshot is known.
  /// The allocation at which most was allocated; kBeforeTrace for the state in
  /// which the trace begins.
  EntryId peak_entry = kBeforeTrace;
  std::int64_t peak_allocated = 0;
  std::int64_t peak_reserved = 0;
  std::int64_t reserved_at_peak = 0;  ///< At peak_entry.
  /// The most allocated at an allocation of that origin; 0 without one.
  std::array<std::int64_t, kNumOrigins> peak_by_origin = {};
  std::vector<RecordedBlock> live;  ///< At peak_entry, in the order of birth.

  /// Free blocks at the end, in segments of which a part is in use.
  std::int64_t split_bytes = 0;
  std::int64_t split_blocks = 0;
  std::int64_t free_segments = 0;  ///< Bytes of those that are free entirely.
  std::optional<RecordedShortage> shortage;  ///< The last one.
};

/// Follows the trace of the GPU with the most reserved memory.
///
/// The trace is a ring: what was allocated before its first entry is known by
/// its free or by the segments at the end. Memory counts as allocated until its
/// tensor is freed, as torch.cuda.memory_allocated() counts; sizes are rounded
/// up to 512 B, and of blocks that are there at the end they are exact.
RecordedMemory FollowTrace(const MemorySnapshot& snapshot,
                           const StackWords& words);

}  // namespace foretell::snapshot
