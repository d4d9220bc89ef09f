#include "training/execution_mode.h"

#include <gtest/gtest.h>

namespace foretell::training {
namespace {

using enum cost::TorchGeneration;

TEST(ExecutionMode, ReadsALabelsEnvironment) {
  const cost::ExecutionMode mode = ExecutionModeOf(
      R"({"autocast": "true", "memory_format": "nhwc",
          "framework": "pytorch-1.13"})");
  EXPECT_TRUE(mode.autocast);
  EXPECT_TRUE(mode.channels_last);
  EXPECT_EQ(mode.torch, kNoFusedAttention);
  EXPECT_TRUE(mode.restore_folded_norms);
}

TEST(ExecutionMode, TakesWhatIsMissingForThePlainCase) {
  const cost::ExecutionMode mode = ExecutionModeOf("{}");
  EXPECT_FALSE(mode.autocast);
  EXPECT_FALSE(mode.channels_last);
  EXPECT_EQ(mode.torch, kFloatAttentionFallback);
  EXPECT_FALSE(ExecutionModeOf(R"({"memory_format": "nchw"})").channels_last);
  EXPECT_TRUE(
      ExecutionModeOf(R"({"memory_format": "channels_last"})").channels_last);
}

TEST(ExecutionMode, KnowsVersionsByWhatTheyDoToAttention) {
  const auto generation = [](const std::string& version) {
    return ExecutionModeOf(R"({"torch": ")" + version + "\"}").torch;
  };
  EXPECT_EQ(generation("1.12.1"), kNoFusedAttention);
  EXPECT_EQ(generation("2.0"), kFusedAttention);
  EXPECT_EQ(generation("2.4.0+cu124"), kFusedAttention);
  EXPECT_EQ(generation("2.5"), kFloatAttentionFallback);
  EXPECT_EQ(generation("2.13.0"), kFloatAttentionFallback);
}

TEST(ExecutionMode, ParsesNoVersionFromOtherText) {
  for (const char* text : {"", "newest", "2", "2.", ".5", "v2"}) {
    EXPECT_FALSE(ParseVersion(text)) << text;
  }
  EXPECT_EQ(ParseVersion("v10.4rc1")->major, 10);
  EXPECT_EQ(ParseVersion("v10.4rc1")->minor, 4);
}

}  // namespace
}  // namespace foretell::training
