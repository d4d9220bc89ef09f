#include "src/network/term_network.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "tests/network/toy_terms.h"

namespace foretell::learned {
namespace {

double PredictKernels(Network& network, const TermTable& table) {
  return PredictOne(network, table, TermSet::kKernels);
}

TEST(TermNetwork, AnswersTheSumOfAmountsBeforeItHasLearned) {
  const TermTable table =
      ToyKernels({0, 4, kLaunchClass, kStepClass}, {2, 3, 0.5, 0.25});
  EXPECT_NEAR(PredictKernels(*TermNetworkOf(TermSet::kKernels), table),
              std::log(5.75), 1e-6);
  const TermTable replay{.classes = {0, 1, 2, 3},
                         .features = {},
                         .amounts = {100, 400, 50, 10},
                         .totals = std::vector<float>(kNumReplayTotals, 0.3F)};
  EXPECT_NEAR(
      PredictOne(*TermNetworkOf(TermSet::kReplay), replay, TermSet::kReplay),
      std::log(560.0), 1e-5);
}

TEST(TermNetwork, DoesNotSeeTheOrderOfTerms) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  const TermTable table = ToyKernels({1, 2}, {2, 3});
  TermTable turned = table;
  std::ranges::reverse(turned.classes);
  std::ranges::reverse(turned.amounts);
  std::ranges::rotate(turned.features,
                      turned.features.begin() + kKernelLayout.num_features);
  EXPECT_NEAR(PredictKernels(*network, table), PredictKernels(*network, turned),
              1e-6);
}

TEST(TermNetwork, DoesNotSeeTheOtherGraphsOfABatch) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  const TermTable small = ToyKernels({1, kStepClass}, {2, 3}, 5);
  const TermTable large = ToyKernels({3, 4, 5}, {1, 7, 2}, 6);
  const TermInput inputs[] = {{&small, NoStatics()}, {&large, NoStatics()}};
  const at::Tensor together =
      network->forward(CollateTerms(inputs, TermSet::kKernels));
  EXPECT_NEAR(together[0].item<double>(), PredictKernels(*network, small),
              1e-6);
  EXPECT_NEAR(together[1].item<double>(), PredictKernels(*network, large),
              1e-6);
}

TEST(TermNetwork, MergedTermsCountAsMuchAsApart) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  TermTable apart = ToyKernels({1, 1}, {2, 3});
  std::copy_n(apart.features.begin(), kKernelLayout.num_features,
              apart.features.begin() + kKernelLayout.num_features);
  EXPECT_NEAR(PredictKernels(*network, apart),
              PredictKernels(*network, ToyKernels({1}, {5})), 1e-6);
}

TEST(TermNetwork, TreatsClassesThatItHasNotSeenAlike) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network, /*with_classes=*/false);
  const auto log_sum = [&network](std::int32_t kernel_class) {
    const TermTable table = ToyKernels({kernel_class}, {2});
    const TermInput input[] = {{&table, NoStatics()}};
    return network->TrainingForward(CollateTerms(input, TermSet::kKernels))
        .supervised.front()
        .item<double>();
  };
  EXPECT_NE(log_sum(1), std::log(2.0));
  EXPECT_EQ(log_sum(1), log_sum(9));
}

TEST(TermNetwork, BoundsWhatOneTermCanDo) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  TermTable table = ToyKernels({1}, {1});
  for (const float size : {1e4F, -1e4F}) {
    std::ranges::fill(table.features, size);
    const TermInput input[] = {{&table, NoStatics()}};
    const double log_sum =
        network->TrainingForward(CollateTerms(input, TermSet::kKernels))
            .supervised.front()
            .item<double>();
    EXPECT_LE(std::abs(log_sum), 3.0001);
  }
}

TEST(TermNetwork, KeepsGradientsOfTheHeadsOutOfTheSum) {
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  const TermTable table = ToyKernels({1, kLaunchClass}, {2, 3});
  const TermInput input[] = {{&table, NoStatics()}};
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
  const auto network = TermNetworkOf(TermSet::kKernels);
  RandomizeTerms(*network);
  const TermTable table = ToyKernels({1, 2}, {2, 3});
  const TermInput input[] = {{&table, NoStatics()}};
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
  NetworkOptions options = TermOptions(TermSet::kKernels);
  options.heads = 0;
  const auto network = MakeNetwork(options);
  network->eval();
  RandomizeTerms(*network);
  const TermTable table = ToyKernels({1, 2}, {2, 3});
  const TermInput input[] = {{&table, NoStatics()}};
  const TrainingOutput output =
      network->TrainingForward(CollateTerms(input, TermSet::kKernels));
  ASSERT_EQ(output.supervised.size(), 1);
  EXPECT_EQ(output.prediction.item<double>(),
            output.supervised[0].item<double>());
}

TEST(TermNetwork, LearnsHowFastAClassIs) {
  // Kernels of class 1 take twice their amount, those of class 2 a half.
  const auto network = TermNetworkOf(TermSet::kKernels);
  network->train();
  std::vector<TermTable> tables;
  std::vector<float> truth;
  for (unsigned i = 0; i < 32; ++i) {
    const float a = 1 + static_cast<float>(i % 5);
    const float b = 1 + static_cast<float>(i % 7);
    tables.push_back(ToyKernels({1, 2}, {a, b}, i));
    truth.push_back(std::log(2 * a + b / 2));
  }
  const GraphBatch batch = CollateTables(tables, TermSet::kKernels);
  const at::Tensor wanted = at::tensor(truth).unsqueeze(1);
  DescendTo(wanted, batch, 800, *network);
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
  NetworkOptions two = TermOptions(TermSet::kKernels);
  two.outputs = 2;
  EXPECT_EQ(message(two), "network 'kernels': outputs is 2, expected 1");
  NetworkOptions wide = TermOptions(TermSet::kReplay);
  wide.node_features = 32;
  EXPECT_EQ(message(wide), "network 'replay': node_features is 32, expected 4");
}

TEST(TermBatch, RefusesTablesThatContradictTheLayout) {
  const auto message = [](const TermTable& table) -> std::string {
    try {
      const TermInput input[] = {{&table, NoStatics()}};
      CollateTerms(input, TermSet::kKernels);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(ToyKernels({}, {})),
            "terms 0 of the batch: the number of terms is 0, expected 1");
  EXPECT_EQ(message(ToyKernels({kSerialClass + 1}, {1})),
            "terms 0 of the batch: a class is 39, expected 38");
  TermTable short_one = ToyKernels({1}, {1});
  short_one.features.pop_back();
  EXPECT_EQ(message(short_one),
            "terms 0 of the batch: the number of features is 45, expected 46");
}

}  // namespace
}  // namespace foretell::learned
