#include "datasets/collect/simulate_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace foretell::dataset {
namespace {

Prediction PredictionOf(double memory_mib) {
  Prediction prediction;
  prediction[Target::kMemory].value = memory_mib;
  prediction[Target::kLatency].value = 2.5;
  prediction[Target::kEnergy].value = 0.5;
  prediction.memory.allocated_peak = std::int64_t{3} << 20;
  prediction.memory.reserved_peak = std::int64_t{4} << 20;
  return prediction;
}

DeviceSpec SmallDevice() {
  DeviceSpec device;
  device.usable_mib = 1000;
  return device;
}

TEST(LabelOfAPrediction, HasAllFiguresOfAStepThatFits) {
  const Label label = LabelOf(PredictionOf(1000), SmallDevice(), R"({"a":1})");
  EXPECT_EQ(label.status, LabelStatus::kOk);
  EXPECT_EQ(label.setting, R"({"a":1})");
  EXPECT_EQ(label.memory_mib, 1000);
  EXPECT_EQ(label.allocated_mib, 3);
  EXPECT_EQ(label.reserved_mib, 4);
  EXPECT_EQ(label.latency_ms, 2.5);
  EXPECT_EQ(label.energy_j, 0.5);
}

TEST(LabelOfAPrediction, HasOnlyMemoryOfAStepThatDoesNot) {
  const Label label = LabelOf(PredictionOf(1000.5), SmallDevice(), "{}");
  EXPECT_EQ(label.status, LabelStatus::kOutOfMemory);
  EXPECT_EQ(label.reason, "needs 1000.500000 MiB of 1000.000000");
  EXPECT_EQ(label.memory_mib, 1000.5);
  EXPECT_FALSE(label.latency_ms.has_value());
  EXPECT_FALSE(label.energy_j.has_value());
}

TEST(SimulationSource, SaysWhereAFigureMayBeLearned) {
  const foretell::Run plain;
  const foretell::Run mixed = {.autocast = true};
  EXPECT_EQ(SimulationSource(plain, Method::kAuto, false), "foretell analytic");
  EXPECT_EQ(SimulationSource(mixed, Method::kAuto, false), "foretell predict");
  EXPECT_EQ(SimulationSource(mixed, Method::kAnalytic, false),
            "foretell analytic");
  EXPECT_EQ(SimulationSource(plain, Method::kLearned, false),
            "foretell predict");
  EXPECT_EQ(SimulationSource(plain, Method::kAuto, true), "foretell predict");
}

TEST(SimulationSetting, HasContextAndHostAndUnderAutocastTheRun) {
  const auto plain =
      nlohmann::json::parse(SimulationSetting({.host = Host::kCpp}, {}, "now"));
  EXPECT_EQ(plain, nlohmann::json({{"environment", "now"}, {"host", "cpp"}}));
  const auto mixed =
      nlohmann::json::parse(SimulationSetting({.autocast = true}, {}, "now"));
  EXPECT_EQ(mixed["environment"], "now");
  const auto converted = nlohmann::json::parse(
      SimulationSetting({.channels_last = true}, {}, "now"));
  EXPECT_EQ(converted["memory_format"], "channels_last");
  const auto named = nlohmann::json::parse(
      SimulationSetting({}, {.name = "mine", .factor = 1.5}, "now"));
  EXPECT_EQ(named["host"], "python");
  EXPECT_EQ(named["host_name"], "mine");
  EXPECT_EQ(named["host_factor"], "1.5");
  EXPECT_GT(mixed.size(), 2u);
}

TEST(SimulationSource, TellsGradModeApart) {
  const foretell::Run grad{.grad_mode = true};
  EXPECT_EQ(SimulationSource(grad, Method::kAuto, false),
            "foretell analytic --grad");
  EXPECT_NE(SimulationSetting(grad, {}, "cuda12-lazy"),
            SimulationSetting({}, {}, "cuda12-lazy"));
}

}  // namespace
}  // namespace foretell::dataset
