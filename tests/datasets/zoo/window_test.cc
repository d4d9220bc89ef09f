// Windows, their mask and the tables of distances, in numbers.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "datasets/zoo/disentangled_attention.h"
#include "datasets/zoo/transformer_layers.h"
#include "datasets/zoo/window_attention.h"
#include "foretell/trace.h"

namespace foretell::zoo {
namespace {

TEST(WindowShape, IsOneUnshiftedWindowOnASmallImage) {
  const WindowShape small = WindowShape::Fit(5, 7, /*shifted=*/true);
  EXPECT_EQ(small.window, 5);
  EXPECT_EQ(small.shift, 0);
  const WindowShape large = WindowShape::Fit(8, 7, /*shifted=*/true);
  EXPECT_EQ(large.window, 7);
  EXPECT_EQ(large.shift, 3);
  EXPECT_EQ(large.Padded(8), 14);
}

TEST(SplitWindows, TakesSquaresRowByRow) {
  const at::Tensor image = at::arange(16).view({1, 4, 4, 1});
  const at::Tensor windows = SplitWindows(image, 2);
  ASSERT_EQ(windows.sizes(), (std::vector<std::int64_t>{4, 4, 1}));
  EXPECT_TRUE(windows[1].flatten().equal(at::tensor({2, 3, 6, 7}, at::kLong)));
  EXPECT_TRUE(MergeWindows(windows, 2, 4).equal(image));
}

TEST(ShiftMask, SeparatesWhatTheRollBroughtTogether) {
  // Windows of 2 on 4 tokens a side, rolled by 1: the last window holds four
  // strangers, the one beside it two pairs, the first one neighbours only.
  const at::Tensor mask = ShiftMask({.window = 2, .shift = 1}, 4);
  ASSERT_EQ(mask.sizes(), (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(mask[0].eq(0).sum().item<std::int64_t>(), 16);
  EXPECT_EQ(mask[1].eq(0).sum().item<std::int64_t>(), 8);
  EXPECT_EQ(mask[3].eq(0).sum().item<std::int64_t>(), 4);
  EXPECT_EQ(mask[3].min().item<float>(), -100);
}

TEST(WindowAttention, LooksUpOneBiasPerOffset) {
  WindowAttention attention(4, 1, 2);
  const at::Tensor index = attention.named_buffers()["relative_position_index"];
  // Tokens (0,0), (0,1), (1,0), (1,1); rows of the table by 3 × row offset +
  // column offset, from (-1, -1).
  EXPECT_TRUE(index.equal(
      at::tensor({4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4}, at::kLong)
          .view({4, 4})));
}

TEST(LogDistances, AreExactNearbyAndLogarithmicFarAway) {
  const at::Tensor distances = LogDistances(512, 256, 512, at::kCPU);
  ASSERT_EQ(distances.sizes(), (std::vector<std::int64_t>{1, 512, 512}));
  const auto at_offset = [&](std::int64_t offset) {
    return distances[0][511][511 - offset].item<std::int64_t>();
  };
  EXPECT_EQ(at_offset(0), 0);
  EXPECT_EQ(at_offset(100), 100);
  EXPECT_EQ(at_offset(128), 128);
  // ⌈ln(256/128) / ln(511/128) × 127⌉ + 128 = ⌈63.6⌉ + 128.
  EXPECT_EQ(at_offset(256), 192);
  // ⌈ln(400/128) / ln(511/128) × 127⌉ + 128 = ⌈104.5⌉ + 128.
  EXPECT_EQ(at_offset(400), 233);
  EXPECT_EQ(distances[0][0][256].item<std::int64_t>(), -192);
}

TEST(DropPath, ZeroesWholeSamplesAndScalesTheOthers) {
  at::manual_seed(7);
  DropPath drop(0.5);
  const at::Tensor x = at::ones({64, 3, 2});
  drop->eval();
  EXPECT_TRUE(drop->forward(x).equal(x));
  drop->train();
  const at::Tensor sums = drop->forward(x).flatten(1).sum(1);
  EXPECT_TRUE(sums.eq(0).logical_or(sums.eq(12)).all().item<bool>());
  EXPECT_TRUE(sums.eq(0).any().item<bool>());
  EXPECT_TRUE(sums.eq(12).any().item<bool>());
}

TEST(DropPathRates, RiseEvenly) {
  EXPECT_EQ(DropPathRates(3, 0.5), (std::vector<double>{0, 0.25, 0.5}));
  EXPECT_EQ(DropPathRates(1, 0.5), (std::vector<double>{0}));
}

TEST(SplitHeads, IsUndoneByMergeHeads) {
  const at::Tensor x = at::arange(24).view({2, 3, 4});
  const at::Tensor heads = SplitHeads(x, 2);
  EXPECT_EQ(heads.sizes(), (std::vector<std::int64_t>{2, 2, 3, 2}));
  EXPECT_TRUE(MergeHeads(heads).equal(x));
}

}  // namespace
}  // namespace foretell::zoo
