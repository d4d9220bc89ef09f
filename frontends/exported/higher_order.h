#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/exported/graph.h"

namespace foretell::exported {

class Interpreter;

/// A call of an operator that runs graphs.
struct HigherOrderCall {
  const Node* node = nullptr;
  /// Graphs among its arguments, in order.
  std::vector<std::shared_ptr<const Graph>> graphs;
  /// The other positional arguments, in order.
  std::vector<c10::IValue> values;
};

/// True if `target`, e.g. "torch.ops.higher_order.cond", can be run.
bool IsKnownHigherOrder(std::string_view target);

/// Runs the call and returns its results, one per output of the node. Throws
/// Error(kUnsupported) if a branch or the end of a loop depends on the content
/// of a tensor that has none.
std::vector<c10::IValue> CallHigherOrder(Interpreter& interpreter,
                                         HigherOrderCall call);

}  // namespace foretell::exported
