#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace foretell::memory {

/// Index of a block in an allocator.
using BlockId = std::int32_t;

/// Blocks of segments, linked to their neighbours by index, which both
/// allocators split and merge. `Block` has address, bytes, requested, previous
/// and next; -1: no neighbour. The allocator tracks free blocks and their
/// search order.
template <typename Block>
class BlockList {
 public:
  Block& at(BlockId id) { return blocks_[static_cast<std::size_t>(id)]; }
  const Block& at(BlockId id) const {
    return blocks_[static_cast<std::size_t>(id)];
  }

  BlockId Add(const Block& block) {
    if (unused_.empty()) {
      blocks_.push_back(block);
      return static_cast<BlockId>(blocks_.size()) - 1;
    }
    const BlockId id = unused_.back();
    unused_.pop_back();
    at(id) = block;
    return id;
  }

  /// Forgets a block that has no neighbours.
  void Drop(BlockId id) { unused_.push_back(id); }

  /// Splits the block after `bytes`; the rest follows it as a block with the
  /// same other fields.
  BlockId Cut(BlockId id, std::int64_t bytes) {
    Block rest = at(id);
    rest.address += bytes;
    rest.bytes -= bytes;
    rest.requested = 0;
    rest.previous = id;
    const BlockId next = rest.next;
    const BlockId added = Add(rest);
    at(id).bytes = bytes;
    at(id).next = added;
    if (next >= 0) at(next).previous = added;
    return added;
  }

  /// Joins a neighbour to `id`, on either side, and forgets it.
  void Absorb(BlockId id, BlockId neighbour) {
    Block& block = at(id);
    const Block& other = at(neighbour);
    block.bytes += other.bytes;
    if (block.previous == neighbour) {
      block.address = other.address;
      block.previous = other.previous;
      if (block.previous >= 0) at(block.previous).next = id;
    } else {
      block.next = other.next;
      if (block.next >= 0) at(block.next).previous = id;
    }
    Drop(neighbour);
  }

 private:
  std::vector<Block> blocks_;
  std::vector<BlockId> unused_;
};

}  // namespace foretell::memory
