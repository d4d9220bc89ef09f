#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "foretell/memory.h"

namespace foretell::test {

/// The caching allocator's rules written down naively: every search is a scan
/// over all segments, neighbours are neighbours in a vector.
class ReferenceAllocator {
 public:
  explicit ReferenceAllocator(CachingAllocatorConfig config)
      : config_(config) {}

  /// False when out of memory.
  bool Allocate(std::int64_t id, std::int64_t bytes, Stream stream);
  void Free(std::int64_t id);
  AllocatorState State() const;

 private:
  struct Chunk {
    std::int64_t bytes = 0;
    std::int64_t requested = 0;
    std::optional<std::int64_t> owner;
  };
  struct Segment {
    Stream stream = Stream::kCompute;
    bool small = false;
    std::vector<Chunk> chunks;  ///< In the order of their addresses.
  };
  struct Place {
    std::size_t segment = 0;
    std::size_t chunk = 0;
  };

  std::optional<Place> BestFit(std::int64_t bytes, Stream stream,
                               bool small) const;
  bool MayUse(std::int64_t chunk_bytes, std::int64_t bytes) const;
  bool AddSegment(std::int64_t bytes, Stream stream, bool small);
  void DropFreeSegments();

  CachingAllocatorConfig config_;
  std::vector<Segment> segments_;  ///< In the order of their addresses.
};

}  // namespace foretell::test
