#pragma once

#include <functional>
#include <string>

#include "foretell/graph.h"

namespace foretell {

/// Maps tensors and storages of an old graph to a new one.
struct CallMapping {
  std::function<ValueId(ValueId)> value;
  std::function<StorageId(StorageId)> storage;  ///< kNone: absent there.
  /// Name of an inner tensor by that in the old graph.
  std::function<std::string(const std::string&)> name;
};

/// Adds the calls inside `node` of `graph` to `added`, its copy in `builder`,
/// whose results exist already. Adds none if the new graph lacks a storage that
/// they use.
void CopyCalls(const OperatorGraph& graph, NodeId node,
               const CallMapping& mapping, NodeId added, GraphBuilder& builder);

}  // namespace foretell
