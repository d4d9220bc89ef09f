#include "tests/conformance/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace foretell::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CaseResult Result(const char* name, Outcome outcome, const char* message = "") {
  return {.group = "node",
          .name = name,
          .outcome = outcome,
          .message = message,
          .operators = {"Relu"}};
}

const std::vector<CaseResult> kFine{
    Result("test_a", Outcome::kPass), Result("test_b", Outcome::kPass),
    Result("test_c", Outcome::kRefused, "Relu of STRING")};

TEST(Report, CountsByGroupAndInTotal) {
  std::vector<CaseResult> results = kFine;
  results.push_back(Result("test_d", Outcome::kPass));
  results.back().group = "simple";
  const std::map<std::string, Tally> tallies = TallyByGroup(results);
  EXPECT_EQ(tallies.at("node").at(Outcome::kPass), 2);
  EXPECT_EQ(tallies.at("node").at(Outcome::kRefused), 1);
  EXPECT_EQ(tallies.at("simple").at(Outcome::kPass), 1);
  EXPECT_EQ(tallies.at("total").at(Outcome::kPass), 3);
  EXPECT_EQ(tallies.at("total").at(Outcome::kWrong), 0);
}

TEST(Report, FailsWhenTooFewCasesPass) {
  EXPECT_EQ(FailureOf(kFine, 2), "");
  EXPECT_EQ(FailureOf(kFine, 3), "2 cases pass, expected at least 3");
}

TEST(Report, FailsOnASingleWrongOrFailedCase) {
  std::vector<CaseResult> results = kFine;
  results.push_back(Result("test_d", Outcome::kWrong, "shape"));
  EXPECT_EQ(FailureOf(results, 0), "1 wrong, 0 errors");
  results.push_back(Result("test_e", Outcome::kError, "crash"));
  EXPECT_EQ(FailureOf(results, 0), "1 wrong, 1 errors");
}

TEST(Report, PrintsFailuresInFullAndRefusalsTogether) {
  std::vector<CaseResult> results = kFine;
  results.push_back(Result("test_d", Outcome::kRefused, "Relu of STRING"));
  results.push_back(Result("test_e", Outcome::kWrong, "shape [1]"));
  std::ostringstream out;
  PrintReport(results, out);
  EXPECT_THAT(out.str(), HasSubstr("wrong node/test_e: shape [1]\n"));
  EXPECT_THAT(out.str(),
              HasSubstr("refused 2 (test_c, ...): Relu of STRING\n"));
  EXPECT_THAT(out.str(), Not(HasSubstr("test_a")));
}

TEST(Report, SurvivesTheRoundTripThroughJson) {
  const CaseResult before = Result("test_c", Outcome::kRefused, "no \"x\"");
  const CaseResult after = FromJson(ToJson(before));
  EXPECT_EQ(after.group, before.group);
  EXPECT_EQ(after.name, before.name);
  EXPECT_EQ(after.outcome, before.outcome);
  EXPECT_EQ(after.message, before.message);
  EXPECT_EQ(after.operators, before.operators);
}

}  // namespace
}  // namespace foretell::conformance
