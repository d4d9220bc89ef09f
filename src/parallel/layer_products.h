#pragma once

#include <optional>
#include <vector>

#include "src/parallel/step_facts.h"

namespace foretell::parallel {

/// A product of a layer's input with its weight, or of its result's gradient
/// with the weight, which is the gradient of the input.
struct LayerProduct {
  NodeId node = kNone;
  ParameterIndex weight = kNone;
  ValueId factor = kNone;   ///< Input, or the result's gradient.
  ValueId matrix = kNone;   ///< The weight as the product reads it.
  ValueId product = kNone;  ///< Result, or the input's gradient.
  ValueId bias = kNone;     ///< kNone: no bias.
  bool is_gradient = false;
  /// The matrix is [features out, features in], as of nn.Linear; else it is
  /// turned.
  bool is_out_by_in = true;
};

/// The linear layers of a step, in the order of their products, and tensors
/// that are casts or transposes of their weights.
class LayerProducts {
 public:
  LayerProducts(const OperatorGraph& graph, const StepFacts& facts);

  const std::vector<LayerProduct>& all() const { return products_; }
  /// By node; null if it is not one.
  const LayerProduct* Of(NodeId node) const;
  /// The layer's weight that the tensor represents; kNone: none.
  ParameterIndex WeightIn(ValueId value) const;

 private:
  void FindWeights();
  void FindProducts();
  std::optional<LayerProduct> ProductOf(NodeId id) const;

  const OperatorGraph& graph_;
  const StepFacts& facts_;
  std::vector<ParameterIndex> matrix_of_;  ///< By value: matrices.
  std::vector<bool> is_weight_;            ///< By parameter.
  std::vector<LayerProduct> products_;
  std::vector<std::int32_t> product_at_;  ///< By node.
};

}  // namespace foretell::parallel
