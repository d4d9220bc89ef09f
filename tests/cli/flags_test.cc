// Flags of predictions, limits, measurements and tables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "cli/flags/fit_flags.h"
#include "cli/flags/measure_flags.h"
#include "cli/flags/pairs.h"
#include "cli/flags/run_flags.h"
#include "tests/graph/expect_error.h"

namespace foretell::cli {
namespace {

using testing::ElementsAre;
using testing::Pair;

struct PredictorCommand {
  PredictorFlags flags;
  Run run;
};

PredictorCommand ParsePredictor(const std::string& line) {
  PredictorCommand command;
  CLI::App app;
  command.flags.AddTo(app, command.run);
  app.parse(line);
  return command;
}

TEST(PredictorFlags, LeaveTheUsualRun) {
  const PredictorCommand command = ParsePredictor("");
  EXPECT_EQ(command.flags.device.device, "a100-sxm4-40gb");
  EXPECT_EQ(command.flags.method, Method::kAuto);
  EXPECT_EQ(command.run.host, Host::kPython);
  EXPECT_FALSE(command.run.autocast);
  EXPECT_FALSE(command.run.channels_last);
  EXPECT_EQ(command.run.power_limit_w, std::nullopt);
}

TEST(PredictorFlags, SayHowPyTorchRuns) {
  const PredictorCommand command = ParsePredictor(
      "--device rtx-4090 --host cpp --autocast --channels-last --torch 2.4.1 "
      "--method analytic --power-limit 300");
  EXPECT_EQ(command.flags.device.device, "rtx-4090");
  EXPECT_EQ(command.run.host, Host::kCpp);
  EXPECT_TRUE(command.run.autocast);
  EXPECT_TRUE(command.run.channels_last);
  EXPECT_EQ(ToString(command.run.torch), "2.4.1");
  EXPECT_EQ(command.run.power_limit_w, 300);
  EXPECT_EQ(command.flags.method, Method::kAnalytic);
}

TEST(PredictorFlags, KnowThePapersNetwork) {
  EXPECT_EQ(ParsePredictor("--method pmgns").flags.method, Method::kPmgns);
}

TEST(PredictorFlags, QuoteATorchThatIsNoVersion) {
  ExpectError([] { ParsePredictor("--torch newest"); },
              ErrorCode::kInvalidArgument,
              "--torch 'newest': expected a version of PyTorch 1 or 2");
  ExpectError([] { ParsePredictor("--torch 3.0"); },
              ErrorCode::kInvalidArgument,
              "--torch '3.0': expected a version of PyTorch 1 or 2");
}

TEST(PredictorFlags, TakeCheckpointsInsteadOfAMethod) {
  const PredictorCommand command =
      ParsePredictor("--checkpoint a.safetensors --checkpoint b.safetensors");
  EXPECT_THAT(command.flags.checkpoints,
              ElementsAre("a.safetensors", "b.safetensors"));
  EXPECT_THROW(ParsePredictor("--checkpoint a --method learned"),
               CLI::ExcludesError);
}

TEST(PredictorFlags, MakeAPredictorForDeviceAndEnvironment) {
  const PredictorCommand command = ParsePredictor(
      "--device a30 --environment cuda11.6-eager --method analytic");
  const Predictor predictor = command.flags.Make(command.run);
  EXPECT_EQ(predictor.device().name, "a30");
  EXPECT_EQ(predictor.context().name, "cuda11.6-eager");
  PredictorFlags unknown = command.flags;
  unknown.device.environment = "cuda1";
  ExpectError([&] { unknown.Make({}); }, ErrorCode::kNotFound, "cuda1");
}

FitLimits ParseLimits(const std::string& line) {
  FitLimits limits;
  CLI::App app;
  AddFitFlags(app, limits);
  app.parse(line);
  return limits;
}

TEST(FitFlags, JudgeNothingThatIsNotGiven) {
  const FitLimits limits = ParseLimits("");
  EXPECT_TRUE(limits.profile.empty());
  EXPECT_TRUE(std::isinf(limits.max_memory_mib));
  EXPECT_TRUE(std::isinf(limits.max_latency_ms));
  EXPECT_TRUE(std::isinf(limits.max_energy_j));
  EXPECT_FALSE(limits.strict);
}

TEST(FitFlags, SetEveryLimit) {
  const FitLimits limits = ParseLimits(
      "--profile 1g.5gb --max-memory 8000 --max-latency 0.5 --max-energy 1e-3 "
      "--strict");
  EXPECT_EQ(limits.profile, "1g.5gb");
  EXPECT_EQ(limits.max_memory_mib, 8000);
  EXPECT_EQ(limits.max_latency_ms, 0.5);
  EXPECT_EQ(limits.max_energy_j, 1e-3);
  EXPECT_TRUE(limits.strict);
}

TEST(FitFlags, TakeMemoryWithAUnit) {
  EXPECT_EQ(ParseLimits("--max-memory 16GiB").max_memory_mib, 16384);
  EXPECT_EQ(ParseLimits("--max-memory 512mib").max_memory_mib, 512);
  EXPECT_NEAR(ParseLimits("--max-memory 10GB").max_memory_mib, 1e10 / 1048576,
              1e-9);
  for (const char* value : {"0GB", "GB", "10XB", "10GBs"}) {
    EXPECT_THROW(ParseLimits(std::string("--max-memory ") + value),
                 CLI::ParseError)
        << value;
  }
}

TEST(FitFlags, RefuseLimitsThatNothingKeeps) {
  for (const char* flag : {"--max-memory", "--max-latency", "--max-energy"}) {
    for (const char* value : {" 0", " -1", " much"}) {
      EXPECT_THROW(ParseLimits(std::string(flag) + value), CLI::ParseError)
          << flag << value;
    }
  }
}

TEST(MeasureFlags, SayHowANetworkRuns) {
  foretell::Run run;
  CLI::App app;
  AddMeasuredRunFlags(app, run);
  app.parse("--autocast");
  EXPECT_TRUE(run.autocast);
  EXPECT_FALSE(run.channels_last);
}

TEST(ParsePair, DividesAtTheFirstSign) {
  EXPECT_THAT(ParsePair("--set", "optimizer=sgd"), Pair("optimizer", "sgd"));
  EXPECT_THAT(ParsePair("--set", "a=b=c"), Pair("a", "b=c"));
  EXPECT_THAT(ParsePair("--set", "a="), Pair("a", ""));
}

TEST(ParsePair, NamesFlagAndText) {
  for (const char* text : {"", "optimizer", "=sgd"}) {
    ExpectError([&] { ParsePair("--where", text); },
                ErrorCode::kInvalidArgument,
                "--where '" + std::string(text) + "': expected NAME=VALUE");
  }
}

TEST(ParseWord, DividesAtTheFirstColonAndTheLastSign) {
  EXPECT_THAT(ParseWord("precision:amp (fp16)=fp16"),
              Pair(Pair("precision", "amp (fp16)"), "fp16"));
  EXPECT_THAT(ParseWord("mode:a=b:c=training"),
              Pair(Pair("mode", "a=b:c"), "training"));
}

TEST(ParseWord, RefusesWhatHasNoSuchParts) {
  for (const char* text :
       {"", "precision", "precision=fp16", ":amp=fp16", "precision=amp:fp16"}) {
    ExpectError([&] { ParseWord(text); }, ErrorCode::kInvalidArgument,
                "expected FIELD:THEIRS=OURS");
  }
}

}  // namespace
}  // namespace foretell::cli
