#include "foretell/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/answer/interval_width.h"
#include "src/answer/prior_figures.h"
#include "src/core/statistics.h"

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

TEST(Predictor, DoubtsAContextThatIsNotNamedMore) {
  const auto predict = [](const PredictorOptions& options) {
    return Predictor::Analytic(PlainA100(), {.host = Host::kCpp}, options)
        .Predict(ParseGraph(kNetwork));
  };
  const Prediction guessed = predict({});
  const Prediction named =
      predict({.context = DeviceCatalog::BuiltIn().DefaultContext()});
  EXPECT_TRUE(guessed.has_guessed_context);
  EXPECT_FALSE(named.has_guessed_context);
  const Figure& wide = guessed[Target::kMemory];
  const Figure& narrow = named[Target::kMemory];
  EXPECT_EQ(wide.value, narrow.value);
  EXPECT_GT(wide.interval.hi, narrow.interval.hi);
  EXPECT_LT(wide.interval.lo, narrow.interval.lo);
}

TEST(Predictor, RefusesProductsOfEightBitsBeforeAda) {
  const char* const text = R"(graph "network" batch=8
%x = input f8[16,16]
%w = parameter f8[16,16]
%a = _scaled_mm(%x, %w) : bf16[16,16]
output %a
)";
  try {
    PredictText(text);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("a100-sxm4-40gb has 8.0"));
  }
}

TEST(Predictor, RefusesBlocksOfEightBitsBeforeBlackwell) {
  const char* const text = R"(graph "network" batch=8
%x = input bf16[32,32]
%a, %a.2 = torchao::mxfp8_quantize(%x) : f8[32,32], u8[32,1]
output %a
)";
  DeviceSpec device = PlainA100();
  const auto predict = [&] {
    return Predictor::Analytic(device, {.host = Host::kCpp},
                               {.context = Context(400)})
        .Predict(ParseGraph(text));
  };
  device.compute_capability = 90;
  EXPECT_THROW(predict(), Error);
  device.compute_capability = 100;
  EXPECT_NO_THROW(predict());
}

TEST(Predictor, RefusesTransformerEnginesFormatsWhereItDoes) {
  DeviceSpec device = PlainA100();
  const auto runs = [&](const std::string& format, int capability) {
    device.compute_capability = capability;
    const std::string text = R"(graph "network" batch=8
%x = input bf16[32,32]
%a, %b = transformer_engine::quantize(%x) {format=")" +
                             format + R"("} : u8[32,32], u8[128,4]
output %a
)";
    try {
      Predictor::Analytic(device, {.host = Host::kCpp},
                          {.context = Context(400)})
          .Predict(ParseGraph(text));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_FALSE(runs("e4m3", 80));
  EXPECT_TRUE(runs("e4m3", 89));
  EXPECT_FALSE(runs("mxfp8", 90));
  EXPECT_TRUE(runs("mxfp8", 100));
  EXPECT_FALSE(runs("mxfp8", 120));
  EXPECT_TRUE(runs("nvfp4", 120));
}

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

/// Expects the interval of a host that is known exactly.
void ExpectModelFactors(const Prediction& prediction, Target target) {
  const WidthFactors factors = ModelFactors(prediction, target);
  const Figure& figure = prediction[target];
  EXPECT_NEAR(figure.value / figure.interval.lo, factors.below, 1e-9);
  EXPECT_NEAR(figure.interval.hi / figure.value, factors.above, 1e-9);
}

TEST(Predictor, GivesIntervalsThatHoldTheValue) {
  const Prediction prediction =
      PredictText(kNetwork, {.host = HostSpec{.spread = 1}});
  const double total_mib =
      static_cast<double>(prediction.memory.total) / kMebibyte;
  EXPECT_LT(prediction[Target::kMemory].interval.lo, total_mib);
  EXPECT_GT(prediction[Target::kMemory].interval.hi, total_mib);
  ExpectModelFactors(prediction, Target::kLatency);
  ExpectModelFactors(prediction, Target::kEnergy);
}

/// What kNetwork takes on a host, called from C++.
Prediction OnHost(const HostSpec& host, const std::string& text = kNetwork) {
  return PredictText(text, {.host = host});
}

/// kNetwork with one product that takes milliseconds.
std::string GpuBound() {
  std::string text = kNetwork;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"batch=8", "batch=8192"},
        {"f32[8,", "f32[8192,"}}) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

