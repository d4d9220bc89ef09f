#include "src/network/network.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/network/toy_graphs.h"

namespace foretell::learned {
namespace {

std::shared_ptr<Network> SmallNetwork(LayerKind layer, int seed = 1) {
  torch::manual_seed(seed);
  return MakeNetwork({.kind = {layer}, .hidden = 16});
}

double Distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class NetworkOfKind : public ::testing::TestWithParam<LayerKindRow> {
 protected:
  static LayerKind Layer() { return GetParam().layer; }
};

INSTANTIATE_TEST_SUITE_P(Network, NetworkOfKind,
                         ::testing::ValuesIn(kLayerKinds), [](const auto& row) {
                           return std::string(row.param.name);
                         });

TEST_P(NetworkOfKind, GivesOneRowOfOutputsPerGraph) {
  const GraphBatch batch = CollateAll({RandomGraph(5, 1), RandomGraph(9, 2)});
  const at::Tensor y = SmallNetwork(Layer())->forward(batch);
  EXPECT_EQ(y.sizes(), (at::IntArrayRef{2, 3}));
  EXPECT_EQ(y.scalar_type(), at::kFloat);
}

TEST_P(NetworkOfKind, DoesNotSeeTheOrderOfNodes) {
  const auto network = SmallNetwork(Layer());
  network->eval();
  const GraphFeatures graph = RandomGraph(7, 4);
  GraphFeatures renamed = Renamed(graph, {3, 0, 6, 1, 5, 2, 4});
  const std::vector<float> statics(5, 0.5F);
  const GraphInput before[] = {{&graph, statics}};
  const GraphInput after[] = {{&renamed, statics}};
  EXPECT_LT(Distance(network->forward(Collate(before)),
                     network->forward(Collate(after))),
            1e-6);
}

TEST_P(NetworkOfKind, DoesNotSeeTheOtherGraphsOfABatch) {
  const auto network = SmallNetwork(Layer());
  network->eval();
  std::vector<GraphFeatures> graphs;
  for (std::uint32_t seed = 1; seed < 5; ++seed) {
    graphs.push_back(RandomGraph(4 + 7 * seed, seed));
  }
  const at::Tensor together = network->forward(CollateAll(graphs));
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    const at::Tensor alone = network->forward(CollateAll({graphs[g]}));
    EXPECT_LT(Distance(alone[0], together[static_cast<std::int64_t>(g)]), 1e-6);
  }
}

TEST_P(NetworkOfKind, SeesEdgesUnlessItIsAnMlp) {
  const auto network = SmallNetwork(Layer());
  network->eval();
  GraphFeatures graph = RandomGraph(6, 4);
  const at::Tensor before = network->forward(CollateAll({graph}));
  graph.sources.push_back(0);
  graph.targets.push_back(5);
  const double change = Distance(before, network->forward(CollateAll({graph})));
  EXPECT_EQ(change > 0, Layer() != LayerKind::kMlp);
}

TEST_P(NetworkOfKind, SeesTheStaticFeatures) {
  const auto network = SmallNetwork(Layer());
  network->eval();
  GraphBatch batch = CollateAll({RandomGraph(6, 4)});
  const at::Tensor before = network->forward(batch);
  for (std::int64_t k = 0; k < 5; ++k) {
    GraphBatch changed = batch;
    changed.statics = batch.statics.clone();
    changed.statics[0][k] += 1;
    EXPECT_GT(Distance(before, network->forward(changed)), 1e-5) << k;
  }
}

TEST_P(NetworkOfKind, HasTheGradientOfFiniteDifferences) {
  const auto network = SmallNetwork(Layer());
  network->to(at::kDouble);
  network->eval();
  const GraphBatch batch =
      InDouble(CollateAll({RandomGraph(5, 1), RandomGraph(8, 2)}));
  const at::Tensor weight = torch::tensor({1.0, -2.0, 3.0}, at::kDouble);
  const auto loss = [&] { return (network->forward(batch) * weight).sum(); };
  network->zero_grad();
  loss().backward();
  constexpr double kStep = 1e-6;
  const torch::NoGradGuard no_gradient;
  for (const auto& entry : network->named_parameters()) {
    at::Tensor values = entry.value().view(-1);
    const at::Tensor gradient = entry.value().grad().contiguous().view(-1);
    // Three entries of each parameter: the first, one inside, the last.
    for (const std::int64_t k :
         {std::int64_t{0}, values.numel() / 3, values.numel() - 1}) {
      values[k] += kStep;
      const double above = loss().item<double>();
      values[k] -= 2 * kStep;
      const double below = loss().item<double>();
      values[k] += kStep;
      EXPECT_NEAR(gradient[k].item<double>(), (above - below) / (2 * kStep),
                  1e-7)
          << entry.key() << " " << k;
    }
  }
}

TEST_P(NetworkOfKind, StartsWithNumbersAboutOneAndAnswersNearZero) {
  torch::manual_seed(3);
  const auto network = MakeNetwork({.kind = {Layer()}, .hidden = 128});
  network->eval();
  std::vector<GraphFeatures> graphs;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    graphs.push_back(RandomGraph(300, seed));
  }
  const at::Tensor y = network->forward(CollateAll(graphs));
  const double size = y.square().mean().sqrt().item<double>();
  EXPECT_GT(size, 0.01);
  EXPECT_LT(size, 1);
}

