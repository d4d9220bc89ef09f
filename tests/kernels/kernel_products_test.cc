#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;

using ProductSizes =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

ProductSizes ProductOf(const Kernel& kernel) {
  return {kernel.batch, kernel.m, kernel.n, kernel.k};
}

Kernel LastOf(const std::string& body, const Run& mode = {}) {
  return KernelsOf(body, mode).back();
}

/// A convolution of `input` with `weight` and these attributes.
Kernel Convolution(const std::string& input, const std::string& weight,
                   const std::string& attributes, const std::string& result,
                   const Run& mode = {}) {
  return LastOf("%x = input " + input + "\n%y = conv2d(%x, parameter " +
                    weight + ") {" + attributes + "} : " + result + "\n",
                mode);
}

TEST(KernelProducts, AConvolutionIsAnImplicitProduct) {
  const Kernel kernel =
      Convolution("f16[2,16,10,12]", "f16[32,16,3,5]",
                  "stride=[2, 2], padding=[1, 2]", "f16[2,32,5,6]");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kDenseConvolution);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(1, 2 * 30, 32, 16 * 15));
  EXPECT_EQ(kernel.macs, 2 * 30 * 32 * 16 * 15);
  EXPECT_EQ(kernel.window_height, 3);
  EXPECT_EQ(kernel.window_width, 5);
  EXPECT_EQ(kernel.stride, 2);
  EXPECT_EQ(kernel.positions, 30);
  EXPECT_EQ(kernel.channels_in, 16);
  EXPECT_EQ(kernel.channels_out, 32);
  EXPECT_EQ(kernel.groups, 1);
  EXPECT_EQ(kernel.inner_extent, 12);
}

TEST(KernelProducts, AGroupedConvolutionIsABatch) {
  const Kernel kernel = Convolution("f16[2,16,4,4]", "f16[32,4,1,1]",
                                    "groups=4", "f16[2,32,4,4]");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kGroupedConvolution);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(4, 32, 8, 4));
}

TEST(KernelProducts, ConvolutionsFallIntoClasses) {
  EXPECT_EQ(Convolution("f16[1,3,8,8]", "f16[8,3,1,1]", "", "f16[1,8,8,8]")
                .kernel_class,
            KernelClass::kStemConvolution);
  EXPECT_EQ(Convolution("f16[1,5,8,8]", "f16[8,5,1,1]", "", "f16[1,8,8,8]")
                .kernel_class,
            KernelClass::kPointwiseConvolution);
  const Kernel transposed = LastOf(
      "%x = input f16[2,8,4,4]\n%y = conv_transpose2d(%x, "
      "parameter f16[8,6,2,2]) {stride=[2, 2]} : f16[2,6,8,8]\n");
  EXPECT_EQ(transposed.kernel_class, KernelClass::kTransposedConvolution);
  EXPECT_EQ(transposed.macs, 2 * 8 * 16 * 6 * 4);
}

/// A depthwise convolution of images of f16, as the rule of PyTorch sees it.
struct DepthwiseCase {
  std::string window = "3,3";
  std::string options = "";  ///< Further attributes: ", stride=[2, 2]".
  int images = 2;
  int channels = 32;
  int width = 9;
  std::string dtype = "f16";
};

KernelClass ClassOf(const DepthwiseCase& depthwise, const Run& mode = {}) {
  const std::string channels = std::to_string(depthwise.channels);
  const std::string images = depthwise.dtype + "[" +
                             std::to_string(depthwise.images) + "," + channels +
                             ",9," + std::to_string(depthwise.width) + "]";
  return Convolution(
             images,
             depthwise.dtype + "[" + channels + ",1," + depthwise.window + "]",
             "groups=" + channels + depthwise.options, images, mode)
      .kernel_class;
}

constexpr KernelClass kCudnn = KernelClass::kDepthwiseConvolution;
constexpr KernelClass kNative = KernelClass::kNativeDepthwise;
constexpr char kStrided[] = ", stride=[2, 2]";

TEST(KernelProducts, DepthwiseConvolutionsAreCudnnsForKnownWindows) {
  EXPECT_EQ(ClassOf({}), kCudnn);
  EXPECT_EQ(ClassOf({.window = "5,5"}), kCudnn);
  EXPECT_EQ(ClassOf({.window = "9,9"}), kNative);
  EXPECT_EQ(ClassOf({.window = "1,5"}), kNative);
  EXPECT_EQ(ClassOf({.window = "9,9"}, {.channels_last = true}), kCudnn);
}

