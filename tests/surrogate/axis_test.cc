#include "src/surrogate/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "foretell/error.h"

namespace foretell::surrogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const std::string& text) {
  try {
    ParseAxes(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Axes, AreRangesStepsOrValues) {
  const std::vector<Axis> axes =
      ParseAxes("batch=1..4,resolution=64..160:32,width=8|16|64");
  ASSERT_EQ(axes.size(), 3u);
  EXPECT_EQ(axes[0].name, "batch");
  EXPECT_THAT(axes[0].values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(axes[1].values, ElementsAre(64, 96, 128, 160));
  EXPECT_THAT(axes[2].values, ElementsAre(8, 16, 64));
}

TEST(Axes, QuoteThePartThatIsNone) {
  EXPECT_THAT(ErrorOf("batch"), HasSubstr("--sweep 'batch': has fewer"));
  EXPECT_THAT(ErrorOf("batch=1..2,=1..2"), HasSubstr("'=1..2': has no name"));
  EXPECT_THAT(ErrorOf("batch=0..2"), HasSubstr("'0' is not a whole number"));
  EXPECT_THAT(ErrorOf("batch=1..x"), HasSubstr("'x' is not a whole number"));
  EXPECT_THAT(ErrorOf("batch=9..2"), HasSubstr("fewer than two values"));
  EXPECT_THAT(ErrorOf("batch=4|2"), HasSubstr("are not in ascending order"));
  EXPECT_THAT(ErrorOf("a=1|2,a=1|2"), HasSubstr("is named already"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
}

TEST(DrawPoints, BeginsWithTheCorners) {
  const auto axes = ParseAxes("batch=1..256,resolution=64..512:32");
  const Eigen::MatrixXd points = DrawPoints(axes, 40, true, 1);
  ASSERT_EQ(points.rows(), 40);
  EXPECT_EQ(points.row(0), Eigen::RowVector2d(1, 64));
  EXPECT_EQ(points.row(1), Eigen::RowVector2d(256, 64));
  EXPECT_EQ(points.row(3), Eigen::RowVector2d(256, 512));
}

TEST(DrawPoints, DrawsValuesOfTheAxesAndNoneTwice) {
  const auto axes = ParseAxes("batch=1..256,resolution=64..512:32");
  const Eigen::MatrixXd points = DrawPoints(axes, 100, false, 1);
  std::set<std::pair<double, double>> seen;
  int small = 0;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    seen.insert({points(i, 0), points(i, 1)});
    EXPECT_EQ(static_cast<int>(points(i, 1)) % 32, 0);
    if (points(i, 0) <= 16) ++small;
  }
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_GT(small, 30);  // Half of them are below the geometric middle, 16.
  EXPECT_LT(small, 70);
}

TEST(DrawPoints, EndsWithTheAxes) {
  EXPECT_EQ(DrawPoints(ParseAxes("a=1..3,b=1|2"), 100, false, 1).rows(), 6);
}

}  // namespace
}  // namespace foretell::surrogate
