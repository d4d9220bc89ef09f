#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

constexpr Run kChannelsLast = {.channels_last = true};

TEST(KernelLayout, ViewsLaunchNothing) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[2,3,4]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,4,3] strides=[12, 1, 4] alias %x
%b = select(%a) {dim=1, index=0} : f32[2,3] strides=[12, 4] alias %x
%c = unsqueeze(%b) {dim=0} : f32[1,2,3] strides=[24, 12, 4] alias %x
%d = expand(%c) {size=[5, 2, 3]} : f32[5,2,3] strides=[0, 12, 4] alias %x
)"),
              ElementsAre());
}

TEST(KernelLayout, APartOfATensorIsAView) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[4,4]
%a = diagonal(%x) {offset=0, dim1=0, dim2=1} : f32[4] strides=[5] alias %x
%b = narrow(%x) {dim=0, start=1, length=2} : f32[2,4] alias %x
)"),
              ElementsAre());
}

TEST(KernelLayout, AReshapeAcrossATranspositionCopies) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[2,3,4]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,4,3] strides=[12, 1, 4] alias %x
%b = reshape(%a) {shape=[2, 12]} : f32[2,12]
%c = relu(%b) : f32[2,12]
)");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("copy", "relu"));
  EXPECT_EQ(kernels[0].bytes_in, 24 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 24 * 4);
  EXPECT_TRUE(kernels[0].mixed_layouts);
  EXPECT_FALSE(kernels[1].mixed_layouts);
}

// Whether a reshape had to copy is in the trace: its storage is new.
TEST(KernelLayout, AReshapeThatSharesItsStorageIsFree) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[2,12]
%a = reshape(%x) {shape=[2, 3, 4]} : f32[2,3,4] alias %x
%b = contiguous(%a) : f32[2,3,4] alias %a
)"),
              ElementsAre());
}

TEST(KernelLayout, ContiguousCopiesWhatIsNot) {
  EXPECT_THAT(ClassesOf(R"(%x = input f32[3,4]
%a = t(%x) : f32[4,3] strides=[1, 4] alias %x
%b = contiguous(%a) : f32[4,3]
)"),
              ElementsAre("copy"));
}

TEST(KernelLayout, ASliceLeavesGaps) {
  const std::string sliced = R"(%x = input f32[4,10]
%a = slice(%x) {dim=1, start=0, end=8, step=2} : f32[4,4] strides=[10, 2] alias %x
)";
  EXPECT_TRUE(
      KernelsOf(sliced + "%b = relu(%a) : f32[4,4]\n")[0].mixed_layouts);
  EXPECT_THAT(ClassesOf(sliced + "%b = reshape(%a) {shape=[16]} : f32[16]\n"),
              ElementsAre("copy"));
}

TEST(KernelLayout, AnAdaptiveMaximumIsTakenOfContiguousImages) {
  const std::string image = "f32[2,8,12,12] strides=[1152,1,96,8]";
  const std::string result = "[2,8,4,4] strides=[128,1,32,8]";
  EXPECT_THAT(
      ClassesOf("%x = input " + image +
                "\n%y, %i = adaptive_max_pool2d(%x) : f32" + result + ", i64" +
                result + "\n"),
      ElementsAre("copy_hidden", "max_pool", "copy_hidden", "copy_hidden"));
  EXPECT_THAT(ClassesOf("phase backward\n%g = input f32" + result +
                        "\n%x = input " + image + "\n%i = input i64" + result +
                        "\n%d = adaptive_max_pool2d_backward(%g, %x, %i) : " +
                        image + "\n"),
              ElementsAre("copy_hidden", "copy_hidden", "pool_backward",
                          "copy_hidden"));
}

TEST(KernelLayout, AConvolutionHandsChannelsLastOn) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[2,8,6,6]
%a = conv2d(%x, parameter f32[8,8,3,3]) {padding=[1, 1]} : f32[2,8,6,6]
%b = relu(%a) : f32[2,8,6,6]
%c = max_pool2d(%b) {kernel_size=[2, 2]} : f32[2,8,3,3]
%d = cat(%c, %c) {dim=1} : f32[2,16,3,3]
)",
                                                kChannelsLast);
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("conv_dense", "relu", "max_pool", "concat"));
  EXPECT_TRUE(std::ranges::all_of(kernels, &Kernel::channels_last));
  EXPECT_TRUE(std::ranges::none_of(kernels, &Kernel::mixed_layouts));
}