TEST(KernelProducts, DepthwiseConvolutionsAreCudnnsInHalfPrecisionAlone) {
  EXPECT_EQ(ClassOf({.dtype = "f32"}), kNative);
  EXPECT_EQ(ClassOf({.dtype = "bf16"}), kNative);
  EXPECT_EQ(ClassOf({.dtype = "bf16"}, {.channels_last = true}), kCudnn);
}

TEST(KernelProducts, DepthwiseConvolutionsOfSmallImagesAreNative) {
  EXPECT_EQ(ClassOf({.channels = 31}), kNative);
  EXPECT_EQ(ClassOf({.width = 7}), kCudnn);
  EXPECT_EQ(ClassOf({.width = 6}), kNative);
  EXPECT_EQ(ClassOf({.options = ", dilation=[2, 2]"}), kNative);
}

TEST(KernelProducts, StridedDepthwiseConvolutionsAreCudnnsWhereItIsFast) {
  EXPECT_EQ(ClassOf({.options = kStrided, .channels = 511}), kNative);
  EXPECT_EQ(ClassOf({.options = kStrided, .channels = 512}), kCudnn);
  EXPECT_EQ(ClassOf({.options = kStrided, .channels = 256}), kNative);
  EXPECT_EQ(ClassOf({.options = kStrided, .channels = 256, .width = 28}),
            kCudnn);
  EXPECT_EQ(ClassOf({.options = kStrided, .images = 1}), kCudnn);
  EXPECT_EQ(ClassOf({.options = ", stride=[3, 3]", .channels = 512}), kNative);
  EXPECT_EQ(ClassOf({.options = ", stride=[1, 2]", .channels = 512}), kNative);
  const std::string one = "1,1";
  EXPECT_EQ(ClassOf({.window = one, .options = kStrided, .images = 1}), kCudnn);
  EXPECT_EQ(
      ClassOf({.window = one, .options = kStrided, .images = 1, .width = 29}),
      kNative);
  EXPECT_EQ(ClassOf({.window = one,
                     .options = kStrided,
                     .images = 16,
                     .channels = 128,
                     .width = 7}),
            kCudnn);
  EXPECT_EQ(ClassOf({.window = one,
                     .options = kStrided,
                     .images = 17,
                     .channels = 128,
                     .width = 7}),
            kNative);
}

TEST(KernelProducts, DepthwiseConvolutionsOfSequencesAreCudnnsWithoutStride) {
  const auto of_stride = [](const std::string& stride) {
    return Convolution("f16[2,32,9]", "f16[32,1,4]",
                       "groups=32, stride=" + stride, "f16[2,32,6]")
        .kernel_class;
  };
  EXPECT_EQ(of_stride("[1]"), kCudnn);
  EXPECT_EQ(of_stride("[2]"), kNative);
}

TEST(KernelProducts, DepthwiseConvolutionsRunOnFp32Lanes) {
  EXPECT_EQ(Convolution("f16[1,8,9,9]", "f16[8,1,3,3]",
                        "groups=8, padding=[1, 1]", "f16[1,8,9,9]")
                .arithmetic,
            Precision::kFp32);
}

TEST(KernelProducts, ALinearLayerHasRowsOfFeatures) {
  const Kernel kernel = LastOf(
      "%x = input f16[2,5,8]\n"
      "%y = linear(%x, parameter f16[16,8]) : f16[2,5,16]\n");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kLinear);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(1, 10, 16, 8));
  EXPECT_EQ(kernel.macs, 10 * 16 * 8);
}

/// Elements of the rows that are hardest to load, of [2, 8, rows] transposed
/// times [2, 8, 16].
std::int64_t RowsOfTransposedProduct(const std::string& rows) {
  return LastOf("%x = input f16[2,8," + rows +
                "]\n%t = transpose(%x) {dim0=1, dim1=2} : f16[2," + rows +
                ",8] strides=[" + std::to_string(8 * std::stoi(rows)) +
                ", 1, " + rows +
                "] alias %x\n%w = input f16[2,8,16]\n%y = matmul(%t, %w) : "
                "f16[2," +
                rows + ",16]\n")
      .inner_extent;
}

TEST(KernelProducts, AProductKnowsTheRowsThatAreHardestToLoad) {
  EXPECT_EQ(RowsOfTransposedProduct("12"), 12);
  EXPECT_EQ(RowsOfTransposedProduct("49"), 49);
  EXPECT_EQ(RowsOfTransposedProduct("32"), 16);
}

TEST(KernelProducts, AVectorHasNoRowsThatAreHardToLoad) {
  EXPECT_EQ(LastOf("%x = input f16[1,8]\n%y = linear(%x, parameter "
                   "f16[16,8]) : f16[1,16]\n")
                .inner_extent,
            8);
  EXPECT_EQ(LastOf("%x = input f16[4,8]\n%y = linear(%x, parameter "
                   "f16[1,8]) : f16[4,1]\n")
                .inner_extent,
            8);
}

