#include "src/graph/attributes.h"

#include <gtest/gtest.h>

#include <limits>

namespace foretell {
namespace {

using Dims = std::vector<std::size_t>;

Node NodeWith(Attribute value) {
  return {.target = "f", .attributes = {{"a", std::move(value)}}};
}

TEST(Attributes, CountDimensionsFromTheFront) {
  EXPECT_EQ(DimOf(NodeWith(std::int64_t{2}), "a", 3), 2u);
  EXPECT_EQ(DimOf(NodeWith(std::int64_t{-3}), "a", 3), 0u);
  EXPECT_EQ(DimOf({}, "a", 3, -1), 2u);
}

TEST(Attributes, HaveNoDimensionBeyondTheRank) {
  for (const std::int64_t dim :
       {std::int64_t{3}, std::int64_t{-4}, std::int64_t{1} << 62,
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(DimOf(NodeWith(dim), "a", 3), std::nullopt) << dim;
    EXPECT_EQ(DimsOf(NodeWith(std::vector<std::int64_t>{0, dim}), "a", 3),
              std::nullopt)
        << dim;
  }
  EXPECT_EQ(DimOf({}, "a", 0), std::nullopt);
}

TEST(Attributes, KeepDimensionsInTheirOrder) {
  EXPECT_EQ(DimsOf(NodeWith(std::vector<std::int64_t>{-1, 0}), "a", 3),
            (Dims{2, 0}));
  EXPECT_EQ(DimsOf(NodeWith(std::int64_t{1}), "a", 3), (Dims{1}));
  EXPECT_EQ(DimsOf({}, "a", 3), Dims{});
}

TEST(Attributes, TakeEveryDimensionOnceForAPermutation) {
  EXPECT_EQ(
      PermutationOf(NodeWith(std::vector<std::int64_t>{2, 0, -2}), "a", 3),
      (Dims{2, 0, 1}));
  EXPECT_EQ(PermutationOf(NodeWith(std::vector<std::int64_t>{2, 0, 0}), "a", 3),
            std::nullopt);
  EXPECT_EQ(PermutationOf(NodeWith(std::vector<std::int64_t>{1, 0}), "a", 3),
            std::nullopt);
  EXPECT_EQ(
      PermutationOf(NodeWith(std::vector<std::int64_t>{0, 1, 2, 0}), "a", 3),
      std::nullopt);
}

TEST(Attributes, FallBackWhereTheTypeIsAnother) {
  EXPECT_TRUE(FlagOf(NodeWith(true), "a"));
  EXPECT_TRUE(FlagOf(NodeWith(std::string("x")), "a", true));
  EXPECT_EQ(NumberOf(NodeWith(std::int64_t{2}), "a", 7), 2);
  EXPECT_EQ(NumberOf(NodeWith(0.5), "a", 7), 0.5);
  EXPECT_EQ(NumberOf(NodeWith(std::numeric_limits<double>::infinity()), "a", 7),
            7);
  EXPECT_EQ(NumberOf(NodeWith(true), "a", 7), 7);
  EXPECT_EQ(TextOf(NodeWith(std::string("ab,bc")), "a"), "ab,bc");
  EXPECT_EQ(TextOf(NodeWith(std::int64_t{2}), "a"), "");
}

}  // namespace
}  // namespace foretell
