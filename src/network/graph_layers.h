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

/// GraphSAGE with the mean (Hamilton et al. 2017), no normalisation:
///
///     y_i = W [x_i, mean_j x_j] + b,   W [outputs, 2 · inputs]
///
/// The left half of W is what PyTorch Geometric's SAGEConv calls lin_r, the
/// right half lin_l.
class SageLayer : public GraphLayer {
 public:
  SageLayer(std::int64_t inputs, std::int64_t outputs);
  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// Graph convolution (Kipf and Welling 2017), with d_i = 1 + number of
/// producers:
///
///     y_i = W Σ_{j or i} x_j / √(d_i d_j) + b,   W [outputs, inputs]
class GcnLayer : public GraphLayer {
 public:
  GcnLayer(std::int64_t inputs, std::int64_t outputs);
  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// Graph attention (Veličković et al. 2018), one head:
///
///     z = W x,   y_i = Σ_{j or i} w_ij z_j + b,
///     w_ij = softmax_j leaky(a_target · z_i + a_source · z_j)
///
/// W [outputs, inputs], both a [outputs]; leaky has slope 0.2 below 0.
class GatLayer : public GraphLayer {
 public:
  GatLayer(std::int64_t inputs, std::int64_t outputs);
  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override;

 private:
  at::Tensor weight_;
  at::Tensor source_attention_;
  at::Tensor target_attention_;
  at::Tensor bias_;
};

/// Graph isomorphism network (Xu et al. 2019), ε = 0:
///
///     y_i = W₂ ReLU(W₁ (x_i + Σ_j x_j) + b₁) + b₂,
///     W₁ [outputs, inputs], W₂ [outputs, outputs]
///
/// The sum over a node and its producers is about twice a node's size, so W₁
/// starts at half of He's deviation.
class GinLayer : public GraphLayer {
 public:
  GinLayer(std::int64_t inputs, std::int64_t outputs);
  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override;

 private:
  at::Tensor inner_weight_;
  at::Tensor inner_bias_;
  at::Tensor weight_;
  at::Tensor bias_;
};

/// y_i = W x_i + b, W [outputs, inputs]: a node alone.
class NodeLayer : public GraphLayer {
 public:
  NodeLayer(std::int64_t inputs, std::int64_t outputs);
  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override;

 private:
  at::Tensor weight_;
  at::Tensor bias_;
};

/// The layer of a kind, with random weights from the default generator.
std::shared_ptr<GraphLayer> MakeGraphLayer(LayerKind kind, std::int64_t inputs,
                                           std::int64_t outputs);

/// How the layers of a kind aggregate their neighbours.
Aggregation AggregationFor(LayerKind kind, const GraphBatch& batch);

/// float32 [outputs, inputs], normal with deviation gain · √(2 / inputs).
at::Tensor HeWeight(std::int64_t outputs, std::int64_t inputs, double gain = 1);

}  // namespace foretell::learned
