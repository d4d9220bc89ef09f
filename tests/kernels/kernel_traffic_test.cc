#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// The one kernel of the last node of a graph in text form.
Kernel LastKernel(const std::string& body) {
  const std::vector<Kernel> kernels = KernelsOf(body);
  EXPECT_FALSE(kernels.empty());
  return kernels.empty() ? Kernel{} : kernels.back();
}

TEST(KernelTraffic, ReadsOperandsAndWritesResults) {
  const Kernel kernel = LastKernel(R"(%x = input f32[100]
%y = input f32[100]
%z = add(%x, %y) : f32[100]
)");
  EXPECT_EQ(kernel.bytes_in, 800);
  EXPECT_EQ(kernel.bytes_out, 400);
  EXPECT_EQ(kernel.launches, 1);
}

TEST(KernelTraffic, ReadsAnOperandOnceThatIsGivenTwice) {
  EXPECT_EQ(LastKernel(R"(%x = input f32[100]
%z = add(%x, %x) : f32[100]
)")
                .bytes_in,
            400);
}

TEST(KernelTraffic, OfAViewIsNothing) {
  EXPECT_TRUE(KernelsOf(R"(%x = input f32[100]
%v = view(%x) {size=[10,10]} : f32[10,10] alias %x
)")
                  .empty());
}

TEST(KernelTraffic, OfAnInPlaceOperatorIsThatOfItsTwin) {
  const Kernel kernel = LastKernel(R"(%x = input f32[100]
%z = relu_(%x) : f32[100] alias %x
)");
  EXPECT_EQ(kernel.bytes_in, 400);
  EXPECT_EQ(kernel.bytes_out, 400);
}

TEST(KernelTraffic, OfAnInPlaceCopyIsNotThatOfAView) {
  EXPECT_EQ(KernelsOf(R"(%x = input f32[100]
%y = input f32[100]
%z = copy_(%x, %y) : f32[100] alias %x
)")
                .size(),
            1U);
}

TEST(KernelTraffic, OfDropoutThatReturnsItsInputIsNothing) {
  EXPECT_TRUE(KernelsOf(R"(%x = input f32[100]
%z = dropout(%x) : f32[100] alias %x
)")
                  .empty());
}

TEST(KernelTraffic, OfALookupReadsWhatItReturns) {
  const Kernel kernel = LastKernel(R"(%i = input i64[16]
%y = embedding(weight f32[50000,512], %i) : f32[16,512]
)");
  EXPECT_EQ(kernel.bytes_out, 16 * 512 * 4);
  EXPECT_EQ(kernel.bytes_in + kernel.bytes_weight, 16 * 512 * 4);
}

TEST(KernelTraffic, OfAGatherCountsNoIndices) {
  EXPECT_EQ(LastKernel(R"(%x = input f32[100,8]
%i = input i64[50,8]
%y = gather(%x, %i) {dim=0} : f32[50,8]
)")
                .bytes_in,
            50 * 8 * 4);
}

TEST(KernelTraffic, ReadsNoMoreOfAnExpandedTensorThanItsStorage) {
  const Kernel kernel = LastKernel(R"(%x = input f32[1,100]
%e = expand(%x) {size=[50,100]} : f32[50,100] alias %x
%y = relu(%e) : f32[50,100]
)");
  EXPECT_EQ(kernel.bytes_in, 400);
  EXPECT_EQ(kernel.bytes_out, 20'000);
}

TEST(KernelTraffic, OfAMaximumPoolingWritesIndicesThatNobodyGets) {
  const std::string input = "%x = input f16[2,8,4,4]\n";
  const std::int64_t values = 2 * 8 * 2 * 2;
  EXPECT_EQ(LastKernel(input + "%y = max_pool2d(%x) {kernel_size=[2,2]} : "
                               "f16[2,8,2,2]\n")
                .bytes_out,
            values * (2 + 8));
  EXPECT_EQ(
      LastKernel(input + "%y, %i = max_pool2d_with_indices(%x) "
                         "{kernel_size=[2,2]} : f16[2,8,2,2], i64[2,8,2,2]\n")
          .bytes_out,
      values * (2 + 8));
}

TEST(KernelTraffic, OfPaddingFillsAndCopies) {
  const std::vector<Kernel> kernels = KernelsOf(
      "%x = input f16[2,8]\n%y = constant_pad_nd(%x) {pad=[1,1]} : "
      "f16[2,10]\n");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].kernel_class, KernelClass::kFill);
  EXPECT_EQ(kernels[0].Bytes(), 2 * 10 * 2);
  EXPECT_EQ(kernels[1].kernel_class, KernelClass::kPad);
  EXPECT_EQ(kernels[1].bytes_in, 2 * 8 * 2);
  EXPECT_EQ(kernels[1].bytes_out, 2 * 8 * 2);
}

TEST(KernelTraffic, OfCuttingFillsNothing) {
  EXPECT_EQ(KernelsOf("%x = input f16[2,8]\n%y = constant_pad_nd(%x) "
                      "{pad=[-1,-1]} : f16[2,6]\n")
                .size(),
            1U);
}

TEST(KernelTraffic, OfFillReadsNothing) {
  const Kernel kernel = LastKernel(R"(%x = input f32[100]
%z = zeros_like(%x) : f32[100]
)");
  EXPECT_EQ(kernel.bytes_in, 0);
  EXPECT_EQ(kernel.bytes_out, 400);
}

TEST(KernelTraffic, OfAMultiTensorUpdateLaunchesByTheNumberOfTensors) {
  std::string text;
  std::string operands;
  std::string results;
  std::string types;
  for (int i = 0; i < 130; ++i) {
    const std::string n = std::to_string(i);
    text += "%p" + n + " = parameter f32[10]\n";
    operands += (i > 0 ? ", %p" : "%p") + n;
    results += (i > 0 ? ", %q" : "%q") + n;
    types += (i > 0 ? ", f32[10] alias %p" : "f32[10] alias %p") + n;
  }
  const Kernel kernel = LastKernel(text + results + " = _foreach_mul_(" +
                                   operands + ") : " + types + "\n");
  EXPECT_EQ(kernel.launches, 3);
  EXPECT_EQ(kernel.bytes_weight, 130 * 40);
  EXPECT_EQ(kernel.bytes_out, 130 * 40);
}

}  // namespace
}  // namespace foretell::cost
