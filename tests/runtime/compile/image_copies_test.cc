#include "src/runtime/compile/image_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "src/runtime/compile/compile.h"

namespace foretell::runtime {
namespace {

using testing::ElementsAre;

std::vector<std::string> Targets(const std::string& body, bool cuda_graphs) {
  const OperatorGraph graph =
      Compile(ParseGraph("graph \"g\"\n" + body),
              {.runtime = Runtime::kCompile, .cuda_graphs = cuda_graphs});
  std::vector<std::string> targets;
  for (const Node& node : graph.nodes()) targets.push_back(node.target);
  return targets;
}

constexpr char kConvolution[] =
    "%x = input f32[8,128,16,16]\n"
    "%w = parameter f32[128,128,3,3]\n"
    "%c = conv2d(%x, %w) {padding=[1, 1]} : f32[8,128,16,16]\n";

TEST(ImageCopies, AreOfInputWeightAndReturnedResult) {
  EXPECT_THAT(Targets(std::string(kConvolution) + "output %c\n", false),
              ElementsAre("fused_elementwise", "fused_elementwise", "conv2d",
                          "fused_elementwise"));
}

TEST(ImageCopies, AreNotOfAResultThatAKernelWrites) {
  EXPECT_THAT(Targets(std::string(kConvolution) +
                          "%r = relu(%c) : f32[8,128,16,16]\noutput %r\n",
                      false),
              ElementsAre("fused_elementwise", "fused_elementwise", "conv2d",
                          "fused_elementwise"));
}

TEST(ImageCopies, AreNotOfWeightsWithOneTap) {
  EXPECT_THAT(Targets("%x = input f32[8,128,16,16]\n"
                      "%w = parameter f32[128,128,1,1]\n"
                      "%c = conv2d(%x, %w) : f32[8,128,16,16]\n"
                      "%r = relu(%c) : f32[8,128,16,16]\n"
                      "output %r\n",
                      false),
              ElementsAre("fused_elementwise", "conv2d", "fused_elementwise"));
}

TEST(ImageCopies, AreNotOfChannelsLastInputs) {
  EXPECT_THAT(Targets("%x = input f32[8,128,16,16] strides=[32768, 1, 2048, "
                      "128]\n"
                      "%w = parameter f32[128,128,1,1]\n"
                      "%c = conv2d(%x, %w) : f32[8,128,16,16]\n"
                      "output %c\n",
                      false),
              ElementsAre("conv2d"));
}

TEST(CudaGraphs, CopyTheirInputs) {
  EXPECT_THAT(Targets("%x = input f32[64,64]\n"
                      "%w = parameter f32[64,64]\n"
                      "%y = linear(%x, %w) : f32[64,64]\n"
                      "output %y\n",
                      true),
              ElementsAre("clone", "linear"));
}

}  // namespace
}  // namespace foretell::runtime
