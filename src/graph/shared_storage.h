#pragma once

#include <algorithm>

#include "foretell/graph.h"

namespace foretell {

/// Whether `output`, a result of `node`, lies in the storage of one of its
/// operands: a view of that, or what the node writes into it. False for values
/// without a storage.
inline bool LiesInOperand(const OperatorGraph& graph, const Node& node,
                          ValueId output) {
  const StorageId storage = graph.value(output).storage;
  return storage != kNone && std::ranges::any_of(node.inputs, [&](ValueId id) {
           return graph.value(id).storage == storage;
         });
}

}  // namespace foretell
