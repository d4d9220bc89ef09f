#include "src/answer/learned_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>

#include "foretell/graph_io.h"
#include "src/core/units.h"
#include "tests/cost/test_device.h"
#include "tests/graph/expect_error.h"

namespace foretell::learned {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Prediction Analytic() {
  Prediction prediction;
  prediction[Target::kMemory] = {.value = 1000, .interval = {800, 1500}};
  prediction[Target::kLatency] = {.value = 10, .interval = {5, 20}};
  prediction[Target::kEnergy] = {.value = 2, .interval = {1, 4}};
  prediction.cost.latency_ms = 10;
  prediction.cost.compute_ms = 6;
  prediction.cost.gpu_ms = 8;
  prediction.cost.dispatch_ms = 4;
  prediction.cost.energy_j = 2;
  prediction.slices = {{.profile = "1g.5gb", .latency = 4, .energy = 0.5}};
  return prediction;
}

LearnedFigure Learned(Target target, double value) {
  return {.target = target,
          .value = value,
          .source = {.method = "learned from tests", .trained_on = {"gpu"}}};
}

TEST(RefuseImplausible, NamesCheckpointAndFigure) {
  const auto refuse = [](double value, std::optional<Interval> interval) {
    LearnedFigure figure = Learned(Target::kLatency, value);
    figure.interval = interval;
    RefuseImplausible(figure, "a.safetensors");
  };
  for (const double value :
       {8.76e-27, 1e10, 0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    ExpectError([&] { refuse(value, {}); }, ErrorCode::kCorrupt,
                "a.safetensors: predicts latency of ");
  }
  ExpectError(
      [&] {
        refuse(1, Interval{0, 2});
      },
      ErrorCode::kCorrupt,
      "predicts a lower end of latency of 0 ms, expected 1e-06 to");
  ExpectError(
      [&] {
        refuse(1, Interval{1, 1e300});
      },
      ErrorCode::kCorrupt, "predicts an upper end of latency of 1e+300 ms");
  refuse(1e-6, Interval{1e-6, 1e9});
}

TEST(PutFigure, MovesTheAnalyticRangeWhereNoneWasLearned) {
  Prediction prediction = Analytic();
  PutFigure(Learned(Target::kMemory, 2000), prediction);
  const Figure& memory = prediction[Target::kMemory];
  EXPECT_EQ(memory.value, 2000);
  EXPECT_EQ(memory.interval.lo, 1600);
  EXPECT_EQ(memory.interval.hi, 3000);
  EXPECT_EQ(memory.source.method, "learned from tests");
  EXPECT_EQ(prediction[Target::kLatency].value, 10);
}

TEST(PutFigure, TakesTheLearnedInterval) {
  Prediction prediction = Analytic();
  LearnedFigure figure = Learned(Target::kMemory, 2000);
  figure.interval = {1900, 2200};
  PutFigure(figure, prediction);
  EXPECT_EQ(prediction[Target::kMemory].interval.lo, 1900);
  EXPECT_EQ(prediction[Target::kMemory].interval.hi, 2200);
}

TEST(PutFigure, LetsEnergyFollowTheLatency) {
  Prediction prediction = Analytic();
  PutFigure(Learned(Target::kLatency, 5), prediction);
  const Figure& energy = prediction[Target::kEnergy];
  EXPECT_EQ(prediction[Target::kLatency].value, 5);
  EXPECT_EQ(prediction[Target::kLatency].interval.hi, 10);
  EXPECT_EQ(prediction.cost.latency_ms, 5);
  EXPECT_EQ(prediction.cost.compute_ms, 3);
  EXPECT_EQ(prediction.cost.gpu_ms, 4);
  EXPECT_EQ(prediction.cost.dispatch_ms, 2);
  EXPECT_EQ(prediction.cost.energy_j, 1);
  EXPECT_EQ(energy.value, 1);
  EXPECT_EQ(energy.interval.hi, 2);
  EXPECT_EQ(energy.source.method, "analytic, uncalibrated");
}

TEST(PutFigure, LetsTheSlicesFollowTheDevice) {
  Prediction prediction = Analytic();
  EXPECT_EQ(ToDemand(prediction).slices.at(0).latency_ms, 40);
  EXPECT_EQ(ToDemand(prediction).slices.at(0).energy_j, 1);
  PutFigure(Learned(Target::kLatency, 5), prediction);
  EXPECT_EQ(ToDemand(prediction).slices.at(0).latency_ms, 20);
  EXPECT_EQ(ToDemand(prediction).slices.at(0).energy_j, 0.5);
  PutFigure(Learned(Target::kEnergy, 3), prediction);
  EXPECT_EQ(ToDemand(prediction).slices.at(0).latency_ms, 20);
  EXPECT_EQ(ToDemand(prediction).slices.at(0).energy_j, 1.5);
}

TEST(PutFigure, LeavesTheLatencyToALearnedEnergy) {
  Prediction prediction = Analytic();
  PutFigure(Learned(Target::kEnergy, 3), prediction);
  const Figure& energy = prediction[Target::kEnergy];
  EXPECT_EQ(energy.value, 3);
  EXPECT_EQ(prediction.cost.energy_j, 3);
  EXPECT_EQ(energy.interval.lo, 1.5);
  EXPECT_EQ(prediction[Target::kLatency].value, 10);
  EXPECT_EQ(energy.source.method, "learned from tests");
}

TEST(PutFigure, TakesLatencyAndEnergyInAnyOrder) {
  Prediction one = Analytic();
  PutFigure(Learned(Target::kLatency, 5), one);
  PutFigure(Learned(Target::kEnergy, 3), one);
  Prediction other = Analytic();
  PutFigure(Learned(Target::kEnergy, 3), other);
  PutFigure(Learned(Target::kLatency, 5), other);
  for (const Prediction& prediction : {one, other}) {
    EXPECT_EQ(prediction[Target::kEnergy].value, 3);
    EXPECT_EQ(prediction.cost.energy_j, 3);
    EXPECT_EQ(prediction[Target::kEnergy].interval.lo, 1.5);
    EXPECT_EQ(prediction[Target::kLatency].value, 5);
  }
}

/// What becomes of the analytic figures of 256 MiB of weights on a device of
/// round numbers, with 100 MiB of context, by the word of a network.
class TakeFigureOfWeights : public testing::Test {
 protected:
  TakeFigureOfWeights() {
    prediction_.memory = memory_;
    prediction_[Target::kMemory] = {.value = 500, .interval = {400, 600}};
    prediction_[Target::kLatency] = {.value = 1, .interval = {0.5, 2}};
    prediction_[Target::kEnergy] = {.value = 0.1, .interval = {0.05, 0.2}};
  }

  bool Take(const LearnedFigure& figure) {
    LeastFigures least(graph_, step_, options_, memory_);
    return TakeFigure(figure,
                      {.graph = graph_,
                       .run = prediction_.run,
                       .device = options_.device,
                       .context = options_.context,
                       .least = least},
                      prediction_);
  }

  const OperatorGraph graph_ = ParseGraph(R"(graph "wide" batch=1
%x = input f32[1,8192]
%y = linear(%x, weight f32[8192,8192]) : f32[1,8192]
output %y
)");
  const MemoryOptions options_ = {
      .device = test::RoundDevice(),
      .context = {.name = "test", .context_mib = {{"*", 100}}}};
  const MemoryBreakdown memory_ = SimulateMemory(graph_, options_);
  const cost::LaunchedStep step_ = cost::LaunchStep(graph_, {});
  Prediction prediction_;
};

TEST_F(TakeFigureOfWeights, RefusesLessThanTheStepTakes) {
  for (const auto& [target, value] :
       {std::pair(Target::kMemory, 340.0), std::pair(Target::kLatency, 0.1),
        std::pair(Target::kEnergy, 0.01)}) {
    const double analytic = prediction_[target].value;
    EXPECT_FALSE(Take(Learned(target, value)));
    EXPECT_EQ(prediction_[target].value, analytic);
    EXPECT_FALSE(prediction_[target].source.IsLearned());
    EXPECT_THAT(prediction_[target].warnings,
                ElementsAre(HasSubstr("that the step takes at least")));
  }
}

TEST_F(TakeFigureOfWeights, RefusesGraphsOutsideOfWhatWasLearned) {
  LearnedFigure figure = Learned(Target::kMemory, 700);
  figure.source.distance = 2.1;
  figure.outside_distance = 2;
  EXPECT_FALSE(Take(figure));
  EXPECT_EQ(prediction_[Target::kMemory].value, 500);
  EXPECT_THAT(prediction_[Target::kMemory].warnings,
              ElementsAre(HasSubstr("unlike those learned from")));
  figure.source.distance = 1.9;
  EXPECT_TRUE(Take(figure));
  EXPECT_EQ(prediction_[Target::kMemory].value, 700);
}

TEST_F(TakeFigureOfWeights, NeverReachesBelowTheLeast) {
  LearnedFigure figure = Learned(Target::kMemory, 400);
  figure.interval = {300, 450};
  EXPECT_TRUE(Take(figure));
  EXPECT_GE(prediction_[Target::kMemory].interval.lo, 356);
}

TEST(PutFigure, CountsAsCacheWhatExceedsTheLeast) {
  Prediction prediction = Analytic();
  prediction.memory.total = 1000 * kMiB;
  prediction.cache_mib = 300;
  PutFigure(Learned(Target::kMemory, 800), prediction);
  EXPECT_EQ(prediction.cache_mib, 100);
  EXPECT_EQ(prediction.LeastMib(), 700);
  PutFigure(Learned(Target::kMemory, 2000), prediction);
  EXPECT_EQ(prediction.cache_mib, 100);
}

TEST(SourceOf, SaysWhereNoLabelWasMeasured) {
  CheckpointInfo info{.devices = {"gpu"}, .sources = {"a", "b"}};
  info.provenance = {{"simulated", 8}};
  EXPECT_EQ(SourceOf(info, {}).method, "learned from simulated labels of a, b");
  info.provenance["measured"] = 1;
  EXPECT_EQ(SourceOf(info, {}).method, "learned from a, b");
  EXPECT_THAT(SourceOf(info, {}).trained_on, ElementsAre("gpu"));
}

TEST(WarnOf, NamesWhatTheNetworkDoesNotKnow) {
  LearnedFigure figure = Learned(Target::kLatency, 5);
  figure.interval = {4, 6};
  std::vector<std::string> warnings;
  WarnOf(figure, {.name = "gpu"}, warnings);
  EXPECT_TRUE(warnings.empty());
  figure.interval.reset();
  figure.source.distance = 3;
  figure.source.far_distance = 2;
  WarnOf(figure, {.name = "other"}, warnings);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("latency: the network is unlike"),
                                    HasSubstr("has no interval"),
                                    HasSubstr("no measurement of other")));
}

}  // namespace
}  // namespace foretell::learned
