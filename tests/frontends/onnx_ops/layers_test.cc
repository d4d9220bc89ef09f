// Layers as the ATen operators that eager code calls, and the paths that the
// official cases leave out.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"
#include "tests/frontends/onnx_ops/node_runner.h"
#include "tests/graph/expect_error.h"

namespace foretell::onnx {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Ints = std::vector<std::int64_t>;

at::Tensor Floats(std::initializer_list<double> values, Ints shape) {
  return at::tensor(std::vector<double>(values)).to(at::kFloat).reshape(shape);
}

// ---- Convolution -----------------------------------------------------------

TEST(ConvLowering, IsOneOperatorWithSymmetricPads) {
  EXPECT_THAT(TraceNode({.op_type = "Conv",
                         .attributes = {IntsAttribute("pads", {1, 1, 1, 1})},
                         .constants = {{1, at::ones({4, 3, 3, 3})}}},
                        {{2, 3, 8, 8}}),
              ElementsAre("conv2d"));
}

TEST(ConvLowering, PadsFirstWhenTheEndsDiffer) {
  EXPECT_THAT(TraceNode({.op_type = "Conv",
                         .attributes = {IntsAttribute("pads", {0, 0, 1, 1})},
                         .constants = {{1, at::ones({4, 3, 3, 3})}}},
                        {{2, 3, 8, 8}}),
              ElementsAre("constant_pad_nd", "conv2d"));
}

TEST(ConvLowering, SameUpperPutsTheOddPadAtTheEnd) {
  // Four inputs at stride 2 under a kernel of 3 want one pad, at the end.
  const at::Tensor x = Floats({1, 2, 3, 4}, {1, 1, 4});
  const NodeCase node{.op_type = "Conv",
                      .attributes = {StringAttribute("auto_pad", "SAME_UPPER"),
                                     IntsAttribute("strides", {2})}};
  const at::Tensor y = RunNode(node, {x, at::ones({1, 1, 3})})[0];
  EXPECT_TRUE(at::equal(y, Floats({6, 7}, {1, 1, 2}))) << y;
}

TEST(ConvLowering, RefusesAKernelShapeThatTheWeightDoesNotHave) {
  const NodeCase node{.op_type = "Conv",
                      .attributes = {IntsAttribute("kernel_shape", {5})}};
  EXPECT_THROW(RunNode(node, {at::ones({1, 1, 8}), at::ones({1, 1, 3})}),
               Error);
}

TEST(ConvTransposeLowering, FoldsADifferenceOfPadsIntoOutputPadding) {
  EXPECT_THAT(TraceNode({.op_type = "ConvTranspose",
                         .attributes = {IntsAttribute("pads", {1, 1, 0, 0}),
                                        IntsAttribute("strides", {2, 2})},
                         .constants = {{1, at::ones({3, 4, 3, 3})}}},
                        {{1, 3, 8, 8}}),
              ElementsAre("conv_transpose2d"));
}

TEST(ConvTransposeLowering, CropsTheEndWhereNothingElseHelps) {
  // The whole output of two inputs at stride 1 under ones(3) is 1 3 3 2.
  const NodeCase node{.op_type = "ConvTranspose",
                      .attributes = {IntsAttribute("pads", {0, 1})}};
  const at::Tensor y = RunNode(
      node,
      {Floats({1, 2}, {1, 1, 2}), at::ones({1, 1, 3}), Floats({10}, {1})})[0];
  EXPECT_TRUE(at::equal(y, Floats({11, 13, 13}, {1, 1, 3}))) << y;
}

TEST(DeformConvLowering, WithoutOffsetsIsAConvolution) {
  const at::Tensor x = at::randn({2, 4, 6, 7});
  const at::Tensor weight = at::randn({6, 2, 3, 3});
  const at::Tensor bias = at::randn({6});
  const NodeCase node{
      .op_type = "DeformConv",
      .attributes = {IntsAttribute("pads", {1, 2, 1, 2}),
                     IntsAttribute("strides", {2, 1}), IntAttribute("group", 2),
                     IntAttribute("offset_group", 2)}};
  const at::Tensor expected =
      at::conv2d(x, weight, bias, Ints{2, 1}, Ints{1, 2}, Ints{1, 1}, 2);
  const at::Tensor offset =
      at::zeros({2, 2 * 2 * 9, expected.size(2), expected.size(3)});
  const at::Tensor y = RunNode(node, {x, weight, offset, bias})[0];
  EXPECT_TRUE(at::allclose(y, expected, 1e-4, 1e-4));
}

// ---- Pooling ---------------------------------------------------------------

TEST(MaxPoolLowering, IsOneOperatorWhereAtenCanPad) {
  EXPECT_THAT(TraceNode({.op_type = "MaxPool",
                         .attributes = {IntsAttribute("kernel_shape", {3, 3}),
                                        IntsAttribute("strides", {2, 2}),
                                        IntsAttribute("pads", {1, 1, 1, 1})}},
                        {{1, 3, 8, 8}}),
              ElementsAre("max_pool2d"));
}

TEST(MaxPoolLowering, NumbersElementsAcrossPlanesWithoutPads) {
  const at::Tensor x = Floats({1, 9, 2, 8, 3, 7}, {1, 2, 3});
  const NodeCase node{.op_type = "MaxPool",
                      .attributes = {IntsAttribute("kernel_shape", {2}),
                                     IntsAttribute("pads", {0, 1}),
                                     IntsAttribute("strides", {2})},
                      .num_outputs = 2};
  const std::vector<at::Tensor> y = RunNode(node, {x});
  EXPECT_TRUE(at::equal(y[0], Floats({9, 2, 8, 7}, {1, 2, 2}))) << y[0];
  EXPECT_TRUE(at::equal(y[1], at::tensor(Ints{1, 2, 3, 5}).reshape({1, 2, 2})))
      << y[1];
}

TEST(AveragePoolLowering, LeavesUnequalPadsOutOfTheMean) {
  const NodeCase node{.op_type = "AveragePool",
                      .attributes = {IntsAttribute("kernel_shape", {2}),
                                     IntsAttribute("pads", {0, 1}),
                                     IntsAttribute("strides", {2})}};
  const at::Tensor y = RunNode(node, {Floats({1, 3, 5}, {1, 1, 3})})[0];
  EXPECT_TRUE(at::equal(y, Floats({2, 5}, {1, 1, 2}))) << y;
}

TEST(AveragePoolLowering, CountsUnequalPadsWhenAsked) {
  const NodeCase node{.op_type = "AveragePool",
                      .attributes = {IntsAttribute("kernel_shape", {2}),
                                     IntsAttribute("pads", {0, 1}),
                                     IntsAttribute("strides", {2}),
                                     IntAttribute("count_include_pad", 1)}};
  const at::Tensor y = RunNode(node, {Floats({1, 3, 5}, {1, 1, 3})})[0];
  EXPECT_TRUE(at::equal(y, Floats({2, 2.5}, {1, 1, 2}))) << y;
}

TEST(GlobalPoolLowering, IsAnAdaptivePool) {
  EXPECT_THAT(TraceNode({.op_type = "GlobalAveragePool"}, {{2, 3, 7, 7}}),
              ElementsAre("adaptive_avg_pool2d"));
  EXPECT_THAT(TraceNode({.op_type = "GlobalMaxPool"}, {{2, 3, 7, 7}}),
              ElementsAre("adaptive_max_pool2d"));
}

// ---- Resize ----------------------------------------------------------------

NodeCase ResizeCase(std::vector<Attribute> attributes, at::Tensor scales) {
  return {.op_type = "Resize",
          .opset = 19,
          .attributes = std::move(attributes),
          .constants = {{1, at::zeros({0})}, {2, std::move(scales)}}};
}

TEST(ResizeLowering, FindsTheUpsampleOperatorUnderAnyCoordinates) {
  const at::Tensor twice = at::tensor({1.f, 1.f, 2.f, 2.f});
  const Attribute nearest = StringAttribute("mode", "nearest");
  const Attribute floor = StringAttribute("nearest_mode", "floor");
  EXPECT_THAT(
      TraceNode(ResizeCase({nearest, floor,
                            StringAttribute("coordinate_transformation_mode",
                                            "asymmetric")},
                           twice),
                {{1, 3, 4, 4}}),
      ElementsAre("upsample_nearest2d"));
  EXPECT_THAT(TraceNode(ResizeCase({nearest}, twice), {{1, 3, 4, 4}}),
              ElementsAre("upsample_nearest2d"));
}

TEST(ResizeLowering, TakesItsOwnElementsWhereAtenTakesOthers) {
  // Half pixels rounded down take 0 0 0 1 of two elements, ATen 0 0 1 1.
  const NodeCase node = ResizeCase({StringAttribute("nearest_mode", "floor")},
                                   at::tensor({1.f, 1.f, 2.f}));
  EXPECT_THAT(TraceNode(node, {{1, 1, 2}}), ElementsAre("upsample_nearest1d"));
  const at::Tensor y = RunNode(node, {Floats({5, 6}, {1, 1, 2})})[0];
  EXPECT_TRUE(at::equal(y, Floats({5, 5, 5, 6}, {1, 1, 4}))) << y;
}

TEST(ResizeLowering, LinearAndCubicAreUpsampleOperators) {
  const at::Tensor scales = at::tensor({1.f, 1.f, 2.f, 1.5f});
  EXPECT_THAT(TraceNode(ResizeCase({StringAttribute("mode", "linear")}, scales),
                        {{1, 3, 4, 4}}),
              ElementsAre("upsample_bilinear2d"));
  EXPECT_THAT(TraceNode(ResizeCase({StringAttribute("mode", "cubic")}, scales),
                        {{1, 3, 4, 4}}),
              ElementsAre("upsample_bicubic2d"));
}

TEST(ResizeLowering, ComputesTheSameWithAndWithoutAten) {
  // Antialiasing changes nothing when growing, but ATen's operator for it takes
  // another cubic.
  const at::Tensor x = at::randn({1, 2, 5, 4});
  const at::Tensor scales = at::tensor({1.f, 1.f, 2.f, 1.5f});
  for (const char* mode : {"linear", "cubic"}) {
    const at::Tensor with =
        RunNode(ResizeCase({StringAttribute("mode", mode)}, scales), {x})[0];
    const at::Tensor without = RunNode(
        ResizeCase(
            {StringAttribute("mode", mode), IntAttribute("antialias", 1)},
            scales),
        {x})[0];
    EXPECT_TRUE(at::allclose(with, without, 1e-4, 1e-5)) << mode;
  }
}

TEST(ResizeLowering, RefusesAnAbsurdScale) {
  EXPECT_THROW(RunNode(ResizeCase({}, at::tensor({1.f, 1.f, 1e30f, 1.f})),
                       {at::ones({1, 1, 2, 2})}),
               Error);
}

// ---- Recurrent layers ------------------------------------------------------

NodeCase LstmCase(std::vector<Attribute> attributes) {
  attributes.push_back(IntAttribute("hidden_size", 3));
  return {
      .op_type = "LSTM", .attributes = std::move(attributes), .num_outputs = 3};
}

TEST(RecurrentLowering, AUsualLayerIsOneCall) {
  EXPECT_THAT(TraceNode({.op_type = "LSTM",
                         .attributes = {IntAttribute("hidden_size", 3)},
                         .constants = {{1, at::ones({1, 12, 2})},
                                       {2, at::ones({1, 12, 3})},
                                       {3, at::ones({1, 24})}}},
                        {{5, 4, 2}}),
              ElementsAre("zeros", "zeros", "lstm", "unflatten", "transpose"));
  EXPECT_THAT(TraceNode({.op_type = "GRU",
                         .attributes = {IntAttribute("hidden_size", 3),
                                        IntAttribute("linear_before_reset", 1)},
                         .constants = {{1, at::ones({1, 9, 2})},
                                       {2, at::ones({1, 9, 3})}}},
                        {{5, 4, 2}}),
              Contains("gru"));
}

TEST(RecurrentLowering, ABidirectionalLstmReordersGatesForAten) {
  const at::Tensor x = at::randn({5, 4, 2});
  const at::Tensor w = at::randn({2, 12, 2}), r = at::randn({2, 12, 3});
  const at::Tensor b = at::randn({2, 24});
  const NodeCase at_once =
      LstmCase({StringAttribute("direction", "bidirectional")});
  // A bound that no gate reaches forces the layer to run step by step.
  const NodeCase stepwise =
      LstmCase({StringAttribute("direction", "bidirectional"),
                FloatAttribute("clip", 1000)});
  const auto expected = RunNode(stepwise, {x, w, r, b});
  const auto actual = RunNode(at_once, {x, w, r, b});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(actual[i].sizes(), expected[i].sizes());
    EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-4, 1e-5)) << i;
  }
}

