#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

std::vector<Kernel> GradientsOf(const std::string& attributes,
                                const std::string& results) {
  return KernelsOf(R"(%x = input f32[8,64,32,32]
%dy = input f32[8,128,16,16]
%w = parameter f32[128,64,3,3]
phase backward
)" + results.substr(0, results.find(':')) +
                       "= convolution_backward(%dy, %x, %w) {stride=[2,2], "
                       "padding=[1,1], " +
                       attributes + "} " + results.substr(results.find(':')) +
                       "\n",
                   {}, "mode=training");
}

constexpr std::int64_t kGradientBytes = 4 * 8 * 128 * 16 * 16;
constexpr std::int64_t kInputBytes = 4 * 8 * 64 * 32 * 32;
constexpr std::int64_t kWeightBytes = 4 * 128 * 64 * 9;
constexpr std::int64_t kMacs = std::int64_t{8} * 128 * 16 * 16 * 64 * 9;

TEST(KernelGradients, OfAConvolutionAreTwoProductsAndAReduction) {
  const std::vector<Kernel> kernels =
      GradientsOf("output_mask=[1,1,1]",
                  "%dx, %dw, %db : f32[8,64,32,32], f32[128,64,3,3], f32[128]");
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].pass, ProductPass::kInputGradient);
  EXPECT_EQ(kernels[0].bytes_in, kGradientBytes);
  EXPECT_EQ(kernels[0].bytes_weight, kWeightBytes);
  EXPECT_EQ(kernels[0].bytes_out, kInputBytes);
  EXPECT_EQ(kernels[0].macs, kMacs);
  EXPECT_EQ(kernels[0].m, 8 * 32 * 32);
  EXPECT_EQ(kernels[0].n, 64);
  EXPECT_EQ(kernels[0].k, 128 * 9 / 4);  // A stride of two skips three of four.
  EXPECT_EQ(kernels[1].pass, ProductPass::kWeightGradient);
  EXPECT_EQ(kernels[1].bytes_in, kGradientBytes + kInputBytes);
  EXPECT_EQ(kernels[1].bytes_out, kWeightBytes);
  EXPECT_EQ(kernels[1].m, 128);
  EXPECT_EQ(kernels[1].n, 64 * 9);
  EXPECT_EQ(kernels[1].k, 8 * 16 * 16);
  EXPECT_EQ(kernels[2].kernel_class, KernelClass::kReduce);
  EXPECT_EQ(kernels[2].bytes_in, kGradientBytes);
}

TEST(KernelGradients, AreThoseThatTheMaskAsksFor) {
  const std::vector<Kernel> kernels =
      GradientsOf("output_mask=[0,1,0]", "%dw : f32[128,64,3,3]");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].pass, ProductPass::kWeightGradient);
  EXPECT_EQ(kernels[0].arithmetic, Precision::kTf32);
}

TEST(KernelGradients, AddUpToTheMultiplyAccumulatesOfTheNode) {
  const std::string text = R"(%x = input f32[2,4,5,5]
%dy = input f32[2,6,11,11]
%w = parameter f32[4,6,3,3]
phase backward
%dx, %dw = convolution_backward(%dy, %x, %w) {transposed=true, stride=[2,2], output_mask=[1,1,0]} : f32[2,4,5,5], f32[4,6,3,3]
)";
  const OperatorGraph graph = ParseGraph("graph \"g\" mode=training\n" + text);
  std::int64_t macs = 0;
  for (const Kernel& kernel : ExpandKernels(graph, {})) macs += kernel.macs;
  EXPECT_EQ(macs, graph.node(0).macs);
  EXPECT_EQ(macs, 2 * (2 * 4 * 5 * 5) * 6 * 9);
}

TEST(KernelGradients, OfTrainingReadABatchNormsInputTwice) {
  const std::string norm = R"(%x = input f32[8,64,32,32]
%y = batch_norm(%x, weight f32[64], weight f32[64], buffer f32[64], buffer f32[64]) {training=)";
  const auto read = [&norm](const std::string& training) {
    std::int64_t bytes = 0;
    for (const Kernel& kernel :
         KernelsOf(norm + training + "} : f32[8,64,32,32]\n")) {
      bytes += kernel.bytes_in;
    }
    return bytes;
  };
  EXPECT_EQ(read("false"), kInputBytes);
  EXPECT_EQ(read("true"), 2 * kInputBytes);
}

}  // namespace
}  // namespace foretell::cost
