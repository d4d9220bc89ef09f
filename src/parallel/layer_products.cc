#include "src/parallel/layer_products.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

/// Where a product has its operands.
struct ProductForm {
  std::string_view target;
  std::size_t factor;
  std::size_t matrix;
  std::size_t bias;  ///< kNoOperand: without.
  bool is_out_by_in;
};

constexpr std::size_t kNoOperand = 99;
constexpr ProductForm kForms[] = {{"linear", 0, 1, 2, true},
                                  {"addmm", 1, 2, 0, false},
                                  {"mm", 0, 1, kNoOperand, false},
                                  {"matmul", 0, 1, kNoOperand, false}};

/// Operators that keep a matrix, except for its type and orientation.
constexpr std::string_view kSameMatrix[] = {"t",     "transpose", "permute",
                                            "to",    "_to_copy",  "detach",
                                            "alias", "clone",     "contiguous"};

bool KeepsMatrix(const Node& node) {
  return std::ranges::count(kSameMatrix, node.target) > 0;
}

}  // namespace

LayerProducts::LayerProducts(const OperatorGraph& graph, const StepFacts& facts)
    : graph_(graph),
      facts_(facts),
      matrix_of_(graph.values().size(), kNone),
      is_weight_(facts.parameters.size(), false),
      product_at_(graph.nodes().size(), kNone) {
  FindWeights();
  FindProducts();
}

void LayerProducts::FindWeights() {
  for (ValueId id = 0; id < std::ssize(graph_.values()); ++id) {
    const Value& value = graph_.value(id);
    if (value.type.shape.size() != 2) continue;
    const ParameterIndex owner = facts_.OwnerOf(value.storage);
    if (owner != kNone &&
        facts_.parameters[IndexOf(owner)].storage == value.storage) {
      matrix_of_[IndexOf(id)] = owner;
    } else if (value.producer != kNone) {
      const Node& node = graph_.node(value.producer);
      if (KeepsMatrix(node) && !node.inputs.empty() &&
          node.phase != Phase::kOptimizer) {
        matrix_of_[IndexOf(id)] = matrix_of_[IndexOf(node.inputs.front())];
      }
    }
  }
}

std::optional<LayerProduct> LayerProducts::ProductOf(NodeId id) const {
  const Node& node = graph_.node(id);
  const auto* const form =
      std::ranges::find(kForms, node.target, &ProductForm::target);
  if (form == std::end(kForms) || node.phase == Phase::kOptimizer) return {};
  if (form->matrix >= node.inputs.size() || node.outputs.empty()) return {};
  const ValueId matrix = node.inputs[form->matrix];
  const ParameterIndex weight = matrix_of_[IndexOf(matrix)];
  if (weight == kNone) return {};
  const bool is_gradient =
      node.target == "mm" && node.phase == Phase::kBackward;
  LayerProduct found{.node = id,
                     .weight = weight,
                     .factor = node.inputs[form->factor],
                     .matrix = matrix,
                     .product = node.outputs.front(),
                     .is_gradient = is_gradient,
                     .is_out_by_in = is_gradient || form->is_out_by_in};
  if (form->bias < node.inputs.size()) found.bias = node.inputs[form->bias];
  return found;
}

void LayerProducts::FindProducts() {
  for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
    const std::optional<LayerProduct> found = ProductOf(id);
    if (!found) continue;
    product_at_[IndexOf(id)] = static_cast<std::int32_t>(products_.size());
    is_weight_[IndexOf(found->weight)] = true;
    products_.push_back(*found);
  }
}

const LayerProduct* LayerProducts::Of(NodeId node) const {
  const std::int32_t at = product_at_[IndexOf(node)];
  return at == kNone ? nullptr : &products_[IndexOf(at)];
}

ParameterIndex LayerProducts::WeightIn(ValueId value) const {
  const ParameterIndex index = matrix_of_[IndexOf(value)];
  return index != kNone && is_weight_[IndexOf(index)] ? index : kNone;
}

}  // namespace foretell::parallel