TEST(RecurrentLowering, AGruIsTheSameAtOnceAndStepByStep) {
  const at::Tensor x = at::randn({5, 4, 2});
  const at::Tensor w = at::randn({1, 9, 2}), r = at::randn({1, 9, 3});
  const at::Tensor b = at::randn({1, 18});
  std::vector<Attribute> attributes = {IntAttribute("hidden_size", 3),
                                       IntAttribute("linear_before_reset", 1),
                                       StringAttribute("direction", "reverse")};
  const NodeCase at_once{
      .op_type = "GRU", .attributes = attributes, .num_outputs = 2};
  attributes.push_back(FloatAttribute("clip", 1000));
  const NodeCase stepwise{
      .op_type = "GRU", .attributes = attributes, .num_outputs = 2};
  const auto expected = RunNode(stepwise, {x, w, r, b});
  const auto actual = RunNode(at_once, {x, w, r, b});
  EXPECT_TRUE(at::allclose(actual[0], expected[0], 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(actual[1], expected[1], 1e-4, 1e-5));
}

TEST(RecurrentLowering, ShortSequencesEndEarly) {
  // One unit with weights 1 and no activation adds its inputs up.
  const NodeCase node{.op_type = "RNN",
                      .attributes = {IntAttribute("hidden_size", 1),
                                     FloatAttribute("clip", 1000),
                                     [] {
                                       Attribute names;
                                       names.name = "activations";
                                       names.kind = Attribute::Kind::kStrings;
                                       names.strings = {"Affine"};
                                       return names;
                                     }()},
                      .num_outputs = 2};
  const at::Tensor x = Floats({1, 10, 2, 20, 3, 30}, {3, 2, 1});
  const at::Tensor lengths = at::tensor({3, 2}, at::kInt);
  const auto y = RunNode(node, {x, at::ones({1, 1, 1}), at::ones({1, 1, 1}),
                                at::Tensor(), lengths});
  EXPECT_TRUE(at::equal(y[0].flatten(), Floats({1, 10, 3, 30, 6, 0}, {6})))
      << y[0];
  EXPECT_TRUE(at::equal(y[1].flatten(), Floats({6, 30}, {2}))) << y[1];
}

TEST(RecurrentLowering, RefusesAnotherHiddenSizeThanItsWeights) {
  NodeCase node = LstmCase({});
  node.attributes.front().i = std::int64_t{1} << 62;
  ExpectError(
      [&] {
        RunNode(node, {at::ones({5, 4, 2}), at::ones({1, 12, 2}),
                       at::ones({1, 12, 3})});
      },
      ErrorCode::kCorrupt, "hidden_size is 4611686018427387904, expected 3");
}

TEST(RecurrentLowering, NamesAnUnknownActivation) {
  Attribute names;
  names.name = "activations";
  names.kind = Attribute::Kind::kStrings;
  names.strings = {"Cosine"};
  const NodeCase node{.op_type = "RNN", .attributes = {names}};
  try {
    RunNode(node,
            {at::ones({2, 1, 1}), at::ones({1, 1, 1}), at::ones({1, 1, 1})});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("cosine"));
  }
}

// ---- Regions of interest ---------------------------------------------------

TEST(RoiAlignLowering, IsTorchvisionsOperatorInATrace) {
  EXPECT_THAT(TraceNode({.op_type = "RoiAlign",
                         .attributes = {IntAttribute("output_height", 7),
                                        IntAttribute("output_width", 7)},
                         .constants = {{2, at::zeros({5}, at::kLong)}}},
                        {{1, 8, 32, 32}, {5, 4}}),
              Contains("torchvision::roi_align"));
}

TEST(RoiAlignLowering, AveragesThePixelsOfABin) {
  const at::Tensor x = at::arange(16, at::kFloat).reshape({1, 1, 4, 4});
  const NodeCase node{.op_type = "RoiAlign",
                      .attributes = {IntAttribute("sampling_ratio", 2)}};
  const at::Tensor y = RunNode(
      node, {x, Floats({0, 0, 2, 2}, {1, 4}), at::zeros({1}, at::kLong)})[0];
  // Samples fall onto pixels 0, 1, 4 and 5.
  EXPECT_FLOAT_EQ(y.item<float>(), 2.5f);
}

}  // namespace
}  // namespace foretell::onnx
