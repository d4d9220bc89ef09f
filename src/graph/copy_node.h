#pragma once

#include <functional>
#include <optional>

#include "foretell/graph.h"
#include "src/graph/copy_calls.h"

namespace foretell {

/// Where the parts of an old graph are in a new one.
struct NodeMapping {
  CallMapping parts;
  /// Takes note of a result of the old graph and its copy.
  std::function<void(ValueId result, ValueId copy)> add;
  /// Storage of the copy of a result; null: as `parts.storage` has it.
  std::function<StorageId(ValueId result)> result_storage = nullptr;
};

/// What the copy of a node has otherwise.
struct NodeChange {
  std::optional<Phase> phase = {};  ///< Empty: that of the node.
  Attributes further = {};          ///< Behind those of the node.
};

/// Adds `node` of `graph` to `builder` with its results and the calls inside
/// (CopyCalls).
NodeId CopyNode(const OperatorGraph& graph, NodeId node,
                const NodeMapping& mapping, GraphBuilder& builder,
                const NodeChange& change = {});

}  // namespace foretell
