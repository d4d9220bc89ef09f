// Small parts of the trainer, each against numbers computed by hand.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "src/core/output_file.h"
#include "src/network/network.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/page/page_data.h"
#include "training/fit/adam.h"
#include "training/fit/epoch_metrics.h"
#include "training/fit/huber.h"
#include "training/fit/rate_finder.h"
#include "training/fit/run_folder.h"
#include "training/fit/schedule.h"
#include "training/judge/result_cache.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;

TEST(Huber, IsQuadraticNearAndLinearFar) {
  const at::Tensor output = at::tensor({0.5F, 3.0F, -3.0F});
  const at::Tensor zero = at::zeros({3});
  // 0.125 · 1 + 2.5 · 2 + 2.5 · 0.
  const at::Tensor weights = at::tensor({1.0F, 2.0F, 0.0F});
  EXPECT_FLOAT_EQ(HuberSum(output, zero, weights, 1).item<float>(), 5.125F);
  // With delta 2: 0.125 + 2 · (3 - 1) · 2.
  EXPECT_FLOAT_EQ(HuberSum(output, zero, weights, 2).item<float>(), 8.125F);
}

TEST(Huber, GivesMaskedElementsNoGradient) {
  at::Tensor output = at::tensor({5.0F, 5.0F}).requires_grad_();
  HuberSum(output, at::zeros({2}), at::tensor({1.0F, 0.0F}), 1).backward();
  EXPECT_EQ(output.grad()[0].item<float>(), 1);
  EXPECT_EQ(output.grad()[1].item<float>(), 0);
}

TEST(Schedule, WarmsUpThenFallsInHalfAWave) {
  EXPECT_EQ(ScheduleFactor(Schedule::kConstant, 7, 10, 0), 1);
  EXPECT_EQ(ScheduleFactor(Schedule::kConstant, 1, 10, 4), 0.25);
  EXPECT_NEAR(ScheduleFactor(Schedule::kCosine, 2, 10, 2), 1, 1e-12);
  EXPECT_NEAR(ScheduleFactor(Schedule::kCosine, 6, 10, 2), 0.5, 1e-12);
  EXPECT_NEAR(ScheduleFactor(Schedule::kCosine, 10, 10, 2), 0, 1e-12);
}

/// Adam's formula for one parameter, with its usual constants and rate 0.01.
class AdamByHand {
 public:
  double Change(double gradient) {
    ++step_;
    m_ = 0.9 * m_ + 0.1 * gradient;
    v_ = 0.999 * v_ + 0.001 * gradient * gradient;
    return -0.01 * (m_ / (1 - std::pow(0.9, step_))) /
           (std::sqrt(v_ / (1 - std::pow(0.999, step_))) + 1e-8);
  }

 private:
  int step_ = 0;
  double m_ = 0;
  double v_ = 0;
};

TEST(Adam, FollowsItsFormula) {
  at::Tensor parameters = at::tensor({1.0F, -2.0F});
  Adam adam(parameters);
  AdamByHand by_hand;
  double expected = 1;
  for (int step = 1; step <= 3; ++step) {
    const double gradient = 0.3 * step;
    expected += by_hand.Change(gradient + 0.1 * expected);
    adam.Step(parameters, at::full({2}, gradient), 0.01, {.factor = 0.1});
    EXPECT_NEAR(parameters[0].item<double>(), expected, 1e-6);
  }
}

TEST(Adam, DecaysParametersThemselvesWhenDecoupled) {
  at::Tensor parameters = at::tensor({1.0F, -2.0F});
  Adam adam(parameters);
  AdamByHand by_hand;
  double expected = 1;
  for (int step = 1; step <= 3; ++step) {
    const double gradient = 0.3 * step;
    expected -= 0.01 * 0.1 * expected;
    expected += by_hand.Change(gradient);
    adam.Step(parameters, at::full({2}, gradient), 0.01,
              {.factor = 0.1, .decoupled = true});
    EXPECT_NEAR(parameters[0].item<double>(), expected, 1e-6);
  }
}

TEST(Adam, GoesOnFromItsState) {
  at::Tensor once = at::ones({4});
  Adam adam(once);
  adam.Step(once, at::full({4}, 0.5), 0.1, {});
  at::Tensor again = once.clone();
  Adam restored(again);
  restored.Restore(adam.State(), "x");
  adam.Step(once, at::full({4}, -0.2), 0.1, {});
  restored.Step(again, at::full({4}, -0.2), 0.1, {});
  EXPECT_TRUE(at::equal(once, again));
  Adam other(at::ones({3}));
  ExpectError(ErrorCode::kCorrupt,
              "'optimizer.moment1' has 4 elements, expected 3",
              [&] { other.Restore(adam.State(), "x"); });
}

