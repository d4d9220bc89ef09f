#include "src/network/term_network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/network/term_batch.h"

namespace foretell::learned {
namespace {

constexpr int kStatics = 2;
const std::vector<float> kNoStatics(kStatics, 0);

NetworkOptions OptionsOf(TermSet terms) {
  const TermLayout layout = LayoutOf(terms);
  return {.kind = {.terms = terms},
          .node_features = layout.num_classes + layout.num_features,
          .static_features = kStatics + layout.num_totals,
          .hidden = 8,
          .graph_blocks = 2,
          .layers_per_block = 1,
          .outputs = 1};
}

std::shared_ptr<Network> Made(TermSet terms) {
  at::manual_seed(3);
  std::shared_ptr<Network> network = MakeNetwork(OptionsOf(terms));
  network->eval();
  return network;
}

/// Every parameter drawn anew, so that no correction is 0.
void Randomize(Network& network, bool with_classes = true) {
  const at::NoGradGuard no_gradients;
  for (auto& item : network.named_parameters()) {
    at::Tensor& value = item.value();
    const at::Tensor kept = value.clone();
    value.normal_(0, 0.3);
    if (item.key() != "terms.input.weight" || with_classes) continue;
    value.narrow(1, 0, kKernelLayout.num_classes)
        .copy_(kept.narrow(1, 0, kKernelLayout.num_classes));
  }
}

/// Kernels of the given classes and amounts with random features.
TermTable Kernels(const std::vector<std::int32_t>& classes,
                  const std::vector<float>& amounts, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  TermTable table{.classes = classes, .amounts = amounts};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (int f = 0; f < kKernelLayout.num_features; ++f) {
      table.features.push_back(normal(generator));
    }
  }
  table.totals.assign(static_cast<std::size_t>(kKernelLayout.num_totals), 0.1F);
  return table;
}

double PredictOne(Network& network, const TermTable& table, TermSet terms) {
  const at::NoGradGuard no_gradients;
  const TermInput input[] = {{&table, kNoStatics}};
  return network.forward(CollateTerms(input, terms)).item<double>();
}

double PredictKernels(Network& network, const TermTable& table) {
  return PredictOne(network, table, TermSet::kKernels);
}

TEST(TermNetwork, AnswersTheSumOfAmountsBeforeItHasLearned) {
  const TermTable table =
      Kernels({0, 4, kLaunchClass, kStepClass}, {2, 3, 0.5, 0.25});
  EXPECT_NEAR(PredictKernels(*Made(TermSet::kKernels), table), std::log(5.75),
              1e-6);
  const TermTable replay{.classes = {0, 1, 2, 3},
                         .features = {},
                         .amounts = {100, 400, 50, 10},
                         .totals = std::vector<float>(kNumReplayTotals, 0.3F)};
  EXPECT_NEAR(PredictOne(*Made(TermSet::kReplay), replay, TermSet::kReplay),
              std::log(560.0), 1e-5);
}

TEST(TermNetwork, DoesNotSeeTheOrderOfTerms) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  const TermTable table = Kernels({1, 2}, {2, 3});
  TermTable turned = table;
  std::ranges::reverse(turned.classes);
  std::ranges::reverse(turned.amounts);
  std::ranges::rotate(turned.features,
                      turned.features.begin() + kKernelLayout.num_features);
  EXPECT_NEAR(PredictKernels(*network, table), PredictKernels(*network, turned),
              1e-6);
}

TEST(TermNetwork, DoesNotSeeTheOtherGraphsOfABatch) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  const TermTable small = Kernels({1, kStepClass}, {2, 3}, 5);
  const TermTable large = Kernels({3, 4, 5}, {1, 7, 2}, 6);
  const TermInput inputs[] = {{&small, kNoStatics}, {&large, kNoStatics}};
  const at::Tensor together =
      network->forward(CollateTerms(inputs, TermSet::kKernels));
  EXPECT_NEAR(together[0].item<double>(), PredictKernels(*network, small),
              1e-6);
  EXPECT_NEAR(together[1].item<double>(), PredictKernels(*network, large),
              1e-6);
}

TEST(TermNetwork, MergedTermsCountAsMuchAsApart) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  TermTable apart = Kernels({1, 1}, {2, 3});
  std::copy_n(apart.features.begin(), kKernelLayout.num_features,
              apart.features.begin() + kKernelLayout.num_features);
  EXPECT_NEAR(PredictKernels(*network, apart),
              PredictKernels(*network, Kernels({1}, {5})), 1e-6);
}

TEST(TermNetwork, TreatsClassesThatItHasNotSeenAlike) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network, /*with_classes=*/false);
  const auto log_sum = [&network](std::int32_t kernel_class) {
    const TermTable table = Kernels({kernel_class}, {2});
    const TermInput input[] = {{&table, kNoStatics}};
    return network->TrainingForward(CollateTerms(input, TermSet::kKernels))
        .supervised.front()
        .item<double>();
  };
  EXPECT_NE(log_sum(1), std::log(2.0));
  EXPECT_EQ(log_sum(1), log_sum(9));
}