TEST_P(NetworkOfKind, LearnsEightGraphsByHeart) {
  torch::manual_seed(1);
  const auto network = MakeNetwork({.kind = {Layer()}, .hidden = 32});
  network->eval();  // Without dropout.
  std::vector<GraphFeatures> graphs;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    graphs.push_back(RandomGraph(20 + 3 * seed, 100 + seed));
  }
  const GraphBatch batch = CollateAll(graphs);
  const at::Tensor target = torch::randn({8, 3});
  torch::optim::Adam optimizer(network->parameters(), 2e-3);
  double loss = 1;
  for (int step = 0; step < 3000 && loss > 1e-3; ++step) {
    optimizer.zero_grad();
    const at::Tensor error = torch::huber_loss(network->forward(batch), target);
    error.backward();
    optimizer.step();
    loss = error.item<double>();
  }
  EXPECT_LE(loss, 1e-3);
}

TEST_P(NetworkOfKind, TrainsToTheSameBitsFromOneSeed) {
  const GraphBatch batch = CollateAll({RandomGraph(50, 1), RandomGraph(70, 2)});
  const auto train = [&] {
    const auto network = SmallNetwork(Layer(), 5);
    network->train();
    torch::optim::Adam optimizer(network->parameters(), 1e-2);
    for (int step = 0; step < 3; ++step) {
      optimizer.zero_grad();
      network->forward(batch).square().sum().backward();
      optimizer.step();
    }
    network->eval();
    return network->forward(batch);
  };
  EXPECT_TRUE(train().equal(train()));
}

TEST_P(NetworkOfKind, DropsOnlyInTraining) {
  const auto network = SmallNetwork(Layer());
  const GraphBatch batch = CollateAll({RandomGraph(30, 1)});
  network->train();
  EXPECT_GT(Distance(network->forward(batch), network->forward(batch)), 0);
  network->eval();
  EXPECT_EQ(Distance(network->forward(batch), network->forward(batch)), 0);
}

// bfloat16 on the CPU while it lives.
struct Autocast {
  Autocast() { at::autocast::set_autocast_enabled(at::kCPU, true); }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

TEST_P(NetworkOfKind, RunsUnderAutocast) {
  const auto network = SmallNetwork(Layer());
  network->eval();
  const GraphBatch batch = CollateAll({RandomGraph(30, 1), RandomGraph(5, 2)});
  const at::Tensor expected = network->forward(batch);
  const at::Tensor y = [&] {
    const Autocast autocast;
    return network->forward(batch).to(at::kFloat);
  }();
  EXPECT_GT(Distance(y, expected), 0);
  EXPECT_LT(Distance(y, expected), 0.02);
  y.sum().backward();
  for (const auto& entry : network->named_parameters()) {
    EXPECT_TRUE(entry.value().grad().isfinite().all().item<bool>())
        << entry.key();
  }
}

std::int64_t CountParameters(const NetworkOptions& options) {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : MakeNetwork(options)->parameters()) {
    count += parameter.numel();
  }
  return count;
}

