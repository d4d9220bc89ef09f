#include "src/graph/copy_calls.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace foretell {
namespace {

/// Tensors of `node` that only its calls make or read, in their order.
std::vector<ValueId> InnerTensors(const OperatorGraph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<ValueId> inner;
  std::unordered_set<ValueId> seen(node.outputs.begin(), node.outputs.end());
  const auto add = [&](ValueId value) {
    const bool is_own = graph.value(value).producer == id;
    if (is_own && seen.insert(value).second) inner.push_back(value);
  };
  for (const Node& call : node.calls) {
    std::ranges::for_each(call.inputs, add);
    std::ranges::for_each(call.outputs, add);
  }
  return inner;
}

}  // namespace

void CopyCalls(const OperatorGraph& graph, NodeId node,
               const CallMapping& mapping, NodeId added,
               GraphBuilder& builder) {
  const std::vector<ValueId> inner = InnerTensors(graph, node);
  const bool has_all = std::ranges::none_of(inner, [&](ValueId id) {
    return mapping.storage(graph.value(id).storage) == kNone;
  });
  if (!has_all) return;
  std::unordered_map<ValueId, ValueId> copies;
  for (const ValueId id : inner) {
    const Value& value = graph.value(id);
    copies[id] =
        builder.AddInner(added, mapping.name(value.name), value.type,
                         mapping.storage(value.storage), value.strides);
  }
  const auto map = [&](std::vector<ValueId> ids) {
    for (ValueId& id : ids) {
      const auto copy = copies.find(id);
      id = copy != copies.end() ? copy->second : mapping.value(id);
    }
    return ids;
  };
  for (const Node& call : graph.node(node).calls) {
    builder.AddCall(added,
                    {.target = call.target,
                     .inputs = map(call.inputs),
                     .attributes = call.attributes},
                    map(call.outputs));
  }
}

}  // namespace foretell