// A group norm leaves the format; a weight of the network brings it back, one
// that the network standardises does not have it either.
TEST(KernelLayout, AConvolutionTakesTheFormatOfItsWeight) {
  const std::string normalised =
      R"(%x = input f32[2,8,6,6] strides=[288, 1, 48, 8]
%w = parameter f32[8,8,3,3] strides=[72, 1, 24, 8]
%n = group_norm(%x) {num_groups=2} : f32[2,8,6,6]
)";
  EXPECT_THAT(
      ClassesOf(normalised + "%c = conv2d(%n, %w) {padding=[1, 1]} : "
                             "f32[2,8,6,6] strides=[288, 1, 48, 8]\n"),
      ElementsAre("copy_hidden", "group_norm", "copy_hidden", "conv_dense"));
  const std::vector<Kernel> kernels =
      KernelsOf(normalised +
                "%v = clone(%w) : f32[8,8,3,3]\n"
                "%c = conv2d(%n, %v) {padding=[1, 1]} : f32[2,8,6,6]\n");
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("copy_hidden", "group_norm", "copy", "conv_dense"));
  EXPECT_FALSE(kernels.back().channels_last);
}

// cuDNN has no channels-last kernels for 64 bits.
TEST(KernelLayout, AConvolutionOf64BitsIsContiguous) {
  const std::vector<Kernel> kernels = KernelsOf(
      "%x = input f64[2,8,6,6]\n"
      "%a = conv2d(%x, parameter f64[8,8,3,3]) : f64[2,8,4,4]\n",
      kChannelsLast);
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("copy_hidden", "conv_dense"));
  EXPECT_FALSE(kernels.back().channels_last);
}

TEST(KernelLayout, IsContiguousUnlessConverted) {
  EXPECT_FALSE(KernelsOf(R"(%x = input f32[2,8,6,6]
%a = conv2d(%x, parameter f32[8,8,1,1]) : f32[2,8,6,6]
)")[0]
                   .channels_last);
}

// [2, 8, 6, 6] seen as tokens and back: memory is channels-last.
TEST(KernelLayout, TokensSeenAsAnImageAreChannelsLast) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[2,36,8]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,8,36] strides=[288, 1, 8] alias %x
%b = view(%a) {size=[2, 8, 6, 6]} : f32[2,8,6,6] strides=[288, 1, 48, 8] alias %x
%c = conv2d(%b, parameter f32[8,8,1,1]) : f32[2,8,6,6] strides=[288, 1, 48, 8]
)");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("conv_pointwise"));
  EXPECT_TRUE(kernels[0].channels_last);
}

TEST(KernelLayout, AConvolutionCopiesWhatIsInNeitherFormat) {
  const std::vector<Kernel> kernels = KernelsOf(R"(%x = input f32[2,8,6,6]
%a = transpose(%x) {dim0=2, dim1=3} : f32[2,8,6,6] strides=[288, 36, 1, 6] alias %x
%b = conv2d(%a, parameter f32[8,8,1,1]) : f32[2,8,6,6]
)");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("copy_hidden", "conv_pointwise"));
  EXPECT_EQ(kernels[0].bytes_in, 576 * 4);
  EXPECT_EQ(kernels[0].bytes_out, 576 * 4);
  EXPECT_EQ(kernels[0].node, kernels[1].node);
}

// Averaged images of one element are in both formats.
TEST(KernelLayout, OneElementPerChannelFitsEveryFormat) {
  constexpr char kWeight[] = "%b = conv2d(%a, parameter f32[8,8,1,1]";
  for (const char* const strides : {"", " strides=[8, 1, 8, 8]"}) {
    const std::vector<Kernel> kernels =
        KernelsOf(std::string(R"(%x = input f32[2,8,6,6] strides=[288, 1, 48, 8]
%a = mean(%x) {dim=[2, 3], keepdim=true} : f32[2,8,1,1]
)") + kWeight + strides +
                  ") : f32[2,8,1,1]" + strides + "\n");
    ASSERT_THAT(ClassesOf(kernels), ElementsAre("reduce", "conv_pointwise"));
    EXPECT_EQ(kernels[1].channels_last, *strides != '\0');
  }
}

