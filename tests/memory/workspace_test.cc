#include "src/memory/workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/graph_io.h"
#include "foretell/memory.h"
#include "tests/cost/test_device.h"
#include "tests/graph/in_channels_last.h"

namespace foretell {
namespace {

using test::A100;

/// The largest block of the last node of a graph in text form.
std::int64_t WorkspaceOfLast(const std::string& body,
                             const DeviceSpec& device = A100()) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  std::int64_t largest = 0;
  for (const memory::WorkspaceBlock& block :
       memory::WorkspaceBlocks(graph, graph.nodes().back(), device)) {
    largest = std::max(largest, block.bytes);
  }
  return largest;
}

/// Blocks of the only node of a graph in text form.
std::vector<memory::WorkspaceBlock> BlocksOf(const std::string& body) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  return memory::WorkspaceBlocks(graph, graph.nodes().back(), A100());
}

TEST(Workspace, NothingIsCopiedWhereChannelsAreInnermost) {
  const auto bytes = [](const std::string& body, bool channels_last) {
    std::int64_t sum = 0;
    for (const memory::WorkspaceBlock& block :
         BlocksOf(channels_last ? InChannelsLast(body) : body)) {
      sum += block.bytes;
    }
    return sum;
  };
  constexpr char kDense[] = R"(%x = input f16[2,8,16,16]
%y = conv2d(%x, weight f16[4,8,5,5]) {padding=[2,2]} : f16[2,4,16,16]
)";
  EXPECT_GT(bytes(kDense, false), 0);
  EXPECT_EQ(bytes(kDense, true), 0);
  constexpr char kGrouped[] = R"(%x = input f16[2,8,16,16]
%y = conv2d(%x, weight f16[8,4,3,3]) {groups=2,padding=[1,1]} : f16[2,8,16,16]
)";
  EXPECT_EQ(bytes(kGrouped, true), bytes(kGrouped, false));
}

TEST(Workspace, OfADenseConvolutionIsHalfItsThreeTensors) {
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f32[2,8,16,16]
%y = conv2d(%x, weight f32[4,8,5,5]) {padding=[2,2]} : f32[2,4,16,16]
)"),
            4 * (2 * 8 * 256 + 4 * 8 * 25 + 2 * 4 * 256) / 2);
}

// The copy lives with the workspace of the pass, and is not optional.
TEST(Workspace, HoldsTheCopyOfAStridedOperand) {
  const std::vector<memory::WorkspaceBlock> blocks =
      BlocksOf(R"(%x = input f32[2,8,16,16]
%a = transpose(%x) {dim0=2, dim1=3} : f32[2,8,16,16] strides=[2048, 256, 1, 16] alias %x
%y = conv2d(%a, weight f32[4,8,5,5]) {padding=[2,2]} : f32[2,4,16,16]
)");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_TRUE(blocks[0].optional);
  EXPECT_EQ(blocks[1].bytes, 2 * 8 * 256 * 4);
  EXPECT_FALSE(blocks[1].optional);
  EXPECT_EQ(blocks[0].output, blocks[1].output);
}

/// Forward pass of a 3 x 3 convolution.
std::string ForwardUnitStride3x3(int in, int out) {
  return "%x = input f32[2," + std::to_string(in) +
         ",16,16]\n%y = conv2d(%x, weight f32[" + std::to_string(out) + "," +
         std::to_string(in) + ",3,3]) {padding=[1,1]} : f32[2," +
         std::to_string(out) + ",16,16]\n";
}

TEST(Workspace, OfA3x3CopiesTheSideWhoseChannelsFillNoVector) {
  const auto tensor = [](int channels) { return 4 * 2 * channels * 256; };
  const auto weight = [](int in, int out) { return 4 * 9 * in * out; };
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(37, 43)),
            tensor(37) + tensor(43) + weight(37, 43));
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(37, 44)),
            tensor(37) + weight(37, 44));
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(36, 43)),
            tensor(43) + weight(36, 43));
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(36, 44)),
            (tensor(36) + tensor(44) + weight(36, 44)) / 2);
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(37, 33)),
            tensor(37) + tensor(33) + weight(37, 33));
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(37, 32)), 0);
  EXPECT_EQ(WorkspaceOfLast(ForwardUnitStride3x3(36, 32)),
            (tensor(36) + tensor(32) + weight(36, 32)) / 2);
}