TEST(TermNetwork, BoundsWhatOneTermCanDo) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  TermTable table = Kernels({1}, {1});
  for (const float size : {1e4F, -1e4F}) {
    std::ranges::fill(table.features, size);
    const TermInput input[] = {{&table, kNoStatics}};
    const double log_sum =
        network->TrainingForward(CollateTerms(input, TermSet::kKernels))
            .supervised.front()
            .item<double>();
    EXPECT_LE(std::abs(log_sum), 3.0001);
  }
}

TEST(TermNetwork, KeepsGradientsOfTheHeadsOutOfTheSum) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  const TermTable table = Kernels({1, kLaunchClass}, {2, 3});
  const TermInput input[] = {{&table, kNoStatics}};
  const TrainingOutput output =
      network->TrainingForward(CollateTerms(input, TermSet::kKernels));
  ASSERT_EQ(output.supervised.size(), 4);  // The sum and three heads.
  (output.supervised[1] + output.supervised[2] + output.supervised[3])
      .sum()
      .backward();
  for (const auto& item : network->named_parameters()) {
    const bool has_gradient = item.value().grad().defined() &&
                              item.value().grad().abs().sum().item<float>() > 0;
    EXPECT_EQ(has_gradient, item.key().starts_with("heads.")) << item.key();
  }
}

TEST(TermNetwork, PredictsTheMeanOfItsHeads) {
  const auto network = Made(TermSet::kKernels);
  Randomize(*network);
  const TermTable table = Kernels({1, 2}, {2, 3});
  const TermInput input[] = {{&table, kNoStatics}};
  const TrainingOutput output =
      network->TrainingForward(CollateTerms(input, TermSet::kKernels));
  const double mean =
      (output.supervised[1] + output.supervised[2] + output.supervised[3])
          .item<double>() /
      3;
  EXPECT_NEAR(output.prediction.item<double>(), mean, 1e-6);
  EXPECT_NE(output.supervised[1].item<double>(),
            output.supervised[2].item<double>());
}

TEST(TermNetwork, WithoutHeadsPredictsTheSum) {
  NetworkOptions options = OptionsOf(TermSet::kKernels);
  options.heads = 0;
  const auto network = MakeNetwork(options);
  network->eval();
  Randomize(*network);
  const TermTable table = Kernels({1, 2}, {2, 3});
  const TermInput input[] = {{&table, kNoStatics}};
  const TrainingOutput output =
      network->TrainingForward(CollateTerms(input, TermSet::kKernels));
  ASSERT_EQ(output.supervised.size(), 1);
  EXPECT_EQ(output.prediction.item<double>(),
            output.supervised[0].item<double>());
}

TEST(TermNetwork, LearnsHowFastAClassIs) {
  // Kernels of class 1 take twice their amount, those of class 2 a half.
  const auto network = Made(TermSet::kKernels);
  network->train();
  std::vector<TermTable> tables;
  std::vector<float> truth;
  for (unsigned i = 0; i < 32; ++i) {
    const float a = 1 + static_cast<float>(i % 5);
    const float b = 1 + static_cast<float>(i % 7);
    tables.push_back(Kernels({1, 2}, {a, b}, i));
    truth.push_back(std::log(2 * a + b / 2));
  }
  std::vector<TermInput> inputs;
  for (const TermTable& table : tables) inputs.push_back({&table, kNoStatics});
  const GraphBatch batch = CollateTerms(inputs, TermSet::kKernels);
  const at::Tensor wanted = at::tensor(truth).unsqueeze(1);
  for (int step = 0; step < 800; ++step) {
    at::Tensor loss = at::zeros({});
    for (const at::Tensor& one : network->TrainingForward(batch).supervised) {
      loss = loss + (one - wanted).square().mean();
    }
    network->zero_grad();
    loss.backward();
    const at::NoGradGuard no_gradients;
    for (at::Tensor& parameter : network->parameters()) {
      if (parameter.grad().defined()) parameter.sub_(0.03 * parameter.grad());
    }
  }
  network->eval();
  EXPECT_LT((network->forward(batch) - wanted).abs().mean().item<double>(),
            0.1);
}

TEST(TermNetwork, RefusesWhatItsTermsDoNotHave) {
  const auto message = [](NetworkOptions options) -> std::string {
    try {
      MakeNetwork(options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  NetworkOptions two = OptionsOf(TermSet::kKernels);
  two.outputs = 2;
  EXPECT_EQ(message(two), "network 'kernels': outputs is 2, expected 1");
  NetworkOptions wide = OptionsOf(TermSet::kReplay);
  wide.node_features = 32;
  EXPECT_EQ(message(wide), "network 'replay': node_features is 32, expected 4");
}

TEST(TermBatch, RefusesTablesThatContradictTheLayout) {
  const auto message = [](const TermTable& table) -> std::string {
    try {
      const TermInput input[] = {{&table, kNoStatics}};
      CollateTerms(input, TermSet::kKernels);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(Kernels({}, {})),
            "terms 0 of the batch: the number of terms is 0, expected 1");
  EXPECT_EQ(message(Kernels({kSerialClass + 1}, {1})),
            "terms 0 of the batch: a class is 39, expected 38");
  TermTable short_one = Kernels({1}, {1});
  short_one.features.pop_back();
  EXPECT_EQ(message(short_one),
            "terms 0 of the batch: the number of features is 44, expected 45");
}

}  // namespace
}  // namespace foretell::learned