TEST(KernelLayout, ALinearLayerCopiesWhatDoesNotFoldIntoRows) {
  const std::string permuted = R"(%x = input f32[2,8,4,6]
%a = permute(%x) {dims=[0, 3, 2, 1]} : f32[2,6,4,8] strides=[192, 1, 6, 24] alias %x
)";
  EXPECT_THAT(ClassesOf(permuted +
                        "%b = linear(%a, parameter f32[5,8]) : f32[2,6,4,5]\n"),
              ElementsAre("copy_hidden", "linear"));
  EXPECT_THAT(ClassesOf(R"(%x = input f32[2,8,4]
%a = slice(%x) {dim=2, start=0, end=2} : f32[2,8,2] strides=[32, 4, 1] alias %x
%b = linear(%a, parameter f32[5,2]) : f32[2,8,5]
)"),
              ElementsAre("linear"));
}

TEST(KernelLayout, AProductCopiesABatchThatDoesNotFold) {
  const std::string heads = R"(%x = input f32[2,5,3,4]
%a = permute(%x) {dims=[0, 2, 1, 3]} : f32[2,3,5,4] strides=[60, 4, 12, 1] alias %x
)";
  EXPECT_THAT(ClassesOf(heads + "%y = input f32[2,3,4,5]\n"
                                "%b = matmul(%a, %y) : f32[2,3,5,5]\n"),
              ElementsAre("copy_hidden", "matmul_fp32"));
  // A transposed matrix needs no copy.
  EXPECT_THAT(ClassesOf(R"(%x = input f32[6,5,4]
%a = transpose(%x) {dim0=1, dim1=2} : f32[6,4,5] strides=[20, 1, 4] alias %x
%b = bmm(%x, %a) : f32[6,5,5]
)"),
              ElementsAre("matmul_fp32"));
}

TEST(KernelLayout, ANormCopiesWhatIsNotContiguous) {
  const std::string swapped = R"(%x = input f32[2,8,36]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,36,8] strides=[288, 1, 36] alias %x
)";
  EXPECT_THAT(ClassesOf(swapped + "%b = layer_norm(%a, parameter f32[8]) : "
                                  "f32[2,36,8]\n"),
              ElementsAre("copy_hidden", "layer_norm"));
  EXPECT_THAT(ClassesOf(swapped + "%b = softmax(%a) {dim=-1} : f32[2,36,8]\n"),
              ElementsAre("copy_hidden", "softmax"));
}

TEST(KernelLayout, AnElementwiseOperatorKeepsTheOrderOfItsFirstOperand) {
  const std::string swapped = R"(%x = input f32[2,8,36]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,36,8] strides=[288, 1, 36] alias %x
%b = relu(%a) : f32[2,36,8] strides=[288, 1, 36]
)";
  const std::vector<Kernel> kernels =
      KernelsOf(swapped +
                "%c = permute(%b) {dims=[0, 2, 1]} : f32[2,8,36] "
                "alias %b\n"
                "%d = add(%c, %x) : f32[2,8,36]\n"
                "%e = add(%b, parameter f32[2,36,8]) : f32[2,36,8] "
                "strides=[288, 1, 36]\n");
  ASSERT_THAT(ClassesOf(kernels), ElementsAre("relu", "add", "add"));
  EXPECT_FALSE(kernels[0].mixed_layouts);
  EXPECT_FALSE(kernels[1].mixed_layouts);
  EXPECT_TRUE(kernels[2].mixed_layouts);
}

// Its result is [batch, heads, length, size], heads innermost but one: merging
// them is a view.
TEST(KernelLayout, AttentionWritesHeadsSideBySide) {
  EXPECT_THAT(ClassesOf(R"(%q = input f16[2,3,5,8]
%a = scaled_dot_product_attention(%q, %q, %q) : f16[2,3,5,8] strides=[120, 8, 24, 1]
%b = transpose(%a) {dim0=1, dim1=2} : f16[2,5,3,8] alias %a
%c = reshape(%b) {shape=[2, 5, 24]} : f16[2,5,24] alias %b
)"),
              ElementsAre("attention"));
}

TEST(KernelLayout, AConcatenationReadsAnExpandedTokenElementByElement) {
  const auto reads_apart = [](const std::string& token) {
    return KernelsOf("%x = input f32[8,196,64]\n" + token +
                     "%y = cat(%t, %x) {dim=1} : f32[8,197,64]\n")
        .back()
        .mixed_layouts;
  };
  EXPECT_FALSE(reads_apart("%t = input f32[8,1,64]\n"));
  EXPECT_TRUE(
      reads_apart("%w = parameter f32[1,1,64]\n%t = expand(%w) : f32[8,1,64] "
                  "strides=[0, 64, 1] alias %w\n"));
}

}  // namespace
}  // namespace foretell::cost
