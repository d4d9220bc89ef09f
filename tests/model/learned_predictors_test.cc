#include "src/model/learned_predictors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/model/learned_model.h"

namespace foretell::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNetwork[] = R"(graph "g" mode=inference precision=fp16 batch=64
%x = input f16[64,3,224,224]
%a = conv2d(%x, weight f16[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f16[64,64,112,112]
%b = relu(%a) : f16[64,64,112,112]
%c = conv2d(%b, weight f16[64,64,3,3]) {stride=[1,1], padding=[1,1]} : f16[64,64,112,112]
output %c
)";

constexpr char kStep[] = R"(graph "g" mode=training precision=fp32 batch=64
%x = input f32[64,3,224,224]
%a = conv2d(%x, weight f32[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f32[64,64,112,112] saved
phase backward
%g = relu(%a) : f32[64,64,112,112] backward_temporary
)";

/// Analytic figures, improved by the built-in networks.
Prediction Improved(const std::string& text, const std::string& device,
                    const LearnedRequest& options) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  LearnedRequest request = options;
  request.device = catalog.FindDevice(device);
  request.environment = catalog.DefaultEnvironment();
  const OperatorGraph graph = ParseGraph(text);
  Prediction prediction =
      Predictor::Analytic(request.device, request.environment).Predict(graph);
  LearnedPredictors::BuiltIn().Improve(graph, request, prediction);
  return prediction;
}

constexpr cost::ExecutionMode kAmp = {.autocast = true};

TEST(LearnedPredictors, KnowLatencyUnderAutocastWhereItWasMeasured) {
  const Prediction analytic = Improved(
      kNetwork, "rtx-4090", {.method = Method::kAnalytic, .mode = kAmp});
  const Prediction learned = Improved(
      kNetwork, "rtx-4090", {.method = Method::kLearned, .mode = kAmp});
  EXPECT_EQ(analytic.latency_source.method, "analytic, uncalibrated");
  EXPECT_EQ(learned.latency_source.method, "learned from timm");
  EXPECT_EQ(learned.memory_source.method, "analytic, uncalibrated");
  EXPECT_EQ(learned.energy_source.method, "analytic, uncalibrated");
  EXPECT_NE(learned.latency_ms, analytic.latency_ms);
  EXPECT_LT(learned.latency_interval_ms.lo, learned.latency_ms);
  EXPECT_GT(learned.latency_interval_ms.hi, learned.latency_ms);
  EXPECT_LT(learned.latency_interval_ms.hi - learned.latency_interval_ms.lo,
            analytic.latency_interval_ms.hi - analytic.latency_interval_ms.lo);
  ASSERT_TRUE(learned.latency_source.distance);
  EXPECT_GT(*learned.latency_source.distance, 0);
  EXPECT_THAT(
      learned.latency_source.trained_on,
      ElementsAre("rtx-3090", "rtx-4090", "rtx-5090", "rtx-pro-6000-maxq"));
}

TEST(LearnedPredictors, KeepThePartsOfALatencyInProportion) {
  const Prediction analytic = Improved(
      kNetwork, "rtx-4090", {.method = Method::kAnalytic, .mode = kAmp});
  const Prediction learned = Improved(
      kNetwork, "rtx-4090", {.method = Method::kLearned, .mode = kAmp});
  const double ratio = learned.latency_ms / analytic.latency_ms;
  EXPECT_NEAR(learned.cost.memory_ms, analytic.cost.memory_ms * ratio, 1e-9);
  EXPECT_NEAR(learned.energy_j, analytic.energy_j * ratio, 1e-9);
  EXPECT_NEAR(learned.cost.average_power_w, analytic.cost.average_power_w,
              1e-9);
}

TEST(LearnedPredictors, StayAnalyticWithoutAutocast) {
  const Prediction prediction = Improved(kNetwork, "rtx-4090", {});
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.warnings, IsEmpty());
}

TEST(LearnedPredictors, AreLessSureOfDevicesThatWereNotMeasured) {
  const LearnedRequest request = {.method = Method::kLearned, .mode = kAmp};
  const Prediction known = Improved(kNetwork, "rtx-4090", request);
  const Prediction prediction = Improved(kNetwork, "a100-sxm4-40gb", request);
  EXPECT_EQ(prediction.latency_source.method, "learned from timm");
  const auto width = [](const Prediction& one) {
    return one.latency_interval_ms.hi / one.latency_interval_ms.lo;
  };
  EXPECT_GT(width(prediction), width(known));
  EXPECT_THAT(prediction.warnings,
              ::testing::Contains(HasSubstr(
                  "no measurement of a100-sxm4-40gb was learned from")));
}

TEST(LearnedPredictors, LeaveStrangeGraphsAnalyticUnlessAsked) {
  // A network of a single kind of kernel.
  constexpr char kStrange[] = R"(graph "g" precision=fp16 batch=64
%x = input f16[64,64,256,256]
%a = upsample_nearest2d(%x) : f16[64,64,512,512]
)";
  const Prediction prediction = Improved(kStrange, "rtx-4090", {.mode = kAmp});
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.warnings,
              ::testing::Contains(HasSubstr("latency: analytic, as unlike")));
  const Prediction asked = Improved(kStrange, "rtx-4090",
                                    {.method = Method::kLearned, .mode = kAmp});
  EXPECT_EQ(asked.latency_source.method, "learned from timm");
  EXPECT_THAT(asked.warnings,
              ::testing::Contains(HasSubstr("its interval need not hold")));
}

TEST(LearnedPredictors, DoNotBeatTheDispatchOfTheCpu) {
  std::string text =
      "graph \"g\" precision=fp16 batch=1\n%x0 = input f16[64]\n";
  for (int i = 0; i < 200; ++i) {
    text += "%x" + std::to_string(i + 1) + " = relu(%x" + std::to_string(i) +
            ") : f16[64]\n";
  }
  const Prediction prediction =
      Improved(text, "rtx-4090", {.method = Method::kLearned, .mode = kAmp});
  EXPECT_EQ(prediction.latency_source.method, "analytic, uncalibrated");
  EXPECT_THAT(prediction.warnings,
              ::testing::Contains(HasSubstr("longer to dispatch")));
}

TEST(LearnedPredictors, SayWhenNothingWasLearnedOfSuchARun) {
  const Prediction prediction =
      Improved(kNetwork, "rtx-4090", {.method = Method::kLearned});
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.warnings,
              ElementsAre(HasSubstr("no figure of such a run was learned")));
}

TEST(LearnedPredictors, KnowMemoryOfTrainingOnlyWhenAsked) {
  const Prediction plain = Improved(kStep, "a100-sxm4-40gb", {});
  EXPECT_EQ(plain.memory_source.method, "analytic, uncalibrated");
  const Prediction learned =
      Improved(kStep, "a100-sxm4-40gb", {.method = Method::kLearned});
  EXPECT_EQ(learned.memory_source.method, "learned from gpumemnet-timm");
  EXPECT_NE(learned.memory.total, plain.memory.total);
  EXPECT_LT(learned.memory_mib.lo, learned.memory_mib.hi);
}

TEST(LearnedPredictors, AreSmall) {
  std::int64_t bytes = 0;
  for (const LearnedModel& learned : LearnedPredictors::BuiltIn().models()) {
    for (const at::Tensor& parameter : learned.network().parameters()) {
      bytes += static_cast<std::int64_t>(parameter.nbytes());
    }
  }
  EXPECT_GT(bytes, 0);
  EXPECT_LT(bytes, 4 << 20);
}

}  // namespace
}  // namespace foretell::model
