#include "src/core/numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace foretell {
namespace {

TEST(Numbers, HaveAsManyDecimalsAsAskedFor) {
  EXPECT_EQ(FormatNumber(4864, 1), "4864.0");
  EXPECT_EQ(FormatNumber(-0.126, 2), "-0.13");
  EXPECT_EQ(FormatPercent(0.125, 2), "12.50 %");
  EXPECT_EQ(FormatPercent(1, 0), "100 %");
}

TEST(Numbers, HaveSignificantDigits) {
  EXPECT_EQ(FormatShort(0.012345), "0.0123");
  EXPECT_EQ(FormatShort(1234567), "1.23e+06");
  EXPECT_EQ(FormatShort(0.012345, 4), "0.01235");
  EXPECT_EQ(FormatSignificant(12.34), "12.3");
  EXPECT_EQ(FormatSignificant(999.4), "999");
  EXPECT_EQ(FormatSignificant(999.6), "1000");
  EXPECT_EQ(FormatSignificant(1234567), "1234567");
}

TEST(Numbers, ReadBackExactly) {
  for (const double number :
       {0.1, 1.0 / 3, 1e300, -2.5e-300, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(std::stod(FormatExact(number)), number);
  }
  EXPECT_EQ(FormatExact(0.1), "0.1");
  EXPECT_EQ(FormatExact(8), "8");
}

TEST(Numbers, CountNouns) {
  EXPECT_EQ(Counted(1, "point"), "1 point");
  EXPECT_EQ(Counted(0, "point"), "0 points");
  EXPECT_EQ(Counted(std::size_t{3}, "row"), "3 rows");
}

TEST(Numbers, CountWithPrefixes) {
  EXPECT_EQ(FormatCount(512), "512");
  EXPECT_EQ(FormatCount(25'557'032), "25.6 M");
  EXPECT_EQ(FormatCount(4'089'000'000), "4.09 G");
}

}  // namespace
}  // namespace foretell
