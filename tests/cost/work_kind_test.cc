#include <gtest/gtest.h>

#include <string>

#include "foretell/cost.h"
#include "foretell/graph_io.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

/// Of the only operator of `body`.
WorkKind WorkOf(const std::string& body) {
  return EstimateCost(ParseGraph("graph \"one\"\n" + body + "output %y\n"),
                      test::RoundDevice(), {})
      .nodes.at(0)
      .work;
}

/// Of a convolution of 32 channels into as many.
WorkKind OfImages(const std::string& window, const std::string& how) {
  return WorkOf("%y = conv2d(input f32[4,32,30,30], weight f32[32," + window +
                "]) {" + how + "} : f32[4,32,28,28]\n");
}

TEST(WorkKind, TellsProductsFromWhatMovesData) {
  EXPECT_EQ(WorkOf("%y = relu(input f32[64,64]) : f32[64,64]\n"),
            WorkKind::kMoving);
  EXPECT_EQ(WorkOf("%y = linear(input f32[64,64], weight f32[64,64]) : "
                   "f32[64,64]\n"),
            WorkKind::kProduct);
}

TEST(WorkKind, TellsPlainConvolutionsFromOthers) {
  EXPECT_EQ(OfImages("32,3,3", "stride=[1,1]"), WorkKind::kPlainConvolution);
  EXPECT_EQ(OfImages("32,1,1", "stride=[1,1]"), WorkKind::kPlainConvolution);
  EXPECT_EQ(OfImages("32,3,3", "stride=[2,2]"), WorkKind::kPlainConvolution);
  EXPECT_EQ(OfImages("32,1,1", "stride=[2,2]"), WorkKind::kConvolution);
  EXPECT_EQ(OfImages("32,5,5", "stride=[1,1]"), WorkKind::kConvolution);
  EXPECT_EQ(WorkOf("%y = conv2d(input f32[4,3,30,30], weight f32[32,3,3,3]) "
                   "{stride=[1,1]} : f32[4,32,28,28]\n"),
            WorkKind::kConvolution);
}

TEST(WorkKind, TellsUnusualConvolutionsFromOthers) {
  EXPECT_EQ(OfImages("1,3,3", "stride=[1,1], groups=32"),
            WorkKind::kConvolution);
  EXPECT_EQ(OfImages("8,3,3", "stride=[1,1], groups=4"),
            WorkKind::kUnusualConvolution);
  EXPECT_EQ(OfImages("32,2,2", "stride=[1,1], dilation=[2,2]"),
            WorkKind::kUnusualConvolution);
  EXPECT_EQ(WorkOf("%y = conv3d(input f32[2,32,10,10,10], weight "
                   "f32[32,32,3,3,3]) {stride=[1,1,1]} : "
                   "f32[2,32,8,8,8]\n"),
            WorkKind::kUnusualConvolution);
  EXPECT_EQ(WorkOf("%y = conv3d(input f32[2,32,10,10,10], weight "
                   "f32[32,8,3,3,3]) {stride=[1,1,1], groups=4} : "
                   "f32[2,32,8,8,8]\n"),
            WorkKind::kRareConvolution);
  EXPECT_EQ(WorkOf("%y = conv3d(input f32[2,32,10,10,10], weight "
                   "f32[32,1,3,3,3]) {stride=[1,1,1], groups=32} : "
                   "f32[2,32,8,8,8]\n"),
            WorkKind::kUnusualConvolution);
}

TEST(WorkKind, CallsTranspositionsUnusual) {
  EXPECT_EQ(WorkOf("%y = conv_transpose2d(input f32[4,32,28,28], weight "
                   "f32[32,32,3,3]) {stride=[1,1]} : f32[4,32,30,30]\n"),
            WorkKind::kUnusualConvolution);
  EXPECT_EQ(WorkOf("%y = conv_transpose2d(input f32[4,32,28,28], weight "
                   "f32[32,8,3,3]) {stride=[1,1], groups=4} : "
                   "f32[4,32,30,30]\n"),
            WorkKind::kRareConvolution);
}

}  // namespace
}  // namespace foretell
