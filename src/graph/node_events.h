#pragma once

#include <algorithm>
#include <span>

#include "foretell/graph.h"

namespace foretell {

/// The events of `graph` during `node`, in their order; kNone: before the first
/// node.
inline std::span<const MemoryEvent> EventsOf(const OperatorGraph& graph,
                                             NodeId node) {
  const auto found =
      std::ranges::equal_range(graph.events(), node, {}, &MemoryEvent::node);
  return {found.begin(), found.end()};
}

}  // namespace foretell
