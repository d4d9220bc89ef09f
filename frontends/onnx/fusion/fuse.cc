// One pass from the last node to the first: of nested patterns the one that
// ends last is the largest. A replaced pattern leaves one node at the place of
// its last node, which is after everything that the new node reads.

#include "frontends/onnx/fusion/fuse.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "frontends/onnx/fusion/rules.h"
#include "frontends/onnx/reader/liveness.h"
#include "frontends/onnx/reader/mask.h"

namespace foretell::onnx {
namespace {

/// Input of a fused attention.
constexpr std::size_t kMaskInput = 3;

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

/// Drops initializers that are no longer read, even if they are inputs.
void DropUnread(const Body& body, Graph& graph) {
  std::unordered_set<std::string> dropped;
  for (const TensorLiteral& literal : graph.initializers) {
    if (body.IsReadNoMore(literal.name)) dropped.insert(literal.name);
  }
  const auto is_dropped = [&](const auto& one) {
    return dropped.contains(one.name);
  };
  std::erase_if(graph.initializers, is_dropped);
  std::erase_if(graph.inputs, is_dropped);
}

/// Names that `graph` reads other than as the mask of an attention that treats
/// it as Boolean; names of such masks go to `masks`.
std::unordered_set<std::string> ReadAsNumbers(
    const Graph& graph, std::unordered_set<std::string>& masks) {
  std::unordered_set<std::string> numbers;
  for (const ValueInfo& output : graph.outputs) numbers.insert(output.name);
  for (const Node& node : graph.nodes) {
    const Attribute* flag = node.FindAttribute("mask_is_boolean");
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_mask = flag != nullptr && flag->i != 0 && i == kMaskInput;
      (is_mask ? masks : numbers).insert(node.inputs[i]);
    }
    for (const Attribute& attribute : node.attributes) {
      for (const auto& inner : attribute.graphs) {
        numbers.merge(ReadAsNumbers(*inner, masks));
      }
    }
  }
  return numbers;
}

/// Turns the additive initializers into which exporters folded Boolean masks
/// into Boolean ones again.
void RestoreBooleanMasks(Graph& graph) {
  std::unordered_set<std::string> masks;
  const std::unordered_set<std::string> numbers = ReadAsNumbers(graph, masks);
  for (TensorLiteral& literal : graph.initializers) {
    if (masks.contains(literal.name) && !numbers.contains(literal.name)) {
      literal = BooleanMask(literal);
    }
  }
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
    RewriteNodes(body);
    if (outer == nullptr) DropUnread(body, graph);
    graph.nodes = std::move(body).Release();
    if (outer == nullptr) RestoreBooleanMasks(graph);
  }

  void Rewrite(Function& function) const {
    Body body(std::move(function.nodes),
              {.initializers = {},
               .inputs = function.inputs,
               .outputs = function.outputs,
               .opset = OnnxOpset(function.opset_imports)});
    RewriteNodes(body);
    function.nodes = std::move(body).Release();
  }

 private:
  void RewriteNodes(Body& body) const {
    for (std::size_t i = body.size(); i-- > 0;) {
      body.RewriteGraphsOf(
          i, [&](Graph& graph) { Rewrite(graph, body.opset(), &body); });
      Apply(body, i);
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
  rewriter.Rewrite(model.graph, OnnxOpset(model.opset_imports), nullptr);
  for (Function& function : model.functions) rewriter.Rewrite(function);
  return model;
}

}  // namespace foretell::onnx