TEST(Workspace, IsNoCopyForTensorCoresOnACardThatGainsNothingByThem) {
  const DeviceSpec& card = DeviceCatalog::BuiltIn().FindDevice("rtx-3060");
  const auto workspace = [&card](const char* shape, const char* dtype) {
    const std::string type = dtype;
    return WorkspaceOfLast("%x = input " + type + "[2,8,16,16]\n" +
                               "%y = conv2d(%x, weight " + type + shape + type +
                               "[2,8,16,16]\n",
                           card);
  };
  EXPECT_EQ(workspace("[8,8,3,3]) {padding=[1,1]} : ", "f32"), 0);
  EXPECT_GT(workspace("[8,8,3,3]) {padding=[1,1]} : ", "f16"), 0);
  EXPECT_GT(workspace("[8,4,3,3]) {padding=[1,1], groups=2} : ", "f32"), 0);
}

TEST(Workspace, OfAGroupedPointwiseConvolutionIsTwiceItsThreeTensors) {
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f32[2,8,16,16]
%y = conv2d(%x, weight f32[8,4,1,1]) {groups=2} : f32[2,8,16,16]
)"),
            2 * 4 * (2 * 8 * 256 + 8 * 4 + 2 * 8 * 256));
}

TEST(Workspace, OfADepthwiseConvolutionIsOfItsForwardPassOnly) {
  const std::int64_t bytes = 4 * (2 * 8 * 256 + 8 * 9 + 2 * 8 * 256);
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f32[2,8,16,16]
%y = conv2d(%x, weight f32[8,1,3,3]) {padding=[1,1], groups=8} : f32[2,8,16,16]
)"),
            bytes / 2);
  EXPECT_EQ(WorkspaceOfLast(R"(%d = input f32[2,8,16,16]
%x = input f32[2,8,16,16]
%dx, %dw = convolution_backward(%d, %x, weight f32[8,1,3,3]) {padding=[1,1], groups=8, output_mask=[1,1,0]} : f32[2,8,16,16], f32[8,1,3,3]
)"),
            0);
}

TEST(Workspace, OfAPointwiseConvolutionDependsOnThePrecision) {
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f32[2,8,16,16]
%y = conv2d(%x, weight f32[4,8,1,1]) : f32[2,4,16,16]
)"),
            0);
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f16[2,8,16,16]
%y = conv2d(%x, weight f16[4,8,1,1]) : f16[2,4,16,16]
)"),
            2 * (2 * 8 * 256 + 4 * 8 + 2 * 4 * 256));
}

/// Measured on an H100 (datasets/labels/h100-sxm5-80gb, workspace_bytes), where
/// requests are multiples of 512 bytes.
TEST(Workspace, IsWhatWasMeasuredOnHopper) {
  const DeviceSpec& h100 = DeviceCatalog::BuiltIn().FindDevice("h100");
  const auto expect = [&h100](const std::string& body, std::int64_t measured) {
    EXPECT_NEAR(static_cast<double>(WorkspaceOfLast(body, h100)),
                static_cast<double>(measured), 512)
        << body;
  };
  expect(R"(%x = input f32[16,128,48,48]
%y = conv2d(%x, weight f32[128,128,3,3]) {padding=[1,1]} : f32[16,128,48,48]
)",
         38339072);
  expect(R"(%x = input f32[16,40,75,75]
%y = conv2d(%x, weight f32[320,40,3,3]) {padding=[1,1], stride=[2,2]} : f32[16,320,38,38]
)",
         44434432);
  expect(R"(%x = input bf16[16,160,28,28]
%y = conv2d(%x, weight bf16[160,4,3,3]) {padding=[1,1], groups=40} : bf16[16,160,28,28]
)",
         8039936);
  expect(R"(%x = input f32[16,3,224,224]
%y = conv2d(%x, weight f32[10,3,3,3]) {padding=[1,1], stride=[2,2]} : f32[16,10,112,112]
)",
         0);
}

