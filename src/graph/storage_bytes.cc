#include "src/graph/storage_bytes.h"

#include <algorithm>

namespace foretell {

std::int64_t PeakOfLiveBytes(const OperatorGraph& graph) {
  std::int64_t live = 0;
  std::int64_t peak = 0;
  for (const MemoryEvent& event : graph.events()) {
    const std::int64_t bytes = graph.storage(event.storage).bytes;
    live += event.kind == MemoryEvent::Kind::kAllocate ? bytes : -bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

std::int64_t BytesOfRole(const OperatorGraph& graph, TensorRole role) {
  std::int64_t bytes = 0;
  for (const Storage& storage : graph.storages()) {
    if (storage.role == role) bytes += storage.bytes;
  }
  return bytes;
}

}  // namespace foretell
