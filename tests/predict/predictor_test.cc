#include "foretell/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/graph_io.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMebibyte = 1 << 20;

const DeviceSpec& PlainA100() {
  return DeviceCatalog::BuiltIn().FindDevice("a100");
}

ContextModel Context(double mib) {
  ContextModel context;
  context.name = "test";
  context.context_mib = {{"*", mib}};
  context.context_uncertainty_mib = 50;
  return context;
}

Prediction PredictText(const std::string& text, PredictorOptions options = {}) {
  options.context = Context(400);
  return Predictor::Analytic(PlainA100(), {.host = Host::kCpp}, options)
      .Predict(ParseGraph(text));
}

const char* const kNetwork = R"(graph "network" batch=8
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
%c = mean(%b) : f32[8,64]
%d = linear(%c, weight f32[1000,64]) : f32[8,1000]
output %d
)";

TEST(Predictor, JoinsTheSimulationAndTheEstimate) {
  const OperatorGraph graph = ParseGraph(kNetwork);
  const Prediction prediction = PredictText(kNetwork);
  const MemoryBreakdown memory =
      SimulateMemory(graph, {.device = PlainA100(), .context = Context(400)});
  const CostEstimate cost = EstimateCost(graph, PlainA100());
  EXPECT_EQ(prediction.memory.total, memory.total);
  EXPECT_DOUBLE_EQ(prediction[Target::kMemory].value,
                   static_cast<double>(memory.total) / kMebibyte);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].value, cost.latency_ms);
  EXPECT_DOUBLE_EQ(prediction[Target::kEnergy].value, cost.energy_j);
  EXPECT_EQ(prediction.device, "a100-sxm4-40gb");
  EXPECT_EQ(prediction.context, "test");
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
}

TEST(Predictor, SaysWhatAStepInGradModeTakes) {
  const std::string plain(kNetwork);
  std::string recorded = plain;
  recorded.replace(recorded.find(" batch=8"), 8, " grad=on batch=8");
  // As though autograd kept the first result, 8 x 64 x 56 x 56 values.
  recorded.replace(recorded.find("output %d"), 9, "output %d, %a");
  const Predictor predictor =
      Predictor::Analytic(PlainA100(), {}, {.context = Context(400)});
  const Prediction without = predictor.Predict(ParseGraph(plain));
  const Prediction with = predictor.Predict(ParseGraph(recorded));
  EXPECT_FALSE(without.run.grad_mode);
  EXPECT_TRUE(with.run.grad_mode);
  EXPECT_GE(with[Target::kMemory].value, without[Target::kMemory].value);
  EXPECT_DOUBLE_EQ(predictor.MemoryInGradMode(without, ParseGraph(recorded)),
                   with[Target::kMemory].value);
  // Another figure, a learned one, moves by the same difference.
  Prediction learned = without;
  learned[Target::kMemory].value += 100;
  EXPECT_DOUBLE_EQ(predictor.MemoryInGradMode(learned, ParseGraph(recorded)),
                   with[Target::kMemory].value + 100);
}

TEST(Predictor, GivesIntervalsThatHoldTheValue) {
  const Prediction prediction = PredictText(kNetwork);
  const double total_mib =
      static_cast<double>(prediction.memory.total) / kMebibyte;
  EXPECT_LT(prediction[Target::kMemory].interval.lo, total_mib);
  EXPECT_GT(prediction[Target::kMemory].interval.hi, total_mib);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].interval.lo,
                   prediction[Target::kLatency].value / 2);
  EXPECT_DOUBLE_EQ(prediction[Target::kLatency].interval.hi,
                   prediction[Target::kLatency].value * 2);
  EXPECT_DOUBLE_EQ(prediction[Target::kEnergy].interval.lo,
                   prediction[Target::kEnergy].value / 2);
  EXPECT_DOUBLE_EQ(prediction[Target::kEnergy].interval.hi,
                   prediction[Target::kEnergy].value * 2);
}

TEST(Predictor, CoversAKnownNetworkEntirely) {
  const Prediction prediction = PredictText(kNetwork);
  EXPECT_EQ(prediction.coverage.operators, 1);
  EXPECT_EQ(prediction.coverage.macs, 1);
  EXPECT_EQ(prediction.coverage.bytes, 1);
  EXPECT_THAT(prediction.coverage.unknown_operators, IsEmpty());
  EXPECT_THAT(prediction.warnings, IsEmpty());
}

TEST(Predictor, NamesTheOperatorsThatItDoesNotKnow) {
  const Prediction prediction = PredictText(R"(graph "odd"
%x = input f32[100]
%a = zebra(%x) : f32[100]
%b = relu(%a) : f32[100]
%c = aardvark(%b) : f32[200]
%d = zebra(%b) : f32[100]
output %c, %d
)");
  EXPECT_THAT(prediction.coverage.unknown_operators,
              ElementsAre("aardvark", "zebra"));
  EXPECT_DOUBLE_EQ(prediction.coverage.operators, 0.25);
  // 800 of 800 + 800 + 1200 + 800 bytes.
  EXPECT_DOUBLE_EQ(prediction.coverage.bytes, 800.0 / 3600);
  ASSERT_EQ(prediction.warnings.size(), 1u);
  EXPECT_THAT(prediction.warnings[0], HasSubstr("aardvark, zebra"));
  // Never a silent zero: they still cost what their tensors suggest.
  EXPECT_GT(prediction.cost.nodes[0].gpu_us, 0);
}

