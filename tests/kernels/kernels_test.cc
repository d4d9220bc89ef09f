#include "src/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "foretell/error.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

constexpr Run kRestored = {.restore_folded_norms = true};

TEST(KernelClasses, HaveDifferentNamesAndMeanings) {
  std::set<std::string_view> words;
  for (const KernelClassRow& row : kKernelClasses) {
    words.insert(row.name);
    words.insert(row.meaning);
  }
  // "softmax" is its own meaning.
  EXPECT_EQ(words.size(), 2 * kNumKernelClasses - 1);
  EXPECT_EQ(KernelClassName(KernelClass::kCastWeight), "cast_weight");
}

TEST(Kernels, TablesOfConstantsLaunchNothing) {
  EXPECT_THAT(ClassesOf(R"(%t = buffer i64[100]
%u = add(%t, %t) : i64[100]
%x = input f32[100]
%y = index(%x, %u) : f32[100]
)"),
              ElementsAre("gather"));
}

TEST(Kernels, ALookupReadsWhatItReturns) {
  const Kernel kernel = KernelsOf(R"(%i = input i64[16]
%y = embedding(parameter f32[50000,512], %i) : f32[16,512]
)")[0];
  EXPECT_EQ(kernel.kernel_class, KernelClass::kGather);
  EXPECT_EQ(kernel.bytes_in, 0);
  EXPECT_EQ(kernel.bytes_weight, 16 * 512 * 4);
  EXPECT_EQ(kernel.bytes_out, 16 * 512 * 4);
}

TEST(Kernels, ReadAnExpandedTensorOnce) {
  EXPECT_EQ(KernelsOf(R"(%x = input f32[1,100]
%e = expand(%x) {size=[50, 100]} : f32[50,100] alias %x
%y = relu(%e) : f32[50,100]
)")[0]
                .bytes_in,
            400);
}

TEST(Kernels, ReadAnOperandOnceThatIsGivenTwice) {
  EXPECT_EQ(KernelsOf("%x = input f32[100]\n%y = mul(%x, %x) : f32[100]\n")[0]
                .bytes_in,
            400);
}

TEST(Kernels, KnowWhichNodeLaunchesThem) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[8,32]
%v = view(%x) {size=[256]} : f32[256] alias %x
%y = logit(%x) {eps=0.1} : f32[8,32]
%z = linear(%x, parameter f32[16,32]) : f32[8,16]
)");
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_EQ(kernels[0].node, 1);
  EXPECT_EQ(kernels[1].node, 2);
}

TEST(Kernels, AreThoseOfTheBackwardPassToo) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[8]
%y = relu(%x) : f32[8]
phase backward
%z = threshold_backward(%y, %x) {threshold=0} : f32[8]
)"),
              ElementsAre("relu", "elementwise"));
}

TEST(Kernels, OfAPoolHaveAWindow) {
  const Kernel kernel = KernelsOf(R"(%x = input f32[2,8,12,12]
%y = max_pool2d(%x) {kernel_size=[3, 2], stride=[]} : f32[2,8,4,6]
)")[0];
  EXPECT_EQ(kernel.kernel_class, KernelClass::kMaxPool);
  EXPECT_EQ(kernel.window_height, 3);
  EXPECT_EQ(kernel.window_width, 2);
  EXPECT_EQ(kernel.stride, 2);
  EXPECT_EQ(kernel.positions, 24);
  EXPECT_EQ(kernel.channels_in, 8);
}

TEST(Kernels, OfAnAdaptivePoolHaveTheWindowThatItTakes) {
  const Kernel kernel = KernelsOf(R"(%x = input f32[2,8,12,14]
%y = adaptive_avg_pool2d(%x) {output_size=[4, 7]} : f32[2,8,4,7]
)")[0];
  EXPECT_EQ(kernel.kernel_class, KernelClass::kAveragePool);
  EXPECT_EQ(kernel.window_height, 3);
  EXPECT_EQ(kernel.window_width, 2);
  EXPECT_EQ(kernel.row_elements, 6);
}

TEST(Kernels, OfAnAdaptivePoolHaveWindowsThatShareElements) {
  // Rows 0-3, 3-7, 7-11 and 11-14; columns 0-1, 1-2, 3-4 and 4-5.
  EXPECT_EQ(KernelsOf(R"(%x = input f32[2,8,15,6]
%y = adaptive_avg_pool2d(%x) {output_size=[4, 4]} : f32[2,8,4,4]
)")[0]
                .row_elements,
            9);
}

TEST(Kernels, OfAReductionSayHowMuchItReduces) {
  const std::string input = "%x = input f32[2,8,6]\n";
  const Kernel rows =
      KernelsOf(input + "%y = mean(%x) {dim=[-1]} : f32[2,8]\n")[0];
  EXPECT_EQ(rows.inner_extent, 6);
  EXPECT_TRUE(rows.variant);
  const Kernel columns =
      KernelsOf(input + "%y = mean(%x) {dim=[1]} : f32[2,6]\n")[0];
  EXPECT_EQ(columns.inner_extent, 8);
  EXPECT_FALSE(columns.variant);
}

TEST(Kernels, OfAnElementwiseOperatorSayWhetherItBroadcasts) {
  const std::string input = "%x = input f32[2,8]\n%s = input f32[]\n";
  EXPECT_TRUE(
      KernelsOf(input + "%y = add(%x, parameter f32[8]) : f32[2,8]\n")[0]
          .variant);
  EXPECT_FALSE(KernelsOf(input + "%y = add(%x, %s) : f32[2,8]\n")[0].variant);
}

