#include "src/correct/apply_correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kSteps[] = R"(graph "steps" batch=8
%x = input f32[8,64,56,56]
%a = conv2d(%x, weight f32[64,64,3,3]) {padding=[1,1]} : f32[8,64,56,56]
%b = relu(%a) : f32[8,64,56,56]
%c = mean(%b) : f32[8,64]
%d = linear(%c, weight f32[1000,64]) : f32[8,1000]
output %d
)";
/// 8 * 56 * 56 * 64 * 64 * 9 of the convolution, 8 * 1000 * 64.
constexpr double kMacs = 924844032 + 512000;

CorrectedFigure FigureOfRows(int rows) {
  return {.rows = rows,
          .before = {.median = 0.1, .mean = 0.125},
          .after = {.median = 0.05, .mean = 0.0625},
          .largest_residual = 0.25,
          .corrects = {"analytic, uncalibrated"}};
}

/// What the steps are corrected by on an A100.
Correction Sample() {
  Correction sample{.origin = "mine.json",
                    .scope = {.device = "a100-sxm4-40gb", .context = "cuda13"},
                    .terms = {.host = {.factor = 1.5},
                              .level = 0.125,
                              .exponent = -0.5,
                              .reference_rate = 2e9,
                              .lowest_rate = 1e6,
                              .highest_rate = 1e12,
                              .memory_mib = 100,
                              .energy_level = -0.25},
                    .rows = 7,
                    .networks = 5};
  for (const Target target : kAllTargets) sample[target] = FigureOfRows(7);
  return sample;
}

Predictor Adapted(const Correction& correction, const Run& run = {}) {
  return Predictor::Analytic(
      DeviceCatalog::BuiltIn().FindDevice("a100"), run,
      {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
       .correction = correction});
}

Prediction Plain(double host_factor) {
  return Predictor::Analytic(
             DeviceCatalog::BuiltIn().FindDevice("a100"), {},
             {.context = DeviceCatalog::BuiltIn().FindContext("cuda13"),
              .host = HostSpec{.factor = host_factor}})
      .Predict(ParseGraph(kSteps));
}

TEST(ApplyCorrection, MultipliesLatencyByTheRate) {
  const Correction sample = Sample();
  // exp(1/8), times the square root of 2e9 / 8e9.
  EXPECT_NEAR(sample.terms.LatencyFactor(8e9, 1), std::exp(0.125) * 0.5, 1e-12);
  // Beyond the rows, as at their end.
  EXPECT_EQ(sample.terms.LatencyFactor(1e15, 1),
            sample.terms.LatencyFactor(1e12, 1));
  EXPECT_EQ(sample.terms.LatencyFactor(0, 1),
            sample.terms.LatencyFactor(1e6, 1));
}

TEST(ApplyCorrection, CorrectsTheFigures) {
  const Correction sample = Sample();
  const Prediction plain = Plain(1.5);
  const Prediction adapted = Adapted(sample).Predict(ParseGraph(kSteps));
  const double plain_ms = plain[Target::kLatency].value;
  const double factor = sample.terms.LatencyFactor(kMacs, plain_ms);
  EXPECT_NEAR(adapted[Target::kLatency].value, plain_ms * factor, 1e-9);
  EXPECT_NEAR(adapted.cost.latency_ms, plain_ms * factor, 1e-9);
  EXPECT_NEAR(adapted.cost.compute_ms, plain.cost.compute_ms * factor, 1e-9);
  EXPECT_NEAR(adapted[Target::kEnergy].value,
              plain[Target::kEnergy].value * factor * std::exp(-0.25), 1e-9);
  EXPECT_NEAR(adapted.cost.energy_j, adapted[Target::kEnergy].value, 1e-9);
  EXPECT_NEAR(adapted[Target::kMemory].value,
              plain[Target::kMemory].value + 100, 1e-3);
  EXPECT_EQ(adapted.memory.context - plain.memory.context, 100 << 20);
  EXPECT_EQ(adapted[Target::kLatency].source.method,
            "analytic, uncalibrated, adapted by 7 rows of a100-sxm4-40gb");
  EXPECT_THAT(adapted.AllWarnings(), IsEmpty());
}

TEST(ApplyCorrection, SlowsAHostAndNothingElse) {
  Correction host{.scope = {.device = "a100-sxm4-40gb"},
                  .terms = {.host = {.factor = 3}}};
  host[Target::kLatency] = FigureOfRows(7);
  const Prediction plain = Plain(1);
  const Prediction adapted = Adapted(host).Predict(ParseGraph(kSteps));
  EXPECT_NEAR(adapted.cost.dispatch_ms, 3 * plain.cost.dispatch_ms, 1e-9);
  EXPECT_NEAR(adapted.cost.gpu_ms, plain.cost.gpu_ms, 1e-9);
}

