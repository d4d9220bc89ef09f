#include "src/surrogate/variation.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace foretell::surrogate {
namespace {

bool IsWhole(const Expression& expression) {
  return !expression.empty() && EndOf(expression, 0) == expression.size();
}

TEST(Variation, DrawsWholeExpressionsOfTheDepth) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const Expression full = Draw(2, 3, true, random);
    EXPECT_TRUE(IsWhole(full));
    EXPECT_GE(full.size(), 4u);
    EXPECT_LE(full.size(), 15u);
    EXPECT_TRUE(IsWhole(DrawHalfAndHalf(2, random)));
  }
}

TEST(Variation, KeepsExpressionsWhole) {
  Random random(2);
  for (int i = 0; i < 500; ++i) {
    const Expression a = DrawHalfAndHalf(3, random);
    const Expression b = DrawHalfAndHalf(3, random);
    EXPECT_TRUE(IsWhole(CrossOver(a, b, random)));
    EXPECT_TRUE(IsWhole(Mutate(a, 3, random)));
  }
}

TEST(Variation, MutationsGrowAndShrink) {
  Random random(3);
  const Expression expression = Draw(2, 2, true, random);
  std::size_t least = expression.size();
  std::size_t most = expression.size();
  for (int i = 0; i < 200; ++i) {
    const std::size_t size = Mutate(expression, 2, random).size();
    least = std::min(least, size);
    most = std::max(most, size);
  }
  EXPECT_LT(least, expression.size());
  EXPECT_GT(most, expression.size());
}

TEST(Variation, RefusesWhatIsTooLargeOrToHighPowers) {
  const Expression x = {{.op = Op::kInput}};
  Expression power = x;
  for (int i = 0; i < 2; ++i) power.insert(power.begin(), {.op = Op::kCube});
  EXPECT_TRUE(IsSmallEnough(power));
  power.insert(power.begin(), {.op = Op::kSquare});
  EXPECT_FALSE(IsSmallEnough(power));
  Expression sum(20, {.op = Op::kAdd});
  sum.insert(sum.end(), 21, x.front());
  ASSERT_TRUE(IsWhole(sum));
  EXPECT_FALSE(IsSmallEnough(sum));
}

}  // namespace
}  // namespace foretell::surrogate