TEST(Predictor, LetsAHostChangeDispatchTimeAlone) {
  const Prediction typical = OnHost({.factor = 1});
  const Prediction slow = OnHost({.name = "old", .factor = 3, .spread = 1.1});
  EXPECT_DOUBLE_EQ(slow.cost.dispatch_ms, 3 * typical.cost.dispatch_ms);
  EXPECT_DOUBLE_EQ(slow.cost.gpu_ms, typical.cost.gpu_ms);
  EXPECT_EQ(slow.bound, StepBound::kHost);
  EXPECT_EQ(slow.memory.total, typical.memory.total);
  EXPECT_GT(slow[Target::kLatency].value, typical[Target::kLatency].value);
  EXPECT_EQ(slow.host.name, "old");
  EXPECT_FALSE(typical.host.IsNamed());
  // The last kernel ends the step: its time is there once.
  EXPECT_LT(slow[Target::kLatency].value, 3 * typical[Target::kLatency].value);
}

TEST(Predictor, HasACopyOnAnotherHost) {
  const HostSpec old{.name = "old", .factor = 3, .spread = 1.1};
  const Predictor typical =
      Predictor::Analytic(PlainA100(), {.host = Host::kCpp});
  const Prediction slow = typical.OnHost(old).Predict(ParseGraph(kNetwork));
  const Prediction made = OnHost(old);
  EXPECT_EQ(slow.host, old);
  for (const Target target : {Target::kLatency, Target::kEnergy}) {
    EXPECT_DOUBLE_EQ(slow[target].value, made[target].value);
    EXPECT_DOUBLE_EQ(slow[target].interval.hi, made[target].interval.hi);
  }
  EXPECT_EQ(typical.host().factor, 1);
  EXPECT_THROW(typical.OnHost({.factor = -1}), Error);
}

TEST(Predictor, ExpectsTheHostOfItsDevice) {
  const OperatorGraph graph = ParseGraph(kNetwork);
  DeviceSpec device = PlainA100();
  const Prediction older = Predictor::Analytic(device, {}).Predict(graph);
  device.compute_capability = 90;
  const Prediction newer = Predictor::Analytic(device, {}).Predict(graph);
  EXPECT_LT(newer.cost.dispatch_ms, 0.8 * older.cost.dispatch_ms);
  EXPECT_TRUE(newer.has_default_host);
  const Prediction named =
      Predictor::Analytic(device, {}, {.host = older.host}).Predict(graph);
  EXPECT_DOUBLE_EQ(named.cost.dispatch_ms, older.cost.dispatch_ms);
  EXPECT_FALSE(named.has_default_host);
}

TEST(AnalyticPriorFigures, AreOfTheTypicalHostOfEveryDevice) {
  const OperatorGraph graph = ParseGraph(kNetwork);
  DeviceSpec device = PlainA100();
  device.compute_capability = 90;
  const double typical = Predictor::Analytic(device, {}, {.host = HostSpec{}})
                             .Predict(graph)[Target::kLatency]
                             .value;
  const learned::PriorFigures prior =
      learned::AnalyticPriorFigures(graph, device, Context(400), {});
  EXPECT_DOUBLE_EQ(ValueOf(prior.values, Target::kLatency), typical);
}

TEST(Predictor, WidensIntervalsByWhatTheHostLeavesOpen) {
  const Prediction prediction = OnHost({.name = "open", .spread = 3});
  const Figure& open = prediction[Target::kLatency];
  const WidthFactors model = ModelFactors(prediction, Target::kLatency);
  // A third of the CPU time and thrice it, as predictions of their own.
  const double fast = OnHost({.factor = 1.0 / 3})[Target::kLatency].value;
  const double slow = OnHost({.factor = 3})[Target::kLatency].value;
  EXPECT_NEAR(open.value / open.interval.lo,
              JointFactor(model.below, open.value / fast), 1e-9);
  EXPECT_NEAR(open.interval.hi / open.value,
              JointFactor(model.above, slow / open.value), 1e-9);
}

TEST(Predictor, WidensIntervalsMostWhereAnUnknownHostDecides) {
  const auto widening = [](const Prediction& prediction) {
    const WidthFactors model = ModelFactors(prediction, Target::kLatency);
    const Interval& interval = prediction[Target::kLatency].interval;
    return interval.hi / interval.lo / (model.below * model.above);
  };
  const Prediction host_bound = OnHost({.factor = 3});
  ASSERT_EQ(host_bound.bound, StepBound::kHost);
  EXPECT_GT(widening(host_bound),
            widening(OnHost({.name = "mine", .factor = 3, .spread = 1.1})));
  EXPECT_GT(widening(host_bound), widening(OnHost({}, GpuBound())));
}

TEST(Predictor, LeavesIntervalsWhereTheGpuDecides) {
  const Prediction prediction = OnHost({}, GpuBound());
  ASSERT_GT(prediction.cost.gpu_ms, 20 * prediction.cost.dispatch_ms);
  EXPECT_EQ(prediction.bound, StepBound::kGpu);
  const WidthFactors model = ModelFactors(prediction, Target::kLatency);
  const Figure& latency = prediction[Target::kLatency];
  EXPECT_NEAR(latency.interval.hi / latency.value, model.above, 0.01);
  EXPECT_NEAR(latency.value / latency.interval.lo, model.below, 0.01);
}

