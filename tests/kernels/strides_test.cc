#include "src/kernels/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(Strides, CountElementsThatFitInt64) {
  constexpr std::int64_t kMany = std::int64_t{1} << 40;
  EXPECT_EQ(NumElements({kMany, 2}), 2 * kMany);
  EXPECT_EQ(NumElements({kMany, kMany, 0}), 0);
  EXPECT_THROW(NumElements({kMany, kMany}), Error);
}

TEST(Strides, OfDimensionsOfOneDoNotMatter) {
  EXPECT_TRUE(FitsChannelsLast({8, 64, 1, 1}, {64, 1, 1, 1}));
  EXPECT_TRUE(FitsChannelsLast({8, 64, 1, 1}, {64, 1, 64, 64}));
  EXPECT_TRUE(HaveSameOrder({4, 1}, {1, 9}, {1, 1}));
  EXPECT_FALSE(HaveSameOrder({4, 2}, {1, 9}, {1, 4}));
}

TEST(Strides, FitChannelsLastWithoutGaps) {
  EXPECT_TRUE(FitsChannelsLast({2, 3, 5, 7}, {105, 1, 21, 3}));
  EXPECT_TRUE(FitsChannelsLast({2, 3, 5, 7, 2}, {210, 1, 42, 6, 3}));
  EXPECT_FALSE(FitsChannelsLast({2, 3, 5, 7, 2}, {210, 70, 14, 2, 1}));
  EXPECT_FALSE(FitsChannelsLast({2, 3, 5, 7}, {105, 35, 7, 1}));
  EXPECT_FALSE(FitsChannelsLast({2, 3, 5, 7}, {210, 2, 42, 6}));
  EXPECT_FALSE(FitsChannelsLast({2, 3, 5}, {15, 1, 3}));
}

TEST(ViewStrides, SplitAndMergeWhatFollowsOnEachOther) {
  EXPECT_THAT(ViewStrides({2, 12}, {12, 1}, {2, 3, 4}),
              Optional(ElementsAre(12, 4, 1)));
  EXPECT_THAT(ViewStrides({2, 3, 4}, {12, 4, 1}, {6, 4}),
              Optional(ElementsAre(4, 1)));
  EXPECT_THAT(ViewStrides({2, 3, 4}, {12, 4, 1}, {1, 24, 1}),
              Optional(ElementsAre(24, 1, 1)));
}

TEST(ViewStrides, SplitADimensionOfATransposedTensor) {
  EXPECT_THAT(ViewStrides({4, 6}, {1, 4}, {2, 2, 6}),
              Optional(ElementsAre(2, 1, 4)));
}

TEST(ViewStrides, CannotMergeAcrossATransposition) {
  EXPECT_EQ(ViewStrides({4, 6}, {1, 4}, {24}), std::nullopt);
  EXPECT_EQ(ViewStrides({4, 6}, {1, 4}, {8, 3}), std::nullopt);
  EXPECT_EQ(ViewStrides({4, 6}, {7, 1}, {24}), std::nullopt);
}

TEST(ViewStrides, MergeRepeatedDimensions) {
  EXPECT_THAT(ViewStrides({4, 6}, {0, 0}, {24}), Optional(ElementsAre(0)));
  EXPECT_EQ(ViewStrides({4, 6}, {0, 1}, {24}), std::nullopt);
}

TEST(ViewStrides, AreNoneForAnotherNumberOfElements) {
  EXPECT_EQ(ViewStrides({4, 6}, {6, 1}, {4, 5}), std::nullopt);
  EXPECT_EQ(ViewStrides({4, 6}, {6, 1}, {0}), std::nullopt);
}

TEST(ViewStrides, OfNothingAreRowMajor) {
  EXPECT_THAT(ViewStrides({0, 6}, {1, 4}, {3, 0}), Optional(ElementsAre(1, 1)));
}

}  // namespace
}  // namespace foretell::cost