TEST(KernelProducts, ABatchTimesOneMatrixIsLinear) {
  const Kernel kernel = LastOf(
      "%x = input f16[2,5,8]\n"
      "%y = matmul(%x, parameter f16[8,16]) : f16[2,5,16]\n");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kLinear);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(1, 10, 16, 8));
  EXPECT_EQ(LastOf("%x = input f16[5,8]\n%y = addmm(parameter f16[16], %x, "
                   "parameter f16[8,16]) : f16[5,16]\n")
                .kernel_class,
            KernelClass::kLinear);
}

TEST(KernelProducts, TwoBatchesMakeABatch) {
  const Kernel kernel = LastOf(
      "%x = input f16[2,3,5,8]\n%y = input f16[2,3,8,7]\n"
      "%z = matmul(%x, %y) : f16[2,3,5,7]\n");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kMatmul);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(6, 5, 7, 8));
}

TEST(KernelProducts, AStepOfARecurrentLayerHasAProductPerWeight) {
  const Kernel kernel = LastOf(
      "%x = input f16[7,2,8]\n%h = input f16[1,2,4]\n"
      "%y = _cudnn_rnn(%x, parameter f16[16,8], parameter f16[16,4], %h, %h)"
      " : f16[7,2,4]\n");
  EXPECT_EQ(kernel.kernel_class, KernelClass::kLinear);
  EXPECT_EQ(ProductOf(kernel), ProductSizes(2, 2, 16, 8));
  EXPECT_EQ(kernel.count, 7);
  EXPECT_EQ(kernel.macs, 2 * (16 * 8 + 16 * 4));
}

TEST(KernelProducts, AllStepsInOneKernelAreAsManyAsTheInputHas) {
  const Kernel kernel = LastOf(
      "%g = input f16[7,2,16]\n"
      "%y = _cudnn_rnn(%g, parameter f16[16,4]) : f16[7,2,4]\n");
  EXPECT_EQ(ProductOf(kernel), ProductSizes(1, 14, 16, 4));
  EXPECT_EQ(kernel.row_elements, 7);
}

/// Arithmetic of a product and a convolution of f32 at this precision.
std::pair<Precision, Precision> ArithmeticAt(const std::string& precision) {
  const std::vector<Kernel> kernels = KernelsOf(
      "%x = input f32[2,8,4,4]\n"
      "%y = conv2d(%x, parameter f32[8,8,1,1]) : f32[2,8,4,4]\n"
      "%z = matmul(%y, %y) : f32[2,8,4,4]\n",
      {}, "precision=" + precision);
  return {kernels[0].arithmetic, kernels[1].arithmetic};
}

TEST(KernelProducts, Float32IsTf32WhereItsPrecisionSays) {
  EXPECT_EQ(ArithmeticAt("fp32"),
            std::pair(Precision::kTf32, Precision::kFp32));
  EXPECT_EQ(ArithmeticAt("tf32"),
            std::pair(Precision::kTf32, Precision::kTf32));
}

TEST(KernelProducts, SixteenBitTensorsMultiplyInTheirOwnType) {
  EXPECT_EQ(LastOf("%x = input bf16[2,8]\n"
                   "%y = linear(%x, parameter bf16[4,8]) : bf16[2,4]\n")
                .arithmetic,
            Precision::kBf16);
}

/// Kernels of a linear layer with a bias on an input of these dimensions, as a
/// version of PyTorch launches them.
std::vector<Kernel> LinearKernels(const std::string& dims,
                                  const TorchVersion& torch) {
  return KernelsOf("%x = input f16[" + dims +
                       ",32]\n%y = linear(%x, parameter f16[64,32], parameter "
                       "f16[64]) : f16[" +
                       dims + ",64]\n",
                   {.torch = torch});
}

TEST(KernelProducts, ABiasIsAddedByTheProduct) {
  for (const std::string dims : {"48", "4,12", "4,3,4", "2,2,3,4"}) {
    EXPECT_THAT(ClassesOf(LinearKernels(dims, {})), ElementsAre("linear"));
  }
}

struct OldBias {
  std::string dims;
  TorchVersion torch;
  std::vector<std::string> classes;
};

