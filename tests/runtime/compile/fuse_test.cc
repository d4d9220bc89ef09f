#include "src/runtime/compile/fuse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/runtime/compile/loops.h"
#include "tests/runtime/compile/fused.h"

namespace foretell::runtime {
namespace {

using testing::ElementsAre;

/// Names of the nodes that are kernels, in their order.
std::vector<std::string> KernelsIn(const std::string& body) {
  const OperatorGraph graph = Fused(body);
  const std::vector<Loop> loops = LowerLoops(graph);
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (loops[i].kind == LoopKind::kView) continue;
    targets.push_back(graph.nodes()[i].target);
  }
  return targets;
}

TEST(Fuse, CountsKernelsBetweenTwoReadersOfATensor) {
  std::string body =
      "%x = input f32[64]\n%z0 = input f32[32]\n%a = relu(%x) : f32[64]\n";
  for (int i = 0; i < 70; ++i) {
    body += "%z" + std::to_string(i + 1) + " = neg(%z" + std::to_string(i) +
            ") : f32[32]\n";
  }
  body += "%b = tanh(%x) : f32[64]\noutput %a\noutput %b\noutput %z70\n";
  EXPECT_EQ(Fused(body).nodes().size(), 2U);
}

TEST(Fuse, GeneratesNothingForComplexNumbers) {
  const OperatorGraph graph = Fused(R"(%x = input c64[64]
%y = mul(%x, %x) : c64[64]
%z = add(%y, %x) : c64[64]
output %z
)");
  ASSERT_EQ(graph.nodes().size(), 2U);
  EXPECT_EQ(graph.node(0).target, "mul");
  EXPECT_EQ(graph.node(1).target, "add");
}

TEST(Fuse, ANormWithKnownStatisticsIsOneKernelWithItsActivation) {
  EXPECT_THAT(KernelsIn("%x = input f16[8,128,16,16]\n"
                        "%w = parameter f16[128,128,3,3]\n"
                        "%g = parameter f32[128]\n"
                        "%b = parameter f32[128]\n"
                        "%m = buffer f32[128]\n"
                        "%v = buffer f32[128]\n"
                        "%c = conv2d(%x, %w) {padding=[1, 1]} : "
                        "f16[8,128,16,16]\n"
                        "%n = batch_norm(%c, %g, %b, %m, %v) {training=false} "
                        ": f16[8,128,16,16]\n"
                        "%r = relu_(%n) : f16[8,128,16,16] alias %n\n"
                        "%s = add(%r, %x) : f16[8,128,16,16]\n"
                        "output %s\n"),
              ElementsAre("conv2d", "fused_elementwise"));
}

TEST(Fuse, ALayerNormIsOneKernelWithWhatComesBeforeAndAfter) {
  EXPECT_THAT(KernelsIn("%x = input f32[16,197,768]\n"
                        "%y = input f16[16,197,768]\n"
                        "%g = parameter f32[768]\n"
                        "%b = parameter f32[768]\n"
                        "%w = parameter f16[768,768]\n"
                        "%s = add(%x, %y) : f32[16,197,768]\n"
                        "%n = layer_norm(%s, %g, %b) {normalized_shape=[768]} "
                        ": f32[16,197,768]\n"
                        "%h = to(%n) : f16[16,197,768]\n"
                        "%l = linear(%h, %w) : f16[16,197,768]\n"
                        "%z = add(%s, %l) : f32[16,197,768]\n"
                        "output %z\n"),
              ElementsAre("fused_reduce", "linear", "fused_elementwise"));
}

TEST(Fuse, ASoftmaxIsOneKernel) {
  EXPECT_THAT(KernelsIn("%x = input f32[8,12,197,197]\n"
                        "%m = input f32[8,1,197,197]\n"
                        "%a = add(%x, %m) : f32[8,12,197,197]\n"
                        "%s = softmax(%a) {dim=-1} : f32[8,12,197,197]\n"
                        "output %s\n"),
              ElementsAre("fused_reduce"));
}

TEST(Fuse, CastsOfWeightsAreKernelsOfTheirOwn) {
  EXPECT_THAT(KernelsIn("%x = input f16[64,256]\n"
                        "%a = parameter f32[256,256]\n"
                        "%b = parameter f32[256,256]\n"
                        "%c = to(%a) {autocast=true} : f16[256,256]\n"
                        "%y = linear(%x, %c) : f16[64,256]\n"
                        "%d = to(%b) {autocast=true} : f16[256,256]\n"
                        "%z = linear(%y, %d) : f16[64,256]\n"
                        "output %z\n"),
              ElementsAre("fused_elementwise", "linear", "fused_elementwise",
                          "linear"));
}

TEST(Fuse, AKernelReadsAndWritesOnlyWhatOthersSee) {
  const OperatorGraph graph = Fused(
      "%x = input f32[64,256]\n"
      "%a = relu(%x) : f32[64,256]\n"
      "%b = sigmoid(%a) : f32[64,256]\n"
      "%c = mul(%a, %b) : f32[64,256]\n"
      "output %c\n");
  ASSERT_EQ(graph.nodes().size(), 1);
  EXPECT_EQ(graph.node(0).inputs.size(), 1);
  EXPECT_EQ(graph.node(0).outputs.size(), 1);
  EXPECT_EQ(graph.node(0).calls.size(), 3);
}

TEST(Fuse, StoresTheOnlyResultThatALibraryReads) {
  EXPECT_THAT(KernelsIn("%x = input f32[8,64]\n"
                        "%m, %e = frexp(%x) : f32[8,64], i32[8,64]\n"
                        "%s, %i = sort(%e) {dim=1} : i32[8,64], i64[8,64]\n"
                        "output %s\n"),
              ElementsAre("fused_elementwise", "sort"));
}

}  // namespace
}  // namespace foretell::runtime
