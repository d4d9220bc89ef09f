#include "src/runtime/compile/concat_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "foretell/graph_io.h"
#include "src/runtime/compile/fuse.h"

namespace foretell::runtime {
namespace {

/// Two concatenations of the same nine products.
OperatorGraph TwoConcats() {
  std::string text = "graph \"g\"\n%x = input f32[16,16]\n";
  std::string operands;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "%y" + std::to_string(i);
    text += name + " = matmul(%x, %x) : f32[16,16]\n";
    operands += (i > 0 ? ", " : "") + name;
  }
  text += "%a = cat(" + operands + ") {dim=0} : f32[144,16]\n" + "%b = cat(" +
          operands + ") {dim=1} : f32[16,144]\n" +
          "%c = matmul(%b, %a) : f32[16,16]\noutput %c\n";
  return ParseGraph(text);
}

TEST(WriteConcatSlices, CopiesProductsIntoOneBuffer) {
  const OperatorGraph graph = WriteConcatSlices(TwoConcats());
  const auto copies = [&](const Node& node) { return node.target == "clone"; };
  EXPECT_EQ(std::ranges::count_if(graph.nodes(), copies), 18);
  EXPECT_EQ(std::ranges::count_if(
                graph.nodes(),
                [&](const Node& node) { return JoinsSlices(graph, node); }),
            2);
  EXPECT_EQ(std::ranges::count(graph.nodes(), "cat", &Node::target), 0);
}

TEST(WriteConcatSlices, CopiesATensorIntoBothConcatenationsAtOnce) {
  const OperatorGraph fused = Fuse(WriteConcatSlices(TwoConcats()));
  EXPECT_EQ(
      std::ranges::count(fused.nodes(), "fused_elementwise", &Node::target), 9);
}

TEST(WriteConcatSlices, LetsALoopWriteItsSlice) {
  std::string text = "graph \"g\"\n%x = input f32[16,16]\n";
  std::string operands;
  for (int i = 0; i < 9; ++i) {
    const std::string name = "%y" + std::to_string(i);
    text += name + " = sum(%x) {dim=[0], keepdim=true} : f32[1,16]\n";
    operands += (i > 0 ? ", " : "") + name;
  }
  text += "%a = cat(" + operands + ") {dim=0} : f32[9,16]\noutput %a\n";
  const OperatorGraph graph = WriteConcatSlices(ParseGraph(text));
  EXPECT_EQ(std::ranges::count(graph.nodes(), "clone", &Node::target), 0);
  for (const Node& node : graph.nodes()) {
    EXPECT_EQ(graph.value(node.outputs[0]).storage,
              graph.value(graph.outputs()[0]).storage);
  }
}

TEST(WriteConcatSlices, LeavesWhatOneLoopReads) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[16,16]
%y = relu(%x) : f32[16,16]
%a = cat(%x, %y) {dim=0} : f32[32,16]
output %a
)");
  EXPECT_EQ(WriteConcatSlices(graph).nodes().size(), graph.nodes().size());
}

}  // namespace
}  // namespace foretell::runtime
