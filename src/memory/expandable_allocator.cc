#include "src/memory/expandable_allocator.h"

#include <algorithm>
#include <vector>

#include "src/core/checked.h"

// The caching allocator with PYTORCH_ALLOC_CONF=expandable_segments:True as
// arithmetic (c10/cuda/CUDACachingAllocator.cpp, LibTorch 2.13).
//
// Each pool of a stream has one segment: a range of addresses far larger than
// the device, into which pages are mapped, of 2 MiB for requests up to 1 MiB
// and of 20 MiB for larger ones. The smallest free block serves a request, a
// block that could grow counting as what it could grow to; when none is large
// enough, the first run of free and unmapped addresses is filled with pages.
// What is left of a block is always split off. Nothing is lost between
// segments, which is all the difference: the reserved memory is the highest
// address in use, in pages.
//
// Under a limit pages that lie within a free block are unmapped before a
// request is refused. A second segment, which PyTorch would begin past 1.125
// times the device's memory in addresses, is left out.

namespace foretell::memory {
namespace {

constexpr std::int64_t kSmallPageBytes = kSegmentGranule;
constexpr std::int64_t kLargePageBytes = 20 * kMiB;
constexpr std::int64_t kMinRestBytes = 512;
/// Addresses of a segment, in pages of either size: about 2^60 bytes.
constexpr std::int64_t kSegmentPages = std::int64_t{1} << 35;

}  // namespace

ExpandableAllocator::ExpandableAllocator(const CachingAllocatorConfig& config)
    : config_(config) {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    pools_[pool].page_bytes = pool % 2 == 0 ? kSmallPageBytes : kLargePageBytes;
    Insert(blocks_.Add(
        {.bytes = pools_[pool].page_bytes * kSegmentPages, .pool = pool}));
  }
}

std::optional<BlockId> ExpandableAllocator::Allocate(std::int64_t bytes,
                                                     Stream stream) {
  RefuseEndlessRequest(bytes, state_);
  const std::int64_t block_bytes = BlockBytes(bytes);
  const bool small = block_bytes <= kSmallRequestBytes;
  const std::size_t pool =
      2 * static_cast<std::size_t>(stream) + (small ? 0 : 1);
  std::optional<BlockId> found = TakeFree(pool, block_bytes);
  if (!found) found = Extend(pool, block_bytes);
  if (!found) {
    UnmapFreePages();
    found = Extend(pool, block_bytes);
  }
  if (!found) return std::nullopt;
  if (at(*found).bytes - block_bytes >= kMinRestBytes) {
    Insert(blocks_.Cut(*found, block_bytes));
  }
  at(*found).use = Use::kTaken;
  at(*found).requested = bytes;
  state_.requested += bytes;
  state_.allocated += at(*found).bytes;
  return found;
}

void ExpandableAllocator::Drop(BlockId id) {
  state_.requested -= at(id).requested;
  state_.allocated -= at(id).bytes;
  at(id).dropped = true;
}

void ExpandableAllocator::Free(BlockId id) {
  if (!at(id).dropped) Drop(id);
  at(id).dropped = false;
  at(id).use = Use::kFree;
  MergeNeighbours(id);
  Insert(id);
}

/// The best-fitting free block, no longer in its pool's order.
std::optional<BlockId> ExpandableAllocator::TakeFree(std::size_t pool,
                                                     std::int64_t bytes) {
  const auto& free = pools_[pool].free;
  auto it = free.lower_bound({bytes, -1, -1});
  if (it == free.end()) return std::nullopt;
  for (auto next = std::next(it);
       next != free.end() &&
       ExpandableBytes(std::get<2>(*next)) < ExpandableBytes(std::get<2>(*it));
       ++next) {
    it = next;
  }
  const BlockId id = std::get<2>(*it);
  Remove(id);
  return id;
}

/// A free block made of pages that are mapped for it; empty past the limit.
std::optional<BlockId> ExpandableAllocator::Extend(std::size_t pool,
                                                   std::int64_t bytes) {
  BlockId id = FindRoom(pool, bytes);
  if (at(id).use == Use::kUnmapped && !Map(id, std::min(at(id).bytes, bytes))) {
    return std::nullopt;
  }
  while (at(id).bytes < bytes) {
    const BlockId next = at(id).next;
    const std::int64_t missing = bytes - at(id).bytes;
    if (!Map(next, std::min(at(next).bytes, missing))) return std::nullopt;
    id = next;
  }
  Remove(id);
  return id;
}

