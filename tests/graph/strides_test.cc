#include "src/graph/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/graph_io.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Strides, AreRowMajorUnlessTold) {
  EXPECT_THAT(ContiguousStrides({2, 3, 4}), ElementsAre(12, 4, 1));
  EXPECT_THAT(ContiguousStrides({}), ElementsAre());
  EXPECT_THAT(ContiguousStrides({2, 0, 4}), ElementsAre(4, 4, 1));
}

TEST(Strides, PutChannelsOfImagesLast) {
  EXPECT_THAT(ChannelsLastStrides({2, 3, 7}), ElementsAre(21, 1, 3));
  EXPECT_THAT(ChannelsLastStrides({2, 3, 5, 7}), ElementsAre(105, 1, 21, 3));
  EXPECT_THAT(ChannelsLastStrides({2, 3, 4, 5, 7}),
              ElementsAre(420, 1, 105, 21, 3));
  EXPECT_THAT(ChannelsLastStrides({2, 0, 5, 7}), ElementsAre(35, 1, 7, 1));
}

TEST(Strides, OfDimensionsOfOneAndOfNothingDoNotMatter) {
  EXPECT_TRUE(IsContiguous({8, 64, 1, 1}, {64, 1, 64, 64}));
  EXPECT_TRUE(IsContiguous({4, 1}, {1, 9}));
  EXPECT_TRUE(IsContiguous({4, 0}, {7, 9}));
  EXPECT_FALSE(IsContiguous({4, 2}, {1, 4}));
  EXPECT_FALSE(IsContiguous({4, 2}, {0, 1}));
}

// Answers of Tensor.suggest_memory_format() in PyTorch.
TEST(Strides, SuggestChannelsLastAsInPyTorch) {
  EXPECT_TRUE(SuggestsChannelsLast({2, 3, 5, 7}, {105, 1, 21, 3}));
  EXPECT_FALSE(SuggestsChannelsLast({2, 3, 5, 7}, {105, 35, 7, 1}));
  EXPECT_TRUE(SuggestsChannelsLast({2, 3, 4, 5, 7}, {420, 1, 105, 21, 3}));
  EXPECT_FALSE(SuggestsChannelsLast({2, 3}, {1, 2}));
  EXPECT_FALSE(SuggestsChannelsLast({2, 3, 5}, {15, 1, 3}));
  // A weight of one element per channel, converted and plain.
  EXPECT_TRUE(SuggestsChannelsLast({8, 64, 1, 1}, {64, 1, 64, 64}));
  EXPECT_FALSE(SuggestsChannelsLast({8, 64, 1, 1}, {64, 1, 1, 1}));
  // One channel.
  EXPECT_TRUE(SuggestsChannelsLast({2, 1, 5, 7}, {35, 1, 7, 1}));
  EXPECT_FALSE(SuggestsChannelsLast({2, 1, 5, 7}, {35, 35, 7, 1}));
  // Both formats have these strides.
  EXPECT_FALSE(SuggestsChannelsLast({8, 1, 1, 1}, {1, 1, 1, 1}));
  EXPECT_FALSE(SuggestsChannelsLast({8, 1, 1, 1}, {5, 5, 5, 5}));
  // Every other channel, and a repeated one.
  EXPECT_TRUE(SuggestsChannelsLast({2, 3, 5, 7}, {210, 2, 42, 6}));
  EXPECT_FALSE(SuggestsChannelsLast({2, 3, 5, 7}, {105, 0, 21, 3}));
  EXPECT_FALSE(SuggestsChannelsLast({0, 3, 5, 7}, {105, 1, 21, 3}));
}

TEST(Strides, AreRecordedWhereTheyTellSomething) {
  EXPECT_THAT(RecordedStrides({4, 6}, {1, 4}), ElementsAre(1, 4));
  EXPECT_THAT(RecordedStrides({4, 6}, {6, 1}), IsEmpty());
  EXPECT_THAT(RecordedStrides({1, 6}, {99, 1}), IsEmpty());
  EXPECT_THAT(RecordedStrides({0, 6}, {1, 4}), IsEmpty());
  EXPECT_THAT(RecordedStrides({4, 6}, {0, 1}), ElementsAre(0, 1));
  EXPECT_THAT(RecordedStrides({8, 64, 1, 1}, {64, 1, 64, 64}),
              ElementsAre(64, 1, 64, 64));
  EXPECT_THAT(RecordedStrides({8, 64, 1, 1}, {64, 1, 7, 7}), IsEmpty());
}

TEST(Strides, KeepTheOrderWithoutGaps) {
  // A transposed matrix out of the middle of a larger one.
  EXPECT_THAT(DenseStridesLike({3, 4}, {1, 10}), ElementsAre(1, 3));
  EXPECT_THAT(DenseStridesLike({3, 4}, {10, 1}), ElementsAre(4, 1));
}

Value ValueOf(Shape shape, Strides strides) {
  return {.name = "x",
          .type = {DType::kF32, std::move(shape)},
          .strides = std::move(strides)};
}

TEST(Strides, OfAPartKeepOrderAndGaps) {
  // One third of a projection to queries, keys and values, halved.
  EXPECT_THAT(StridesOfPart(ValueOf({2, 5, 8}, {120, 24, 1}), {2, 5, 4}),
              ElementsAre(60, 12, 1));
  // Its heads, of which there are half as many.
  EXPECT_THAT(
      StridesOfPart(ValueOf({2, 4, 5, 2}, {120, 2, 24, 1}), {2, 2, 5, 2}),
      ElementsAre(60, 2, 12, 1));
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {1, 4}), {4, 3}),
              ElementsAre(1, 4));
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {0, 1}), {4, 3}),
              ElementsAre(0, 1));
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {1, 4}), {4, 6}),
              ElementsAre(1, 4));
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {1, 4}), {24}), IsEmpty());
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {}), {4, 3}), IsEmpty());
  // A gap that does not divide goes.
  EXPECT_THAT(StridesOfPart(ValueOf({4, 6}, {7, 1}), {4, 3}), IsEmpty());
}

OperatorGraph WithStrides(Shape shape, Strides strides) {
  GraphBuilder builder{GraphInfo{}};
  const StorageId storage = builder.AddStorage(4, TensorRole::kInput);
  builder.AddSource("x", {DType::kF32, std::move(shape)}, storage,
                    std::move(strides));
  builder.DeriveLifetimes();
  return builder.Build();
}

TEST(Strides, OfAGraphAreOnesThatItsReadersCanMultiply) {
  EXPECT_THAT(WithStrides({2, 3}, {1, 2}).value(0).strides, ElementsAre(1, 2));
  EXPECT_THAT(WithStrides({2, 3}, {3, 1}).value(0).strides, IsEmpty());
  EXPECT_THAT(StridesOf(WithStrides({2, 3}, {}).value(0)), ElementsAre(3, 1));
  const std::int64_t most = std::int64_t{1} << 56;
  EXPECT_THAT(WithStrides({2, 1}, {most - 1, 0}).value(0).strides,
              ElementsAre(most - 1, 0));
  for (const Strides& strides :
       {Strides{most, 1}, Strides{-1, 1}, Strides{1, most},
        Strides{0, std::int64_t{1} << 62}}) {
    ExpectError(
        [&] {
          WithStrides({2, 3}, strides);
        },
        ErrorCode::kInvalidArgument, "tensor 'x': f32[2,3] has strides [");
  }
  ExpectError(
      [] {
        WithStrides({2, 3}, {1});
      },
      ErrorCode::kInvalidArgument, "tensor 'x' has 1 strides, its rank is 2");
}

}  // namespace
}  // namespace foretell