TEST(ApplyCorrection, SaysTheHostThatItIsOf) {
  Correction named = Sample();
  named.terms.host = {.name = "mine", .factor = 1.5, .spread = 1.2};
  const HostSpec& host = Adapted(named).host();
  EXPECT_EQ(host, named.terms.host);
  EXPECT_EQ(CorrectionFromJson(CorrectionToJson(named), "mine.json").terms.host,
            named.terms.host);
  // Rows that say nothing of the host leave the one that is asked for.
  named[Target::kLatency].reset();
  named[Target::kEnergy].reset();
  EXPECT_EQ(Adapted(named).host().name, "");
  EXPECT_EQ(Adapted(named).host().factor, 1);
}

TEST(ApplyCorrection, LeavesSlicesTheirRatios) {
  const Prediction plain = Plain(1.5);
  const Prediction adapted = Adapted(Sample()).Predict(ParseGraph(kSteps));
  ASSERT_EQ(adapted.slices.size(), plain.slices.size());
  ASSERT_GT(plain.slices.size(), 0u);
  const mig::Demand before = ToDemand(plain);
  const mig::Demand after = ToDemand(adapted);
  const double factor =
      adapted[Target::kLatency].value / plain[Target::kLatency].value;
  EXPECT_GT(std::abs(factor - 1), 0.01);
  for (std::size_t i = 0; i < before.slices.size(); ++i) {
    EXPECT_EQ(after.slices[i].profile, before.slices[i].profile);
    EXPECT_NEAR(after.slices[i].latency_ms,
                before.slices[i].latency_ms * factor, 1e-9);
  }
  EXPECT_NEAR(after.hi_mib, adapted[Target::kMemory].interval.hi, 1e-9);
}

TEST(ApplyCorrection, TakesTheIntervalFromEnoughRows) {
  Correction sample = Sample();
  sample[Target::kLatency]->half_width = 0.1;
  const Figure figure =
      Adapted(sample).Predict(ParseGraph(kSteps))[Target::kLatency];
  EXPECT_NEAR(figure.interval.lo, figure.value * std::exp(-0.1), 1e-9);
  EXPECT_NEAR(figure.interval.hi, figure.value * std::exp(0.1), 1e-9);
}

TEST(ApplyCorrection, NeverNarrowsTheIntervalByFewRows) {
  Correction sample = Sample();
  const Figure wide =
      Adapted(sample).Predict(ParseGraph(kSteps))[Target::kLatency];
  const Figure plain = Plain(1.5)[Target::kLatency];
  EXPECT_NEAR(wide.interval.hi / wide.value, plain.interval.hi / plain.value,
              1e-9);
  sample[Target::kLatency]->largest_residual = 1;
  const Figure wider =
      Adapted(sample).Predict(ParseGraph(kSteps))[Target::kLatency];
  EXPECT_NEAR(wider.interval.lo, wider.value * std::exp(-1), 1e-9);
  EXPECT_NEAR(wider.interval.hi, wider.value * std::exp(1), 1e-9);
}

TEST(ApplyCorrection, WarnsWhereItCorrectedOtherFigures) {
  Correction sample = Sample();
  sample[Target::kLatency]->corrects = {"learned from timm"};
  EXPECT_THAT(
      Adapted(sample).Predict(ParseGraph(kSteps)).AllWarnings(),
      ElementsAre(HasSubstr("latency: adapted by rows whose figures were "
                            "learned from timm; this one is analytic")));
}

TEST(ApplyCorrection, RefusesAnotherDeviceRunAndEnvironment) {
  Correction sample = Sample();
  sample.scope.device = "h100-sxm5-80gb";
  ExpectError([&] { Adapted(sample); }, ErrorCode::kInvalidArgument,
              "mine.json: was measured with device h100-sxm5-80gb; asked "
              "for is a100-sxm4-40gb");
  ExpectError([] { Adapted(Sample(), {.precision = Precision::kFp16}); },
              ErrorCode::kInvalidArgument,
              "measured with precision \"fp32\"; asked for is \"fp16\"");
  ExpectError([] { Adapted(Sample(), {.autocast = true}); },
              ErrorCode::kInvalidArgument, "autocast false; asked for is true");
  ExpectError(
      [] {
        Predictor::Analytic(DeviceCatalog::BuiltIn().FindDevice("a100"), {},
                            {.host = HostSpec{.name = "his", .factor = 2},
                             .correction = Sample()});
      },
      ErrorCode::kInvalidArgument,
      "measured with host without a name; asked for is his");
  sample = Sample();
  sample.scope.context = "another";
  ExpectError([&] { Adapted(sample); }, ErrorCode::kInvalidArgument,
              "environment another; asked for is cuda13");
  // Without an adapted memory the context does not matter; nor does the
  // optimizer where nothing is trained.
  sample[Target::kMemory].reset();
  EXPECT_NO_THROW(Adapted(sample, {.optimizer = Optimizer::kAdam}));
}

TEST(ApplyCorrection, AsksWhatCallsTheOperatorsForTimesAlone) {
  Correction sample = Sample();
  ExpectError([&] { Adapted(sample, {.host = Host::kCpp}); },
              ErrorCode::kInvalidArgument,
              "with host \"python\"; asked for is \"cpp\"");
  sample[Target::kLatency].reset();
  sample[Target::kEnergy].reset();
  EXPECT_NO_THROW(Adapted(sample, {.host = Host::kCpp}));
}

}  // namespace
}  // namespace foretell
