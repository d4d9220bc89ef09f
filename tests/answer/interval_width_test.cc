#include "src/answer/interval_width.h"

#include <gtest/gtest.h>

#include <vector>

namespace foretell {
namespace {

/// Of a step whose operators take such times on the GPU.
Prediction WithTimes(const std::vector<double>& gpu_us, Run run = {}) {
  Prediction prediction{.run = run};
  for (const double us : gpu_us) {
    prediction.cost.nodes.push_back({.gpu_us = us});
  }
  return prediction;
}

const std::vector<double> kManyEqual(10000, 1.0);

double Width(const WidthFactors& factors) {
  return factors.below * factors.above;
}

TEST(IntervalWidth, HoldsTheValueOfEveryRun) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    for (const Precision precision : {Precision::kFp32, Precision::kTf32,
                                      Precision::kFp16, Precision::kBf16}) {
      for (const Target target : {Target::kLatency, Target::kEnergy}) {
        const WidthFactors factors = ModelFactors(
            WithTimes({1, 2}, {.mode = mode, .precision = precision}), target);
        EXPECT_GE(factors.below, 1);
        EXPECT_GE(factors.above, 1);
        EXPECT_GT(Width(factors), 1);
      }
    }
  }
}

TEST(IntervalWidth, IsWiderTheFewerOperatorsTakeTheTime) {
  const double many =
      Width(ModelFactors(WithTimes(kManyEqual), Target::kLatency));
  const double four =
      Width(ModelFactors(WithTimes({1, 1, 1, 1}), Target::kLatency));
  const double unequal =
      Width(ModelFactors(WithTimes({9, 1, 1, 1}), Target::kLatency));
  const double one = Width(ModelFactors(WithTimes({3}), Target::kLatency));
  EXPECT_LT(many, four);
  EXPECT_LT(four, unequal);
  EXPECT_LT(unequal, one);
  // Views take no time.
  EXPECT_DOUBLE_EQ(Width(ModelFactors(WithTimes({3, 0, 0}), Target::kLatency)),
                   one);
}

TEST(IntervalWidth, CountsOperatorsByWhatTheyDo) {
  const auto width_of = [](WorkKind work) {
    Prediction prediction;
    prediction.cost.nodes = {{.gpu_us = 1, .work = work}};
    return Width(ModelFactors(prediction, Target::kLatency));
  };
  EXPECT_LT(width_of(WorkKind::kPlainConvolution),
            width_of(WorkKind::kConvolution));
  EXPECT_LT(width_of(WorkKind::kUnusualConvolution),
            width_of(WorkKind::kRareConvolution));
  const auto width = [](double product_us, double unusual_us) {
    Prediction prediction;
    prediction.cost.nodes = {
        {.gpu_us = product_us, .work = WorkKind::kProduct},
        {.gpu_us = unusual_us, .work = WorkKind::kUnusualConvolution}};
    return Width(ModelFactors(prediction, Target::kLatency));
  };
  EXPECT_LT(width(2, 0), width(0, 2));
  // An operator counts by its share of the time.
  EXPECT_LT(width(1, 1), width(0, 2));
  EXPECT_LT(width(9, 1), width(1, 9));
}

TEST(IntervalWidth, IsWiderForShortOperatorsExceptConvolutions) {
  const auto width = [](WorkKind work, double us) {
    Prediction prediction;
    prediction.cost.nodes = {{.gpu_us = us, .work = work}};
    return Width(ModelFactors(prediction, Target::kLatency));
  };
  EXPECT_GT(width(WorkKind::kMoving, 999), width(WorkKind::kMoving, 1000));
  EXPECT_GT(width(WorkKind::kProduct, 999), width(WorkKind::kProduct, 1000));
  EXPECT_DOUBLE_EQ(width(WorkKind::kConvolution, 999),
                   width(WorkKind::kConvolution, 1000));
}

TEST(IntervalWidth, LeavesOutOperatorsThatTheCpuOutlasts) {
  Prediction prediction = WithTimes({1000});
  prediction.cost.latency_ms = 10;
  prediction.cost.dispatch_ms = 10;
  EXPECT_DOUBLE_EQ(Width(ModelFactors(prediction, Target::kLatency)),
                   Width(ModelFactors(WithTimes({}), Target::kLatency)));
  EXPECT_DOUBLE_EQ(Width(ModelFactors(prediction, Target::kEnergy)),
                   Width(ModelFactors(WithTimes({1000}), Target::kEnergy)));
}

TEST(IntervalWidth, IsThatOfNetworksWhereNothingRuns) {
  const WidthFactors none = ModelFactors(WithTimes({}), Target::kLatency);
  const WidthFactors many =
      ModelFactors(WithTimes(kManyEqual), Target::kLatency);
  EXPECT_NEAR(none.below, many.below, 1e-3);
  EXPECT_NEAR(none.above, many.above, 1e-3);
}

TEST(IntervalWidth, IsWiderOnSeveralGpus) {
  Prediction shared = WithTimes(kManyEqual);
  shared.gpus = 8;
  for (const Target target : {Target::kLatency, Target::kEnergy}) {
    EXPECT_GT(Width(ModelFactors(shared, target)),
              Width(ModelFactors(WithTimes(kManyEqual), target)));
  }
}

}  // namespace
}  // namespace foretell
