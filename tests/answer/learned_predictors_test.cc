#include "src/answer/learned_predictors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/answer/learned_model.h"

namespace foretell::learned {
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

/// A convolution of 256 channels with its norm, from FP32 under autocast.
std::string Convolved(const std::string& name, const std::string& input) {
  const std::string shape = "[64,256,14,14]";
  return "%w" + name + " = parameter f32[256,256,3,3]\n%v" + name + " = to(%w" +
         name + ") {autocast=true} : f16[256,256,3,3]\n%c" + name +
         " = conv2d(%" + input + ", %v" + name + ") {padding=[1,1]} : f16" +
         shape + "\n%" + name + " = batch_norm(%c" + name +
         ", %n, %n, %n, %n) : f16" + shape + "\n";
}

/// Sixteen residual blocks, traced under autocast.
std::string CastNetwork() {
  const std::string type = "f16[64,256,14,14]";
  std::string text =
      "graph \"g\" autocast=f16 batch=64\n%x = input f32[64,256,14,14]\n"
      "%n = parameter f32[256]\n%r0 = to(%x) {autocast=true} : " +
      type + "\n";
  for (int i = 0; i < 16; ++i) {
    const std::string number = std::to_string(i);
    const std::string next = std::to_string(i + 1);
    text += Convolved("a" + number, "r" + number) + "%b" + number +
            " = relu(%a" + number + ") : " + type + "\n" +
            Convolved("d" + number, "b" + number) + "%s" + number +
            " = add(%d" + number + ", %r" + number + ") : " + type + "\n%r" +
            next + " = relu(%s" + number + ") : " + type + "\n";
  }
  return text + "output %r16\n";
}

constexpr char kStep[] = R"(graph "g" mode=training precision=fp32 batch=64
%x = input f32[64,3,224,224]
%a = conv2d(%x, weight f32[64,3,7,7]) {stride=[2,2], padding=[3,3]} : f32[64,64,112,112] saved
phase backward
%g = relu(%a) : f32[64,64,112,112] backward_temporary
)";

Prediction Predicted(const std::string& text, const std::string& device,
                     const Run& run, Method method = Method::kAuto) {
  return Predictor::Make(DeviceCatalog::BuiltIn().FindDevice(device), run,
                         {.method = method})
      .Predict(ParseGraph(text));
}

/// Operators called from C++, so that a fast GPU does not wait for them.
constexpr Run kPlain = {.host = Host::kCpp};
constexpr Run kAmp = {.autocast = true, .host = Host::kCpp};

TEST(LearnedPredictors, KnowLatencyUnderAutocastWhereItWasMeasured) {
  const Prediction analytic =
      Predicted(CastNetwork(), "rtx-4090", kAmp, Method::kAnalytic);
  const Prediction learned =
      Predicted(CastNetwork(), "rtx-4090", kAmp, Method::kLearned);
  EXPECT_EQ(analytic[Target::kLatency].source.method, "analytic, uncalibrated");
  EXPECT_EQ(learned[Target::kLatency].source.method, "learned from timm");
  EXPECT_EQ(learned[Target::kMemory].source.method, "analytic, uncalibrated");
  EXPECT_EQ(learned[Target::kEnergy].source.method, "analytic, uncalibrated");
  EXPECT_NE(learned[Target::kLatency].value, analytic[Target::kLatency].value);
  EXPECT_LT(learned[Target::kLatency].interval.lo,
            learned[Target::kLatency].value);
  EXPECT_GT(learned[Target::kLatency].interval.hi,
            learned[Target::kLatency].value);
  EXPECT_LT(learned[Target::kLatency].interval.hi -
                learned[Target::kLatency].interval.lo,
            analytic[Target::kLatency].interval.hi -
                analytic[Target::kLatency].interval.lo);
  ASSERT_TRUE(learned[Target::kLatency].source.distance);
  EXPECT_GT(*learned[Target::kLatency].source.distance, 0);
  EXPECT_THAT(
      learned[Target::kLatency].source.trained_on,
      ElementsAre("rtx-3090", "rtx-4090", "rtx-5090", "rtx-pro-6000-maxq"));
}

TEST(LearnedPredictors, CountWhatTheOptimizerKeeps) {
  // A step of 64 MiB of parameters; with as many states as are written out.
  const auto memory_mib = [](const std::string& states) {
    std::string text = kStep;
    text.insert(text.find("%a ="), "%w = parameter f32[16777216]\n" + states);
    return Predicted(text, "a100-sxm4-40gb", kPlain,
                     Method::kLearned)[Target::kMemory];
  };
  const std::string state = "%s = optimizer_state f32[16777216]\n";
  const std::string second = "%t = optimizer_state f32[16777216]\n";
  const Figure sgd = memory_mib("");
  const Figure momentum = memory_mib(state);
  const Figure adam = memory_mib(state + second);
  EXPECT_TRUE(sgd.source.IsLearned());
  EXPECT_NEAR(momentum.value - sgd.value, 64, 6);
  EXPECT_NEAR(adam.value - momentum.value, 64, 6);
  EXPECT_NEAR(adam.interval.hi - momentum.interval.hi, 64, 6);
}

