#include "src/mig/dippm_rule.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

struct PublishedExample {
  const char* name;
  double predicted_mib;
  const char* profile;
};

// DIPPM's own examples: predicted memory and the profile it gave.
constexpr PublishedExample kExamples[] = {
    {"DenseNet121Batch8", 2865, "1g.5gb"},
    {"DenseNet121Batch32", 5952, "2g.10gb"},
    {"SwinBasePatch4Batch2", 2873, "1g.5gb"},
    {"SwinBasePatch4Batch16", 6736, "2g.10gb"},
    {"ConvNextBaseBatch4", 4771, "1g.5gb"},
    {"ConvNextBaseBatch128", 26439, "7g.40gb"},
};

class DippmRuleOn : public testing::TestWithParam<PublishedExample> {};

INSTANTIATE_TEST_SUITE_P(Published, DippmRuleOn, testing::ValuesIn(kExamples),
                         [](const auto& example) {
                           return example.param.name;
                         });

TEST_P(DippmRuleOn, GivesThePublishedProfile) {
  EXPECT_EQ(DippmProfile(GetParam().predicted_mib, A100()), GetParam().profile);
}

TEST(DippmRule, GivesAValueOnABoundToTheLargerProfile) {
  EXPECT_EQ(DippmProfile(0, A100()), "1g.5gb");
  EXPECT_EQ(DippmProfile(5 * 1024 - 0.01, A100()), "1g.5gb");
  EXPECT_EQ(DippmProfile(5 * 1024, A100()), "2g.10gb");
  EXPECT_EQ(DippmProfile(10 * 1024 - 0.01, A100()), "2g.10gb");
  EXPECT_EQ(DippmProfile(10 * 1024, A100()), "3g.20gb");
  EXPECT_EQ(DippmProfile(20 * 1024 - 0.01, A100()), "3g.20gb");
  EXPECT_EQ(DippmProfile(20 * 1024, A100()), "7g.40gb");
  EXPECT_EQ(DippmProfile(40 * 1024 - 0.01, A100()), "7g.40gb");
  EXPECT_EQ(DippmProfile(40 * 1024, A100()), std::nullopt);
}

TEST(DippmRule, IsDefinedForBothA100Of40GbOnly) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    const bool defined = device.name.rfind("a100", 0) == 0 &&
                         device.name.find("40gb") != std::string::npos;
    if (defined) {
      EXPECT_EQ(DippmProfile(1000, device), "1g.5gb");
      continue;
    }
    try {
      DippmProfile(1000, device);
      ADD_FAILURE() << device.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_EQ(std::string(error.what()),
                "the rule 'dippm' is defined for the A100 of 40 GB: '" +
                    device.name + "' has no profile '1g.5gb'");
    }
  }
}

TEST(DippmRule, GoesByTheTotalAndNotByTheUpperBound) {
  const Demand demand{.total_mib = 5000, .lo_mib = 4000, .hi_mib = 6000};
  const Recommendation result =
      Recommend(demand, A100(), {.rule = Rule::kDippm});
  EXPECT_EQ(result.profile, "1g.5gb");
  EXPECT_EQ(result.reason,
            "the prediction is from 0 to 5 GB, although up to 6000.0 MiB are "
            "needed and 4864 MiB are usable");
  EXPECT_EQ(Recommend(demand, A100()).profile, "1g.10gb");
}

TEST(DippmRule, SaysWhyNoProfileIsLeft) {
  const Demand demand{.total_mib = 50000, .lo_mib = 50000, .hi_mib = 50000};
  const Recommendation result =
      Recommend(demand, A100(), {.rule = Rule::kDippm});
  EXPECT_EQ(result.profile, std::nullopt);
  EXPECT_EQ(result.reason, "the prediction is 40 GB or more");
}

}  // namespace
}  // namespace foretell::mig
