#include "tests/memory/reference_allocator.h"
#include "src/core/units.h"

#include <algorithm>

namespace foretell::test {
namespace {}  // namespace

bool ReferenceAllocator::Allocate(std::int64_t id, std::int64_t bytes,
                                  Stream stream) {
  if (bytes == 0) return true;
  const std::int64_t rounded = (bytes + 511) / 512 * 512;
  const bool small = rounded <= kMiB;
  std::optional<Place> place = BestFit(rounded, stream, small);
  if (!place) {
    std::int64_t segment = (rounded + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
    if (small) segment = 2 * kMiB;
    if (!small && rounded < 10 * kMiB) segment = 20 * kMiB;
    if (!AddSegment(segment, stream, small)) return false;
    place = Place{segments_.size() - 1, 0};
  }
  std::vector<Chunk>& chunks = segments_[place->segment].chunks;
  const std::int64_t rest = chunks[place->chunk].bytes - rounded;
  const bool split =
      small ? rest >= 512
            : rest > kMiB && rounded < config_.max_split_size_bytes;
  if (split) {
    chunks[place->chunk].bytes = rounded;
    chunks.insert(chunks.begin() + static_cast<long>(place->chunk) + 1,
                  Chunk{.bytes = rest});
  }
  chunks[place->chunk].owner = id;
  chunks[place->chunk].requested = bytes;
  return true;
}

void ReferenceAllocator::Free(std::int64_t id) {
  for (Segment& segment : segments_) {
    for (Chunk& chunk : segment.chunks) {
      if (chunk.owner == id) chunk = Chunk{.bytes = chunk.bytes};
    }
    std::vector<Chunk> merged;
    for (const Chunk& chunk : segment.chunks) {
      const bool joins =
          !merged.empty() && !merged.back().owner && !chunk.owner;
      if (joins) {
        merged.back().bytes += chunk.bytes;
      } else {
        merged.push_back(chunk);
      }
    }
    segment.chunks = merged;
  }
}

AllocatorState ReferenceAllocator::State() const {
  AllocatorState state;
  for (const Segment& segment : segments_) {
    for (const Chunk& chunk : segment.chunks) {
      state.reserved += chunk.bytes;
      if (!chunk.owner) continue;
      state.allocated += chunk.bytes;
      state.requested += chunk.requested;
    }
  }
  return state;
}

std::optional<ReferenceAllocator::Place> ReferenceAllocator::BestFit(
    std::int64_t bytes, Stream stream, bool small) const {
  std::optional<Place> best;
  std::int64_t best_bytes = kUnlimitedBytes;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (segments_[s].small != small || segments_[s].stream != stream) continue;
    for (std::size_t c = 0; c < segments_[s].chunks.size(); ++c) {
      const Chunk& chunk = segments_[s].chunks[c];
      const bool fits = !chunk.owner && chunk.bytes >= bytes;
      if (!fits || chunk.bytes >= best_bytes) continue;
      best = Place{s, c};
      best_bytes = chunk.bytes;
    }
  }
  if (best && !MayUse(best_bytes, bytes)) best.reset();
  return best;
}

/// Large blocks are for large requests, and not for much smaller ones.
bool ReferenceAllocator::MayUse(std::int64_t chunk_bytes,
                                std::int64_t bytes) const {
  const std::int64_t limit = config_.max_split_size_bytes;
  if (chunk_bytes < limit) return true;
  return bytes >= limit &&
         chunk_bytes - bytes < config_.max_non_split_rounding_bytes;
}

bool ReferenceAllocator::AddSegment(std::int64_t bytes, Stream stream,
                                    bool small) {
  if (State().reserved + bytes > config_.device_limit_bytes) {
    DropFreeSegments();
  }
  if (State().reserved + bytes > config_.device_limit_bytes) return false;
  segments_.push_back({stream, small, {Chunk{.bytes = bytes}}});
  return true;
}

void ReferenceAllocator::DropFreeSegments() {
  std::erase_if(segments_, [](const Segment& segment) {
    return segment.stream != Stream::kRecord && segment.chunks.size() == 1 &&
           !segment.chunks.front().owner;
  });
}

}  // namespace foretell::test