TEST(Workspace, OfABackwardConvolutionIsABlockPerPass) {
  const auto blocks = BlocksOf(R"(%d = input f32[2,4,8,8]
%x = input f32[2,8,16,16]
%dx, %dw = convolution_backward(%d, %x, weight f32[4,8,3,3]) {stride=[2,2], padding=[1,1], output_mask=[1,1,0]} : f32[2,8,16,16], f32[4,8,3,3]
)");
  const std::int64_t bytes = 4 * (2 * 8 * 256 + 4 * 8 * 9 + 2 * 4 * 64);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].output, 0u);
  EXPECT_EQ(blocks[0].bytes, bytes / 2);
  EXPECT_EQ(blocks[1].output, 1u);
  EXPECT_EQ(blocks[1].bytes, bytes);
}

TEST(Workspace, OfAUnitStride3x3HasNoneForTheGradientOfItsWeight) {
  const auto blocks = BlocksOf(R"(%d = input f32[2,4,16,16]
%x = input f32[2,8,16,16]
%dx, %dw = convolution_backward(%d, %x, weight f32[4,8,3,3]) {stride=[1,1], padding=[1,1], output_mask=[1,1,0]} : f32[2,8,16,16], f32[4,8,3,3]
)");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].output, 0u);
  EXPECT_EQ(blocks[0].bytes, 4 * (2 * 8 * 256 + 2 * 4 * 8 * 9 + 2 * 4 * 256));
}

/// Backward pass of a 3 x 3 convolution.
std::string UnitStride3x3(int in, int out) {
  const std::string input = "f32[2," + std::to_string(in) + ",16,16]";
  const std::string output = "f32[2," + std::to_string(out) + ",16,16]";
  const std::string weight =
      "f32[" + std::to_string(out) + "," + std::to_string(in) + ",3,3]";
  return "%d = input " + output + "\n%x = input " + input +
         "\n%dx, %dw = convolution_backward(%d, %x, weight " + weight +
         ") {stride=[1,1], padding=[1,1], output_mask=[1,1,0]} : " + input +
         ", " + weight + "\n";
}

TEST(Workspace, OfA3x3OfMediumWidthIsAWinogradTransform) {
  struct Width {
    int in;
    int out;
    double multiple;
  };
  for (const Width& width :
       {Width{40, 8, 1}, Width{41, 8, 2.25}, Width{160, 8, 2.25},
        Width{161, 8, 1}, Width{33, 41, 2.25}, Width{32, 41, 1}}) {
    const auto blocks = BlocksOf(UnitStride3x3(width.in, width.out));
    ASSERT_EQ(blocks.size(), 1u) << width.in;
    const double images = 4 * (2 * width.in * 256 + 2 * width.out * 256);
    const double weight = 4 * 9 * width.in * width.out;
    EXPECT_EQ(blocks[0].bytes,
              static_cast<std::int64_t>(width.multiple * images + 2 * weight))
        << width.in;
  }
}

TEST(Workspace, OfA3x3x3IsNoWinogradTransform) {
  const auto blocks = BlocksOf(R"(%d = input f32[2,64,4,8,8]
%x = input f32[2,64,4,8,8]
%dx, %dw = convolution_backward(%d, %x, weight f32[64,64,3,3,3]) {stride=[1,1,1], padding=[1,1,1], output_mask=[1,1,0]} : f32[2,64,4,8,8], f32[64,64,3,3,3]
)");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].bytes, 4 * (2 * 2 * 64 * 256 + 2 * 64 * 64 * 27));
}

TEST(Workspace, OfAPassThatDoesNotRunIsNotThere) {
  const auto blocks = BlocksOf(R"(%d = input f32[2,4,8,8]
%x = input f32[2,8,16,16]
%dw = convolution_backward(%d, %x, weight f32[4,8,3,3]) {stride=[2,2], padding=[1,1], output_mask=[0,1,0]} : f32[4,8,3,3]
)");
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].output, 0u);
  EXPECT_EQ(blocks[0].bytes, 4 * (2 * 8 * 256 + 4 * 8 * 9 + 2 * 4 * 64));
}

