#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Attribute of the first kernel of each compiled pass of a step that graph
/// breaks divide: how many parameters and buffers the pass is called with.
inline constexpr std::string_view kCallAttribute = "call";

/// Tensors of `role` that no node produces.
inline std::int64_t CountSources(const OperatorGraph& graph, TensorRole role) {
  return std::ranges::count_if(graph.values(), [&](const Value& value) {
    return value.producer == kNone && graph.storage(value.storage).role == role;
  });
}

}  // namespace foretell
