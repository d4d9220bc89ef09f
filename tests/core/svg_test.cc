#include "src/core/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace foretell {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Escaped, IsTextForHtml) {
  EXPECT_EQ(Escaped("<a href=\"x\">&\x1b\xff"),
            "&lt;a href=&quot;x&quot;&gt;&amp;\\x1b\\xff");
}

TEST(HtmlHead, NamesThePage) {
  EXPECT_THAT(HtmlHead("a<b"), HasSubstr("<title>a&lt;b</title>"));
}

TEST(HtmlFigure, IsEmptyWithoutContent) {
  EXPECT_EQ(HtmlFigure("a", ""), "");
  EXPECT_EQ(HtmlFigure("a&b", "<svg>"),
            "<figure><figcaption>a&amp;b</figcaption>\n<svg></figure>\n");
}

TEST(Axis, MapsNumbersToPixels) {
  Axis axis(/*log=*/false, 100, 0);
  axis.Include(10);
  axis.Include(20);
  EXPECT_DOUBLE_EQ(axis.At(10), 100);
  EXPECT_DOUBLE_EQ(axis.At(15), 50);
  EXPECT_THAT(axis.Ticks(), ElementsAre(10, 12.5, 15, 17.5, 20));
}

TEST(Axis, MapsLogarithms) {
  Axis axis(/*log=*/true, 0, 100);
  axis.Include(0.1);
  axis.Include(1000);
  EXPECT_DOUBLE_EQ(axis.At(10), 50);
  EXPECT_THAT(axis.Ticks(),
              ElementsAre(DoubleEq(0.1), DoubleEq(1), DoubleEq(10),
                          DoubleEq(100), DoubleEq(1000)));
}

TEST(Axis, HasEvenTicksWhereFewerThanTwoPowersFit) {
  Axis axis(/*log=*/true, 0, 1);
  axis.Include(2);
  axis.Include(8);
  EXPECT_THAT(axis.Ticks(),
              ElementsAre(DoubleEq(2), DoubleEq(std::sqrt(8.0)), DoubleEq(4),
                          DoubleEq(std::sqrt(32.0)), DoubleEq(8)));
}

TEST(Axis, HasOneTickForOneNumber) {
  Axis axis(/*log=*/false, 0, 1);
  axis.Include(3);
  EXPECT_THAT(axis.Ticks(), ElementsAre(3));
}

TEST(Axis, TakesWhatHasAPlace) {
  EXPECT_TRUE(Axis(false, 0, 1).Takes(-1));
  EXPECT_FALSE(Axis(true, 0, 1).Takes(0));
  EXPECT_FALSE(Axis(false, 0, 1).Takes(std::nan("")));
}

}  // namespace
}  // namespace foretell
