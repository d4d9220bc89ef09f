// Operators that multiply no matrices and convolve nothing, however a lowering
// may compute them: eager PyTorch spends no multiply-accumulate on them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "foretell/graph.h"
#include "foretell/trace.h"
#include "tests/frontends/onnx_ops/node_runner.h"

namespace foretell::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

using Ints = std::vector<std::int64_t>;

std::int64_t MacsOf(const Trace& trace) {
  std::int64_t macs = 0;
  for (const foretell::Node& node : trace.graph.nodes()) macs += node.macs;
  return macs;
}

std::vector<std::string> TargetsOf(const Trace& trace) {
  std::vector<std::string> targets;
  for (const foretell::Node& node : trace.graph.nodes()) {
    targets.push_back(node.target);
  }
  return targets;
}

/// A node, and the shapes of its inputs that are no constants.
struct Sample {
  std::string name;
  NodeCase node;
  std::vector<Ints> shapes;
};

at::Tensor Floats(const std::vector<float>& values) {
  return at::tensor(values);
}
at::Tensor Integers(const Ints& values) { return at::tensor(values); }

// ---- Resize ----------------------------------------------------------------

NodeCase ResizeTo(const Ints& sizes, std::vector<Attribute> attributes) {
  return {.op_type = "Resize",
          .opset = 19,
          .attributes = std::move(attributes),
          .constants = {
              {1, at::zeros({0})}, {2, at::zeros({0})}, {3, Integers(sizes)}}};
}

NodeCase Cropped(std::vector<Attribute> attributes) {
  NodeCase node = ResizeTo({1, 3, 5, 7}, std::move(attributes));
  node.constants[1] = Floats({0, 0, 0.2F, 0.2F, 1, 1, 0.8F, 1.2F});
  return node;
}

Attribute Mode(std::string mode) {
  return StringAttribute("mode", std::move(mode));
}
Attribute Coordinates(std::string name) {
  return StringAttribute("coordinate_transformation_mode", std::move(name));
}

const Attribute kAntialias = IntAttribute("antialias", 1);

NodeCase UpsampleAt7() {
  Attribute scales{.name = "scales"};
  scales.kind = Attribute::Kind::kFloats;
  scales.floats = {1, 1, 2, 2};
  return {.op_type = "Upsample",
          .opset = 7,
          .attributes = {Mode("linear"), scales}};
}

/// A Resize that no operator of ATen computes, and what eager code calls to get
/// such an image.
struct Resized {
  NodeCase node;
  Ints shape;
  std::vector<std::string> targets;
};

std::vector<Resized> ResizedOtherwise() {
  const Attribute linear = Mode("linear"), cubic = Mode("cubic");
  const Attribute asymmetric = Coordinates("asymmetric");
  const Ints image = {1, 3, 8, 6}, wanted = {1, 3, 5, 9};
  return {
      {ResizeTo(wanted, {linear, asymmetric}), image, {"upsample_bilinear2d"}},
      {ResizeTo(wanted, {linear, Coordinates("half_pixel_symmetric")}),
       image,
       {"upsample_bilinear2d"}},
      {ResizeTo({1, 3, 1, 9}, {linear, Coordinates("pytorch_half_pixel")}),
       image,
       {"upsample_bilinear2d"}},
      {Cropped({linear, Coordinates("tf_crop_and_resize")}),
       image,
       {"upsample_bilinear2d"}},
      {ResizeTo(wanted, {linear, kAntialias}),
       image,
       {"_upsample_bilinear2d_aa"}},
      {ResizeTo(wanted, {cubic, kAntialias}),
       image,
       {"_upsample_bicubic2d_aa"}},
      {ResizeTo(wanted, {cubic, FloatAttribute("cubic_coeff_a", -0.5F)}),
       image,
       {"upsample_bicubic2d"}},
      {ResizeTo(wanted, {cubic, IntAttribute("exclude_outside", 1)}),
       image,
       {"upsample_bicubic2d"}},
      {ResizeTo({1, 5, 9, 3}, {linear}),
       {1, 8, 6, 3},
       {"permute", "upsample_bilinear2d", "permute"}},
      {ResizeTo({5, 9}, {linear}),
       {8, 6},
       {"unsqueeze", "unsqueeze", "upsample_bilinear2d", "reshape"}},
      {ResizeTo({3, 5, 9}, {linear}),
       {3, 8, 6},
       {"unsqueeze", "upsample_bilinear2d", "reshape"}},
      {ResizeTo({1, 3, 12}, {linear, asymmetric}),
       {1, 3, 7},
       {"upsample_linear1d"}},
      {ResizeTo({1, 3, 12}, {cubic}),
       {1, 3, 7},
       {"unsqueeze", "upsample_bicubic2d", "squeeze"}},
      {ResizeTo({1, 3, 4, 6, 8}, {linear, asymmetric}),
       {1, 3, 7, 3, 5},
       {"upsample_trilinear3d"}},
      {ResizeTo({1, 3, 5, 5}, {Mode("nearest"), Coordinates("half_pixel")}),
       {1, 3, 7, 7},
       {"_upsample_nearest_exact2d"}},
      {ResizeTo({1, 3, 12, 12},
                {Mode("nearest"), StringAttribute("nearest_mode", "ceil")}),
       image,
       {"upsample_nearest2d"}},
      {UpsampleAt7(), image, {"upsample_bilinear2d"}},
  };
}

