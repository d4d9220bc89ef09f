#include <fmt/core.h>

#include <iterator>
#include <string>

#include "foretell/graph_io.h"
#include "src/core/printable.h"

namespace foretell {
namespace {

/// `text` for use inside a Graphviz string: Printable, quotes and backslashes
/// escaped.
std::string DotText(const std::string& text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string_view FillColor(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "#e8f0fe";
    case Phase::kBackward:
      return "#fce8e6";
    case Phase::kOptimizer:
      return "#e6f4ea";
  }
  return "#ffffff";
}

std::string NodeLabel(const OperatorGraph& graph, const Node& node) {
  std::string label = DotText(node.target);
  for (const ValueId id : node.outputs) {
    label += "\\n" + ToString(graph.value(id).type);
  }
  if (node.macs > 0) label += fmt::format("\\n{} MACs", node.macs);
  return label;
}

}  // namespace

std::string GraphToDot(const OperatorGraph& graph) {
  std::string text =
      "digraph \"" + DotText(graph.info().name) +
      "\" {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.node(id);
    fmt::format_to(std::back_inserter(text),
                   "  n{} [label=\"{}\", fillcolor=\"{}\"", id,
                   NodeLabel(graph, node), FillColor(node.phase));
    if (!node.scope.empty()) {
      text += ", tooltip=\"" + DotText(node.scope) + "\"";
    }
    text += "];\n";
  }
  for (const auto& [producer, consumer] : graph.Edges()) {
    fmt::format_to(std::back_inserter(text), "  n{} -> n{};\n", producer,
                   consumer);
  }
  return text + "}\n";
}

}  // namespace foretell
