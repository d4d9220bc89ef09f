#include "src/kernels/constants.h"

#include <algorithm>
#include <cstddef>

#include "src/graph/compiled_call.h"

namespace foretell::cost {
namespace {

/// Whether `node` writes to a parameter or buffer: a counter, a running mean. A
/// generated kernel may write in place, though its name does not end in "_".
bool UpdatesASource(const OperatorGraph& graph, const Node& node) {
  const bool writes = node.kind != OpKind::kView &&
                      (node.target.ends_with('_') || IsGenerated(node));
  return writes && std::ranges::any_of(node.outputs, [&](ValueId output) {
           const StorageId storage = graph.value(output).storage;
           return storage != kNone && IsSourceRole(graph.storage(storage).role);
         });
}

bool Varies(const OperatorGraph& graph, const Node& node,
            const std::vector<bool>& varying) {
  return node.kind == OpKind::kRandom || UpdatesASource(graph, node) ||
         std::ranges::any_of(node.inputs, [&](ValueId input) {
           return varying[static_cast<std::size_t>(input)];
         });
}

bool IsVaryingSource(const OperatorGraph& graph, const Value& value) {
  return value.producer == kNone && value.storage != kNone &&
         !IsSourceRole(graph.storage(value.storage).role);
}

/// Whether `node` reads codes of quantised weights, which are no table however
/// constant they are.
bool ReadsCodes(const OperatorGraph& graph, const Node& node) {
  return std::ranges::any_of(node.inputs, [&](ValueId input) {
    const DType dtype = graph.value(input).type.dtype;
    return dtype == DType::kI8 || dtype == DType::kU8;
  });
}

}  // namespace

std::vector<bool> VaryingValues(const OperatorGraph& graph) {
  std::vector<bool> varying;
  varying.reserve(graph.values().size());
  for (const Value& value : graph.values()) {
    varying.push_back(IsVaryingSource(graph, value));
  }
  for (const ValueId input : graph.inputs()) {
    varying[static_cast<std::size_t>(input)] = true;
  }
  for (const Node& node : graph.nodes()) {
    if (!Varies(graph, node, varying)) continue;
    for (const ValueId output : node.outputs) {
      varying[static_cast<std::size_t>(output)] = true;
    }
  }
  return varying;
}

bool IsConstantTable(const OperatorGraph& graph, const Node& node,
                     const std::vector<bool>& varying) {
  if (node.outputs.empty()) return false;
  const ValueId result = node.outputs.front();
  const DType dtype = graph.value(result).type.dtype;
  if (IsFloatingPoint(dtype) || varying[static_cast<std::size_t>(result)]) {
    return false;
  }
  return dtype == DType::kBool || !ReadsCodes(graph, node);
}

}  // namespace foretell::cost
