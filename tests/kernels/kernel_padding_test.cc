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

/// A convolution of two images of four channels to six.
struct SameCase {
  std::string target;
  std::string sizes;   ///< Of an image.
  std::string padded;  ///< The same with the pad.
  std::string window;
  std::string attributes = "";  ///< Begins with a comma.
};

std::string Sources(const SameCase& test, const std::string& dtype) {
  return "%x = input " + dtype + "[2,4," + test.sizes + "]\n%w = parameter " +
         dtype + "[6,4," + test.window + "]\n%b = parameter " + dtype + "[6]\n";
}

std::string Written(const SameCase& test, const std::string& dtype) {
  const std::string type = " : " + dtype + "[2,4," + test.padded + "]\n";
  return Sources(test, dtype) + "%p = constant_pad_nd(%x)" + type +
         "%y = convolution(%p, %w, %b) {padding=[0]" + test.attributes +
         "} : " + dtype + "[2,6," + test.sizes + "]\n";
}

std::string Called(const SameCase& test, const std::string& dtype) {
  return Sources(test, dtype) + "%y = " + test.target +
         "(%x, %w, %b) {padding=\"same\"" + test.attributes + "} : " + dtype +
         "[2,6," + test.sizes + "]\n";
}

std::vector<Kernel> Works(const std::string& body, const Run& run) {
  std::vector<Kernel> kernels = KernelsOf(body, run);
  for (Kernel& kernel : kernels) kernel.node = 0;
  return kernels;
}

TEST(KernelPadding, OfAnEvenWindowIsThatOfAPadWrittenOut) {
  const SameCase cases[] = {
      {"conv1d", "16", "17", "4"},
      {"conv2d", "16,16", "17,17", "4,4"},
      {"_convolution_mode", "16,16", "17,17", "2,2"},
      {"conv2d", "16,16", "17,16", "4,3"},
      {"conv2d", "16,16", "16,17", "4,4", ", dilation=[2,1]"},
      {"conv2d", "16,16", "17,17", "4,4", ", dilation=[3]"},
      {"conv3d", "8,8,8", "9,8,9", "2,3,4"},
  };
  for (const SameCase& test : cases) {
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      for (const bool channels_last : {false, true}) {
        const foretell::Run run = {.channels_last = channels_last,
                                   .torch = {2, 8}};
        EXPECT_EQ(Works(Called(test, dtype), run),
                  Works(Written(test, dtype), run))
            << Called(test, dtype);
      }
    }
  }
}

TEST(KernelPadding, FillsCopiesAndConvolves) {
  const SameCase even = {"conv2d", "16,16", "17,17", "4,4"};
  const std::vector<Kernel> kernels = KernelsOf(Called(even, "f32"));
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("fill", "pad", "conv_stem", "add"));
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

TEST(KernelPadding, TakesTheCastImageUnderAutocast) {
  const SameCase even = {"conv2d", "16,16", "17,17", "4,4"};
  const std::vector<Kernel> kernels = KernelsOf(Called(even, "f32"), kAutocast);
  ASSERT_THAT(ClassesOf(kernels),
              ElementsAre("cast_down", "cast_weight", "cast_weight", "fill",
                          "pad", "conv_stem", "add"));
  EXPECT_EQ(kernels[3].bytes_out, 2 * 2 * 4 * 17 * 17);
}

TEST(KernelPadding, IsNoneOfItsOwnWhereBothSidesAreAlike) {
  for (const char* attributes : {"padding=\"same\"", "padding=\"valid\"",
                                 "padding=\"same\", dilation=[2,2]"}) {
    const bool is_dilated =
        std::string(attributes).find("dilation") != std::string::npos;
    const std::string window = is_dilated ? "4,4" : "3,3";
    EXPECT_THAT(
        ClassesOf("%x = input f32[2,8,16,16]\n%y = conv2d(%x, "
                  "parameter f32[6,8," +
                  window + "]) {" + attributes + "} : f32[2,6,16,16]\n"),
        ElementsAre("conv_dense"))
        << attributes;
  }
}

}  // namespace
}  // namespace foretell::cost
