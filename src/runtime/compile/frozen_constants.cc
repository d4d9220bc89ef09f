#include "src/runtime/compile/frozen_constants.h"

#include <algorithm>

#include "src/graph/index_of.h"
#include "src/graph/shared_storage.h"

// ConstantFolder of torch/_inductor/constant_folding.py with skip_constructors,
// and replace_params_with_constants of freezing.py (PyTorch 2.13).

namespace foretell::runtime {
namespace {

bool Writes(const OperatorGraph& graph, const Node& node) {
  return node.kind != OpKind::kView && node.target.ends_with('_') &&
         std::ranges::any_of(node.outputs, [&](ValueId output) {
           return LiesInOperand(graph, node, output);
         });
}

/// By storage.
std::vector<bool> FindWritten(const OperatorGraph& graph) {
  std::vector<bool> is_written(graph.storages().size(), false);
  for (const Node& node : graph.nodes()) {
    if (!Writes(graph, node)) continue;
    for (const ValueId output : node.outputs) {
      is_written[IndexOf(graph.value(output).storage)] = true;
    }
  }
  return is_written;
}

}  // namespace

std::vector<bool> FindConstants(const OperatorGraph& graph) {
  const std::vector<bool> is_written = FindWritten(graph);
  std::vector<bool> is_constant(graph.values().size(), false);
  for (ValueId id = 0; id < std::ssize(graph.values()); ++id) {
    const Value& value = graph.value(id);
    is_constant[IndexOf(id)] = value.producer == kNone &&
                               !is_written[IndexOf(value.storage)] &&
                               IsSourceRole(graph.storage(value.storage).role);
  }
  for (const Node& node : graph.nodes()) {
    const bool is_known =
        !node.inputs.empty() && node.kind != OpKind::kRandom &&
        !Writes(graph, node) &&
        std::ranges::all_of(
            node.inputs, [&](ValueId id) { return is_constant[IndexOf(id)]; });
    if (!is_known) continue;
    for (const ValueId id : node.outputs) is_constant[IndexOf(id)] = true;
  }
  return is_constant;
}

}  // namespace foretell::runtime
