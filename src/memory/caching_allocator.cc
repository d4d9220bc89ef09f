#include "src/memory/caching_allocator.h"

#include <fmt/core.h>

#include <string>

#include "foretell/error.h"
#include "src/core/checked.h"

// The CUDA caching allocator of LibTorch as arithmetic.
//
// What occupies a GPU is not the sum of the live tensors but the segments that
// the allocator has taken from the driver and does not give back. They follow
// from five rules: requests are rounded to 512 B; requests up to 1 MiB and
// larger ones live in two pools that never mix, nor do streams; the smallest
// free block that holds a request serves it (lowest address among equals) and
// is split when the rest is worth keeping; a freed block merges with its free
// neighbours of the same segment. When nothing fits, a segment is taken: 2 MiB
// for the small pool, 20 MiB for requests below 10 MiB, otherwise the request
// rounded to 2 MiB.
//
// Blocks live in a vector and link to their neighbours by index; each pool is
// an ordered set keyed by (size, address), so every step costs O(log n).
// Segments get ever-growing addresses in the order in which they are taken:
// the driver's true addresses cannot be known, and they only break ties.
//
// A block that waits for another stream (record_stream) is dropped, then freed.
//
// Left out: garbage collection, and the allocator's partial release of
// oversized blocks (with a limit on splitting all cached segments are released
// at once). Expandable segments are expandable_allocator.cc.

namespace foretell::memory {
namespace {

constexpr std::int64_t kMinBlockBytes = 512;
constexpr std::int64_t kSmallSegmentBytes = kSegmentGranule;
constexpr std::int64_t kMinOwnSegmentBytes = 10 * kMiB;
constexpr std::int64_t kLargeSegmentBytes = 20 * kMiB;
static_assert(kLargeSegmentBytes % kSegmentGranule == 0);
/// Far above any device, far below overflow.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 60;

std::int64_t SegmentBytes(std::int64_t block_bytes) {
  if (block_bytes <= kSmallRequestBytes) return kSmallSegmentBytes;
  if (block_bytes < kMinOwnSegmentBytes) return kLargeSegmentBytes;
  return RoundUp(block_bytes, kSegmentGranule);
}

}  // namespace

std::int64_t BlockBytes(std::int64_t bytes) {
  return RoundUp(bytes, kMinBlockBytes);
}

void RefuseEndlessRequest(std::int64_t bytes, const AllocatorState& state) {
  if (bytes <= kMaxTotalBytes - state.reserved - kLargeSegmentBytes) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "a request of {} bytes with {} already reserved exceeds 2^60 bytes",
          bytes, state.reserved));
}

CachingAllocator::CachingAllocator(const CachingAllocatorConfig& config)
    : config_(config) {}

std::optional<BlockId> CachingAllocator::Allocate(std::int64_t bytes,
                                                  Stream stream) {
  RefuseEndlessRequest(bytes, state_);
  const std::int64_t block_bytes = BlockBytes(bytes);
  const bool small = block_bytes <= kSmallRequestBytes;
  std::optional<BlockId> found = TakeFree(block_bytes, stream, small);
  if (!found) found = TakeSegment(SegmentBytes(block_bytes), stream, small);
  if (!found) return std::nullopt;
  if (ShouldSplit(at(*found), block_bytes)) Split(*found, block_bytes);
  at(*found).requested = bytes;
  state_.requested += bytes;
  state_.allocated += at(*found).bytes;
  return found;
}

void CachingAllocator::Drop(BlockId id) {
  state_.requested -= at(id).requested;
  state_.allocated -= at(id).bytes;
  at(id).dropped = true;
}

void CachingAllocator::Free(BlockId id) {
  if (!at(id).dropped) Drop(id);
  at(id).dropped = false;
  const BlockId previous = at(id).previous;
  const BlockId next = at(id).next;
  if (previous >= 0 && at(previous).free) Absorb(id, previous);
  if (next >= 0 && at(next).free) Absorb(id, next);
  Insert(id);
}

/// The best-fitting free block of the stream, no longer in its pool.
std::optional<BlockId> CachingAllocator::TakeFree(std::int64_t bytes,
                                                  Stream stream, bool small) {
  const Pool& pool = PoolOf(small);
  const Pool::const_iterator it = pool.lower_bound({stream, bytes, -1, -1});
  if (it == pool.end()) return std::nullopt;
  const auto [found_stream, found_bytes, address, id] = *it;
  if (found_stream != stream) return std::nullopt;
  const std::int64_t limit = config_.max_split_size_bytes;
  const bool oversized_block = found_bytes >= limit;
  if (bytes < limit && oversized_block) return std::nullopt;
  if (bytes >= limit &&
      found_bytes - bytes >= config_.max_non_split_rounding_bytes) {
    return std::nullopt;
  }
  Remove(id);
  return id;
}

/// A new segment as one block, after giving cached ones back if need be.
std::optional<BlockId> CachingAllocator::TakeSegment(std::int64_t bytes,
                                                     Stream stream,
                                                     bool small) {
  if (bytes > config_.device_limit_bytes - state_.reserved) {
    ReleaseCachedSegments();
  }
  if (bytes > config_.device_limit_bytes - state_.reserved) {
    return std::nullopt;
  }
  const BlockId id = blocks_.Add({.address = next_address_,
                                  .bytes = bytes,
                                  .stream = stream,
                                  .small = small});
  next_address_ += bytes;
  state_.reserved += bytes;
  return id;
}

void CachingAllocator::ReleaseCachedSegments() {
  ReleaseCachedSegments(large_pool_);
  ReleaseCachedSegments(small_pool_);
}

void CachingAllocator::ReleaseCachedSegments(Pool& pool) {
  for (Pool::iterator it = pool.begin(); it != pool.end();) {
    const BlockId id = std::get<BlockId>(*it);
    const bool whole_segment = at(id).previous < 0 && at(id).next < 0;
    if (!whole_segment || at(id).stream == Stream::kRecord) {
      ++it;
      continue;
    }
    state_.reserved -= at(id).bytes;
    blocks_.Drop(id);
    it = pool.erase(it);
  }
}

bool CachingAllocator::ShouldSplit(const Block& block,
                                   std::int64_t bytes) const {
  const std::int64_t rest = block.bytes - bytes;
  if (block.small) return rest >= kMinBlockBytes;
  return bytes < config_.max_split_size_bytes && rest > kSmallRequestBytes;
}

/// Cuts `id` to `bytes`; the rest becomes its free successor.
void CachingAllocator::Split(BlockId id, std::int64_t bytes) {
  Insert(blocks_.Cut(id, bytes));
}

/// Merges the free `neighbour` into `id`.
void CachingAllocator::Absorb(BlockId id, BlockId neighbour) {
  Remove(neighbour);
  blocks_.Absorb(id, neighbour);
}

void CachingAllocator::Insert(BlockId id) {
  at(id).free = true;
  PoolOf(at(id).small).insert(KeyOf(id));
}

void CachingAllocator::Remove(BlockId id) {
  at(id).free = false;
  PoolOf(at(id).small).erase(KeyOf(id));
}

}  // namespace foretell::memory