TEST(Predictor, WarnsOfAnEmptyGraph) {
  const Prediction prediction = PredictText("graph \"empty\"\n");
  EXPECT_THAT(prediction.warnings, ElementsAre("the graph has no operators"));
  EXPECT_EQ(prediction.coverage.operators, 1);
}

TEST(Predictor, WarnsOfRecurrentLayers) {
  EXPECT_THAT(PredictText(R"(graph "r"
%x = input f32[5,1,8]
%h = input f32[1,1,8]
%y, %n = gru(%x, %h, weight f32[24,8], weight f32[24,8]) : f32[5,1,8], f32[1,1,8]
output %y
)")
                  .warnings,
              ElementsAre(HasSubstr("recurrent layers")));
}

TEST(Predictor, WarnsOfDoublePrecision) {
  EXPECT_THAT(PredictText(R"(graph "d"
%x = input f64[5,8]
%y = linear(%x, weight f64[4,8]) : f64[5,4]
output %y
)")
                  .warnings,
              ElementsAre(HasSubstr("double precision")));
}

TEST(Predictor, WarnsOfARunThatDoesNotFitTheDevice) {
  EXPECT_THAT(PredictText(R"(graph "huge"
%x = input f32[16777216,1024]
%y = relu(%x) : f32[16777216,1024]
output %y
)")
                  .warnings,
              ElementsAre(HasSubstr("a100-sxm4-40gb has 40441")));
}

TEST(Predictor, TellsARunWithoutCacheFromNone) {
  // 40 MiB die before 60 MiB are born: 102 MiB are taken, 62 are enough.
  const auto warnings = [](std::int64_t usable_mib) {
    DeviceSpec device = PlainA100();
    device.usable_mib = usable_mib;
    return Predictor::Analytic(
               device, {},
               {.context =
                    ContextModel{.name = "test", .context_mib = {{"*", 100}}}})
        .Predict(ParseGraph(R"(graph "phases"
%x = input f32[16]
%a = relu(%x) : f32[10485760]
%s = sum(%a) : f32[]
%b = expand_copy(%s) : f32[15728640]
output %b
)"))
        .warnings;
  };
  EXPECT_THAT(warnings(202), IsEmpty());
  EXPECT_THAT(warnings(201), ElementsAre(HasSubstr("takes about 202 MiB and")));
  EXPECT_THAT(warnings(162), ElementsAre(HasSubstr("is given back")));
  EXPECT_THAT(warnings(161), ElementsAre(HasSubstr("needs about 162 MiB")));
}

TEST(Predictor, PassesItsOptionsOn) {
  const Prediction with = PredictText(kNetwork);
  const Prediction without = PredictText(kNetwork, {.with_workspaces = false});
  EXPECT_GT(with.memory.workspace_peak, 0);
  EXPECT_EQ(without.memory.workspace_peak, 0);
  const Prediction slow =
      PredictText(kNetwork, {.cost = {.dispatch_scale = 100}});
  EXPECT_GT(slow[Target::kLatency].value, 10 * with[Target::kLatency].value);
}

TEST(Predictor, RefusesADeviceWithoutRates) {
  DeviceSpec device = PlainA100();
  device.bandwidth_gb_s = 0;
  EXPECT_THROW(Predictor::Analytic(device, {}), Error);
}

TEST(ToDemand, HandsTheUpperBoundAndTheFiguresOver) {
  const Prediction prediction = PredictText(kNetwork);
  const mig::Demand demand = ToDemand(prediction, "network.onnx");
  EXPECT_EQ(demand.model, "network.onnx");
  EXPECT_DOUBLE_EQ(demand.hi_mib, prediction[Target::kMemory].interval.hi);
  EXPECT_DOUBLE_EQ(demand.lo_mib, prediction[Target::kMemory].interval.lo);
  EXPECT_DOUBLE_EQ(demand.total_mib,
                   static_cast<double>(prediction.memory.total) / kMebibyte);
  EXPECT_EQ(demand.latency_ms, prediction[Target::kLatency].value);
  EXPECT_EQ(demand.energy_j, prediction[Target::kEnergy].value);
}

TEST(ToDemand, TakesTheSlicesAtTheirRatiosToTheDevice) {
  Prediction prediction;
  prediction[Target::kLatency].value = 5;
  prediction[Target::kEnergy].value = 3;
  prediction.slices = {{.profile = "1g.5gb", .latency = 4, .energy = 0.5}};
  const mig::Demand demand = ToDemand(prediction);
  ASSERT_EQ(demand.slices.size(), 1u);
  EXPECT_EQ(demand.slices[0].profile, "1g.5gb");
  EXPECT_EQ(demand.slices[0].latency_ms, 20);
  EXPECT_EQ(demand.slices[0].energy_j, 1.5);
}

TEST(ToDemand, SuitsTheRecommendation) {
  const mig::Recommendation recommendation =
      mig::Recommend(ToDemand(PredictText(kNetwork)), PlainA100());
  EXPECT_EQ(recommendation.profile, "1g.5gb");
  EXPECT_NO_THROW(
      mig::Recommend(ToDemand(PredictText("graph \"empty\"\n")), PlainA100()));
}

}  // namespace
}  // namespace foretell
