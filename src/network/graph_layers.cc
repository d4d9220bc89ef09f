#include "src/network/graph_layers.h"

#include <ATen/ATen.h>

#include <cmath>

#include "src/core/failure.h"
#include "src/network/attention.h"

namespace foretell::learned {
namespace {

/// GraphSAGE with the mean (Hamilton et al. 2017), no normalisation:
///
///     y_i = W [x_i, mean_j x_j] + b,   W [outputs, 2 · inputs]
///
/// The left half of W is what PyTorch Geometric's SAGEConv calls lin_r, the
/// right half lin_l.
class SageLayer : public GraphLayer {
 public:
  SageLayer(std::int64_t inputs, std::int64_t outputs)
      : weight_(register_parameter("weight", HeWeight(outputs, 2 * inputs))),
        bias_(register_parameter("bias", at::zeros({outputs}))) {}

  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override {
    return at::linear(at::cat({x, Aggregate(x, aggregation)}, /*dim=*/1),
                      weight_, bias_);
  }

 private:
  at::Tensor weight_, bias_;
};

/// Graph convolution (Kipf and Welling 2017), with d_i = 1 + number of
/// producers:
///
///     y_i = W Σ_{j or i} x_j / √(d_i d_j) + b,   W [outputs, inputs]
class GcnLayer : public GraphLayer {
 public:
  GcnLayer(std::int64_t inputs, std::int64_t outputs)
      : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
        bias_(register_parameter("bias", at::zeros({outputs}))) {}

  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override {
    return at::linear(Aggregate(x, aggregation), weight_, bias_);
  }

 private:
  at::Tensor weight_, bias_;
};

/// Graph attention (Veličković et al. 2018), one head:
///
///     z = W x,   y_i = Σ_{j or i} w_ij z_j + b,
///     w_ij = softmax_j leaky(a_target · z_i + a_source · z_j)
///
/// W [outputs, inputs], both a [outputs]; leaky has slope 0.2 below 0.
class GatLayer : public GraphLayer {
 public:
  GatLayer(std::int64_t inputs, std::int64_t outputs)
      : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
        source_attention_(Attention("source_attention", outputs)),
        target_attention_(Attention("target_attention", outputs)),
        bias_(register_parameter("bias", at::zeros({outputs}))) {}

  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override {
    // Scores keep the parameters' precision under autocast.
    const at::Tensor z = at::linear(x, weight_).to(weight_.scalar_type());
    return AttendToProducers(z, z.mv(source_attention_),
                             z.mv(target_attention_), aggregation) +
           bias_;
  }

 private:
  /// Starts small, so that every neighbour counts alike.
  at::Tensor Attention(const char* name, std::int64_t outputs) {
    return register_parameter(name, HeWeight(1, outputs, 0.1).view(-1));
  }

  at::Tensor weight_, source_attention_, target_attention_, bias_;
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
  GinLayer(std::int64_t inputs, std::int64_t outputs)
      : inner_weight_(
            register_parameter("inner_weight", HeWeight(outputs, inputs, 0.5))),
        inner_bias_(register_parameter("inner_bias", at::zeros({outputs}))),
        weight_(register_parameter("weight", HeWeight(outputs, outputs))),
        bias_(register_parameter("bias", at::zeros({outputs}))) {}

  at::Tensor forward(const at::Tensor& x,
                     const Aggregation& aggregation) override {
    const at::Tensor sum = Aggregate(x, aggregation);
    return at::linear(at::linear(sum, inner_weight_, inner_bias_).relu_(),
                      weight_, bias_);
  }

 private:
  at::Tensor inner_weight_, inner_bias_, weight_, bias_;
};

/// y_i = W x_i + b, W [outputs, inputs]: a node alone.
class NodeLayer : public GraphLayer {
 public:
  NodeLayer(std::int64_t inputs, std::int64_t outputs)
      : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
        bias_(register_parameter("bias", at::zeros({outputs}))) {}

  at::Tensor forward(const at::Tensor& x, const Aggregation&) override {
    return at::linear(x, weight_, bias_);
  }

 private:
  at::Tensor weight_, bias_;
};

using Layer = std::shared_ptr<GraphLayer>;

template <typename Type>
Layer MakeLayer(std::int64_t inputs, std::int64_t outputs) {
  return std::make_shared<Type>(inputs, outputs);
}

// What distinguishes the kinds of layers.
struct LayerRow {
  LayerKind kind;
  Layer (*make_layer)(std::int64_t inputs, std::int64_t outputs);
  Aggregation (*aggregation)(const GraphBatch& batch);
};

constexpr LayerRow kLayers[] = {
    {LayerKind::kPmgns, &MakeLayer<SageLayer>, &MeanOfProducers},
    {LayerKind::kGcn, &MakeLayer<GcnLayer>, &SymmetricMean},
    {LayerKind::kGat, &MakeLayer<GatLayer>, &SumOfProducers},
    {LayerKind::kGin, &MakeLayer<GinLayer>, &SumWithSelf},
    {LayerKind::kMlp, &MakeLayer<NodeLayer>, &SumOfProducers},
};

const LayerRow& RowOf(LayerKind kind) {
  for (const LayerRow& row : kLayers) {
    if (row.kind == kind) return row;
  }
  throw InternalFailure("a kind of layer without a row");
}

}  // namespace

at::Tensor HeWeight(std::int64_t outputs, std::int64_t inputs, double gain) {
  const double deviation = gain * std::sqrt(2 / static_cast<double>(inputs));
  return at::randn({outputs, inputs}).mul_(deviation);
}

std::shared_ptr<GraphLayer> MakeGraphLayer(LayerKind kind, std::int64_t inputs,
                                           std::int64_t outputs) {
  return RowOf(kind).make_layer(inputs, outputs);
}

Aggregation AggregationFor(LayerKind kind, const GraphBatch& batch) {
  return RowOf(kind).aggregation(batch);
}

}  // namespace foretell::learned