TEST(KernelProducts, ABiasWasAddedApartInOlderVersions) {
  constexpr TorchVersion k1x11 = {.major = 1, .minor = 11};
  constexpr TorchVersion k1x12 = {.major = 1, .minor = 12};
  constexpr TorchVersion k1x13 = {.major = 1, .minor = 13};
  constexpr TorchVersion k2x0 = {.major = 2, .minor = 0};
  constexpr TorchVersion k2x1 = {.major = 2, .minor = 1};
  const std::vector<OldBias> cases = {
      {"48", k1x11, {"copy", "linear"}},  {"48", k1x13, {"linear"}},
      {"4,12", k1x11, {"linear", "add"}}, {"4,12", k1x12, {"copy", "linear"}},
      {"4,12", k1x13, {"linear"}},        {"4,3,4", k1x12, {"linear", "add"}},
      {"4,3,4", k2x0, {"linear", "add"}}, {"4,3,4", k2x1, {"linear"}},
  };
  for (const OldBias& one : cases) {
    EXPECT_EQ(ClassesOf(LinearKernels(one.dims, one.torch)), one.classes)
        << one.dims << " under " << ToString(one.torch);
  }
}

/// So the kernels of a measured Gemm: BroadcastBiasKernel and cuBLAS's.
TEST(KernelProducts, ABiasFillsTheResultOfOnnxRuntime) {
  constexpr auto kInfo = "runtime=\"onnxruntime\"";
  EXPECT_EQ(ClassesOf(KernelsOf(
                "%x = input f16[48,32]\n%y = linear(%x, parameter f16[64,32], "
                "parameter f16[64]) : f16[48,64]\n",
                {}, kInfo)),
            (std::vector<std::string>{"copy", "linear"}));
  // The third operand of an attention is no bias.
  EXPECT_EQ(
      ClassesOf(KernelsOf("%x = input f16[1,2,8,16]\n"
                          "%y = scaled_dot_product_attention(%x, %x, %x) : "
                          "f16[1,2,8,16]\n",
                          {}, kInfo))
          .size(),
      1);
}

TEST(KernelProducts, ABiasThatANetworkAddsItselfIsNoOther) {
  const auto classes = [](const TorchVersion& torch) {
    return ClassesOf(
        "%x = input f16[48,32]\n%y = addmm(parameter f16[64], %x, "
        "parameter f16[32,64]) : f16[48,64]\n",
        {.torch = torch});
  };
  EXPECT_THAT(classes({.major = 1, .minor = 12}),
              ElementsAre("copy", "linear"));
  EXPECT_THAT(classes({.major = 1, .minor = 13}), ElementsAre("linear"));
}

TEST(KernelProducts, AnAddedBiasMovesTheResultOnceMore) {
  constexpr std::int64_t kResult = 2 * 48 * 64;
  const std::vector<Kernel> copied =
      LinearKernels("4,12", {.major = 1, .minor = 12});
  EXPECT_EQ(copied[0].bytes_out, kResult);
  EXPECT_EQ(copied[1].bytes_in, 2 * 48 * 32 + kResult);
  EXPECT_EQ(copied[1].macs, 48 * 32 * 64);
  const std::vector<Kernel> added =
      LinearKernels("4,12", {.major = 1, .minor = 11});
  EXPECT_EQ(added[0].bytes_in, 2 * 48 * 32);
  EXPECT_EQ(added[1].bytes_in, kResult);
  EXPECT_EQ(added[1].bytes_weight, 2 * 64);
  EXPECT_EQ(added[1].bytes_out, kResult);
}

constexpr char kTransposed[] = R"(%x = input f16[4,32,12]
%v = transpose(%x) {dim0=1, dim1=2} : f16[4,12,32] strides=[384, 1, 12] alias %x
%y = linear(%v, parameter f16[64,32], parameter f16[64]) : f16[4,12,64]
)";

TEST(KernelProducts, ABiasBehindTransposedRowsIsAddedApart) {
  EXPECT_THAT(ClassesOf(kTransposed), ElementsAre("linear", "add"));
}

TEST(KernelProducts, TransposedRowsAreCopiedForAGradientOrAnOldVersion) {
  EXPECT_THAT(ClassesOf(kTransposed, {.grad_mode = true}),
              ElementsAre("copy_hidden", "linear", "add"));
  EXPECT_THAT(ClassesOf(kTransposed, {.torch = {.major = 1, .minor = 11}}),
              ElementsAre("copy_hidden", "linear", "add"));
}

TEST(KernelProducts, OfPackedBytesMultiplyFourBits) {
  const auto kernels = KernelsOf(
      "%s = input f32[1]\n"
      "%y = transformer_engine::gemm(input u8[32,64], %s, %s, input u8[16,64]) "
      ": bf16[32,16]\n");
  ASSERT_EQ(kernels.size(), 1);
  EXPECT_TRUE(kernels[0].float4);
  EXPECT_FALSE(kernels[0].float8);
  EXPECT_EQ(kernels[0].arithmetic, Precision::kBf16);
  EXPECT_EQ(kernels[0].macs, 32 * 16 * 128);
}

}  // namespace
}  // namespace foretell::cost