TEST(LearnedPredictors, KeepThePartsOfALatencyInProportion) {
  const Prediction analytic =
      Predicted(CastNetwork(), "rtx-4090", kAmp, Method::kAnalytic);
  const Prediction learned =
      Predicted(CastNetwork(), "rtx-4090", kAmp, Method::kLearned);
  const double ratio =
      learned[Target::kLatency].value / analytic[Target::kLatency].value;
  EXPECT_NEAR(learned.cost.memory_ms, analytic.cost.memory_ms * ratio, 1e-9);
  EXPECT_NEAR(learned[Target::kEnergy].value,
              analytic[Target::kEnergy].value * ratio, 1e-9);
  EXPECT_NEAR(learned.cost.average_power_w, analytic.cost.average_power_w,
              1e-9);
}

TEST(LearnedPredictors, StayAnalyticWithoutAutocast) {
  const Prediction prediction = Predicted(kNetwork, "rtx-4090", kPlain);
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.AllWarnings(), IsEmpty());
}

TEST(LearnedPredictors, AreLessSureOfDevicesThatWereNotMeasured) {
  const Prediction known =
      Predicted(CastNetwork(), "rtx-4090", kAmp, Method::kLearned);
  const Prediction prediction =
      Predicted(CastNetwork(), "a100-sxm4-40gb", kAmp, Method::kLearned);
  EXPECT_EQ(prediction[Target::kLatency].source.method,
            "analytic averaged with learned from timm");
  const auto width = [](const Prediction& one) {
    return one[Target::kLatency].interval.hi /
           one[Target::kLatency].interval.lo;
  };
  EXPECT_GT(width(prediction), width(known));
  EXPECT_THAT(prediction.AllWarnings(),
              ::testing::Contains(HasSubstr(
                  "no measurement of a100-sxm4-40gb was learned from")));
}

TEST(LearnedPredictors, AreNotAskedOfAnA100UnlessTheUserDoes) {
  const auto warnings = [](const char* device) {
    return Predicted(CastNetwork(), device, kAmp).AllWarnings();
  };
  EXPECT_THAT(warnings("a100-sxm4-40gb"), IsEmpty());
  EXPECT_THAT(warnings("a40"),
              ElementsAre(HasSubstr("no measurement of a40 was learned from")));
}

TEST(LearnedPredictors, LeaveStrangeGraphsAnalyticEvenWhenAsked) {
  // A network of a single kind of kernel.
  constexpr char kStrange[] = R"(graph "g" autocast=f16 batch=64
%x = input f16[64,64,256,256]
%a = upsample_nearest2d(%x) : f16[64,64,512,512]
)";
  const Prediction prediction = Predicted(kStrange, "rtx-4090", kAmp);
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.AllWarnings(),
              ::testing::Contains(
                  HasSubstr("latency: analytic, as the network is unlike")));
  const Prediction asked =
      Predicted(kStrange, "rtx-4090", kAmp, Method::kLearned);
  EXPECT_EQ(asked.Method(), "analytic, uncalibrated");
  EXPECT_THAT(asked.AllWarnings(),
              ::testing::Contains(HasSubstr("latency: analytic, as")));
}

TEST(LearnedPredictors, DoNotBeatTheDispatchOfTheCpu) {
  std::string text = "graph \"g\" autocast=f16 batch=1\n%x0 = input f16[64]\n";
  for (int i = 0; i < 200; ++i) {
    text += "%x" + std::to_string(i + 1) + " = relu(%x" + std::to_string(i) +
            ") : f16[64]\n";
  }
  const Prediction prediction =
      Predicted(text, "rtx-4090", kAmp, Method::kLearned);
  EXPECT_EQ(prediction[Target::kLatency].source.method,
            "analytic, uncalibrated");
  EXPECT_THAT(prediction.AllWarnings(),
              ::testing::Contains(HasSubstr("longer to dispatch")));
}

TEST(LearnedPredictors, SayWhenNothingWasLearnedOfSuchARun) {
  const Prediction prediction =
      Predicted(kNetwork, "rtx-4090", kPlain, Method::kLearned);
  EXPECT_EQ(prediction.Method(), "analytic, uncalibrated");
  EXPECT_THAT(prediction.AllWarnings(),
              ElementsAre(HasSubstr("no figure of such a run was learned")));
}

TEST(LearnedPredictors, KnowMemoryOfTrainingOnlyWhenAsked) {
  const Prediction plain = Predicted(kStep, "a100-sxm4-40gb", kPlain);
  EXPECT_EQ(plain[Target::kMemory].source.method, "analytic, uncalibrated");
  const Prediction learned =
      Predicted(kStep, "a100-sxm4-40gb", kPlain, Method::kLearned);
  EXPECT_EQ(learned[Target::kMemory].source.method,
            "learned from gpumemnet-timm");
  EXPECT_NE(learned[Target::kMemory].value, plain[Target::kMemory].value);
  EXPECT_LT(learned[Target::kMemory].interval.lo,
            learned[Target::kMemory].interval.hi);
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
}  // namespace foretell::learned
