#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/kernels_of.h"

// Convolutions whose padding is the word "same": the pad that PyTorch makes
// where it is odd in sum.

namespace foretell::cost {
namespace {

using testing::ElementsAre;

/// A convolution of two images of four channels to six as a trace has it, with
/// the calls that PyTorch makes.
constexpr char kSame[] = R"(%x = input f32[2,4,16,16]
%w = parameter f32[6,4,4,4]
%b = parameter f32[6]
%y = conv2d(%x, %w, %b) {padding="same"} : f32[2,6,16,16]
| %p = inner f32[2,4,17,17]
| %f = fill_(%p) : f32[2,4,17,17] alias %p
| %n = narrow(%f) {dim=2, start=0, length=16} : f32[2,4,16,17] alias %f
| %m = narrow(%n) {dim=3, start=0, length=16} : f32[2,4,16,16] alias %n
| %c = copy_(%x) : f32[2,4,16,16] alias %m
| %y = convolution(%f, %w, %b) {stride=[1, 1], padding=[1, 1]}
)";

TEST(KernelPadding, FillsCopiesAndConvolves) {
  const std::vector<Kernel> kernels = KernelsOf(kSame);
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("fill", "copy", "conv_stem", "add"));
  EXPECT_EQ(kernels[0].bytes_out, 4 * 2 * 4 * 17 * 17);
  EXPECT_EQ(kernels[1].bytes_in, 4 * 2 * 4 * 16 * 16);
  EXPECT_EQ(kernels[1].bytes_out, 4 * 2 * 4 * 16 * 16);
  EXPECT_EQ(kernels[2].bytes_in, 4 * 2 * 4 * 17 * 17);
  EXPECT_EQ(kernels[2].macs, 2 * 16 * 16 * 6 * 4 * 16);
}

TEST(KernelPadding, FillsInItsGeneralOperatorAsWell) {
  const auto classes = [](const std::string& call) {
    return ClassesOf("%x = input f32[2,4,16,16]\n%y = " + call +
                     " : f32[2,4,17,17]\n");
  };
  EXPECT_THAT(classes("pad(%x) {pad=[0,1,0,1], mode=\"constant\"}"),
              ElementsAre("fill", "pad"));
  EXPECT_THAT(classes("pad(%x) {pad=[0,1,0,1]}"), ElementsAre("fill", "pad"));
  EXPECT_THAT(classes("pad(%x) {pad=[0,1,0,1], mode=\"reflect\"}"),
              ElementsAre("pad"));
}

}  // namespace
}  // namespace foretell::cost
