#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "foretell/plan.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using Shape = std::vector<std::int64_t>;

/// 1000 bytes and 10 per element of a block.
Footprint Cube() {
  return {.algorithm = "cube",
          .axes = {"z", "y", "x"},
          .terms = {{1000, {0, 0, 0}}, {10, {1, 1, 1}}}};
}

Shape ChunkFor(const Footprint& footprint, const Shape& shape,
               std::int64_t bytes, const Shape& align = {}) {
  return PlanChunk(footprint, {.shape = shape,
                               .memory_bytes = bytes,
                               .margin = 0,
                               .align = align})
      .chunk;
}

TEST(ErrorOfGrowth, IsLargeWhereRunsAreMostlyTheProcess) {
  Footprint footprint = Cube();
  footprint.largest_error = 0.02;
  // 1000 of 1250 bytes are the process's: 25 are a tenth of the rest.
  footprint.runs = {{{1, 1, 1}, 1010}, {{5, 5, 1}, 1250}};
  EXPECT_DOUBLE_EQ(ErrorOfGrowth(footprint), 0.1);
  footprint.runs.push_back({{10, 10, 10}, 11000});
  EXPECT_DOUBLE_EQ(ErrorOfGrowth(footprint), 0.022);
  footprint.runs = {{{1, 1, 1}, 1000}};
  EXPECT_EQ(ErrorOfGrowth(footprint), std::numeric_limits<double>::infinity());
}

TEST(PlanChunk, IsTheLargestCube) {
  // 1000 + 10 * 10^3 = 11000; then x and y grow first: 10 x 10 x 11 takes
  // 12000, 10 x 11 x 11 13100 and 11^3 14310. 91 parts of 11 cover 1000, 91 of
  // 10 do not.
  EXPECT_THAT(ChunkFor(Cube(), {1000, 1000, 1000}, 11000),
              ElementsAre(10, 10, 10));
  EXPECT_THAT(ChunkFor(Cube(), {1000, 1000, 1000}, 12000),
              ElementsAre(10, 10, 11));
  EXPECT_THAT(ChunkFor(Cube(), {1000, 1000, 1000}, 14309),
              ElementsAre(10, 11, 11));
  EXPECT_THAT(ChunkFor(Cube(), {1000, 1000, 1000}, 14310),
              ElementsAre(11, 11, 11));
}

TEST(PlanChunk, LeavesTheMarginFree) {
  const ChunkPlan plan = PlanChunk(
      Cube(),
      {.shape = {1000, 1000, 1000}, .memory_bytes = 22000, .margin = 0.5});
  EXPECT_THAT(plan.chunk, ElementsAre(10, 10, 10));
  EXPECT_EQ(plan.usable_bytes, 11000);
  EXPECT_EQ(plan.peak_bytes, 11000);
  EXPECT_EQ(plan.chunks, 1000000);
}

TEST(PlanChunk, GrowsAlongTheOthersWhereAnAxisIsShort) {
  // 1000 + 10 * 4 * 30^2 = 37000.
  EXPECT_THAT(ChunkFor(Cube(), {4, 300, 300}, 37000), ElementsAre(4, 30, 30));
}

TEST(PlanChunk, TakesTheVolumeWhereItFits) {
  const ChunkPlan plan =
      PlanChunk(Cube(), {.shape = {4, 5, 6}, .memory_bytes = 1000000});
  EXPECT_THAT(plan.chunk, ElementsAre(4, 5, 6));
  EXPECT_EQ(plan.chunks, 1);
}

TEST(PlanChunk, IsNoLargerThanTheNumberOfChunksNeeds) {
  // 19^3 would fit, and 20 have two parts of 10.
  const ChunkPlan plan = PlanChunk(
      Cube(), {.shape = {20, 20, 20}, .memory_bytes = 70000, .margin = 0});
  EXPECT_THAT(plan.chunk, ElementsAre(10, 10, 10));
  EXPECT_EQ(plan.chunks, 8);
}

TEST(PlanChunk, CountsTheHaloWithinTheVolume) {
  Footprint stencil = Cube();
  stencil.halo = {1, 1, 1};
  // Blocks of 10^3 are chunks of 8^3.
  const ChunkPlan plan = PlanChunk(
      stencil, {.shape = {800, 800, 800}, .memory_bytes = 11000, .margin = 0});
  EXPECT_THAT(plan.chunk, ElementsAre(8, 8, 8));
  EXPECT_THAT(plan.block, ElementsAre(10, 10, 10));
  // A thin volume has no halo to read beyond it.
  EXPECT_THAT(
      PlanChunk(stencil, {.shape = {1, 8, 8}, .memory_bytes = 100000}).block,
      ElementsAre(1, 8, 8));
}

