// One pass from the last node to the first: of nested patterns the one that
// ends last is the largest. A replaced pattern leaves one node at the place of
// its last node, which is after everything that the new node reads.

#include "frontends/onnx/fusion/fuse.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "frontends/onnx/fusion/rules.h"
#include "frontends/onnx/reader/liveness.h"

namespace foretell::onnx {
namespace {

using OpsetImports = std::map<std::string, std::int64_t>;

std::int64_t OnnxOpset(const OpsetImports& imports) {
  const auto found = imports.find("");
  return found == imports.end() ? 1 : found->second;
}

std::vector<std::string> InputNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueInfo& input : graph.inputs) names.push_back(input.name);
  return names;
}

using Reads = std::unordered_map<std::string, int>;

Reads ReadsInside(const Graph& graph) {
  Reads reads;
  CountReadsInside(graph, 1, reads);
  return reads;
}

/// Drops initializers that nothing reads any more, also where they are inputs.
void DropUnread(const Reads& before, Graph& graph) {
  const Reads after = ReadsInside(graph);
  const auto is_unread = [&](const auto& one) {
    return before.contains(one.name) && !after.contains(one.name);
  };
  std::unordered_set<std::string> dropped;
  for (const TensorLiteral& literal : graph.initializers) {
    if (is_unread(literal)) dropped.insert(literal.name);
  }
  const auto is_dropped = [&](const auto& one) {
    return dropped.contains(one.name);
  };
  std::erase_if(graph.initializers, is_dropped);
  std::erase_if(graph.inputs, is_dropped);
}

class Rewriter {
 public:
  explicit Rewriter(Fusion setting) : setting_(setting) {}

  void Rewrite(Graph& graph, std::int64_t opset, const Body* outer) const {
    Body body(std::move(graph.nodes), {.initializers = graph.initializers,
                                       .inputs = InputNames(graph),
                                       .outputs = OutputNames(graph),
                                       .opset = opset,
                                       .outer = outer});
    graph.nodes = Rewritten(std::move(body));
  }

  void Rewrite(Function& function) const {
    Body body(std::move(function.nodes),
              {.initializers = {},
               .inputs = function.inputs,
               .outputs = function.outputs,
               .opset = OnnxOpset(function.opset_imports)});
    function.nodes = Rewritten(std::move(body));
  }

 private:
  std::vector<Node> Rewritten(Body&& body) const {
    for (std::size_t i = body.size(); i-- > 0;) {
      RewriteInside(body, i);
      Apply(body, i);
    }
    return std::move(body).Release();
  }

  /// Rewrites the graphs that node `i` holds.
  void RewriteInside(Body& body, std::size_t i) const {
    if (body.node(i) == nullptr) return;
    for (Attribute& attribute : body.attributes_of(i)) {
      for (std::shared_ptr<const Graph>& held : attribute.graphs) {
        Graph graph = *held;
        Rewrite(graph, body.opset(), &body);
        held = std::make_shared<const Graph>(std::move(graph));
      }
    }
  }

  /// Applies the first rule that fits a pattern ending at node `i`.
  void Apply(Body& body, std::size_t i) const {
    for (const FusionRow& row : FusionRows()) {
      const Node* last = body.node(i);
      if (last == nullptr || last->op_type != row.last_op ||
          !last->domain.empty() || last->outputs.empty() ||
          last->inputs.empty() || row.setting > setting_) {
        continue;
      }
      std::optional<Replacement> found = row.rule(Match(body, *last));
      if (found && body.Replace(std::move(*found))) return;
    }
  }

  Fusion setting_;
};

}  // namespace

Model RecogniseFusedPatterns(Model model, Fusion setting) {
  if (setting == Fusion::kOff) return model;
  const Rewriter rewriter(setting);
  const Reads reads = ReadsInside(model.graph);
  rewriter.Rewrite(model.graph, OnnxOpset(model.opset_imports), nullptr);
  for (Function& function : model.functions) rewriter.Rewrite(function);
  DropUnread(reads, model.graph);
  return model;
}

}  // namespace foretell::onnx
