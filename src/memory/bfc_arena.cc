#include "src/memory/bfc_arena.h"

#include <algorithm>

#include "src/core/units.h"
#include "src/memory/caching_allocator.h"

// ONNX Runtime's "best fit with coalescing" (core/framework/bfc_arena.{h,cc},
// 1.2x, which it has from TensorFlow):
//
//   request   rounded up to 256 B, served by the smallest free chunk that holds
//             it. Its bins only shorten the search: a larger bin has no smaller
//             chunk
//   split     a chunk of at least twice the request, or of 128 MiB more
//             (max_dead_bytes_per_chunk). So a request can hold up to twice its
//             size
//   extend    kNextPowerOfTwo: the first region has 1 MiB, each further one
//             twice as much as the last up to 1 GiB
//             (max_power_of_two_extend_bytes), or the power of two that holds
//             the request. kSameAsRequested: the rounded request. If the device
//             refuses: nine tenths, again and again while the request fits
//   free      joins free neighbours of the region; regions stay
//
// The regions in the tests were printed by the CPU provider of 1.32, which has
// the same arena, and by the CUDA provider of 1.31
// (datasets/labels/h100-sxm5-80gb/onnxruntime.jsonl.gz).

namespace foretell::memory {
namespace {

constexpr std::int64_t kChunkGranule = 256;
constexpr std::int64_t kFirstRegion = kMiB;
constexpr std::int64_t kMostDoubled = kGiB;
constexpr std::int64_t kMostDeadBytes = 128 * kMiB;
constexpr std::int64_t kLeastRegion = 8 * 1024;

std::int64_t RoundedToChunk(std::int64_t bytes) {
  return (bytes + kChunkGranule - 1) / kChunkGranule * kChunkGranule;
}

}  // namespace

BfcArena::BfcArena(const CachingAllocatorConfig& config)
    : config_(config), next_region_(kFirstRegion) {}

std::optional<BlockId> BfcArena::Allocate(const AllocationEvent& request) {
  RefuseEndlessRequest(request.bytes, state_);
  const std::int64_t bytes = RoundedToChunk(request.bytes);
  std::optional<BlockId> id;
  switch (request.place) {
    case AllocationPlace::kPlanned:
      id = chunks_.Add({.bytes = bytes});
      break;
    default:
      id = Take(bytes);
      if (!id && Extend(bytes)) id = Take(bytes);
  }
  if (!id) return std::nullopt;
  Chunk& chunk = chunks_.at(*id);
  chunk.requested = request.bytes;
  chunk.place = request.place;
  Count(chunk, 1);
  return id;
}

void BfcArena::Free(BlockId id) {
  Count(chunks_.at(id), -1);
  const AllocationPlace place = chunks_.at(id).place;
  if (place == AllocationPlace::kPlanned) {
    chunks_.Drop(id);
    return;
  }
  for (const BlockId neighbour :
       {chunks_.at(id).next, chunks_.at(id).previous}) {
    if (neighbour < 0 || !chunks_.at(neighbour).free) continue;
    Remove(neighbour);
    chunks_.Absorb(id, neighbour);
  }
  Insert(id);
}

std::optional<BlockId> BfcArena::Take(std::int64_t bytes) {
  const auto found = free_.lower_bound({bytes, 0, 0});
  if (found == free_.end()) return std::nullopt;
  const BlockId id = std::get<BlockId>(*found);
  Remove(id);
  const std::int64_t whole = chunks_.at(id).bytes;
  if (whole >= 2 * bytes || whole - bytes >= kMostDeadBytes) {
    Insert(chunks_.Cut(id, bytes));
  }
  return id;
}

std::int64_t BfcArena::Room() const {
  return config_.device_limit_bytes - state_.reserved;
}

bool BfcArena::Extend(std::int64_t bytes) {
  std::int64_t region = bytes;
  if (!config_.bfc_arena->exact) {
    const bool holds = bytes <= next_region_;
    while (next_region_ < bytes) next_region_ *= 2;
    region = next_region_;
    if (holds) next_region_ = std::min(2 * next_region_, kMostDoubled);
  }
  while (region > Room()) {
    region = RoundedToChunk(region * 9 / 10);
    if (region < bytes || region < kLeastRegion) return false;
  }
  state_.reserved += region;
  Insert(chunks_.Add({.address = next_address_, .bytes = region}));
  // Regions do not touch.
  next_address_ += region + kChunkGranule;
  return true;
}

void BfcArena::Count(const Chunk& chunk, std::int64_t sign) {
  if (chunk.place == AllocationPlace::kPlan) return;
  state_.requested += sign * chunk.requested;
  state_.allocated += sign * chunk.bytes;
}

void BfcArena::Insert(BlockId id) {
  Chunk& chunk = chunks_.at(id);
  chunk.free = true;
  chunk.requested = 0;
  free_.insert({chunk.bytes, chunk.address, id});
}

void BfcArena::Remove(BlockId id) {
  Chunk& chunk = chunks_.at(id);
  chunk.free = false;
  free_.erase({chunk.bytes, chunk.address, id});
}

}  // namespace foretell::memory