/// The first block of the lowest run of free and unmapped addresses that has
/// `bytes`. The last unmapped block always does.
BlockId ExpandableAllocator::FindRoom(std::size_t pool, std::int64_t bytes) {
  BlockId first = -1;
  for (const auto& [address, id] : pools_[pool].unmapped) {
    const BlockId previous = at(id).previous;
    const bool grows = previous >= 0 && at(previous).use == Use::kFree;
    first = grows ? previous : id;
    if (BytesOfRun(first, bytes) >= bytes) break;
  }
  return first;
}

std::int64_t ExpandableAllocator::BytesOfRun(BlockId first,
                                             std::int64_t enough) const {
  std::int64_t bytes = 0;
  for (BlockId id = first;
       id >= 0 && at(id).use != Use::kTaken && bytes < enough;
       id = at(id).next) {
    bytes += at(id).bytes;
  }
  return bytes;
}

std::int64_t ExpandableAllocator::ExpandableBytes(BlockId id) const {
  const BlockId next = at(id).next;
  const bool grows = next >= 0 && at(next).use == Use::kUnmapped;
  return at(id).bytes + (grows ? at(next).bytes : 0);
}

/// Maps the pages that hold the first `bytes` of an unmapped block, which
/// becomes free with its free neighbours. False past the limit.
bool ExpandableAllocator::Map(BlockId id, std::int64_t bytes) {
  const std::int64_t pages = RoundUp(bytes, pools_[at(id).pool].page_bytes);
  if (pages > config_.device_limit_bytes - state_.reserved) return false;
  state_.reserved += pages;
  Remove(id);
  if (pages < at(id).bytes) Insert(blocks_.Cut(id, pages));
  at(id).use = Use::kFree;
  MergeNeighbours(id);
  Insert(id);
  return true;
}

void ExpandableAllocator::UnmapFreePages() {
  std::vector<BlockId> free;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    if (pool / 2 == static_cast<std::size_t>(Stream::kRecord)) continue;
    for (const auto& entry : pools_[pool].free) {
      free.push_back(std::get<2>(entry));
    }
  }
  for (const BlockId id : free) UnmapPages(id);
}

/// Unmaps the whole pages within a free block.
void ExpandableAllocator::UnmapPages(BlockId id) {
  const std::int64_t page = pools_[at(id).pool].page_bytes;
  const std::int64_t begin = RoundUp(at(id).address, page);
  const std::int64_t end = (at(id).address + at(id).bytes) / page * page;
  if (begin >= end) return;
  Remove(id);
  BlockId middle = id;
  if (begin > at(id).address) {
    middle = blocks_.Cut(id, begin - at(id).address);
    Insert(id);
  }
  if (end < at(middle).address + at(middle).bytes) {
    Insert(blocks_.Cut(middle, end - begin));
  }
  state_.reserved -= end - begin;
  at(middle).use = Use::kUnmapped;
  MergeNeighbours(middle);
  Insert(middle);
}

void ExpandableAllocator::MergeNeighbours(BlockId id) {
  for (const BlockId neighbour : {at(id).previous, at(id).next}) {
    if (neighbour >= 0 && at(neighbour).use == at(id).use) {
      Absorb(id, neighbour);
    }
  }
}

void ExpandableAllocator::Absorb(BlockId id, BlockId neighbour) {
  Remove(neighbour);
  blocks_.Absorb(id, neighbour);
}

void ExpandableAllocator::Insert(BlockId id) {
  const Block& block = at(id);
  Pool& pool = pools_[block.pool];
  if (block.use == Use::kFree) {
    pool.free.insert({block.bytes, block.address, id});
  } else {
    pool.unmapped.emplace(block.address, id);
  }
}

void ExpandableAllocator::Remove(BlockId id) {
  const Block& block = at(id);
  Pool& pool = pools_[block.pool];
  if (block.use == Use::kFree) {
    pool.free.erase({block.bytes, block.address, id});
  } else {
    pool.unmapped.erase(block.address);
  }
}

}  // namespace foretell::memory