TEST(ResizedOtherwise, IsTheUpsampleOperatorOfEagerCode) {
  for (const Resized& row : ResizedOtherwise()) {
    const Trace trace = TraceCase(row.node, {row.shape});
    EXPECT_EQ(TargetsOf(trace), row.targets);
    EXPECT_EQ(MacsOf(trace), 0) << ::testing::PrintToString(row.targets);
  }
}

/// Operators of a trace with values, but for casts of the node's own sizes.
std::vector<std::string> TargetsWithValues(const Resized& row) {
  std::vector<std::string> targets = TargetsOf(
      TraceCase(row.node, {row.shape}, {.device = TraceDevice::kCpu}));
  std::erase(targets, "to");
  return targets;
}

TEST(ResizedOtherwise, HasTheSameOperatorsWithValues) {
  for (const Resized& row : ResizedOtherwise()) {
    EXPECT_EQ(TargetsWithValues(row), row.targets);
  }
}

/// Bytes of all activations of a linear Resize with values.
std::int64_t BytesMade(const std::string& coordinates) {
  const NodeCase node =
      ResizeTo({1, 3, 5, 9}, {Mode("linear"), Coordinates(coordinates)});
  const Trace trace =
      TraceCase(node, {{1, 3, 8, 6}}, {.device = TraceDevice::kCpu});
  std::int64_t bytes = 0;
  for (const Storage& storage : trace.graph.storages()) {
    if (storage.role == TensorRole::kActivation) bytes += storage.bytes;
  }
  return bytes;
}

TEST(ResizedOtherwise, ComputesItsValuesUnseen) {
  // ATen computes the second one itself.
  EXPECT_EQ(BytesMade("asymmetric"), BytesMade("half_pixel"));
}

TEST(ResizedOtherwise, TrainsByTheGradientOfThatOperator) {
  const TraceOptions training = {.run = {.mode = Mode::kTraining}};
  const NodeCase node = ResizeTo({1, 3, 4, 3}, {Mode("linear"), kAntialias});
  NodeCase weighted = node;
  weighted.constants[0] = at::ones({1, 3, 8, 6});
  const Trace trace = TraceCase(weighted, {}, training);
  EXPECT_THAT(TargetsOf(trace),
              IsSupersetOf({"_upsample_bilinear2d_aa",
                            "_upsample_bilinear2d_aa_backward"}));
  EXPECT_EQ(MacsOf(trace), 0);
}

// ---- Pooling ---------------------------------------------------------------

NodeCase Pool(std::string op_type, std::vector<Attribute> attributes) {
  attributes.push_back(IntsAttribute("kernel_shape", {3, 3}));
  attributes.push_back(IntsAttribute("dilations", {2, 2}));
  return {.op_type = std::move(op_type),
          .opset = 19,
          .attributes = std::move(attributes)};
}

TEST(DilatedPooling, IsAPoolOverWindowsThatSpanAsMuch) {
  const std::vector<Ints> image = {{1, 3, 12, 12}};
  EXPECT_THAT(TraceNode(Pool("AveragePool", {}), image),
              ElementsAre("avg_pool2d"));
  EXPECT_THAT(
      TraceNode(Pool("AveragePool", {IntsAttribute("pads", {1, 1, 1, 1}),
                                     IntsAttribute("strides", {2, 2})}),
                image),
      ElementsAre("avg_pool2d"));
  EXPECT_THAT(
      TraceNode(Pool("LpPool", {}), image),
      ElementsAre("abs", "pow", "constant_pad_nd", "avg_pool2d", "mul", "pow"));
}

