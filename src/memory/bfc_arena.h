#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "foretell/memory.h"
#include "src/memory/block_list.h"

namespace foretell::memory {

/// ONNX Runtime's arena of a device (BFCArena), without any memory.
class BfcArena {
 public:
  explicit BfcArena(const CachingAllocatorConfig& config);

  /// Serves a request of more than zero bytes; empty if it is out of memory.
  /// Throws Error(kInvalidArgument) if the total would exceed 2^60 bytes.
  std::optional<BlockId> Allocate(const AllocationEvent& request);
  /// Releases a block that Allocate returned and that is still live.
  void Free(BlockId block);

  const AllocatorState& state() const { return state_; }

 private:
  struct Chunk {
    std::int64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t requested = 0;
    BlockId previous = -1;  ///< Neighbours in the same region.
    BlockId next = -1;
    AllocationPlace place = AllocationPlace::kPool;
    bool free = false;
  };

  std::optional<BlockId> Take(std::int64_t bytes);
  bool Extend(std::int64_t bytes);
  void Count(const Chunk& chunk, std::int64_t sign);
  void Insert(BlockId id);
  void Remove(BlockId id);
  std::int64_t Room() const;

  CachingAllocatorConfig config_;
  AllocatorState state_;
  std::int64_t next_region_;
  std::int64_t next_address_ = 0;
  BlockList<Chunk> chunks_;
  /// Free chunks by size, then address.
  std::set<std::tuple<std::int64_t, std::int64_t, BlockId>> free_;
};

}  // namespace foretell::memory
