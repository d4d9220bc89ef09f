#include "tests/conformance/errata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell::conformance {
namespace {

using ::testing::HasSubstr;

constexpr Release kOld{1, 18};
constexpr Release kCorrected{1, 22};
constexpr const char* kName = "test_qlinearmatmul_2D_int8_float32";

Outcome Forgiven(Outcome outcome, std::optional<Release> release,
                 const char* name = kName) {
  CaseResult result{.name = name, .outcome = outcome};
  ForgiveErratum(release, result);
  return result.outcome;
}

TEST(Errata, ReadsMajorAndMinorOfARelease) {
  EXPECT_EQ(ParseRelease("1.23.0"), (Release{1, 23}));
  EXPECT_EQ(ParseRelease("2.0rc1"), (Release{2, 0}));
  EXPECT_EQ(ParseRelease("1"), std::nullopt);
  EXPECT_EQ(ParseRelease("one.two"), std::nullopt);
  EXPECT_LT((Release{1, 9}), (Release{1, 10}));
}

TEST(Errata, ForgiveOnlyBeforeTheCorrection) {
  EXPECT_EQ(Forgiven(Outcome::kWrong, kOld), Outcome::kErratum);
  EXPECT_EQ(Forgiven(Outcome::kWrong, std::nullopt), Outcome::kErratum);
  EXPECT_EQ(Forgiven(Outcome::kWrong, kCorrected), Outcome::kWrong);
}

TEST(Errata, ForgiveOnlyTheNamedCases) {
  EXPECT_EQ(Forgiven(Outcome::kWrong, kOld, "test_relu"), Outcome::kWrong);
  EXPECT_EQ(
      Forgiven(Outcome::kWrong, kOld, "test_qlinearmatmul_2D_uint8_float32"),
      Outcome::kWrong);
}

TEST(Errata, LeavePassesAndRefusalsAlone) {
  EXPECT_EQ(Forgiven(Outcome::kPass, kOld), Outcome::kPass);
  EXPECT_EQ(Forgiven(Outcome::kRefused, kOld), Outcome::kRefused);
  EXPECT_EQ(Forgiven(Outcome::kError, kOld), Outcome::kErratum);
}

TEST(Errata, SayWhatIsWrongAndWhenItWasCorrected) {
  EXPECT_THAT(ErratumOf(kName, kOld).value_or(""),
              HasSubstr("onnx 1.22: results wrap around"));
}

}  // namespace
}  // namespace foretell::conformance
