#include "src/graph/setting.h"

#include <gtest/gtest.h>

namespace foretell {
namespace {

TEST(Setting, SaysHowALabelsNetworkRan) {
  const foretell::Run run =
      Setting(R"({"autocast": "true", "memory_format": "nhwc",
                              "framework": "pytorch-1.13.1"})")
          .ToRun();
  EXPECT_TRUE(run.autocast);
  EXPECT_TRUE(run.channels_last);
  EXPECT_EQ(run.torch, (TorchVersion{.major = 1, .minor = 13, .patch = 1}));
  EXPECT_TRUE(Setting(R"({"autocast": true})").ToRun().autocast);
  EXPECT_TRUE(Setting(R"({"group_norm": "half"})").ToRun().half_group_norm);
  EXPECT_FALSE(Setting(R"({"group_norm": "float"})").ToRun().half_group_norm);
  EXPECT_TRUE(Setting(R"({"layer_norm": "half"})").ToRun().half_layer_norm);
}

TEST(Setting, TakesWhatIsMissingForThePlainCase) {
  EXPECT_EQ(Setting("{}").ToRun(), foretell::Run{});
  EXPECT_EQ(Setting("not an object").ToRun(), foretell::Run{});
  const std::string deep(1'000'000, '[');
  EXPECT_EQ(Setting("{\"a\":" + deep).ToJson(), "{}");
  EXPECT_EQ(
      Setting("{\"a\":" + deep + std::string(deep.size(), ']') + "}").ToJson(),
      "{}");
  EXPECT_FALSE(Setting(R"({"memory_format": "nchw"})").ToRun().channels_last);
}

TEST(Setting, TakesTheFirstVersionThereIs) {
  const foretell::Run run =
      Setting(R"({"torch": "newest", "libtorch": "2.4.0+cu124"})").ToRun();
  EXPECT_EQ(run.torch.Generation(), TorchGeneration::kFusedAttention);
}

TEST(Setting, OfARunLeadsBackToIt) {
  const foretell::Run run{.autocast = true,
                          .channels_last = true,
                          .half_group_norm = true,
                          .half_layer_norm = true,
                          .torch = {.major = 2, .minor = 4, .patch = 1},
                          .grad_mode = true};
  const Setting setting(run);
  EXPECT_EQ(setting.ValueOf("torch"), "2.4.1");
  EXPECT_EQ(setting.ValueOf("driver"), "");
  EXPECT_EQ(setting.ToRun(), run);
  EXPECT_EQ(Setting(setting.ToJson()).ToRun(), run);
  EXPECT_EQ(Setting(foretell::Run{}).ToRun(), foretell::Run{});
}

TEST(Setting, OfATraceNamesWhatATraceShows) {
  EXPECT_EQ(TracedSetting({}), "");
  EXPECT_EQ(TracedSetting({.channels_last = true}),
            R"({"memory_format":"channels_last"})");
  EXPECT_EQ(TracedSetting({.half_group_norm = true,
                           .torch = {.major = 2, .minor = 11},
                           .power_limit_w = 300}),
            "");
  EXPECT_EQ(TracedSetting({.autocast = true}), R"({"autocast":"true"})");
  EXPECT_EQ(TracedSetting({.autocast = true,
                           .half_group_norm = true,
                           .torch = {.major = 2, .minor = 3}}),
            R"({"autocast":"true","group_norm":"half","torch":"2.0"})");
  EXPECT_EQ(TracedSetting({.autocast = true, .torch = {2, 4, 1}}),
            R"({"autocast":"true","torch":"2.4"})");
  EXPECT_EQ(TracedSetting({.torch = {2, 4}}), R"({"torch":"2.0"})");
  const auto trained = [](Optimizer optimizer, int minor) {
    return TracedSetting(
        {.mode = Mode::kTraining, .optimizer = optimizer, .torch = {2, minor}});
  };
  EXPECT_EQ(trained(Optimizer::kAdamW, 0), R"({"torch":"2.0"})");
  EXPECT_EQ(trained(Optimizer::kAdamW, 1), R"({"torch":"2.1"})");
  EXPECT_EQ(trained(Optimizer::kSgd, 1), R"({"torch":"2.0"})");
  EXPECT_EQ(TracedSetting({.grad_mode = true}), R"({"grad_mode":"true"})");
  EXPECT_EQ(TracedSetting({.mode = Mode::kTraining, .grad_mode = true}), "");
}

TEST(Setting, OfATraceLeadsBackToItself) {
  for (const int major : {1, 2}) {
    for (const int minor : {4, 5, 13}) {
      const foretell::Run run{.autocast = true,
                              .channels_last = true,
                              .half_layer_norm = true,
                              .torch = {.major = major, .minor = minor}};
      const std::string traced = TracedSetting(run);
      EXPECT_EQ(TracedSetting(Setting(traced).ToRun()), traced);
    }
  }
}

TEST(Setting, HoldsFurtherFields) {
  Setting setting(R"({"threads": 4})");
  setting.Set("host", "cpp");
  EXPECT_EQ(setting.ToJson(), R"({"host":"cpp","threads":"4"})");
}

}  // namespace
}  // namespace foretell
