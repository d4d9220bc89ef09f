#include "src/core/checked.h"

#include <gtest/gtest.h>

#include <limits>

#include "src/core/units.h"

namespace foretell {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(CheckedMul, IsEmptyBeyondInt64) {
  EXPECT_EQ(CheckedMul(3, 4), 12);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
  EXPECT_EQ(CheckedMul(kMax / 2 + 1, 2), std::nullopt);
}

TEST(CheckedProduct, IsOneForNoFactors) { EXPECT_EQ(CheckedProduct({}), 1); }

TEST(CheckedProduct, IsEmptyForANegativeFactor) {
  const std::int64_t factors[] = {2, -1};
  EXPECT_EQ(CheckedProduct(factors), std::nullopt);
  const std::int64_t with_zero[] = {0, -1};
  EXPECT_EQ(CheckedProduct(with_zero), std::nullopt);
}

TEST(CheckedProduct, IsEmptyBeyondInt64) {
  const std::int64_t factors[] = {kMax, 2};
  EXPECT_EQ(CheckedProduct(factors), std::nullopt);
}

TEST(CheckedProduct, IsZeroWithAZeroWhateverTheOtherFactors) {
  const std::int64_t factors[] = {kMax, kMax, 0};
  EXPECT_EQ(CheckedProduct(factors), 0);
}

TEST(RoundUp, GoesToTheNextMultiple) {
  EXPECT_EQ(RoundUp(0, 512), 0);
  EXPECT_EQ(RoundUp(1, 512), 512);
  EXPECT_EQ(RoundUp(512, 512), 512);
  EXPECT_EQ(RoundUp(513, 512), 1024);
}

TEST(Units, CountInPowersOfTwo) {
  EXPECT_EQ(kGiB, 1073741824);
  EXPECT_DOUBLE_EQ(ToMiB(kMiB + kMiB / 2), 1.5);
}

}  // namespace
}  // namespace foretell
