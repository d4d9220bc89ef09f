#include "src/network/graph_layers.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

struct NamedWeight {
  std::string name;
  at::Tensor value;
};

// What a layer with these weights makes of `x` on 0 → 2, 1 → 2.
at::Tensor Transform(LayerKind kind, const at::Tensor& x, std::int64_t outputs,
                     const std::vector<NamedWeight>& weights) {
  const GraphBatch batch =
      InDouble(CollateAll({CountedGraph(3, {{0, 2}, {1, 2}})}));
  const auto layer = MakeGraphLayer(kind, x.size(1), outputs);
  layer->to(at::kDouble);
  const torch::NoGradGuard no_gradient;
  auto parameters = layer->named_parameters();
  EXPECT_EQ(parameters.size(), weights.size());
  for (const NamedWeight& weight : weights) {
    at::Tensor& parameter = parameters[weight.name];
    EXPECT_EQ(parameter.sizes(), weight.value.sizes()) << weight.name;
    parameter.copy_(weight.value);
  }
  return layer->forward(x, AggregationFor(kind, batch));
}

void ExpectNear(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LT((found - expected).abs().max().item<double>(), 1e-12) << found;
}

const at::Tensor& Input() {
  static const at::Tensor x = Matrix({{1, 2}, {3, 6}, {10, 20}});
  return x;
}
at::Tensor Bias(double value) {
  return torch::full({1}, value, torch::kDouble);
}

TEST(SageLayer, WeighsANodeAndTheMeanOfItsProducers) {
  // Node 2: 10 + 0.1 · 20 + 100 · 2 + 1000 · 4 + 7.
  ExpectNear(
      Transform(LayerKind::kPmgns, Input(), 1,
                {{"weight", Matrix({{1, 0.1, 100, 1000}})}, {"bias", Bias(7)}}),
      Matrix({{8.2}, {10.6}, {4219}}));
}

TEST(GcnLayer, WeighsTheNormalisedSum) {
  // d = 1, 1, 3; node 2: (1 + 3) / √3 + 10 / 3 and twice that.
  const double sum = 4 / std::sqrt(3.0) + 10 / 3.0;
  ExpectNear(Transform(LayerKind::kGcn, Input(), 1,
                       {{"weight", Matrix({{1, 10}})}, {"bias", Bias(-1)}}),
             Matrix({{20}, {62}, {21 * sum - 1}}));
}

TEST(GatLayer, AttendsToSourcesAndTargets) {
  // z = 1, 3, 10 · ln 2; node 2 scores each source z + its own target term.
  const double ln2 = std::log(2.0);
  const at::Tensor x = Matrix({{1, 0}, {3, 0}, {4, 0}});
  const at::Tensor y = Transform(LayerKind::kGat, x, 1,
                                 {{"weight", Matrix({{ln2, 5}})},
                                  {"source_attention", Bias(1)},
                                  {"target_attention", Bias(2)},
                                  {"bias", Bias(1)}});
  // Scores of node 2: 8 ln 2 + {1, 3, 4} ln 2, so weights 2, 8, 16 of 26.
  const double node2 = ln2 * (2 * 1 + 8 * 3 + 16 * 4) / 26 + 1;
  ExpectNear(y, Matrix({{ln2 + 1}, {3 * ln2 + 1}, {node2}}));
}

TEST(GinLayer, RunsItsTwoLayersOnTheSum) {
  // Sums: (1, 2), (3, 6), (14, 28); inner: s₀ - 5 and s₁ + 1, then ReLU.
  ExpectNear(Transform(LayerKind::kGin, Input(), 2,
                       {{"inner_weight", Matrix({{1, 0}, {0, 1}})},
                        {"inner_bias", torch::tensor({-5.0, 1.0}, at::kDouble)},
                        {"weight", Matrix({{1, 100}, {0, 1}})},
                        {"bias", torch::tensor({0.5, 0.0}, at::kDouble)}}),
             Matrix({{300.5, 3}, {700.5, 7}, {2909.5, 29}}));
}

TEST(NodeLayer, SeesNoNeighbour) {
  ExpectNear(Transform(LayerKind::kMlp, Input(), 1,
                       {{"weight", Matrix({{1, 10}})}, {"bias", Bias(-1)}}),
             Matrix({{20}, {62}, {209}}));
}

TEST(GraphLayers, StartWithHesDeviation) {
  torch::manual_seed(1);
  const auto deviation = [](LayerKind kind, const char* name) {
    const auto layer = MakeGraphLayer(kind, 200, 300);
    return layer->named_parameters()[name].std().item<double>();
  };
  EXPECT_NEAR(deviation(LayerKind::kPmgns, "weight"), std::sqrt(2 / 400.0),
              1e-3);
  EXPECT_NEAR(deviation(LayerKind::kGcn, "weight"), 0.1, 1e-3);
  EXPECT_NEAR(deviation(LayerKind::kGin, "inner_weight"), 0.05, 1e-3);
}

}  // namespace
}  // namespace foretell::learned
