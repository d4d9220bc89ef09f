#include "src/answer/pmgns_predictors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "foretell/graph_io.h"
#include "src/answer/pmgns_network.h"
#include "src/network/weights.h"
#include "tests/datasets/expect_error.h"

namespace foretell::learned {
namespace {

using dataset_test::ExpectError;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kA100[] = "a100-sxm4-40gb";
constexpr char kSimulated[] =
    "pmgns learned from simulated labels of foretell analytic";

constexpr char kPmgnsPass[] =
    R"(graph "g" mode=inference precision=fp32 batch=8
%x = input f32[8,3,224,224]
%a = conv2d(%x, weight f32[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f32[8,64,112,112]
%b = relu(%a) : f32[8,64,112,112]
%c = conv2d(%b, weight f32[64,64,3,3]) {stride=[1,1], padding=[1,1]} : f32[8,64,112,112]
output %c
)";

constexpr char kPmgnsStep[] = R"(graph "g" mode=training precision=fp32 batch=64
%x = input f32[64,3,224,224]
%a = conv2d(%x, weight f32[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f32[64,64,112,112] saved
phase backward
%g = relu(%a) : f32[64,64,112,112] backward_temporary
)";

/// `text` with the first `old` replaced.
std::string With(std::string text, const std::string& old,
                 const std::string& fresh) {
  return text.replace(text.find(old), old.size(), fresh);
}

Prediction Answer(const std::string& text, const std::string& device = kA100,
                  const Run& run = {},
                  const PredictorOptions& options = {
                      .method = Method::kPmgns}) {
  return Predictor::Make(DeviceCatalog::BuiltIn().FindDevice(device), run,
                         options)
      .Predict(ParseGraph(text));
}

std::string MethodOf(const Prediction& prediction, Target target) {
  return prediction[target].source.method;
}

TEST(Pmgns, TellsAllThreeFiguresOfInferenceOnAnA100) {
  const Prediction pmgns = Answer(kPmgnsPass);
  const Prediction analytic = Answer(kPmgnsPass, kA100, {}, {});
  for (const Target target : kAllTargets) {
    const Figure& figure = pmgns[target];
    EXPECT_EQ(figure.source.method, kSimulated);
    EXPECT_THAT(figure.source.trained_on, Contains(kA100));
    EXPECT_NE(figure.value, analytic[target].value);
    EXPECT_TRUE(std::isfinite(figure.value) && figure.value > 0);
    // Nothing measured says how wrong it is: the analytic range, moved along.
    EXPECT_NEAR(figure.interval.hi / figure.value,
                analytic[target].interval.hi / analytic[target].value, 1e-9);
  }
  EXPECT_EQ(pmgns.Method(), kSimulated);
  EXPECT_THAT(pmgns.AllWarnings(),
              Contains(HasSubstr("not from measurements")));
}

TEST(Pmgns, SeesThePrecisionAndTheDevice) {
  const double fp32 = Answer(kPmgnsPass)[Target::kLatency].value;
  const double tf32 =
      Answer(With(kPmgnsPass, "fp32", "tf32"))[Target::kLatency].value;
  const double large =
      Answer(kPmgnsPass, "a100-sxm4-80gb")[Target::kLatency].value;
  EXPECT_NE(tf32, fp32);
  EXPECT_NE(large, fp32);
}

TEST(Pmgns, TakesTheLatencyUnderAutocastFromMeasurements) {
  const std::string text =
      With(kPmgnsPass, "precision=fp32", "precision=fp32 autocast=f16");
  const foretell::Run run = {.autocast = true, .host = Host::kCpp};
  const Prediction prediction = Answer(text, kA100, run);
  EXPECT_EQ(MethodOf(prediction, Target::kLatency),
            "pmgns-kernels learned from timm");
  for (const Target target : {Target::kMemory, Target::kEnergy}) {
    EXPECT_EQ(MethodOf(prediction, target), "analytic, uncalibrated");
    EXPECT_THAT(prediction[target].warnings,
                Contains(HasSubstr("pmgns has not learned it")));
  }
  EXPECT_THAT(prediction[Target::kLatency].warnings,
              Contains(HasSubstr("no measurement of a100-sxm4-40gb")));
}

TEST(Pmgns, TakesTheMemoryOfTrainingFromMeasurements) {
  const Prediction prediction = Answer(kPmgnsStep);
  EXPECT_EQ(MethodOf(prediction, Target::kMemory),
            "analytic x pmgns learned from gpumemnet-timm");
  EXPECT_EQ(MethodOf(prediction, Target::kLatency), kSimulated);
  EXPECT_EQ(MethodOf(prediction, Target::kEnergy), kSimulated);
  const Interval& range = prediction[Target::kMemory].interval;
  EXPECT_LT(range.lo, prediction[Target::kMemory].value);
  EXPECT_LT(range.hi / range.lo, 1.5);
}

TEST(Pmgns, LeavesAnalyticWhatItKnowsOfOtherDevicesOnly) {
  const Prediction prediction = Answer(kPmgnsStep, "a30");
  EXPECT_THAT(MethodOf(prediction, Target::kMemory), HasSubstr("pmgns"));
  EXPECT_EQ(MethodOf(prediction, Target::kLatency), "analytic, uncalibrated");
  EXPECT_THAT(prediction.AllWarnings(),
              Contains(HasSubstr("no measurement of a30")));
}

TEST(Pmgns, HoldsTheContextThatIsAskedFor) {
  const ContextModel& old =
      DeviceCatalog::BuiltIn().FindContext("cuda11.6-eager");
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice(kA100);
  const double more =
      old.ContextMib(device) -
      DeviceCatalog::BuiltIn().DefaultContext().ContextMib(device);
  EXPECT_GT(more, 100);
  for (const char* text : {kPmgnsPass, kPmgnsStep}) {
    const Prediction today = Answer(text);
    const Prediction then =
        Answer(text, kA100, {}, {.method = Method::kPmgns, .context = old});
    EXPECT_NEAR(then[Target::kMemory].value - today[Target::kMemory].value,
                more, 1e-6);
  }
}

TEST(Pmgns, RefusesRunsOfWhichItKnowsNothing) {
  const auto refused = [](const std::string& what, const std::string& text,
                          const std::string& device,
                          const foretell::Run& run = {}) {
    ExpectError(ErrorCode::kInvalidArgument, what,
                [&] { Answer(text, device, run); });
  };
  refused("no figure of inference in fp32 on h100-sxm5-80gb", kPmgnsPass,
          "h100-sxm5-80gb");
  refused("no figure of training in bf16 on a100-sxm4-40gb",
          With(kPmgnsStep, "fp32", "bf16"), kA100);
  refused("no figure of inference in grad mode in fp32",
          With(kPmgnsPass, "\n", " grad=on\n"), kA100);
  refused(
      "inference under autocast to fp16: latency (any device), and inference "
      "without autocast under no_grad: memory, latency, energy "
      "(a100-pcie-40gb, ",
      kPmgnsPass, "rtx-4090");
}

constexpr char kPmgnsFile[] = "data/predictors/pmgns/inference.safetensors";

Checkpoint ShippedPmgns() {
  return ReadCheckpoint(std::string(FORETELL_SOURCE_DIR "/") + kPmgnsFile);
}

/// What a network of such a checkpoint makes of the analytic figures of a pass.
Prediction Improved(const Checkpoint& checkpoint) {
  const PmgnsPredictors predictors({PmgnsNetwork(checkpoint, kPmgnsFile)});
  const OperatorGraph graph = ParseGraph(kPmgnsPass);
  const DeviceSpec& device = DeviceCatalog::BuiltIn().FindDevice(kA100);
  // The context of the network's labels, so that none has to be exchanged.
  const Predictor analytic = Predictor::Analytic(
      device, {},
      {.context = DeviceCatalog::BuiltIn().FindContext("cuda13")});
  Prediction prediction = analytic.Predict(graph);
  const MemoryOptions options = {.device = device,
                                 .context = analytic.context()};
  const MemoryBreakdown memory = prediction.memory;
  const cost::LaunchedStep step = cost::LaunchStep(graph, {});
  LeastFigures least(graph, step, options, memory);
  predictors.Improve({.graph = graph,
                      .run = prediction.run,
                      .device = device,
                      .context = analytic.context(),
                      .least = least},
                     prediction);
  return prediction;
}

void SetInterval(Checkpoint& checkpoint, double lo, double hi) {
  for (CheckpointTarget& target : checkpoint.info.targets) {
    target.interval = {.lo = lo, .hi = hi};
  }
}

TEST(Pmgns, WarnsWhereItDiffersFromTheModelThatTaughtIt) {
  Checkpoint checkpoint = ShippedPmgns();
  SetInterval(checkpoint, -9, 9);
  EXPECT_THAT(Improved(checkpoint).AllWarnings(),
              Not(Contains(HasSubstr("further apart"))));
  SetInterval(checkpoint, 0, 0);
  EXPECT_THAT(Improved(checkpoint).AllWarnings(),
              Contains(HasSubstr("further apart")));
}

TEST(Pmgns, TakesTheRangeOfMeasuredLabels) {
  Checkpoint checkpoint = ShippedPmgns();
  checkpoint.info.provenance = {{"measured", 9}};
  checkpoint.info.sources = {"tests"};
  SetInterval(checkpoint, -0.1, 0.2);
  const Prediction prediction = Improved(checkpoint);
  for (const Target target : kAllTargets) {
    const Figure& figure = prediction[target];
    EXPECT_EQ(figure.source.method, "pmgns learned from tests");
    EXPECT_NEAR(figure.interval.hi / figure.value, std::exp(0.2), 1e-9);
  }
  EXPECT_THAT(prediction.AllWarnings(),
              Not(Contains(HasSubstr("not from measurements"))));
}

TEST(Pmgns, AreSmall) {
  for (const PmgnsNetwork& one : PmgnsPredictors::BuiltIn().networks()) {
    EXPECT_LT(
        SerializeCheckpoint(
            {one.learned.info(), WeightsOf(one.learned.network()), {}, ""})
            .size(),
        1U << 20);
  }
}

TEST(Pmgns, LeavesAnEmptyGraphAsItIs) {
  const Prediction prediction = Answer("graph \"g\"\n");
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
}

}  // namespace
}  // namespace foretell::learned