TEST(Workspace, OfTheFirstLayerIsOfItsForwardPassOnly) {
  EXPECT_TRUE(BlocksOf(R"(%d = input f32[2,4,8,8]
%x = input f32[2,3,16,16]
%dw = convolution_backward(%d, %x, weight f32[4,3,3,3]) {stride=[2,2], padding=[1,1], output_mask=[0,1,0]} : f32[4,3,3,3]
)")
                  .empty());
}

/// 16-bit convolutions of volumes, which PyTorch 2.9 unfolds.
const char* const kVolumes = R"(graph "g"
%x = input f16[2,4,6,6,6]
%y = conv3d(%x, weight f16[8,4,3,3,3]) {padding=[1,1,1]} : f16[2,8,6,6,6]
)";

TEST(Workspace, OfAnUnfoldedConvolutionHoldsTheColumnsOfAnImage) {
  const OperatorGraph graph = ParseGraph(kVolumes);
  const std::vector<memory::WorkspaceBlock> blocks =
      memory::WorkspaceBlocks(graph, graph.node(0), A100(), {2, 9, 1});
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].output, 0U);
  EXPECT_EQ(blocks[0].bytes, 2 * (4 * 27) * (6 * 6 * 6));
  EXPECT_FALSE(blocks[0].optional);
}

TEST(Workspace, IsCudnnsBeforeAndAfterPyTorch29) {
  const OperatorGraph graph = ParseGraph(kVolumes);
  constexpr std::int64_t kTensors =
      2 * (2 * 4 * 216 + 8 * 4 * 27 + 2 * 8 * 216);
  for (const int minor : {8, 10}) {
    const TorchVersion torch = {2, minor, {}};
    const std::vector<memory::WorkspaceBlock> blocks =
        memory::WorkspaceBlocks(graph, graph.node(0), A100(), torch);
    ASSERT_EQ(blocks.size(), 1U);
    EXPECT_EQ(blocks[0].bytes, kTensors) << minor;
    EXPECT_TRUE(blocks[0].optional);
  }
}

TEST(Workspace, OfUnfoldedGradientsIsOneBlockAfterAllOfThem) {
  const std::vector<memory::WorkspaceBlock> blocks =
      BlocksOf(R"(%x = input f16[2,4,6,6,6]
%dy = input f16[2,8,6,6,6]
%w = parameter f16[8,4,3,3,3]
phase backward
%dx, %dw = convolution_backward(%dy, %x, %w) {padding=[1,1,1], output_mask=[1,1,0]} : f16[2,4,6,6,6], f16[8,4,3,3,3]
)");
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].output, 1U);
  EXPECT_EQ(blocks[0].bytes, 2 * (4 * 27) * (6 * 6 * 6));
}

TEST(Workspace, OfUnfoldedGroupsHoldsTheirShareOrTheirResults) {
  // Columns of 2 x 27 rows and a group's half of the input.
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f16[2,4,6,6,6]
%y = conv3d(%x, weight f16[8,2,3,3,3]) {padding=[1,1,1], groups=2} : f16[2,8,6,6,6]
)"),
            2 * (2 * 27 * 216) + 2 * (2 * 2 * 216));
  // The results of both groups, joined after the columns are gone.
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f16[2,4,1,1,8]
%y = conv3d(%x, weight f16[128,2,1,1,2]) {groups=2, stride=[1,1,2]} : f16[2,128,1,1,4]
)"),
            2 * (2 * 128 * 4));
}

TEST(Workspace, OfOtherOperatorsIsNothing) {
  EXPECT_EQ(WorkspaceOfLast(R"(%x = input f32[2,8]
%y = linear(%x, weight f32[4,8]) : f32[2,4]
)"),
            0);
}

TEST(Workspace, ComesWithTheContextOfCudnnForLayersNotCells) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[2,8]
%h = input f32[2,8]
%a, %b = lstm_cell(%x, %h, %h, weight f32[32,8], weight f32[32,8]) : f32[2,8], f32[2,8]
%s = input f32[7,2,8]
%n = input f32[1,2,8]
%y, %c = gru(%s, %n, weight f32[24,8], weight f32[24,8]) : f32[7,2,8], f32[1,2,8]
)");
  EXPECT_FALSE(memory::UsesCudnn(graph.node(0)));
  EXPECT_TRUE(memory::UsesCudnn(graph.node(1)));
}

}  // namespace
}  // namespace foretell
