#include "src/runtime/compile/split_loops.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "foretell/graph_io.h"
#include "src/runtime/compile/loops.h"

namespace foretell::runtime {
namespace {

TEST(SplitLoops, AddsUpPartsOfFewLongColumns) {
  // 64 columns of 4096 elements: 32 for each thread, 4 at a time.
  const OperatorGraph graph = SplitLoops(ParseGraph(R"(graph "sum"
%x = input f32[4096,64]
%y = sum(%x) {dim=[0]} : f32[64]
output %y
)"));
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.value(graph.node(0).outputs[0]).type.shape,
            (std::vector<std::int64_t>{64, 32}));
  const std::vector<Loop> loops = LowerLoops(graph);
  EXPECT_EQ(loops[1].row_elements, 32);
}

TEST(SplitLoops, SplitsTheManyPartsOfAVarianceAgain) {
  // 64 columns: 1024 parts of 128 elements, of which 8 times 128 are combined.
  const OperatorGraph graph = SplitLoops(ParseGraph(R"(graph "variance"
%x = input f32[131072,64]
%v, %m = var_mean(%x) {dim=[0]} : f32[64], f32[64]
output %v
output %m
)"));
  ASSERT_EQ(graph.nodes().size(), 3U);
  EXPECT_EQ(graph.value(graph.node(0).outputs[0]).type.shape,
            (std::vector<std::int64_t>{64, 1024}));
  EXPECT_EQ(graph.value(graph.node(1).outputs[2]).type.shape,
            (std::vector<std::int64_t>{64, 8}));
  EXPECT_EQ(graph.node(2).inputs.size(), 3U);
}

TEST(SplitLoops, LeavesRowsThatFillTheGpu) {
  const OperatorGraph graph = SplitLoops(ParseGraph(R"(graph "sum"
%x = input f32[4096,8192]
%y = sum(%x) {dim=[1]} : f32[4096]
output %y
)"));
  EXPECT_EQ(graph.nodes().size(), 1U);
}

TEST(SplitLoops, FillsBeforeItScatters) {
  const OperatorGraph graph = SplitLoops(ParseGraph(R"(graph "e" mode=training
%i = input i64[8]
%g = input f32[8,16]
%w = embedding_backward(%g, %i) {num_weights=100} : f32[100,16] gradient
output %w
)"));
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.node(0).target, "full");
  EXPECT_EQ(graph.node(1).target, "scatter_add_");
  EXPECT_EQ(graph.value(graph.node(1).outputs[0]).storage,
            graph.value(graph.node(0).outputs[0]).storage);
  EXPECT_EQ(LowerLoops(graph)[1].rows, 8 * 16);
}

TEST(SplitLoops, AddsTheBiasOfAConvolutionApart) {
  const OperatorGraph graph = SplitLoops(ParseGraph(R"(graph "c"
%x = input f32[2,4,8,8]
%w = parameter f32[4,4,1,1]
%b = parameter f32[4]
%y = conv2d(%x, %w, %b) : f32[2,4,8,8] strides=[256, 1, 32, 4]
output %y
)"));
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.node(0).inputs.size(), 2U);
  EXPECT_EQ(graph.node(1).target, "add");
  for (const Node& node : graph.nodes()) {
    EXPECT_EQ(graph.value(node.outputs[0]).strides,
              (std::vector<std::int64_t>{256, 1, 32, 4}));
  }
}

TEST(LowerLoops, WritesSumsOfAFewElementsOut) {
  const OperatorGraph graph = ParseGraph(R"(graph "sum"
%x = input f32[2,64]
%z = input f32[8,64]
%y = sum(%x) {dim=[0]} : f32[64]
%s = sum(%z) {dim=[0]} : f32[64]
output %y
output %s
)");
  const std::vector<Loop> loops = LowerLoops(graph);
  EXPECT_EQ(loops[0].kind, LoopKind::kPointwise);
  EXPECT_EQ(loops[1].kind, LoopKind::kReduction);
}

}  // namespace
}  // namespace foretell::runtime