TEST(Predictor, RefusesAHostThatNoneCanBe) {
  for (const HostSpec& host : {HostSpec{.name = "x", .factor = 0},
                               HostSpec{.name = "x", .spread = 0.5}}) {
    EXPECT_THROW(OnHost(host), Error) << host.factor;
  }
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

TEST(Predictor, WarnsOnceOfConvolutionsWithoutCudnn) {
  const OperatorGraph graph = ParseGraph(R"(graph "v"
%x = input f16[1,4,6,6,6]
%y = conv3d(%x, weight f16[4,4,3,3,3]) {padding=[1,1,1]} : f16[1,4,6,6,6]
%z = conv3d(%y, weight f16[4,4,3,3,3]) {padding=[1,1,1]} : f16[1,4,6,6,6]
output %z
)");
  const auto predict = [&graph](int minor) {
    return Predictor::Analytic(PlainA100(), {.torch = {2, minor, {}}},
                               {.context = Context(400)})
        .Predict(graph);
  };
  EXPECT_THAT(predict(9).warnings,
              ElementsAre(HasSubstr("PyTorch 2.9 runs convolutions of three "
                                    "dimensions in 16 bits without cuDNN")));
  EXPECT_THAT(predict(10).warnings, IsEmpty());
  EXPECT_GT(predict(9).memory.workspace_peak,
            predict(10).memory.workspace_peak);
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
  EXPECT_THAT(warnings(162),
              ElementsAre(HasSubstr("emptying the allocator's cache")));
  EXPECT_THAT(warnings(161), ElementsAre(HasSubstr("needs about 162 MiB")));
}

TEST(Predictor, PassesItsOptionsOn) {
  const Prediction with = PredictText(kNetwork);
  const Prediction without = PredictText(kNetwork, {.with_workspaces = false});
  EXPECT_GT(with.memory.workspace_peak, 0);
  EXPECT_EQ(without.memory.workspace_peak, 0);
  const Prediction slow =
      PredictText(kNetwork, {.host = HostSpec{.factor = 100}});
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

TEST(PredictRun, AddsUpTheTimesOfNetworksInOneProcess) {
  const OperatorGraph graph = ParseGraph(kNetwork);
  const Predictor predictor = Predictor::Analytic(PlainA100(), {});
  const Prediction one = predictor.Predict(graph);
  const Prediction two = predictor.PredictRun(
      PassSequence({{&graph, 0}, {&graph, 1}}), 0, /*adds_up=*/true);
  for (const Target target : {Target::kLatency, Target::kEnergy}) {
    EXPECT_DOUBLE_EQ(two[target].value, 2 * one[target].value);
    EXPECT_DOUBLE_EQ(two[target].interval.hi, 2 * one[target].interval.hi);
  }
  EXPECT_EQ(two.memory.AtPeak(TensorRole::kParameter),
            2 * one.memory.AtPeak(TensorRole::kParameter));
  EXPECT_NEAR(two.cost.average_power_w, one.cost.average_power_w, 1e-6);
  ASSERT_EQ(two.slices.size(), one.slices.size());
  EXPECT_DOUBLE_EQ(two.slices[0].latency, one.slices[0].latency);
  EXPECT_EQ(two.warnings, one.warnings);
  EXPECT_GT(two.memory.allocated_peak, one.memory.allocated_peak);
  EXPECT_GE(two.LeastMib(), one.LeastMib());
}

TEST(PredictRun, OfOnePassAgainAndAgainIsItsStep) {
  const OperatorGraph graph = ParseGraph(kNetwork);
  const Predictor predictor = Predictor::Analytic(PlainA100(), {});
  const Prediction one = predictor.Predict(graph);
  const Prediction run = predictor.PredictRun(
      PassSequence({{&graph}, {&graph}}), 1, /*adds_up=*/false);
  for (const Target target : kAllTargets) {
    EXPECT_DOUBLE_EQ(run[target].value, one[target].value);
    EXPECT_DOUBLE_EQ(run[target].interval.lo, one[target].interval.lo);
  }
  EXPECT_DOUBLE_EQ(run.LeastMib(), one.LeastMib());
  EXPECT_EQ(run.on_device_mib, one.on_device_mib);
  ASSERT_EQ(run.passes.size(), 2u);
  EXPECT_DOUBLE_EQ(run.passes[0].latency_ms, one[Target::kLatency].value);
}

}  // namespace
}  // namespace foretell
