#include "src/runtime/tensorrt/constant_values.h"

#include <algorithm>
#include <cstddef>

namespace foretell::runtime {

std::vector<bool> ConstantValues(const OperatorGraph& graph) {
  std::vector<bool> is_constant(graph.values().size(), false);
  std::vector<bool> varies(graph.storages().size(), false);
  const auto at = [](std::int32_t id) { return static_cast<std::size_t>(id); };
  const auto storage_of = [&](ValueId id) {
    return at(graph.value(id).storage);
  };
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.producer != kNone) continue;
    is_constant[i] = IsSourceRole(graph.storage(value.storage).role);
    if (!is_constant[i]) varies[at(value.storage)] = true;
  }
  for (const Node& node : graph.nodes()) {
    const bool known = node.kind != OpKind::kRandom &&
                       std::ranges::all_of(node.inputs, [&](ValueId id) {
                         return is_constant[at(id)] && !varies[storage_of(id)];
                       });
    for (const ValueId id : node.outputs) {
      is_constant[at(id)] = known;
      if (!known) varies[storage_of(id)] = true;
    }
  }
  return is_constant;
}

}  // namespace foretell::runtime
