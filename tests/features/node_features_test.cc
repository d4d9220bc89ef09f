#include <gtest/gtest.h>

#include <cmath>

#include "tests/features/slot_of.h"

namespace foretell {
namespace {

float Log2(double x, double divisor) {
  return static_cast<float>(std::log2(1 + x) / divisor);
}

using Slots = std::map<std::string, float>;

void ExpectSlots(const Slots& actual, const Slots& expected) {
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_FLOAT_EQ(actual.at(name), value) << name;
  }
  for (const auto& [name, value] : actual) {
    EXPECT_TRUE(expected.contains(name)) << name << " = " << value;
  }
}

TEST(NodeFeatures, DescribeAConvolution) {
  ExpectSlots(
      SlotsOf("%y = conv2d(input f32[2,8,32,30], weight f32[16,4,5,3]) "
              "{stride=[1,2], padding=[2,1], dilation=[1,3], groups=2} : "
              "f32[2,16,32,15]"),
      {{"is_convolution", 1},
       {"kernel_height", Log2(5, 4)},
       {"kernel_width", Log2(3, 4)},
       {"stride", Log2(2, 4)},
       {"dilation", Log2(3, 4)},
       {"groups", Log2(2, 12)},
       {"channels_in", Log2(8, 12)},
       {"channels_out", Log2(16, 12)},
       {"output_dim0", Log2(2, 12)},
       {"output_dim1", Log2(16, 12)},
       {"output_dim2", Log2(32, 12)},
       {"output_dim3", Log2(15, 12)},
       {"macs", Log2(2 * 16 * 32 * 15 * 60, 40)},
       {"input_bytes", Log2(2 * 8 * 32 * 30 * 4, 36)},
       {"output_bytes", Log2(2 * 16 * 32 * 15 * 4, 36)},
       {"weight_bytes", Log2(16 * 60 * 4, 36)},
       {"element_bytes", 0.5}});
}

TEST(NodeFeatures, MarkADepthwiseConvolution) {
  const Slots slots = SlotsOf(
      "%y = conv1d(input f16[1,8,10], weight f16[16,1,3]) {groups=8} : "
      "f16[1,16,8]");
  EXPECT_EQ(slots.at("depthwise"), 1);
  EXPECT_FLOAT_EQ(slots.at("kernel_height"), Log2(1, 4));
  EXPECT_FLOAT_EQ(slots.at("kernel_width"), Log2(3, 4));
  EXPECT_FLOAT_EQ(slots.at("element_bytes"), 0.25);
}

TEST(NodeFeatures, DoNotMarkAConvolutionOfOneChannelAsDepthwise) {
  EXPECT_FALSE(SlotsOf("%y = conv1d(input f32[1,1,10], weight f32[16,1,3]) : "
                       "f32[1,16,8]")
                   .contains("depthwise"));
}

TEST(NodeFeatures, GiveATransposedConvolutionANegativeStride) {
  const Slots slots = SlotsOf(
      "%y = conv_transpose2d(input f32[1,8,5,5], weight f32[8,3,2,2]) "
      "{stride=[2,2], groups=2} : f32[1,6,10,10]");
  EXPECT_FLOAT_EQ(slots.at("stride"), -Log2(2, 4));
  EXPECT_FLOAT_EQ(slots.at("channels_in"), Log2(8, 12));
  EXPECT_FLOAT_EQ(slots.at("channels_out"), Log2(6, 12));
}

TEST(NodeFeatures, ReadTheWeightOfAConvolutionsBackward) {
  const Slots slots = SlotsOf(
      "phase backward\n"
      "%g, %w = convolution_backward(input f32[1,16,8,8], input f32[1,4,8,8], "
      "weight f32[16,4,3,1]) {stride=[1,1]} : f32[1,4,8,8], f32[16,4,3,1]");
  EXPECT_FLOAT_EQ(slots.at("phase"), 0.5);
  EXPECT_EQ(slots.at("is_convolution"), 1);
  EXPECT_FLOAT_EQ(slots.at("kernel_height"), Log2(3, 4));
  EXPECT_FLOAT_EQ(slots.at("channels_in"), Log2(4, 12));
  EXPECT_FLOAT_EQ(slots.at("output_bytes"), Log2((256 + 192) * 4, 36));
}

TEST(NodeFeatures, DescribeALinearLayer) {
  ExpectSlots(SlotsOf("%y = linear(input bf16[4,10,32], weight bf16[64,32], "
                      "weight bf16[64]) : bf16[4,10,64]"),
              {{"is_matrix_product", 1},
               {"channels_in", Log2(32, 12)},
               {"channels_out", Log2(64, 12)},
               {"output_dim0", Log2(4, 12)},
               {"output_dim1", Log2(10, 12)},
               {"output_dim2", Log2(64, 12)},
               {"macs", Log2(40 * 32 * 64, 40)},
               {"input_bytes", Log2(4 * 10 * 32 * 2, 36)},
               {"output_bytes", Log2(4 * 10 * 64 * 2, 36)},
               {"weight_bytes", Log2((64 * 32 + 64) * 2, 36)},
               {"element_bytes", 0.25}});
}

TEST(NodeFeatures, TakeTheSecondInputOfAddmmAsTheLeftFactor) {
  EXPECT_FLOAT_EQ(SlotsOf("%y = addmm(weight f32[5], input f32[3,4], weight "
                          "f32[4,5]) : f32[3,5]")
                      .at("channels_in"),
                  Log2(4, 12));
}

TEST(NodeFeatures, DescribeAPoolingWhoseStrideIsItsWindow) {
  const Slots slots = SlotsOf(
      "%y = max_pool2d(input f32[1,8,12,12]) {kernel_size=[3,2], "
      "stride=[]} : f32[1,8,4,6]");
  EXPECT_EQ(slots.at("is_resampling"), 1);
  EXPECT_FLOAT_EQ(slots.at("kernel_height"), Log2(3, 4));
  EXPECT_FLOAT_EQ(slots.at("kernel_width"), Log2(2, 4));
  EXPECT_FLOAT_EQ(slots.at("stride"), Log2(2, 4));
}

TEST(NodeFeatures, MultiplyDimensionsBeyondTheFourth) {
  EXPECT_FLOAT_EQ(SlotsOf("%y = relu(input f32[2,3,4,5,6]) : f32[2,3,4,5,6]")
                      .at("output_dim3"),
                  Log2(30, 12));
}

TEST(NodeFeatures, MarkAViewAndAnInPlaceUpdate) {
  const Slots view = SlotsOf(
      "%x = input f32[4]\n"
      "%v = view(%x) : f32[2,2] alias %x");
  EXPECT_EQ(view.at("is_view"), 1);
  EXPECT_EQ(view.at("aliases_input"), 1);
  const Slots relu = SlotsOf(
      "%x = input f32[4]\n"
      "%v = relu_(%x) : f32[4] alias %x");
  EXPECT_EQ(relu.at("is_activation"), 1);
  EXPECT_EQ(relu.at("aliases_input"), 1);
  EXPECT_FALSE(
      SlotsOf("%v = relu(input f32[4]) : f32[4]").contains("aliases_input"));
}

TEST(NodeFeatures, CountAnInputThatIsUsedTwiceOnce) {
  EXPECT_FLOAT_EQ(
      SlotsOf("%x = input f32[4]\n%y = mul(%x, %x) : f32[4]").at("input_bytes"),
      Log2(16, 36));
}

TEST(NodeFeatures, DescribeAnOperatorWithoutResults) {
  ExpectSlots(
      SlotsOf("phase optimizer\n"
              "_fused_sgd_(weight f32[8], buffer f32[8])"),
      {{"is_optimizer", 1}, {"phase", 1}, {"weight_bytes", Log2(64, 36)}});
}

TEST(NodeFeatures, OfAnyOperatorHaveOneClass) {
  for (const char* target : {"softmax", "mean", "cat", "mystery", "mul",
                             "avg_pool2d", "gelu", "view", "embedding"}) {
    const NodeFeatureRow row = NodeFeatures(ParseGraph(
        std::string("%y = ") + target + "(input f32[4]) : f32[4]"))[0];
    float classes = 0;
    for (std::size_t i = 0; i < 13; ++i) classes += row[i];
    EXPECT_EQ(classes, 1) << target;
  }
}

TEST(NodeFeatures, StayNearOneForALargeNetwork) {
  const NodeFeatureRow row = NodeFeatures(ParseGraph(
      "%y = conv2d(input f32[256,512,56,56], weight f32[2048,512,3,3]) "
      "{stride=[1,1]} : f32[256,2048,56,56]"))[0];
  for (const float value : row) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1.2);
  }
}

}  // namespace
}  // namespace foretell
