// The pooling "prior": the head corrects each node's share of a prior.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "foretell/error.h"
#include "src/network/network.h"
#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

constexpr std::int64_t kColumns = 2;

/// Graphs with two static features, `kColumns` node columns and shares.
struct SharedGraph {
  GraphFeatures features;
  std::vector<float> statics = {0.5, -1};
  std::vector<float> columns;
  std::vector<float> shares;

  GraphInput Input() const { return {&features, statics, columns, shares}; }
};

SharedGraph MakeGraph(std::int64_t num_nodes, std::uint32_t seed,
                      std::vector<float> shares) {
  SharedGraph graph{.features = RandomGraph(num_nodes, seed)};
  for (std::int64_t i = 0; i < num_nodes * kColumns; ++i) {
    graph.columns.push_back(static_cast<float>(i % 5) / 5);
  }
  graph.shares = std::move(shares);
  return graph;
}

std::shared_ptr<Network> MakePriorNetwork(std::int64_t outputs = 1) {
  torch::manual_seed(3);
  auto network = MakeNetwork({.kind = {LayerKind::kMlp},
                              .node_features = kNumNodeFeatures + kColumns,
                              .static_features = 2,
                              .hidden = 8,
                              .graph_blocks = 1,
                              .head_blocks = 1,
                              .outputs = outputs,
                              .pooling = Pooling::kPrior});
  network->eval();
  return network;
}

/// Makes the head answer `correction` for every node.
void AnswerAlways(Network& network, float correction) {
  const at::NoGradGuard no_gradients;
  for (auto& entry : network.named_parameters()) {
    entry.value().fill_(entry.key() == "output.bias" ? correction : 0);
  }
}

TEST(PriorPooling, AddsUpCorrectedShares) {
  const auto network = MakePriorNetwork();
  const SharedGraph graph = MakeGraph(3, 1, {0.5, 0.25, 0.25});
  const GraphInput inputs[] = {graph.Input()};
  AnswerAlways(*network, 0);
  EXPECT_NEAR(network->forward(Collate(inputs)).item<double>(), 0, 1e-6);
  AnswerAlways(*network, 0.3F);
  EXPECT_NEAR(network->forward(Collate(inputs)).item<double>(),
              3 * std::tanh(0.1), 1e-6);
}

TEST(PriorPooling, LeavesNodesWithoutAShareOut) {
  const auto network = MakePriorNetwork();
  SharedGraph graph = MakeGraph(3, 1, {0.5, 0.5, 0});
  const GraphInput before[] = {graph.Input()};
  const double expected = network->forward(Collate(before)).item<double>();
  graph.columns[2 * kColumns] += 1;
  const GraphInput after[] = {graph.Input()};
  EXPECT_EQ(network->forward(Collate(after)).item<double>(), expected);
  graph.columns[0] += 1;
  const GraphInput other[] = {graph.Input()};
  EXPECT_NE(network->forward(Collate(other)).item<double>(), expected);
}

TEST(PriorPooling, NeverCorrectsBeyondItsBound) {
  const auto network = MakePriorNetwork();
  const SharedGraph graph = MakeGraph(2, 1, {0.5, 0.5});
  const GraphInput inputs[] = {graph.Input()};
  AnswerAlways(*network, 1000);
  EXPECT_NEAR(network->forward(Collate(inputs)).item<double>(), 3, 1e-5);
}

TEST(PriorPooling, TreatsAGraphInABatchAsAlone) {
  const auto network = MakePriorNetwork(2);
  const SharedGraph first = MakeGraph(4, 1, {0.1, 0.2, 0.3, 0.4});
  const SharedGraph second = MakeGraph(2, 2, {0.9, 0.1});
  const GraphInput both[] = {first.Input(), second.Input()};
  const GraphInput alone[] = {second.Input()};
  const at::Tensor batch = network->forward(Collate(both));
  ASSERT_EQ(batch.sizes(), (at::IntArrayRef{2, 2}));
  EXPECT_TRUE(at::allclose(batch[1], network->forward(Collate(alone))[0]));
}

TEST(PriorPooling, IsFiniteForAGraphWithoutKernels) {
  const auto network = MakePriorNetwork();
  const SharedGraph graph = MakeGraph(2, 1, {0, 0});
  const GraphInput inputs[] = {graph.Input()};
  EXPECT_TRUE(network->forward(Collate(inputs)).isfinite().all().item<bool>());
}

TEST(PriorPooling, LearnsWhichNodesAreSlow) {
  // Truth: nodes with a large first column take twice their share.
  std::vector<SharedGraph> graphs;
  std::vector<GraphInput> inputs;
  std::vector<float> truth;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    const float slow = static_cast<float>(seed) / 8;
    graphs.push_back(MakeGraph(2, seed, {slow, 1 - slow}));
    graphs.back().columns = {1, 0, 0, 0};
    truth.push_back(std::log(1 + slow));
  }
  for (const SharedGraph& graph : graphs) inputs.push_back(graph.Input());
  const GraphBatch batch = Collate(inputs);
  const at::Tensor target = at::tensor(truth).unsqueeze(1);
  const auto network = MakePriorNetwork();
  double loss = 0;
  for (int step = 0; step < 1500; ++step) {
    network->zero_grad();
    const at::Tensor error = (network->forward(batch) - target).square().mean();
    error.backward();
    loss = error.item<double>();
    const at::NoGradGuard no_gradients;
    for (at::Tensor& parameter : network->parameters()) {
      if (parameter.grad().defined()) parameter.sub_(parameter.grad(), 0.2);
    }
  }
  EXPECT_LT(loss, 1e-3);
}

TEST(PriorPooling, NeedsShares) {
  const auto network = MakePriorNetwork();
  SharedGraph graph = MakeGraph(2, 1, {});
  const GraphInput inputs[] = {graph.Input()};
  EXPECT_THROW(network->forward(Collate(inputs)), Error);
}

TEST(GraphBatch, PutsColumnsBehindTheFeatures) {
  const SharedGraph first = MakeGraph(2, 1, {0.75, 0.25});
  const SharedGraph second = MakeGraph(1, 2, {1});
  const GraphInput inputs[] = {first.Input(), second.Input()};
  const GraphBatch batch = Collate(inputs);
  ASSERT_EQ(batch.nodes.sizes(),
            (at::IntArrayRef{3, kNumNodeFeatures + kColumns}));
  EXPECT_EQ(batch.nodes[1][kNumNodeFeatures].item<float>(), first.columns[2]);
  EXPECT_EQ(batch.nodes[2][31].item<float>(), second.features.nodes[0][31]);
  EXPECT_EQ(batch.shares[1].item<float>(), 0.25F);
  EXPECT_EQ(batch.shares[2].item<float>(), 1);
}

TEST(GraphBatch, RefusesColumnsAndSharesThatDoNotFit) {
  const SharedGraph good = MakeGraph(2, 1, {0.5, 0.5});
  const auto refuses = [&good](const SharedGraph& bad) {
    const GraphInput inputs[] = {good.Input(), bad.Input()};
    EXPECT_THROW(Collate(inputs), Error);
  };
  SharedGraph bad = good;
  bad.columns.pop_back();
  refuses(bad);
  bad = good;
  bad.columns.resize(2);
  refuses(bad);
  bad = good;
  bad.shares.push_back(0);
  refuses(bad);
  bad = good;
  bad.shares.clear();
  refuses(bad);
}

}  // namespace
}  // namespace foretell::learned
