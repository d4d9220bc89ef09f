#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <memory>

#include "src/network/network_kind.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {

/// One layer of node features: [num_nodes, inputs] to [num_nodes, outputs],
/// before the activation. x_i is the row of node i; its neighbours are the
/// producers j of what it reads. Weights are float32 [outputs, …] in PyTorch's
/// order, drawn by He's rule (standard deviation √(2 / fan-in)) so that ReLU
/// layers keep the size of their inputs; biases start at 0.
class GraphLayer : public torch::nn::Module {
 public:
  /// `aggregation` is the one of the layer's kind, see AggregationFor.
  virtual at::Tensor forward(const at::Tensor& x,
                             const Aggregation& aggregation) = 0;
};

/// The layer of a kind, with random weights from the default generator.
std::shared_ptr<GraphLayer> MakeGraphLayer(LayerKind kind, std::int64_t inputs,
                                           std::int64_t outputs);

/// How the layers of a kind aggregate their neighbours.
Aggregation AggregationFor(LayerKind kind, const GraphBatch& batch);

/// float32 [outputs, inputs], normal with deviation gain · √(2 / inputs).
at::Tensor HeWeight(std::int64_t outputs, std::int64_t inputs, double gain = 1);

}  // namespace foretell::learned
