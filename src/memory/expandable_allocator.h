#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "foretell/memory.h"
#include "src/memory/block_list.h"
#include "src/memory/caching_allocator.h"

namespace foretell::memory {

/// PyTorch's CUDA caching allocator with expandable segments, without any
/// memory: CachingAllocatorConfig::expandable_segments. Its limits on splitting
/// are not read.
class ExpandableAllocator {
 public:
  explicit ExpandableAllocator(const CachingAllocatorConfig& config);

  /// As CachingAllocator::Allocate.
  std::optional<BlockId> Allocate(std::int64_t bytes, Stream stream);
  /// As CachingAllocator::Drop.
  void Drop(BlockId block);
  /// As CachingAllocator::Free.
  void Free(BlockId block);

  const AllocatorState& state() const { return state_; }

 private:
  enum class Use : std::uint8_t { kTaken, kFree, kUnmapped };
  /// A range of addresses in the one segment of its pool.
  struct Block {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t requested = 0;
    BlockId previous = -1;
    BlockId next = -1;
    Use use = Use::kUnmapped;
    std::size_t pool = 0;
    bool dropped = false;
  };
  struct Pool {
    std::int64_t page_bytes = 0;
    /// Free blocks by size, then address: the order of best fit.
    std::set<std::tuple<std::int64_t, std::int64_t, BlockId>> free;
    std::map<std::int64_t, BlockId> unmapped;  ///< By address.
  };

  std::optional<BlockId> TakeFree(std::size_t pool, std::int64_t bytes);
  std::optional<BlockId> Extend(std::size_t pool, std::int64_t bytes);
  BlockId FindRoom(std::size_t pool, std::int64_t bytes);
  std::int64_t BytesOfRun(BlockId first, std::int64_t enough) const;
  std::int64_t ExpandableBytes(BlockId id) const;
  bool Map(BlockId id, std::int64_t bytes);
  void UnmapFreePages();
  void UnmapPages(BlockId id);
  void MergeNeighbours(BlockId id);
  void Absorb(BlockId id, BlockId neighbour);
  void Insert(BlockId id);
  void Remove(BlockId id);
  Block& at(BlockId id) { return blocks_.at(id); }
  const Block& at(BlockId id) const { return blocks_.at(id); }

  CachingAllocatorConfig config_;
  AllocatorState state_;
  BlockList<Block> blocks_;
  /// Of each stream one for small requests, then one for large ones.
  std::array<Pool, std::size_t{2} * kNumStreams> pools_;
};

}  // namespace foretell::memory
