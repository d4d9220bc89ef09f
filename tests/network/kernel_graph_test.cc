// The term network over a graph of kernels: corrections depend on neighbours.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "foretell/error.h"
#include "src/network/weights.h"
#include "tests/network/toy_graphs.h"
#include "tests/network/toy_terms.h"

namespace foretell::learned {
namespace {

constexpr TermSet kGraph = TermSet::kKernelGraph;

/// Kernels 0 and 1 write what kernel 2 reads; a launch stands beside them.
TermTable ThreeKernels() {
  TermTable table = ToyKernels({0, 4, 2, kLaunchClass}, {2, 3, 1, 0.5});
  table.sources = {0, 1};
  table.targets = {2, 2};
  return table;
}

double GraphAnswer(Network& network, const TermTable& table) {
  return PredictOne(network, table, kGraph);
}

/// The kernels of `table` in another order: row `i` becomes row `name[i]`.
TermTable RenamedTerms(const TermTable& table,
                       const std::vector<std::int64_t>& name) {
  TermTable renamed = table;
  constexpr int kWidth = kKernelLayout.num_features;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto to = static_cast<std::size_t>(name[i]);
    renamed.classes[to] = table.classes[i];
    renamed.amounts[to] = table.amounts[i];
    std::copy_n(
        table.features.begin() + static_cast<std::ptrdiff_t>(i) * kWidth,
        kWidth, renamed.features.begin() + name[i] * kWidth);
  }
  for (std::int64_t& end : renamed.sources) end = name[end];
  for (std::int64_t& end : renamed.targets) end = name[end];
  return renamed;
}

double Silu(double x) { return x / (1 + std::exp(-x)); }

TEST(KernelGraph, AddsWhatTheProducersSay) {
  NetworkOptions options = TermOptions(kGraph);
  options.hidden = 1;
  options.heads = 0;
  const auto network = MakeNetwork(options);
  network->eval();
  {
    const at::NoGradGuard no_gradients;
    for (at::Tensor& parameter : network->parameters()) parameter.zero_();
    auto parameters = network->named_parameters();
    // z_0 is SiLU of the first feature; then only the mean of the producers.
    parameters["terms.input.weight"][0][kKernelLayout.num_classes] = 1;
    parameters["terms.hidden1.weight"].copy_(
        at::tensor({0.5, 2.0}).view({1, 2}));
    parameters["terms.output.weight"].fill_(1);
  }
  TermTable table = ThreeKernels();
  const double feature[] = {0.7, -0.4, 1.1};
  double z[3];
  for (std::size_t i = 0; i < 3; ++i) {
    table.features[i * kKernelLayout.num_features] =
        static_cast<float>(feature[i]);
    z[i] = Silu(feature[i]);
  }
  const double after[] = {z[0] + Silu(z[0] / 2), z[1] + Silu(z[1] / 2),
                          z[2] + Silu(z[2] / 2 + 2 * (z[0] + z[1]) / 2)};
  double sum = 0.5;
  for (std::size_t i = 0; i < 3; ++i) {
    sum += table.amounts[i] * std::exp(3 * std::tanh(after[i] / 3));
  }
  EXPECT_NEAR(GraphAnswer(*network, table), std::log(sum), 1e-5);
}

TEST(KernelGraph, AnswersTheSumOfAmountsBeforeItHasLearned) {
  EXPECT_NEAR(GraphAnswer(*TermNetworkOf(kGraph), ThreeKernels()),
              std::log(6.5), 1e-6);
}

TEST(KernelGraph, DoesNotSeeTheOrderOfKernels) {
  const auto network = TermNetworkOf(kGraph);
  RandomizeTerms(*network);
  const TermTable table = ThreeKernels();
  EXPECT_NEAR(GraphAnswer(*network, table),
              GraphAnswer(*network, RenamedTerms(table, {3, 1, 0, 2})), 1e-6);
}

TEST(KernelGraph, SeesEdgesAndTheirDirection) {
  const auto network = TermNetworkOf(kGraph);
  RandomizeTerms(*network);
  const TermTable table = ThreeKernels();
  TermTable apart = table;
  apart.sources.clear();
  apart.targets.clear();
  TermTable turned = table;
  std::swap(turned.sources, turned.targets);
  const double answer = GraphAnswer(*network, table);
  EXPECT_GT(std::abs(answer - GraphAnswer(*network, apart)), 1e-4);
  EXPECT_GT(std::abs(answer - GraphAnswer(*network, turned)), 1e-4);
}

TEST(KernelGraph, DoesNotSeeTheOtherGraphsOfABatch) {
  const auto network = TermNetworkOf(kGraph);
  RandomizeTerms(*network);
  const TermTable small = ToyKernels({1, kStepClass}, {2, 3}, 5);
  const TermTable large = ThreeKernels();
  const at::Tensor together =
      network->forward(CollateTables({small, large}, kGraph));
  EXPECT_NEAR(together[0].item<double>(), GraphAnswer(*network, small), 1e-6);
  EXPECT_NEAR(together[1].item<double>(), GraphAnswer(*network, large), 1e-6);
}

TEST(KernelGraph, HasTheGradientOfFiniteDifferences) {
  const auto network = TermNetworkOf(kGraph);
  RandomizeTerms(*network);
  network->to(at::kDouble);
  GraphBatch batch = InDouble(CollateTables({ThreeKernels()}, kGraph));
  batch.shares = batch.shares.to(at::kDouble);
  const at::Tensor nodes = batch.nodes;
  const std::int64_t width = kKernelLayout.num_features;
  const auto loss = [&](const at::Tensor& features) {
    batch.nodes = at::cat({nodes.narrow(1, 0, nodes.size(1) - width), features},
                          /*dim=*/1);
    return network->TrainingForward(batch).supervised.front().sum();
  };
  EXPECT_LT(GradientError(loss, nodes.narrow(1, nodes.size(1) - width, width)),
            1e-8);
}

/// Error on graphs where a kernel takes twice its amount behind one whose
/// features are 1, and half of it behind one where they are -1.
double ErrorOnNeighbours(bool with_edges) {
  std::vector<TermTable> tables;
  std::vector<float> truth;
  for (unsigned i = 0; i < 32; ++i) {
    const float a = 1 + static_cast<float>(i % 5);
    const float b = 1 + static_cast<float>(i % 7);
    TermTable table = ToyKernels({1, 1, 1, 1}, {0.1, 0.1, a, b});
    std::ranges::fill(table.features, 0.1F);
    const auto second = table.features.begin() + kKernelLayout.num_features;
    std::fill(table.features.begin(), second, 1.0F);
    std::fill_n(second, kKernelLayout.num_features, -1.0F);
    if (with_edges) table.sources = {0, 1};
    if (with_edges) table.targets = {2, 3};
    tables.push_back(table);
    truth.push_back(std::log(0.2F + 2 * a + b / 2));
  }
  const auto network = TermNetworkOf(kGraph);
  network->train();
  const GraphBatch batch = CollateTables(tables, kGraph);
  const at::Tensor wanted = at::tensor(truth).unsqueeze(1);
  DescendTo(wanted, batch, 400, *network);
  network->eval();
  const at::Tensor sums = network->TrainingForward(batch).supervised.front();
  return (sums - wanted).abs().mean().item<double>();
}

TEST(KernelGraph, LearnsWhatOnlyANeighbourTells) {
  EXPECT_LT(ErrorOnNeighbours(/*with_edges=*/true), 0.1);
  EXPECT_GT(ErrorOnNeighbours(/*with_edges=*/false), 0.2);
}

TEST(KernelGraph, IsRestoredFromItsWeights) {
  const auto network = TermNetworkOf(kGraph);
  RandomizeTerms(*network);
  const auto restored =
      RestoreNetwork(TermOptions(kGraph), WeightsOf(*network), "weights");
  EXPECT_EQ(GraphAnswer(*restored, ThreeKernels()),
            GraphAnswer(*network, ThreeKernels()));
}

TEST(KernelGraph, RefusesEdgesThatLeaveTheTable) {
  const auto message = [](std::int64_t source, std::int64_t target) {
    TermTable table = ThreeKernels();
    table.sources = {source};
    table.targets = {target};
    try {
      CollateTables({ThreeKernels(), table}, kGraph);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(
      message(0, 4),
      "terms 1 of the batch: edge 0 -> 4 leaves the 4 nodes of the graph");
  EXPECT_EQ(message(2, 2), "terms 1 of the batch: edge 2 -> 2 is a loop");
}

}  // namespace
}  // namespace foretell::learned
