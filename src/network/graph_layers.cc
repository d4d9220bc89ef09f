#include "src/network/graph_layers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "foretell/error.h"
#include "src/network/attention.h"

namespace foretell::learned {
namespace {

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
  throw Error(ErrorCode::kInternal, "a kind of layer without a row");
}

// Attention vectors start small, so that every neighbour counts alike.
constexpr double kAttentionGain = 0.1;

}  // namespace

at::Tensor HeWeight(std::int64_t outputs, std::int64_t inputs, double gain) {
  const double deviation = gain * std::sqrt(2 / static_cast<double>(inputs));
  return at::randn({outputs, inputs}).mul_(deviation);
}

SageLayer::SageLayer(std::int64_t inputs, std::int64_t outputs)
    : weight_(register_parameter("weight", HeWeight(outputs, 2 * inputs))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor SageLayer::forward(const at::Tensor& x,
                              const Aggregation& aggregation) {
  return at::linear(at::cat({x, Aggregate(x, aggregation)}, /*dim=*/1), weight_,
                    bias_);
}

GcnLayer::GcnLayer(std::int64_t inputs, std::int64_t outputs)
    : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor GcnLayer::forward(const at::Tensor& x,
                             const Aggregation& aggregation) {
  return at::linear(Aggregate(x, aggregation), weight_, bias_);
}

GatLayer::GatLayer(std::int64_t inputs, std::int64_t outputs)
    : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
      source_attention_(register_parameter(
          "source_attention", HeWeight(1, outputs, kAttentionGain).view(-1))),
      target_attention_(register_parameter(
          "target_attention", HeWeight(1, outputs, kAttentionGain).view(-1))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor GatLayer::forward(const at::Tensor& x,
                             const Aggregation& aggregation) {
  // Scores keep the parameters' precision under autocast.
  const at::Tensor z = at::linear(x, weight_).to(weight_.scalar_type());
  return AttendToProducers(z, z.mv(source_attention_), z.mv(target_attention_),
                           aggregation) +
         bias_;
}

GinLayer::GinLayer(std::int64_t inputs, std::int64_t outputs)
    : inner_weight_(
          register_parameter("inner_weight", HeWeight(outputs, inputs, 0.5))),
      inner_bias_(register_parameter("inner_bias", at::zeros({outputs}))),
      weight_(register_parameter("weight", HeWeight(outputs, outputs))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor GinLayer::forward(const at::Tensor& x,
                             const Aggregation& aggregation) {
  const at::Tensor inner =
      at::linear(Aggregate(x, aggregation), inner_weight_, inner_bias_).relu_();
  return at::linear(inner, weight_, bias_);
}

NodeLayer::NodeLayer(std::int64_t inputs, std::int64_t outputs)
    : weight_(register_parameter("weight", HeWeight(outputs, inputs))),
      bias_(register_parameter("bias", at::zeros({outputs}))) {}

at::Tensor NodeLayer::forward(const at::Tensor& x, const Aggregation&) {
  return at::linear(x, weight_, bias_);
}

std::shared_ptr<GraphLayer> MakeGraphLayer(LayerKind kind, std::int64_t inputs,
                                           std::int64_t outputs) {
  return RowOf(kind).make_layer(inputs, outputs);
}

Aggregation AggregationFor(LayerKind kind, const GraphBatch& batch) {
  return RowOf(kind).aggregation(batch);
}

}  // namespace foretell::learned
