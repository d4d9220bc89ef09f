#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frontends/exported/source_lines.h"
#include "src/program/size_expression.h"

namespace foretell::exported {

struct Graph;

/// A value that is made while a graph runs, by its number in the graph.
struct Slot {
  int index = 0;
};
inline constexpr int kUnused = -1;  ///< Of a result that is never read.

/// An input or output of an operator.
struct Argument {
  /// Name in the operator's schema; empty for the positional arguments of
  /// operators without one.
  std::string name;
  std::variant<c10::IValue, Slot, std::vector<Argument>,
               std::shared_ptr<const Graph>>
      value;
};

/// One call.
struct Node {
  std::string name;
  std::string target;  ///< "torch.ops.aten.conv2d.default", "_operator.add".
  std::string scope;   ///< Path of the module: "layer1.0.conv1".
  std::vector<std::string> calls;  ///< Modules that run, outermost first.
  std::vector<SourceLine> stack;   ///< Frames that run, outermost first.
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;  ///< Slots, lists of slots, or constants.
  std::vector<int> dies;          ///< Slots that no later node reads.
  std::vector<int> forgotten;     ///< Read before, but held by a name till now.
};

/// A list of calls; each reads results of earlier ones.
struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  int num_slots = 0;
  std::vector<int> unread;  ///< Inputs that are never read.
};

/// A size, as a formula of symbols.
struct Size {
  /// Empty if the file writes it in an unknown form.
  std::optional<SizeExpression> formula;
  std::string text;  ///< As in the file; empty for a number.
  /// Its value when the file was made; empty if the file does not state it.
  std::optional<std::int64_t> example;

  bool IsFixed() const { return formula && formula->IsFixed(); }
};

/// What a file states about a tensor.
struct TensorInfo {
  at::ScalarType type = at::kFloat;
  std::vector<Size> sizes;
  bool requires_grad = false;
};

enum class InputKind : std::uint8_t {
  kParameter,
  kBuffer,
  kConstant,  ///< A tensor.
  kUser,      ///< A tensor that the caller gives.
  kUserSize,  ///< A whole number that the caller gives.
  kValue,     ///< A number or text that the file fixes.
};

/// Source of an input of a model's graph.
struct ModelInput {
  InputKind kind = InputKind::kUser;
  std::string name;  ///< Key in the state dictionary, or name of the argument.
  TensorInfo tensor;
  Size size;              ///< Of kUserSize.
  std::int64_t fill = 1;  ///< As InputSpec, of kUser.
  /// Number of an input that is the same tensor, -1: none.
  int same_as = -1;
};

/// How an output of a model's graph is used.
struct ModelOutput {
  /// Number of the input that it is written to; -1: it is a result.
  int written_to = -1;
  /// Of a result: its path in what the network returns ("logits",
  /// "past.0.key"), or its name in the graph; may be empty.
  std::string name = {};
};

/// The range that a file allows for a symbol.
struct SizeRange {
  std::optional<std::int64_t> at_least;
  std::optional<std::int64_t> at_most;
};

/// A condition on sizes that a file states in addition to their values.
struct Guard {
  SizeExpression equation;
  std::string text;  ///< As the file has it.
};

/// A whole model.
struct Model {
  Graph graph;
  std::vector<ModelInput> inputs;           ///< One per input of the graph.
  std::vector<ModelOutput> outputs;         ///< One per output of the graph.
  std::map<std::string, SizeRange> ranges;  ///< By symbol.
  std::vector<Guard> guards;
  std::int64_t minor_version = 0;
  std::string torch_version;
  bool is_decomposed = false;  ///< Into core ATen: run_decompositions().
};

/// Calls `visit` on every slot in `argument`, also in lists.
template <typename Visit>
void ForEachSlot(const Argument& argument, const Visit& visit) {
  if (const auto* slot = std::get_if<Slot>(&argument.value)) {
    visit(slot->index);
  } else if (const auto* list =
                 std::get_if<std::vector<Argument>>(&argument.value)) {
    for (const Argument& element : *list) ForEachSlot(element, visit);
  }
}

/// Calls `visit` on every node of `graph` and of the graphs in it.
template <typename Visit>
void ForEachNode(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    visit(node);
    for (const Argument& argument : node.inputs) {
      const auto* inner =
          std::get_if<std::shared_ptr<const Graph>>(&argument.value);
      if (inner != nullptr) ForEachNode(**inner, visit);
    }
  }
}

}  // namespace foretell::exported