TEST(DilatedPooling, AveragesEverySecondElement) {
  const at::Tensor x =
      at::tensor(std::vector<float>{1, 10, 3, 10, 5, 20, 7}).reshape({1, 1, 7});
  const NodeCase node{.op_type = "AveragePool",
                      .opset = 19,
                      .attributes = {IntsAttribute("kernel_shape", {3}),
                                     IntsAttribute("dilations", {2})}};
  const at::Tensor y = RunNode(node, {x})[0];
  EXPECT_TRUE(at::allclose(
      y, at::tensor(std::vector<float>{3, 40.F / 3, 5}).reshape({1, 1, 3})))
      << y;
}

// ---- All others ------------------------------------------------------------

std::vector<Sample> Samples() {
  const Ints image = {2, 4, 6, 6};
  return {
      {"LRN",
       {.op_type = "LRN", .attributes = {IntAttribute("size", 3)}},
       {image}},
      {"CumSum",
       {.op_type = "CumSum", .constants = {{1, Integers({1})}}},
       {image}},
      {"Trilu", {.op_type = "Trilu"}, {image}},
      {"GridSample", {.op_type = "GridSample"}, {image, {2, 3, 3, 2}}},
      {"DFT",
       {.op_type = "DFT", .constants = {{2, Integers({1})}}},
       {{1, 8, 1}}},
      {"STFT",
       {.op_type = "STFT",
        .constants = {{1, Integers({4})}, {2, at::ones({8})}}},
       {{1, 32, 1}}},
      {"STFT of samples without parts",
       {.op_type = "STFT",
        .constants = {{1, Integers({4})}, {2, at::ones({8})}}},
       {{1, 32}}},
      {"DepthToSpace",
       {.op_type = "DepthToSpace",
        .attributes = {IntAttribute("blocksize", 2)}},
       {image}},
      {"SpaceToDepth",
       {.op_type = "SpaceToDepth",
        .attributes = {IntAttribute("blocksize", 2)}},
       {image}},
      {"GroupNormalization",
       {.op_type = "GroupNormalization",
        .attributes = {IntAttribute("num_groups", 2)},
        .constants = {{1, at::ones({4})}, {2, at::ones({4})}}},
       {image}},
      {"InstanceNormalization",
       {.op_type = "InstanceNormalization",
        .constants = {{1, at::ones({4})}, {2, at::ones({4})}}},
       {image}},
      {"LpNormalization", {.op_type = "LpNormalization"}, {image}},
      {"MeanVarianceNormalization",
       {.op_type = "MeanVarianceNormalization"},
       {image}},
      {"GlobalLpPool", {.op_type = "GlobalLpPool"}, {image}},
      {"Hardmax", {.op_type = "Hardmax"}, {image}},
      {"ScatterElements",
       {.op_type = "ScatterElements",
        .constants = {{1, at::zeros({1, 4, 6, 6}, at::kLong)}}},
       {image, {1, 4, 6, 6}}},
      {"ScatterND",
       {.op_type = "ScatterND",
        .constants = {{1, Integers({0}).reshape({1, 1})}}},
       {image, {1, 4, 6, 6}}},
      {"GatherND",
       {.op_type = "GatherND",
        .constants = {{1, Integers({0}).reshape({1, 1})}}},
       {image}},
      {"GatherElements",
       {.op_type = "GatherElements",
        .constants = {{1, at::zeros({1, 4, 6, 6}, at::kLong)}}},
       {image}},
      {"RoiAlign",
       {.op_type = "RoiAlign", .constants = {{2, Integers({0})}}},
       {image, {1, 4}}},
      {"Col2Im",
       {.op_type = "Col2Im",
        .constants = {{1, Integers({4, 4})}, {2, Integers({2, 2})}}},
       {{1, 4, 9}}},
      {"Einsum of one operand",
       {.op_type = "Einsum",
        .attributes = {StringAttribute("equation", "ij->ji")}},
       {{3, 4}}},
      {"TopK",
       {.op_type = "TopK", .num_outputs = 2, .constants = {{1, Integers({2})}}},
       {image}},
      {"dilated AveragePool", Pool("AveragePool", {}), {{1, 3, 12, 12}}},
      {"dilated LpPool",
       Pool("LpPool", {IntsAttribute("pads", {0, 0, 1, 1})}),
       {{1, 3, 12, 12}}},
  };
}

TEST(NoProduct, TakesNoMultiplyAccumulate) {
  for (const Sample& sample : Samples()) {
    EXPECT_EQ(MacsOf(TraceCase(sample.node, sample.shapes)), 0) << sample.name;
  }
}

TEST(Product, IsCounted) {
  const NodeCase node{.op_type = "MatMul",
                      .constants = {{1, at::ones({4, 5})}}};
  EXPECT_EQ(MacsOf(TraceCase(node, {{3, 4}})), 60);
}

}  // namespace
}  // namespace foretell::onnx
