#include <map>
#include <utility>

#include "frontends/onnx/evaluator.h"

namespace foretell::onnx {
namespace {

using OpsetImports = std::map<std::string, std::int64_t>;

struct Missing {
  std::string first_node;
  int count = 0;
};

/// Collects the operators of nodes that have no row.
class Scan {
 public:
  explicit Scan(const Model& model) : model_(model) {}

  void Visit(const std::vector<Node>& nodes, const OpsetImports& opsets) {
    for (const Node& node : nodes) {
      if (!IsKnown(node, opsets)) Note(node, opsets);
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) Visit(graph->nodes, opsets);
      }
    }
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& [name, missing] : missing_) {
      lines.push_back(name + " (first at node '" + missing.first_node + "', " +
                      std::to_string(missing.count) + " in all)");
    }
    return lines;
  }

 private:
  static std::int64_t VersionOf(const std::string& domain,
                                const OpsetImports& opsets) {
    const auto found = opsets.find(domain);
    return found == opsets.end() ? 1 : found->second;
  }

  bool IsKnown(const Node& node, const OpsetImports& opsets) const {
    for (const Function& function : model_.functions) {
      if (function.name == node.op_type && function.domain == node.domain &&
          function.overload == node.overload) {
        return true;
      }
    }
    return FindOperator(node.domain, node.op_type,
                        VersionOf(node.domain, opsets)) != nullptr;
  }

  void Note(const Node& node, const OpsetImports& opsets) {
    const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
    const std::string version =
        std::to_string(VersionOf(node.domain, opsets));
    Missing& entry = missing_[domain + "::" + node.op_type + " at version " +
                              version];
    if (entry.count++ == 0) {
      entry.first_node = !node.name.empty()
                             ? node.name
                             : (node.outputs.empty() ? "" : node.outputs[0]);
    }
  }

  const Model& model_;
  std::map<std::string, Missing> missing_;
};

}  // namespace

std::vector<std::string> UnsupportedOperators(const Model& model) {
  Scan scan(model);
  scan.Visit(model.graph.nodes, model.opset_imports);
  for (const Function& function : model.functions) {
    scan.Visit(function.nodes, function.opset_imports);
  }
  return scan.Lines();
}

}  // namespace foretell::onnx