TEST(PlanChunk, IsAMultipleOfTheAlignment) {
  // 9900 elements: 24 x 24 x 16 has 9216, and 28 x 24 x 16 more.
  EXPECT_THAT(ChunkFor(Cube(), {64, 64, 64}, 100000, {4, 8, 16}),
              ElementsAre(24, 24, 16));
  // 64 has no more than two parts of 40: 32, which is 4 times 8.
  EXPECT_THAT(ChunkFor(Cube(), {64, 64, 64}, 700000, {8, 8, 8}),
              ElementsAre(32, 32, 32));
  // Beyond the volume's end there is nothing to align.
  EXPECT_THAT(ChunkFor(Cube(), {5, 5, 5}, 100000, {8, 8, 8}),
              ElementsAre(5, 5, 5));
}

TEST(PlanChunk, NeverCutsWholeAxes) {
  Footprint fft = Cube();
  fft.whole = {"x"};
  // 1000 + 10 * 10 * 10 * 500 = 501000.
  EXPECT_THAT(ChunkFor(fft, {500, 500, 500}, 501000), ElementsAre(10, 10, 500));
}

TEST(PlanChunk, MoreMemoryNeverGivesASmallerChunk) {
  Footprint footprint = Cube();
  footprint.halo = {2, 1, 0};
  footprint.terms.push_back({3, {2, 0, 0}});
  for (const Shape& align : {Shape{}, Shape{8, 4, 32}}) {
    Shape before = {1, 1, 1};
    for (std::int64_t bytes = 30000; bytes < 3000000; bytes += 1700) {
      const Shape chunk = ChunkFor(footprint, {100, 70, 210}, bytes, align);
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_GE(chunk[i], before[i]) << bytes;
      }
      before = chunk;
    }
    EXPECT_THAT(before, testing::Not(ElementsAre(1, 1, 1)));
  }
}

TEST(PlanChunk, ALargerMarginNeverGivesALargerChunk) {
  Shape before = {64, 64, 64};
  for (double margin = 0; margin < 0.9; margin += 0.01) {
    const Shape chunk = PlanChunk(Cube(), {.shape = {64, 64, 64},
                                           .memory_bytes = 500000,
                                           .margin = margin})
                            .chunk;
    for (std::size_t i = 0; i < 3; ++i) ASSERT_LE(chunk[i], before[i]);
    before = chunk;
  }
  EXPECT_LT(before[0], 32);
}

TEST(PlanChunk, NamesBothValuesWhereNothingFits) {
  Footprint cube = Cube();
  cube.terms[0].bytes = 3 << 20;
  ExpectError(
      [&] {
        PlanChunk(cube, {.shape = {8, 8, 8}, .memory_bytes = 2 << 20});
      },
      ErrorCode::kUnsupported,
      "cube: the smallest block, 1 x 1 x 1, needs 3.0 MiB, and 1.8 MiB are "
      "usable");
}

TEST(PlanChunk, RefusesSizesThatAreNone) {
  const auto expect = [](const ChunkRequest& request,
                         const std::string& message) {
    ExpectError([&] { PlanChunk(Cube(), request); },
                ErrorCode::kInvalidArgument, message);
  };
  expect({.shape = {8, 8, 8, 8}, .memory_bytes = 1},
         "cube: shape has 4 dimensions, expected 3: z, y, x");
  expect({.shape = {8, 0, 8}, .memory_bytes = 1},
         "cube: shape 8 x 0 x 8 has a size of 0, expected 1 to 2^40");
  expect({.shape = {8, 8, 8}, .memory_bytes = 1, .align = {4}},
         "cube: align has 1 dimension, expected 3: z, y, x");
  expect({.shape = {8, 8, 8}, .memory_bytes = 0},
         "cube: memory of 0 bytes, expected at least 1");
  expect({.shape = {8, 8, 8}, .memory_bytes = 1, .margin = 1},
         "cube: margin of 1, expected a share from 0 to below 1");
}

TEST(DaskChunks, HasAnArgumentPerArray) {
  Footprint product = Cube();
  const ChunkPlan plan{.chunk = {7, 8, 9}};
  EXPECT_THAT(DaskChunks(product, plan), ElementsAre("(7, 8, 9)"));
  product.arrays = {{"z", "y"}, {"y", "x"}, {"x"}};
  EXPECT_THAT(DaskChunks(product, plan),
              ElementsAre("(7, 8)", "(8, 9)", "(9,)"));
}

}  // namespace
}  // namespace foretell