TEST(Network, HasThePapersSizesByDefault) {
  const NetworkOptions options;
  EXPECT_EQ(options.hidden, 512);
  EXPECT_EQ(options.dropout, 0.05);
  const std::int64_t graph = 512 * 65 + 5 * 512 * 1025;
  const std::int64_t head = 512 * 518 + 2 * 512 * 513 + 3 * 513;
  EXPECT_EQ(CountParameters(options), graph + head);
  // As docs/networks.md says.
  EXPECT_EQ(CountParameters(options), 3'449'347);
  EXPECT_EQ(CountParameters({.hidden = 128}), 223'363);
}

TEST(Network, NamesItsParametersForCheckpoints) {
  std::vector<std::string> names;
  const auto network = MakeNetwork({.hidden = 4,
                                    .graph_blocks = 1,
                                    .layers_per_block = 2,
                                    .head_blocks = 1});
  for (const auto& entry : network->named_parameters()) {
    names.push_back(entry.key());
  }
  EXPECT_EQ(names, (std::vector<std::string>{"graph.0.weight", "graph.0.bias",
                                             "graph.1.weight", "graph.1.bias",
                                             "head.0.weight", "head.0.bias",
                                             "output.weight", "output.bias"}));
}

TEST(Network, DoublesTheSumPoolWithTheGraph) {
  // Two copies of a graph in one: with sum pooling, what the head sees doubles.
  const GraphFeatures once = RandomGraph(60, 1);
  GraphFeatures twice = once;
  twice.nodes.insert(twice.nodes.end(), once.nodes.begin(), once.nodes.end());
  for (std::size_t e = 0; e < once.sources.size(); ++e) {
    twice.sources.push_back(once.sources[e] + 60);
    twice.targets.push_back(once.targets[e] + 60);
  }
  const auto change = [&](Pooling pooling) {
    torch::manual_seed(1);
    const auto network = MakeNetwork({.hidden = 16, .pooling = pooling});
    network->eval();
    return Distance(network->forward(CollateAll({once})),
                    network->forward(CollateAll({twice})));
  };
  EXPECT_GT(change(Pooling::kSum), 1e-3);
  EXPECT_LT(change(Pooling::kMean), 1e-6);
  EXPECT_EQ(change(Pooling::kMax), 0);
}

TEST(Network, KnowsTheNamesOfKindsAndPoolings) {
  for (const LayerKindRow& row : kLayerKinds) {
    EXPECT_EQ(ParseNetworkKind(row.name), NetworkKind{.layer = row.layer});
    EXPECT_EQ(NetworkKindName({row.layer}), row.name);
  }
  for (const TermSetRow& row : kTermSets) {
    EXPECT_EQ(ParseNetworkKind(row.name), NetworkKind{.terms = row.set});
    EXPECT_EQ(NetworkKindName({.terms = row.set}), row.name);
  }
  for (const Pooling pooling :
       {Pooling::kSum, Pooling::kMean, Pooling::kMax, Pooling::kPrior}) {
    EXPECT_EQ(ParsePooling(PoolingName(pooling)), pooling);
  }
  EXPECT_EQ(NetworkKindName({}), "pmgns");
  EXPECT_EQ(NetworkKindName({.terms = TermSet::kReplay}), "replay");
  EXPECT_EQ(ParseNetworkKind("PMGNS"), std::nullopt);
  EXPECT_EQ(ParsePooling(""), std::nullopt);
}

// The message of the error that `call` throws; its code is checked.
template <typename Call>
std::string Refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(Network, RefusesImpossibleSizes) {
  const auto refusal = [](const NetworkOptions& options) {
    return Refusal([&] { MakeNetwork(options); });
  };
  EXPECT_EQ(refusal({.hidden = 0}),
            "a network's hidden is 0, expected at least 1");
  EXPECT_EQ(refusal({.static_features = -1}),
            "a network's static_features is -1, expected at least 0");
  EXPECT_EQ(refusal({.outputs = 0}),
            "a network's outputs is 0, expected at least 1");
  const std::string dropout =
      "a network's dropout is 1.000000, expected at least 0 and below 1";
  EXPECT_EQ(refusal({.dropout = 1}), dropout);
  EXPECT_NE(refusal({.dropout = NAN}), "accepted");
  EXPECT_NE(refusal({.dropout = -0.1}), "accepted");
}

TEST(Network, RefusesABatchOfOtherWidths) {
  const auto network = MakeNetwork({.static_features = 4, .hidden = 8});
  EXPECT_EQ(Refusal([&] { network->forward(CollateAll({RandomGraph(3, 1)})); }),
            "a batch with 5 static features; the network takes 4");
  const auto narrow = MakeNetwork({.node_features = 31, .hidden = 8});
  EXPECT_EQ(Refusal([&] { narrow->forward(CollateAll({RandomGraph(3, 1)})); }),
            "a batch with 32 node features; the network takes 31");
}

}  // namespace
}  // namespace foretell::learned
