#include "datasets/views/stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>

#include "scratch.h"
#include "tests/page/page_data.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Describe, GivesPercentilesAndLogarithmicBins) {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) values.push_back(i);
  const Distribution distribution = Describe("x", values);
  EXPECT_EQ(distribution.count, 101);
  EXPECT_EQ(distribution.min, 0);
  EXPECT_EQ(distribution.p5, 5);
  EXPECT_EQ(distribution.median, 50);
  EXPECT_EQ(distribution.p95, 95);
  EXPECT_EQ(distribution.max, 100);
  std::int64_t counted = 0;
  for (const std::int64_t bin : distribution.histogram) counted += bin;
  EXPECT_EQ(counted, 100) << "zero has no logarithm";
  // 24 bins from 1 to 100: the last begins at 100^(23/24) = 82.5.
  EXPECT_EQ(distribution.histogram.back(), 18);
}

TEST(Describe, TakesNoValuesAndEqualOnes) {
  EXPECT_EQ(Describe("x", {}).count, 0);
  EXPECT_EQ(Describe("x", {3, 3}).histogram.at(0), 2);
}

TEST(FindOutliers, FindsWhatLiesOffTheLine) {
  std::vector<WorkedLabel> labels;
  for (int i = 1; i <= 40; ++i) {
    const double macs = 1e9 * i;
    labels.push_back({macs, 2e-9 * macs * (i % 2 == 0 ? 1.02 : 0.98)});
  }
  EXPECT_TRUE(FindOutliers(labels).empty());
  labels[17].value *= 4;
  const auto outliers = FindOutliers(labels);
  ASSERT_EQ(outliers.size(), 1U);
  EXPECT_EQ(outliers[0].first, 17U);
  // The line itself moves a little towards the outlier.
  EXPECT_NEAR(outliers[0].second, 2e-9 * 18e9, 4);
}

TEST(FindOutliers, DoesNotJudgeFew) {
  EXPECT_TRUE(FindOutliers({{1, 1}, {2, 2}, {3, 300}}).empty());
}

TEST(FormatStats, StatesTheRuleOfOutliers) {
  Stats stats;
  EXPECT_THAT(FormatStats(stats), Not(HasSubstr("outlier")));
  stats.outliers.push_back({"net", "gpu", "test", "latency_ms", 3, 1});
  EXPECT_THAT(FormatStats(stats),
              HasSubstr("1 outlier: labels more than a factor of 1.5 and 6 "
                        "median absolute deviations from the line"));
}

class StatsTest : public testing::Test {
 protected:
  StatsTest() {
    for (std::int64_t batch : {1, 2, 4}) {
      dataset_.AddTraced(ToyPoint("toy", batch), ToyGraph(batch));
    }
    Point other = ToyPoint("other<b>");
    other.family = "<odd>";
    dataset_.AddFailure(other, "no");
    dataset_.PutLabel(ToyLabel(1, 10));
    dataset_.PutLabel(ToyLabel(2, 20));
    Label failed = ToyLabel(3, 1);
    failed.status = LabelStatus::kFailed;
    failed.latency_ms.reset();
    dataset_.PutLabel(failed);
    dataset_.PutSplit("random-0", "random", 0, {{1, "train"}});
  }

  Scratch scratch_;
  Dataset dataset_ = Dataset::OpenOrCreate(scratch_ / "d.sqlite");
};

TEST_F(StatsTest, CountsPointsFamiliesAndLabels) {
  const Stats stats = ComputeStats(dataset_);
  EXPECT_EQ(stats.points, 4);
  EXPECT_EQ(stats.traced, 3);
  EXPECT_EQ(stats.failed, 1);
  EXPECT_EQ(stats.labels, 3);
  ASSERT_EQ(stats.families.size(), 2U);
  EXPECT_EQ(stats.families[1].family, "toy");
  EXPECT_EQ(stats.families[1].models, 1);
  EXPECT_EQ(stats.families[1].points, 3);
  ASSERT_EQ(stats.coverage.size(), 1U);
  const LabelCoverage& coverage = stats.coverage[0];
  EXPECT_EQ(coverage.points, 2);
  EXPECT_EQ(coverage.failed, 1);
  EXPECT_THAT(coverage.family_shares, ElementsAre(0.0, 2.0 / 3));
  EXPECT_EQ(coverage.quantities[3].median, 15);
  EXPECT_EQ(stats.scatters.at(0).title, "latency_ms on gpu (test, measured)");
  EXPECT_THAT(stats.splits, ElementsAre("random-0"));
}

TEST_F(StatsTest, HasThreeForms) {
  const Stats stats = ComputeStats(dataset_);
  EXPECT_THAT(FormatStats(stats),
              HasSubstr("4 points (3 traced, 1 failed, 0 untraced)"));
  const auto json = nlohmann::json::parse(StatsToJson(stats));
  EXPECT_EQ(json["families"][1]["traced"], 3);
  EXPECT_EQ(json["coverage"][0]["quantities"][3]["max"], 20);
  EXPECT_EQ(json["coverage"][0]["provenance"], "measured");
}

TEST_F(StatsTest, PutsItAllOnAPage) {
  const Stats stats = ComputeStats(dataset_);
  const std::string html = StatsToHtml(stats);
  EXPECT_THAT(html, Not(HasSubstr("<odd>")));
  auto data = PageData(html);
  EXPECT_EQ(data["scatters"][0]["title"], stats.scatters.at(0).title);
  EXPECT_EQ(data["scatters"][0]["labels"].size(),
            stats.scatters.at(0).labels.size());
  data.erase("scatters");
  EXPECT_EQ(data, nlohmann::ordered_json::parse(StatsToJson(stats)));
}

}  // namespace
}  // namespace foretell::dataset