TEST(Kernels, OfUnknownOperatorsMoveTheirTensors) {
  const Kernel kernel =
      KernelsOf("%x = input f32[8]\n%y = \"new::thing\"(%x) : f32[8]\n")[0];
  EXPECT_EQ(kernel.kernel_class, KernelClass::kOther);
  EXPECT_EQ(kernel.Bytes(), 64);
}

TEST(Kernels, RefuseTensorsBeyondAnyMemory) {
  try {
    KernelsOf("%x = input f32[0,1000000000,1000000000]\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(error.what(),
                testing::HasSubstr("f32[0,1000000000,1000000000] has more than "
                                   "2^56 elements"));
  }
}

TEST(Kernels, TakeTensorsWithoutElements) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[0,8,4,4]
%a = conv2d(%x, parameter f32[8,8,1,1]) : f32[0,8,4,4]
%b = flatten(%a) {start_dim=1, end_dim=-1} : f32[0,128] alias %a
%c = linear(%b, parameter f32[4,128]) : f32[0,4]
%d = softmax(%c) {dim=-1} : f32[0,4]
)");
  EXPECT_EQ(kernels.back().Bytes(), 0);
  EXPECT_EQ(kernels.back().macs, 0);
}

/// A convolution with these names of weight and bias.
std::string Named(const std::string& weight, const std::string& bias) {
  return "%x = input f32[2,8,4,4]\n%\"" + weight +
         "\" = parameter f32[8,8,1,1]\n%\"" + bias +
         "\" = parameter f32[8]\n%y = conv2d(%x, %\"" + weight + "\", %\"" +
         bias + "\") : f32[2,8,4,4]\n";
}

TEST(FoldedNorm, IsRestoredWhereTheExportersNamesTell) {
  EXPECT_THAT(ClassesOf(Named("onnx::Conv_10", "onnx::Conv_11"), kRestored),
              ElementsAre("conv_pointwise", "batch_norm_folded"));
  EXPECT_THAT(ClassesOf(Named("stem.weight", "stem.weight_bias"), kRestored),
              ElementsAre("conv_pointwise", "batch_norm_folded"));
}

TEST(FoldedNorm, IsNotSeenInAnOrdinaryBias) {
  EXPECT_THAT(ClassesOf(Named("stem.weight", "stem.bias"), kRestored),
              ElementsAre("conv_pointwise", "add"));
  EXPECT_THAT(ClassesOf(Named("stem.weight", "onnx::Conv_11"), kRestored),
              ElementsAre("conv_pointwise", "add"));
}

TEST(FoldedNorm, IsLeftAloneUnlessAsked) {
  EXPECT_THAT(ClassesOf(Named("onnx::Conv_10", "onnx::Conv_11")),
              ElementsAre("conv_pointwise", "add"));
}

TEST(ConvolutionBias, IsAddedToTheResultInPlace) {
  const Kernel bias = KernelsOf(Named("stem.weight", "stem.bias")).back();
  EXPECT_EQ(bias.bytes_in, 4 * 2 * 8 * 16);
  EXPECT_EQ(bias.bytes_weight, 4 * 8);
  EXPECT_EQ(bias.bytes_out, 4 * 2 * 8 * 16);
  EXPECT_EQ(bias.inner_extent, 4);
  EXPECT_TRUE(bias.variant);
}

TEST(ConvolutionBias, OfPyTorchsDepthwiseKernelIsAddedOnTheWay) {
  const std::string depthwise =
      "%x = input f32[2,8,4,4]\n%y = conv2d(%x, parameter f32[8,1,1,1], "
      "parameter f32[8]) {groups=8} : f32[2,8,4,4]\n";
  EXPECT_THAT(ClassesOf(depthwise), ElementsAre("conv_depthwise_native"));
  EXPECT_THAT(ClassesOf(depthwise, {.channels_last = true}),
              ElementsAre("conv_depthwise", "add"));
}

TEST(ConvolutionBias, OfTransposedConvolutionsIsAddedToo) {
  EXPECT_THAT(ClassesOf("%x = input f32[2,8,4,4]\n%y = conv_transpose2d(%x, "
                        "parameter f32[8,6,2,2], parameter f32[6]) "
                        "{stride=[2, 2]} : f32[2,6,8,8]\n"),
              ElementsAre("conv_transposed", "add"));
}

TEST(FoldedNorm, ReadsAndWritesTheConvolutionsResult) {
  const Kernel norm =
      KernelsOf(Named("onnx::Conv_10", "onnx::Conv_11"), kRestored).back();
  EXPECT_EQ(norm.bytes_in, 256 * 4);
  EXPECT_EQ(norm.bytes_out, 256 * 4);
  EXPECT_EQ(norm.channels_in, 8);
  EXPECT_EQ(norm.positions, 16);
  EXPECT_EQ(norm.macs, 0);
}

TEST(MergeEqual, CountsKernelsThatDifferInTheirNodeAlone) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[8]
%a = relu(%x) : f32[8]
%b = gelu(%a) : f32[8]
%c = relu(%b) : f32[8]
%d = relu(%c) : f32[8]
)");
  const std::vector<Kernel> merged = MergeEqual(kernels);
  ASSERT_THAT(ClassesOf(merged), ElementsAre("relu", "gelu"));
  EXPECT_EQ(merged[0].count, 3);
  EXPECT_EQ(merged[0].node, 0);
  EXPECT_EQ(merged[1].count, 1);
  EXPECT_EQ(MergeEqual(merged), merged);
}

TEST(MergeEqual, KeepsKernelsApartThatDiffer) {
  EXPECT_EQ(MergeEqual(KernelsOf(R"(%x = input f32[8]
%y = input f32[9]
%a = relu(%x) : f32[8]
%b = relu(%y) : f32[9]
)"))
                .size(),
            2);
}

}  // namespace
}  // namespace foretell::cost
