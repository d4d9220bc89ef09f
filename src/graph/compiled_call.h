#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "foretell/graph.h"

namespace foretell {

/// Attribute of the first kernel of each compiled pass of a step that graph
/// breaks divide: how many parameters and buffers the pass is called with.
inline constexpr std::string_view kCallAttribute = "call";

/// Attribute (true) of an operator of a compiled step that eager PyTorch runs,
/// because it is in none of the modules that are compiled.
inline constexpr std::string_view kEagerAttribute = "eager";

/// Whether eager PyTorch runs `node` of `graph`, as it does every optimizer.
inline bool IsEager(const OperatorGraph& graph, const Node& node) {
  return graph.info().runtime.runtime == Runtime::kEager ||
         node.phase == Phase::kOptimizer ||
         node.FindAttribute(kEagerAttribute) != nullptr;
}

/// Whether `node` is a kernel that a runtime generated from several operators.
inline bool IsGenerated(const Node& node) {
  return node.target.starts_with("fused_");
}

/// Whether parameters of the step are constants of compiled code.
inline bool IsFrozen(const GraphInfo& info) {
  return info.mode == Mode::kInference &&
         info.runtime.freezing != Freezing::kOff;
}

/// Tensors of `role` that no node produces.
inline std::int64_t CountSources(const OperatorGraph& graph, TensorRole role) {
  return std::ranges::count_if(graph.values(), [&](const Value& value) {
    return value.producer == kNone && graph.storage(value.storage).role == role;
  });
}

}  // namespace foretell
