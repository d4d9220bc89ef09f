#include "src/graph/live_bytes.h"

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

}  // namespace foretell
