#include "src/graph/copy_node.h"

#include <utility>

namespace foretell {

NodeId CopyNode(const OperatorGraph& graph, NodeId node,
                const NodeMapping& mapping, GraphBuilder& builder,
                const NodeChange& change) {
  const Node& old = graph.node(node);
  NodeSpec spec{.target = old.target,
                .inputs = {},
                .attributes = old.attributes,
                .scope = old.scope,
                .phase = change.phase.value_or(old.phase)};
  spec.attributes.insert(spec.attributes.end(), change.further.begin(),
                         change.further.end());
  for (const ValueId input : old.inputs) {
    spec.inputs.push_back(mapping.parts.value(input));
  }
  const NodeId added = builder.AddNode(std::move(spec));
  for (const ValueId output : old.outputs) {
    const Value& value = graph.value(output);
    const StorageId storage = mapping.result_storage
                                  ? mapping.result_storage(output)
                                  : mapping.parts.storage(value.storage);
    mapping.add(output, builder.AddResult(added, mapping.parts.name(value.name),
                                          value.type, storage, value.strides));
  }
  CopyCalls(graph, node, mapping.parts, added, builder);
  return added;
}

}  // namespace foretell
