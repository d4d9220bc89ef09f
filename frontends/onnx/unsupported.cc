#include "frontends/onnx/unsupported.h"

#include <fmt/core.h>

#include <map>
#include <set>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/reader/functions.h"

namespace foretell::onnx {
namespace {

using OpsetImports = std::map<std::string, std::int64_t>;

struct Entry {
  std::string op_type;
  std::string first_node;
  int count = 0;
};

/// True for the row of an operator to be collected; nullptr if there is no row.
using Matches = bool (*)(const OnnxOperator* row);

/// Collects the operators of nodes whose row matches.
class Scan {
 public:
  Scan(const Model& model, Matches matches)
      : functions_(model), matches_(matches) {}

  void Visit(const std::vector<Node>& nodes, const OpsetImports& opsets) {
    for (const Node& node : nodes) {
      if (IsWanted(node, opsets)) Note(node, opsets);
      for (const Attribute& attribute : node.attributes) {
        for (const auto& graph : attribute.graphs) Visit(graph->nodes, opsets);
      }
    }
  }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const auto& [name, entry] : found_) {
      lines.push_back(fmt::format("{} (first at node '{}', {} in all)", name,
                                  entry.first_node, entry.count));
    }
    return lines;
  }

  std::vector<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& [line, entry] : found_) names.insert(entry.op_type);
    return {names.begin(), names.end()};
  }

 private:
  static std::int64_t VersionOf(const std::string& domain,
                                const OpsetImports& opsets) {
    const auto found = opsets.find(domain);
    return found == opsets.end() ? 1 : found->second;
  }

  bool IsWanted(const Node& node, const OpsetImports& opsets) const {
    if (functions_.Find(node)) return false;
    return matches_(FindOperator(node.domain, node.op_type,
                                 VersionOf(node.domain, opsets)));
  }

  void Note(const Node& node, const OpsetImports& opsets) {
    const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
    const std::string version =
        fmt::format("{}", VersionOf(node.domain, opsets));
    Entry& entry = found_[fmt::format("{}::{} at version {}", domain,
                                      node.op_type, version)];
    entry.op_type = node.op_type;
    if (entry.count++ == 0) {
      entry.first_node = !node.name.empty()
                             ? node.name
                             : (node.outputs.empty() ? "" : node.outputs[0]);
    }
  }

  FunctionIndex functions_;
  Matches matches_;
  std::map<std::string, Entry> found_;
};

Scan ScanOf(const Model& model, Matches matches) {
  Scan scan(model, matches);
  scan.Visit(model.graph.nodes, model.opset_imports);
  for (const Function& function : model.functions) {
    scan.Visit(function.nodes, function.opset_imports);
  }
  return scan;
}

}  // namespace

std::vector<std::string> UnsupportedOperators(const Model& model) {
  const auto is_missing = [](const OnnxOperator* row) {
    return row == nullptr;
  };
  return ScanOf(model, is_missing).Lines();
}

std::vector<std::string> DataDependentOperators(const Model& model) {
  const auto depends_on_data = [](const OnnxOperator* row) {
    return row != nullptr && row->depends_on_data;
  };
  return ScanOf(model, depends_on_data).Names();
}

}  // namespace foretell::onnx