TEST(FlatParameters, AreTheParametersOfTheNetwork) {
  const auto network = learned::MakeNetwork({.hidden = 4, .graph_blocks = 1});
  FlatParameters flat(*network);
  std::int64_t elements = 0;
  for (const at::Tensor& one : network->parameters()) elements += one.numel();
  EXPECT_EQ(flat.values().numel(), elements);
  flat.values().fill_(0.5);
  for (const at::Tensor& one : network->parameters()) {
    EXPECT_TRUE(at::all(one == 0.5).item<bool>());
  }
  const at::Tensor first = network->parameters().front();
  (first.sum() * 3).backward();
  EXPECT_EQ(flat.gradients().sum().item<float>(), 3.0F * first.numel());
  flat.ClearGradients();
  EXPECT_EQ(first.grad().sum().item<float>(), 0);
}

TEST(RateFinder, SuggestsWhereTheLossFallsMostSteeply) {
  // Flat up to 1e-4, falling to 1e-2, then rising; steepest in the middle.
  std::vector<RateTest::Step> steps;
  for (int i = 0; i <= 60; ++i) {
    const double power = -6 + i * 0.1;
    const double fall = 1 / (1 + std::exp(4 * (power + 3)));
    const double rise = power > -1 ? std::pow(power + 1, 2) * 9 : 0;
    steps.push_back({std::pow(10, power), 0, fall + rise});
  }
  EXPECT_NEAR(std::log10(SuggestRate(steps)), -3, 0.11);
  ExpectError(ErrorCode::kInvalidArgument, "2 steps", [] {
    SuggestRate({{1, 1, 1}, {2, 1, 1}});
  });
}

TEST(RateFinder, ShowsItsCurve) {
  const RateTest test{{{1e-5, 1, 1}, {1e-4, 0.5, 0.6}}, 2e-5};
  const auto data = PageData(RateTestToHtml(test));
  EXPECT_EQ(data["suggested"], 2e-5);
  EXPECT_EQ(data["steps"][1].dump(),
            R"({"rate":0.0001,"loss":0.5,"smoothed":0.6})");
}

TEST(PassSums, PoolErrorsOverTargets) {
  PassSums sums{.loss = 3, .weight = 2};
  sums.Add({.truth = {100, 10, learned::kUnknown}, .predicted = {110, 7, 5}});
  EXPECT_NEAR(sums.Mape(learned::Target::kMemory), 0.1, 1e-12);
  EXPECT_NEAR(sums.PooledMape(), 0.2, 1e-12);
  EXPECT_FALSE(learned::IsKnown(sums.Mape(learned::Target::kEnergy)));
  EXPECT_EQ(sums.Loss(), 1.5);
  const PassSums copy = PassSums::FromArray(sums.ToArray());
  EXPECT_EQ(copy.ToArray(), sums.ToArray());
}

EpochMetrics Epoch(std::int64_t number) {
  return {.epoch = number,
          .learning_rate = 1e-3,
          .train = {.loss = 1.0 / number, .weight = 1}};
}

TEST(RunFolder, KeepsALinePerEpoch) {
  const Scratch scratch;
  RunFolder folder(scratch / "run", /*fresh=*/true);
  folder.KeepMetrics(0);
  for (int i = 1; i <= 3; ++i) folder.AddMetrics(Epoch(i));
  RunFolder again(scratch / "run", /*fresh=*/false);
  again.KeepMetrics(2);
  again.AddMetrics(Epoch(3));
  again.WriteCurves();
  std::ifstream file(again.metrics_path());
  std::vector<int> epochs;
  for (std::string line; std::getline(file, line);) {
    epochs.push_back(nlohmann::json::parse(line)["epoch"]);
  }
  EXPECT_EQ(epochs, (std::vector<int>{1, 2, 3}));
  std::ifstream page(again.curves_path());
  const std::string html(std::istreambuf_iterator<char>(page), {});
  const auto data = PageData(html);
  ASSERT_EQ(data["epochs"].size(), 3U);
  EXPECT_EQ(data["epochs"][2]["train"]["loss"], 1.0 / 3);
}

TEST(RunFolder, DoesNotOverwriteARun) {
  const Scratch scratch;
  const RunFolder folder(scratch / "run", /*fresh=*/true);
  WriteWhole(folder.last_path(), "x");
  ExpectError(ErrorCode::kInvalidArgument, "already has a run",
              [&] { RunFolder(scratch / "run", /*fresh=*/true); });
}

TEST(ResultCache, FindsOnlyWhatTheSameExperimentMade) {
  const Scratch scratch;
  const ResultCache cache(scratch / "cells", {{"epochs", 10}});
  cache.Put("a", {{"mape", 0.5}});
  EXPECT_EQ(cache.Find("a").value()["mape"], 0.5);
  EXPECT_FALSE(cache.Find("b").has_value());
  EXPECT_FALSE(
      ResultCache(scratch / "cells", {{"epochs", 11}}).Find("a").has_value());
  WriteWhole(scratch / "cells/a.json", "{\"made");
  EXPECT_FALSE(cache.Find("a").has_value());
}

}  // namespace
}  // namespace foretell::training
