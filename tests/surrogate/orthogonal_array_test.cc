#include "src/surrogate/orthogonal_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "foretell/error.h"

namespace foretell::surrogate {
namespace {

using testing::Each;

class EveryArray : public testing::TestWithParam<OrthogonalArray> {};

TEST_P(EveryArray, HoldsEveryPairOfLevelsEquallyOften) {
  const OrthogonalArray& array = GetParam();
  const auto columns = static_cast<Eigen::Index>(array.levels.size());
  ASSERT_EQ(array.runs.cols(), columns);
  for (Eigen::Index a = 0; a < columns; ++a) {
    for (Eigen::Index b = 0; b < a; ++b) {
      std::map<std::pair<int, int>, int> counts;
      for (Eigen::Index run = 0; run < array.runs.rows(); ++run) {
        ++counts[{array.runs(run, a), array.runs(run, b)}];
      }
      const int pairs = array.levels[static_cast<std::size_t>(a)] *
                        array.levels[static_cast<std::size_t>(b)];
      EXPECT_EQ(std::ssize(counts), pairs);
      for (const auto& [pair, count] : counts) {
        EXPECT_EQ(count * pairs, array.runs.rows()) << array.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OrthogonalArrays, EveryArray,
                         testing::ValuesIn(OrthogonalArrays()));

TEST(OrthogonalArrays, AreTaguchis) {
  const auto arrays = OrthogonalArrays();
  ASSERT_EQ(arrays.size(), 4u);
  const std::pair<int, int> sizes[] = {{9, 4}, {16, 5}, {18, 8}, {27, 13}};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(arrays[i].runs.rows(), sizes[i].first);
    EXPECT_EQ(arrays[i].runs.cols(), sizes[i].second);
  }
}

TEST(PlanRuns, TakesSixteenRunsForThreeFactorsOfFour) {
  const PlannedRuns planned = PlanRuns(
      ParseAxes("batch=4|8|16|32,depth=11|13|16|19,convolutions=8|10|13|16"));
  EXPECT_EQ(planned.array, "L16");
  EXPECT_EQ(planned.points.rows(), 16);
  EXPECT_EQ(planned.points.col(0).sum(), 4 * (4 + 8 + 16 + 32));
}

TEST(PlanRuns, ThinsRangesOutToTheEnds) {
  const PlannedRuns planned = PlanRuns(ParseAxes("batch=1..65,edge=8..16"));
  EXPECT_EQ(planned.array, "L9");
  EXPECT_EQ(planned.points.col(0).minCoeff(), 1);
  EXPECT_EQ(planned.points.col(0).sum(), 3 * (1 + 33 + 65));
}

TEST(PlanRuns, MixesTwoAndThreeLevels) {
  EXPECT_EQ(PlanRuns(ParseAxes("norm=1|2,batch=1|2|4")).array, "L18");
  EXPECT_EQ(PlanRuns(ParseAxes("a=1|2|3,b=1|2|3,c=1|2|3,d=1|2|3,e=1|2|3"
                               ",f=1|2|3,g=1|2|3,h=1|2|3"))
                .array,
            "L27");
}

TEST(PlanRuns, RunsValuesOfOneFactorOnceEach) {
  const PlannedRuns few = PlanRuns(ParseAxes("batch=1|2|4|8"));
  EXPECT_EQ(few.array, "one factor");
  EXPECT_EQ(few.points, Eigen::Vector4d(1, 2, 4, 8));
  const PlannedRuns many = PlanRuns(ParseAxes("batch=1..65"));
  EXPECT_EQ(many.points.rows(), 9);
  EXPECT_EQ(many.points.sum(), 1 + 9 + 17 + 25 + 33 + 41 + 49 + 57 + 65);
  EXPECT_THROW(PlanRuns(ParseAxes("batch=1|2")), Error);
}

TEST(PlanRuns, RefusesFactorsThatNoArrayHas) {
  EXPECT_THROW(PlanRuns(ParseAxes("a=1|2,b=1|2")), Error);
  EXPECT_THROW(PlanRuns(ParseAxes("a=1|2|3,b=1|2|3|4")), Error);
}

}  // namespace
}  // namespace foretell::surrogate
