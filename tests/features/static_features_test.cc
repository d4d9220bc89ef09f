#include <gtest/gtest.h>

#include "foretell/features.h"
#include "foretell/graph_io.h"

namespace foretell {
namespace {

StaticFeatures Count(const char* text) {
  return CountStaticFeatures(ParseGraph(text));
}

TEST(StaticFeatures, CountTheForwardPass) {
  const StaticFeatures counts = Count(R"(
    graph batch=2
    %x = input f32[2,3,8,8]
    %a = conv2d(%x, weight f32[4,3,3,3]) : f32[2,4,6,6]
    %b = relu(%a) : f32[2,4,6,6]
    %c = conv_transpose2d(%b, weight f32[4,2,2,2]) : f32[2,2,7,7]
    %d = relu_(%c) : f32[2,2,7,7] alias %c
    %e = flatten(%d) : f32[2,98] alias %d
    %f = linear(%e, weight f32[5,98]) : f32[2,5]
    %g = relu6(%f) : f32[2,5]
    phase backward
    %h = relu(%g) : f32[2,5]
    %i = mm(%f, %g) : f32[2,5]
    %j = conv2d(%x, weight f32[4,3,3,3]) : f32[2,4,6,6])");
  EXPECT_EQ(counts.macs, 2 * 4 * 36 * 27 + 2 * 4 * 36 * 8 + 2 * 98 * 5);
  EXPECT_EQ(counts.batch, 2);
  EXPECT_EQ(counts.convolutions, 2);
  EXPECT_EQ(counts.dense, 1);
  EXPECT_EQ(counts.relus, 2);
}

TEST(StaticFeatures, CountProductsWithAWeightMatrixAsDense) {
  EXPECT_EQ(Count("%y = matmul(input f32[2,3,4], weight f32[4,5]) : "
                  "f32[2,3,5]")
                .dense,
            1);
  EXPECT_EQ(Count("%w = parameter f32[5,4]\n"
                  "%t = t(%w) : f32[4,5] alias %w\n"
                  "%y = matmul(input f32[2,3,4], %t) : f32[2,3,5]")
                .dense,
            1);
}

TEST(StaticFeatures, CountProductsOfTwoMatricesAsDense) {
  EXPECT_EQ(Count("%y = mm(input f32[3,4], input f32[4,5]) : f32[3,5]").dense,
            1);
  EXPECT_EQ(Count("%y = addmm(input f32[5], input f32[3,4], input f32[4,5]) : "
                  "f32[3,5]")
                .dense,
            1);
}

TEST(StaticFeatures, DoNotCountBatchedProductsOfActivationsAsDense) {
  EXPECT_EQ(Count("%y = bmm(input f32[2,3,4], input f32[2,4,5]) : "
                  "f32[2,3,5]")
                .dense,
            0);
  EXPECT_EQ(Count("%y = mv(input f32[3,4], input f32[4]) : f32[3]").dense, 0);
  EXPECT_EQ(Count("%y = einsum(input f32[2,3], weight f32[3,4]) "
                  "{equation=\"ij,jk->ik\"} : f32[2,4]")
                .dense,
            0);
}

TEST(StaticFeatures, AreListedInThePublishedOrder) {
  const StaticFeatures counts{
      .macs = 1, .batch = 2, .convolutions = 3, .dense = 4, .relus = 5};
  EXPECT_EQ(counts.ToArray(), (std::array<double, 5>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace foretell
