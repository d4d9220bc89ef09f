#include "src/model/learned_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/core/units.h"

namespace foretell::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prediction Analytic() {
  Prediction prediction;
  prediction.memory.total = 1000 * kMiB;
  prediction.memory_mib = {800, 1500};
  prediction.latency_ms = 10;
  prediction.latency_interval_ms = {5, 20};
  prediction.cost.latency_ms = 10;
  prediction.cost.compute_ms = 6;
  prediction.cost.energy_j = 2;
  prediction.energy_j = 2;
  prediction.energy_interval_j = {1, 4};
  return prediction;
}

LearnedFigure Figure(Target target, double value) {
  return {.target = target,
          .value = value,
          .source = {.method = "learned from tests", .trained_on = {"gpu"}}};
}

TEST(PutFigure, MovesTheAnalyticRangeWhereNoneWasLearned) {
  Prediction prediction = Analytic();
  PutFigure(Figure(Target::kMemory, 2000), prediction);
  EXPECT_EQ(prediction.memory.total, 2000 * kMiB);
  EXPECT_EQ(prediction.memory_mib.lo, 1600);
  EXPECT_EQ(prediction.memory_mib.hi, 3000);
  EXPECT_EQ(prediction.memory.total_high, 3000 * kMiB);
  EXPECT_EQ(prediction.memory_source.method, "learned from tests");
  EXPECT_EQ(prediction.latency_ms, 10);
}

TEST(PutFigure, TakesTheLearnedInterval) {
  Prediction prediction = Analytic();
  LearnedFigure figure = Figure(Target::kMemory, 2000);
  figure.interval = {1900, 2200};
  PutFigure(figure, prediction);
  EXPECT_EQ(prediction.memory_mib.lo, 1900);
  EXPECT_EQ(prediction.memory.total_low, 1900 * kMiB);
}

TEST(PutFigure, LetsEnergyFollowTheLatency) {
  Prediction prediction = Analytic();
  PutFigure(Figure(Target::kLatency, 5), prediction);
  EXPECT_EQ(prediction.latency_ms, 5);
  EXPECT_EQ(prediction.latency_interval_ms.hi, 10);
  EXPECT_EQ(prediction.cost.compute_ms, 3);
  EXPECT_EQ(prediction.energy_j, 1);
  EXPECT_EQ(prediction.energy_interval_j.hi, 2);
  EXPECT_EQ(prediction.energy_source.method, "analytic, uncalibrated");
}

TEST(PutFigure, LeavesTheLatencyToALearnedEnergy) {
  Prediction prediction = Analytic();
  PutFigure(Figure(Target::kEnergy, 3), prediction);
  EXPECT_EQ(prediction.energy_j, 3);
  EXPECT_EQ(prediction.cost.energy_j, 3);
  EXPECT_EQ(prediction.energy_interval_j.lo, 1.5);
  EXPECT_EQ(prediction.latency_ms, 10);
  EXPECT_EQ(prediction.energy_source.method, "learned from tests");
}

TEST(PutFigure, TakesLatencyAndEnergyInAnyOrder) {
  Prediction one = Analytic();
  PutFigure(Figure(Target::kLatency, 5), one);
  PutFigure(Figure(Target::kEnergy, 3), one);
  Prediction other = Analytic();
  PutFigure(Figure(Target::kEnergy, 3), other);
  PutFigure(Figure(Target::kLatency, 5), other);
  for (const Prediction& prediction : {one, other}) {
    EXPECT_EQ(prediction.energy_j, 3);
    EXPECT_EQ(prediction.cost.energy_j, 3);
    EXPECT_EQ(prediction.energy_interval_j.lo, 1.5);
    EXPECT_EQ(prediction.latency_ms, 5);
  }
}

TEST(WarnOf, NamesWhatTheNetworkDoesNotKnow) {
  LearnedFigure figure = Figure(Target::kLatency, 5);
  figure.interval = {4, 6};
  std::vector<std::string> warnings;
  WarnOf(figure, {.name = "gpu"}, warnings);
  EXPECT_TRUE(warnings.empty());
  figure.interval.reset();
  figure.source.distance = 3;
  figure.source.far_distance = 2;
  WarnOf(figure, {.name = "other"}, warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("latency: unlike the networks"),
                                    HasSubstr("has no interval"),
                                    HasSubstr("no measurement of other")));
}

}  // namespace
}  // namespace foretell::model
