#include "frontends/exported/initial_states.h"

#include <cstdint>
#include <map>

#include "frontends/exported/call_operator.h"
#include "frontends/shared/initial_states.h"

namespace foretell::exported {
namespace {

/// The nodes that make zeros, by the slot of the result.
std::map<int, const Node*> NodesOfZeros(const Graph& graph) {
  std::map<int, const Node*> nodes;
  for (const Node& node : graph.nodes) {
    if (OperatorName(node.target) != kStateMaker) continue;
    for (const Argument& output : node.outputs) {
      ForEachSlot(output, [&](int slot) { nodes.emplace(slot, &node); });
    }
  }
  return nodes;
}

}  // namespace

InitialStates::InitialStates(const Graph& graph, Precision precision)
    : precision_(precision) {
  const std::map<int, const Node*> zeros = NodesOfZeros(graph);
  if (zeros.empty()) return;
  for (const Node& node : graph.nodes) {
    for (const Argument& input : node.inputs) {
      if (input.name != kStates) continue;
      ForEachSlot(input, [&](int slot) {
        const auto maker = zeros.find(slot);
        if (maker != zeros.end()) makers_.insert(maker->second);
      });
    }
  }
}

c10::IValue InitialStates::Apply(const Node& node, const Argument& input,
                                 c10::IValue value) const {
  if (input.name != kMadeType || !value.isInt() || !makers_.contains(&node)) {
    return value;
  }
  const auto type = static_cast<at::ScalarType>(value.toInt());
  return static_cast<std::int64_t>(StoredAs(type, precision_));
}

}  // namespace foretell::exported
