#pragma once

#include <cstdint>
#include <vector>

#include "foretell/graph.h"

namespace foretell::runtime {

/// How an engine runs a layer.
enum class LayerKind : std::uint8_t {
  kOwn,          ///< A kernel of the operator's own, or a view.
  kElementwise,  ///< One kernel, element by element.
  kPool,         ///< A pooling, without the indices that PyTorch's gives.
  kRows,         ///< One kernel along rows: a norm or a softmax.
  kProduct,      ///< A product, with what is done to its result.
  kSiblings,     ///< Linear layers of one input, as a single product.
  kAttention,    ///< Scores, softmax and their product with the values.
};

/// What a kernel of an engine computes.
struct Layer {
  LayerKind kind = LayerKind::kOwn;
  /// Operators inside, in order; the last one gives the result. Of kSiblings
  /// all of them do.
  std::vector<NodeId> nodes;
  /// kProduct: which of `nodes` is the product. kAttention: the product that
  /// gives the scores, or the operator that is fused already.
  NodeId anchor = kNone;
};

/// What TensorRT makes of a graph.
struct EnginePlan {
  /// By value: computed when the engine is built, or stored in it.
  std::vector<bool> is_constant;
  std::vector<Layer> layers;  ///< In the order in which they run.
};

/// How TensorRT divides the inference of `graph` into kernels. plan_layers.cc
/// has the rules.
EnginePlan PlanLayers(const OperatorGraph& graph);

}  // namespace foretell::runtime
