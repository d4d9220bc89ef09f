#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "foretell/memory.h"
#include "src/core/units.h"
#include "src/memory/block_list.h"

namespace foretell::memory {

/// Segments are multiples of this.
inline constexpr std::int64_t kSegmentGranule = 2 * kMiB;

/// The largest block of the small pool.
inline constexpr std::int64_t kSmallRequestBytes = kMiB;

/// The block that serves a request of `bytes`.
std::int64_t BlockBytes(std::int64_t bytes);
/// Throws Error(kInvalidArgument) if a request would raise the total of `state`
/// above 2^60 bytes.
void RefuseEndlessRequest(std::int64_t bytes, const AllocatorState& state);

/// PyTorch's CUDA caching allocator, without any memory.
class CachingAllocator {
 public:
  explicit CachingAllocator(const CachingAllocatorConfig& config);

  /// Serves a request of `bytes` > 0 on a stream; empty when it is out of
  /// memory. Throws Error(kInvalidArgument) when the total would exceed 2^60
  /// bytes.
  std::optional<BlockId> Allocate(std::int64_t bytes, Stream stream);
  /// Counts a live block as not allocated before it is freed.
  void Drop(BlockId block);
  /// Releases a block that Allocate returned and that is not free.
  void Free(BlockId block);

  const AllocatorState& state() const { return state_; }

 private:
  struct Block {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t requested = 0;
    BlockId previous = -1;  ///< Neighbours in the same segment.
    BlockId next = -1;
    Stream stream = Stream::kCompute;
    bool small = false;
    bool free = false;
    bool dropped = false;
  };
  /// Free blocks by stream, size, then address: the order of best fit.
  using Pool =
      std::set<std::tuple<Stream, std::int64_t, std::int64_t, BlockId>>;

  std::optional<BlockId> TakeFree(std::int64_t bytes, Stream stream,
                                  bool small);
  std::optional<BlockId> TakeSegment(std::int64_t bytes, Stream stream,
                                     bool small);
  void ReleaseCachedSegments();
  void ReleaseCachedSegments(Pool& pool);
  bool ShouldSplit(const Block& block, std::int64_t bytes) const;
  void Split(BlockId block, std::int64_t bytes);
  void Absorb(BlockId block, BlockId neighbour);
  Block& at(BlockId id) { return blocks_.at(id); }
  Pool& PoolOf(bool small) { return small ? small_pool_ : large_pool_; }
  Pool::value_type KeyOf(BlockId id) {
    return {at(id).stream, at(id).bytes, at(id).address, id};
  }
  void Insert(BlockId id);
  void Remove(BlockId id);

  CachingAllocatorConfig config_;
  AllocatorState state_;
  std::int64_t next_address_ = 0;
  BlockList<Block> blocks_;
  Pool small_pool_;
  Pool large_pool_;
};

}  // namespace foretell::memory
