#include "frontends/onnx/reader/liveness.h"

#include <set>
#include <unordered_map>

namespace foretell::onnx {
namespace {

/// Calls `visit` on every name that `node` reads, inner graphs included.
template <typename Visit>
void ForEachRead(const Node& node, const Visit& visit) {
  for (const std::string& name : node.inputs) visit(name);
  for (const Attribute& attribute : node.attributes) {
    for (const auto& graph : attribute.graphs) {
      for (const Node& inner : graph->nodes) ForEachRead(inner, visit);
      for (const ValueInfo& output : graph->outputs) visit(output.name);
    }
  }
}

}  // namespace

Liveness::Liveness(const std::vector<Node>& nodes,
                   const std::vector<std::string>& outputs)
    : dying_(nodes.size()) {
  std::unordered_map<std::string, std::size_t> last_use;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].outputs) last_use[name] = i;
    ForEachRead(nodes[i], [&](const std::string& name) { last_use[name] = i; });
  }
  const std::set<std::string> kept(outputs.begin(), outputs.end());
  for (const auto& [name, node] : last_use) {
    if (!name.empty() && kept.count(name) == 0) dying_[node].push_back(name);
  }
}

std::vector<std::string> OutputNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueInfo& output : graph.outputs) names.push_back(output.name);
  return names;
}

}  // namespace foretell::onnx
