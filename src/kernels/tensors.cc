#include "src/kernels/tensors.h"

#include <algorithm>

#include "src/graph/attributes.h"

namespace foretell::cost {
namespace {

/// True for a cast that autocast made while the graph was traced.
bool IsAutocastCast(const Node& node) {
  return node.kind == OpKind::kCast && FlagOf(node, kAutocastAttribute) &&
         !node.inputs.empty() && !node.outputs.empty();
}

}  // namespace

ValueId BeforeAutocast(const OperatorGraph& graph, ValueId id) {
  const NodeId producer = graph.value(id).producer;
  if (producer == kNone || !IsAutocastCast(graph.node(producer))) return id;
  return graph.node(producer).inputs.front();
}

bool Tensors::IsWeight(ValueId id) const {
  const StorageId storage = graph_.value(BeforeAutocast(graph_, id)).storage;
  return storage != kNone && IsSourceRole(graph_.storage(storage).role);
}

std::int64_t Tensors::Elements(ValueId id) const {
  const Value& value = graph_.value(id);
  const std::int64_t elements = value.type.NumElements();
  if (value.storage == kNone) return elements;
  return std::min(elements, graph_.storage(value.storage).bytes /
                                ByteWidth(value.type.dtype));
}

}  // namespace foretell::cost
