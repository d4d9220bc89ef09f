#include "foretell/run.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell {
namespace {

constexpr Run kUnusual = {.mode = Mode::kTraining,
                          .precision = Precision::kBf16,
                          .optimizer = Optimizer::kAdamW,
                          .autocast = true,
                          .channels_last = true,
                          .half_group_norm = true,
                          .half_layer_norm = true,
                          .half_weights = true,
                          .torch = {.major = 1, .minor = 13, .patch = 1},
                          .host = Host::kCpp,
                          .restore_folded_norms = true,
                          .power_limit_w = 150};

constexpr Run kRecorded = {.grad_mode = true};

TEST(Run, ComesBackFromItsJson) {
  for (const foretell::Run& run : {foretell::Run{}, kUnusual, kRecorded}) {
    EXPECT_EQ(RunFromJson(RunToJson(run), "test"), run);
  }
  EXPECT_EQ(
      RunToJson({}),
      R"({"autocast":false,"channels_last":false,"grad_mode":false,)"
      R"("half_group_norm":false,"half_layer_norm":false,"half_weights":false,)"
      R"("host":"python",)"
      R"("mode":"inference","optimizer":"sgd","power_limit_w":null,)"
      R"("precision":"fp32",)"
      R"("restore_folded_norms":false,"torch":"2.9"})");
}

/// The JSON of a plain run with `from` replaced by `to`.
std::string Edited(const std::string& from, const std::string& to) {
  std::string json = RunToJson({});
  return json.replace(json.find(from), from.size(), to);
}

TEST(Run, MayLeaveOutItsPowerLimitAndTheTypesOfNorms) {
  EXPECT_EQ(RunFromJson(Edited("\"power_limit_w\":null,", ""), "test"),
            foretell::Run{});
  EXPECT_EQ(RunFromJson(Edited("\"half_group_norm\":false,", ""), "test"),
            foretell::Run{});
  EXPECT_EQ(RunFromJson(Edited("\"half_layer_norm\":false,", ""), "test"),
            foretell::Run{});
  EXPECT_EQ(RunFromJson(Edited("\"half_weights\":false,", ""), "test"),
            foretell::Run{});
}

TEST(Run, RefusesWhatIsNotARun) {
  const auto expect_refused = [](const std::string& json, const char* problem) {
    try {
      RunFromJson(json, "run.json");
      ADD_FAILURE() << "accepted " << json;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
      EXPECT_NE(std::string(error.what()).find(problem), std::string::npos)
          << error.what();
    }
  };
  expect_refused("[]", "run.json");
  expect_refused("{}", "autocast is missing");
  expect_refused(Edited("inference", "dreams"), "mode is 'dreams'");
  expect_refused(Edited("sgd", "lars"), "optimizer is 'lars'");
  expect_refused(Edited("2.9", "newest"), "torch is 'newest'");
  expect_refused(Edited("python", "rust"), "host is 'rust'");
  expect_refused(Edited("false", "0"), "autocast is 0");
  expect_refused(Edited("null", "1.5"), "power_limit_w is 1.5");
  std::string trains = RunToJson({.mode = Mode::kTraining});
  trains.replace(trains.find("mode\":false"), 11, "mode\":true");
  expect_refused(trains, "grad_mode is true");
  expect_refused(Edited("\"torch\"", "\"torch\":\"2.9\",\"torch\""), "twice");
  expect_refused(Edited("\"host\"", "\"color\":1,\"host\""), "color");
}

TEST(Run, TakesTheStepFromTheGraph) {
  const GraphInfo info{.mode = Mode::kTraining,
                       .precision = Precision::kFp16,
                       .optimizer = "adam",
                       .channels_last = true};
  const foretell::Run run =
      RunOf(info, {.optimizer = Optimizer::kMomentum, .host = Host::kCpp});
  EXPECT_EQ(run, (foretell::Run{.mode = Mode::kTraining,
                                .precision = Precision::kFp16,
                                .optimizer = Optimizer::kAdam,
                                .channels_last = true,
                                .host = Host::kCpp}));
  EXPECT_EQ(RunOf({.optimizer = "lars"}, {}).optimizer, Optimizer::kSgd);
  EXPECT_TRUE(RunOf({.grad_mode = true}, {}).grad_mode);
  EXPECT_FALSE(RunOf({}, kRecorded).grad_mode);
  EXPECT_FALSE(RunOf({}, {.channels_last = true}).channels_last);
}

TEST(TorchVersion, IsTheFirstNumberWithADot) {
  EXPECT_EQ(ParseTorchVersion("pytorch-1.13.1+cu117"),
            (TorchVersion{.major = 1, .minor = 13, .patch = 1}));
  EXPECT_EQ(ParseTorchVersion("v10.4rc1"),
            (TorchVersion{.major = 10, .minor = 4}));
  for (const char* text : {"", "newest", "2", "2.", ".5", "v2"}) {
    EXPECT_FALSE(ParseTorchVersion(text)) << text;
  }
}

TEST(TorchVersion, ComesBackFromItsText) {
  for (const char* text : {"1.13", "2.4", "2.4.1", "2.10.0"}) {
    EXPECT_EQ(ToString(*ParseTorchVersion(text)), text);
  }
}

TEST(TorchVersion, IsKnownByWhatItDoesToAttention) {
  const auto generation = [](const char* version) {
    return ParseTorchVersion(version)->Generation();
  };
  EXPECT_EQ(generation("1.12.1"), TorchGeneration::kNoFusedAttention);
  EXPECT_EQ(generation("2.0"), TorchGeneration::kFusedAttention);
  EXPECT_EQ(generation("2.4.0+cu124"), TorchGeneration::kFusedAttention);
  EXPECT_EQ(generation("2.5"), TorchGeneration::kFloatAttentionFallback);
  EXPECT_EQ(generation("2.13.0"), TorchGeneration::kFloatAttentionFallback);
  EXPECT_EQ(TorchVersion{}.Generation(),
            TorchGeneration::kFloatAttentionFallback);
}

TEST(Optimizer, NamesRoundTrip) {
  for (const Optimizer optimizer : kAllOptimizers) {
    EXPECT_EQ(ParseOptimizer(OptimizerName(optimizer)), optimizer);
  }
  EXPECT_THROW(ParseOptimizer("lars"), Error);
}

TEST(Optimizer, KnowsTheNamesOfTransformers) {
  EXPECT_EQ(ParseOptimizer("adamw_8bit"), Optimizer::kBnbAdamW8bit);
  EXPECT_EQ(ParseOptimizer("paged_adamw_8bit"), Optimizer::kPagedAdamW8bit);
  EXPECT_EQ(ParseOptimizer("paged-adamw"), Optimizer::kPagedAdamW);
  EXPECT_EQ(ParseOptimizer("lion_32bit"), Optimizer::kLion);
  EXPECT_EQ(ParseOptimizer("bnb_adamw"), Optimizer::kBnbAdamW);
  EXPECT_EQ(ParseOptimizer("adamw_apex_fused"), Optimizer::kBnbAdamW);
  EXPECT_EQ(ParseOptimizer("adamw_torch_4bit"), Optimizer::kTorchaoAdamW4bit);
}

TEST(Optimizer, SaysWhatRunsItsStep) {
  EXPECT_TRUE(HasFusedStep(Optimizer::kAmsgrad));
  EXPECT_FALSE(HasFusedStep(Optimizer::kRmsProp));
  EXPECT_FALSE(HasListStep(Optimizer::kMuon));
  EXPECT_FALSE(HasForeignKernels(Optimizer::kHfAdafactor));
  EXPECT_TRUE(HasForeignKernels(Optimizer::kAdamW8bit));
  EXPECT_TRUE(HasForeignKernels(Optimizer::kTorchaoAdamW4bit));
}

TEST(Host, NamesRoundTrip) {
  for (const Host host : {Host::kPython, Host::kCpp}) {
    EXPECT_EQ(ParseHost(HostName(host)), host);
  }
  EXPECT_FALSE(ParseHost("rust"));
}

}  // namespace
}  // namespace foretell
