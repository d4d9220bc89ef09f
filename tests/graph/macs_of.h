#pragma once

#include <string>

#include "foretell/graph_io.h"

namespace foretell {

/// Multiply-accumulates of the only node of the graph `text`.
inline std::int64_t MacsOf(const std::string& text) {
  const OperatorGraph graph = ParseGraph(text);
  return graph.nodes().size() == 1 ? graph.node(0).macs : kNone;
}

}  // namespace foretell
