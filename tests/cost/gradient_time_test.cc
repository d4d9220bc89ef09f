#include "src/cost/gradient_time.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

constexpr double kBytesPerUs = 1e6;

class GradientTime : public testing::Test {
 protected:
  double Us(const Kernel& kernel) const { return GradientUs(kernel, machine_); }
  double Us(const std::string& body) const {
    return Us(KernelsOf("phase backward\n" + body).back());
  }

  DeviceSpec device_ = test::RoundDevice();
  Machine machine_ = MakeMachine(device_, {});
};

double FillUs(double bytes) { return bytes / kBytesPerUs / 0.87; }
double StreamUs(double bytes) { return bytes / kBytesPerUs / 0.83; }
double SharedUs(double cycles) { return cycles / 100 / test::kRoundClockMhz; }

std::string Pool(const std::string& name, const std::string& attributes) {
  const bool is_largest = name.starts_with("max");
  return "%dy = input f32[8,64,16,16]\n%x = input f32[8,64,32,32]\n" +
         std::string(is_largest ? "%i = input i64[8,64,16,16]\n" : "") +
         "%dx = " + name + "(%dy, %x" + (is_largest ? ", %i" : "") + ") {" +
         attributes + "} : f32[8,64,32,32]\n";
}

constexpr double kPooled = 8 * 64 * 32 * 32;

TEST_F(GradientTime, OfAnAveragePoolCountsTheWindowsOfAnElement) {
  EXPECT_DOUBLE_EQ(Us(Pool("avg_pool2d_backward", "kernel_size=[2, 2]")),
                   SharedUs(kPooled * (4.0 + 0.42)));
  EXPECT_DOUBLE_EQ(
      Us(Pool("avg_pool2d_backward", "kernel_size=[3], stride=[2]")),
      SharedUs(kPooled * (4.0 + 4 * 0.42)));
}

TEST_F(GradientTime, OfAMaximumPoolFillsItsResult) {
  EXPECT_DOUBLE_EQ(Us(Pool("max_pool2d_with_indices_backward",
                           "kernel_size=[2, 2], stride=[2, 2]")),
                   FillUs(kPooled * 4) + SharedUs(kPooled * (2.25 + 0.15)));
}

TEST_F(GradientTime, LeavesOutAnInputThatGivesItsShape) {
  const Kernel kernel =
      KernelsOf("phase backward\n" +
                Pool("avg_pool2d_backward", "kernel_size=[2, 2]"))
          .at(0);
  EXPECT_EQ(kernel.bytes_in, 8 * 64 * 16 * 16 * 4);
}

std::string LayerNormGradient(const std::string& rows, const std::string& row,
                              const std::string& mask) {
  const std::string type = "f32[" + rows + "," + row + "]";
  return "%dy = input " + type + "\n%x = input " + type +
         "\n%dx, %dw, %db = native_layer_norm_backward(%dy, %x) "
         "{normalized_shape=[" +
         row + "], output_mask=" + mask + "} : " + type + ", f32[" + row +
         "], f32[" + row + "]\n";
}

TEST_F(GradientTime, OfALayerNormWaitsForBlocksOfRows) {
  // 100 multiprocessors hold 16 blocks each; two waves of a step each.
  const Kernel input_alone =
      KernelsOf(LayerNormGradient("3200", "64", "[1, 0, 0]"))[0];
  EXPECT_DOUBLE_EQ(Us(input_alone), 2 * 3300 / test::kRoundClockMhz);
}

TEST_F(GradientTime, OfALayerNormsWeightsGoesDownColumns) {
  const auto us = [&](TorchVersion torch, const std::string& mask) {
    return Us(KernelsOf(LayerNormGradient("100000", "64", mask),
                        {.torch = torch})[0]);
  };
  constexpr TorchVersion kOld = {.major = 2, .minor = 7};
  constexpr TorchVersion kNew = {.major = 2, .minor = 8};
  const double input_us = us(kOld, "[1, 0, 0]");
  EXPECT_NEAR(us(kOld, "[1, 1, 1]") - input_us,
              100000 * 32 / 4.2 / test::kRoundClockMhz, 1e-6);
  // Divided among blocks since, and summed.
  EXPECT_NEAR(us(kNew, "[1, 1, 1]") - input_us,
              StreamUs(2.0 * 100000 * 64 * 4) + 16, 1);
}

TEST_F(GradientTime, OfABatchNormGoesAlongChannels) {
  const std::string type = "f32[4,16,256,256]";
  const double us = Us("%dy = input " + type + "\n%x = input " + type +
                       "\n%w = parameter f32[16]\n%dx, %dw, %db = "
                       "native_batch_norm_backward(%dy, %x, %w) : " +
                       type + ", f32[16], f32[16]\n");
  EXPECT_DOUBLE_EQ(us,
                   (7500 + 4 * 256 * 256 / 512 * 1500) / test::kRoundClockMhz);
}

TEST_F(GradientTime, OfAGroupNormSumsChannelsThenGoesOverElements) {
  const std::string type = "f32[4,16,256,256]";
  constexpr double kElements = 4 * 16 * 256 * 256;
  const double us = Us("%dy = input " + type + "\n%x = input " + type +
                       "\n%dx, %dw, %db = native_group_norm_backward(%dy, %x) "
                       "{num_groups=4} : " +
                       type + ", f32[16], f32[16]\n");
  EXPECT_NEAR(us,
              (2450 + 928 * 256 * 256 / 512.0) / test::kRoundClockMhz +
                  StreamUs(3 * kElements * 4),
              1);
}

TEST_F(GradientTime, OfASoftmaxReadsLongRowsTwice) {
  const auto softmax = [](const std::string& type) {
    return "%dy = input " + type + "\n%y = input " + type +
           "\n%dx = _softmax_backward_data(%dy, %y) {dim=-1} : " + type + "\n";
  };
  EXPECT_DOUBLE_EQ(Us(softmax("f32[1024,4096]")),
                   3.0 * 1024 * 4096 * 4 / kBytesPerUs / 0.92);
  EXPECT_DOUBLE_EQ(Us(softmax("f32[128,32768]")),
                   3.0 * 128 * 32768 * 4 / kBytesPerUs / 0.68);
}

TEST_F(GradientTime, OfACubicInterpolationNeedsAThreadForEachPlace) {
  const auto interpolation = [](const std::string& dtype) {
    return "%dy = input " + dtype +
           "[16,64,64,64]\n%dx = "
           "upsample_bicubic2d_backward(%dy) : " +
           dtype + "[16,64,32,32]\n";
  };
  // Four blocks of 1,024 places.
  const double atomics_us =
      1024.0 * 4096 * 16 * 0.44 / 4 / test::kRoundClockMhz;
  EXPECT_DOUBLE_EQ(Us(interpolation("f32")),
                   FillUs(1024 * 1024 * 4) + atomics_us);
  EXPECT_DOUBLE_EQ(Us(interpolation("f16")),
                   FillUs(1024 * 1024 * 2) + atomics_us * 7.3);
}

TEST_F(GradientTime, OfAnAdaptivePoolWaitsForAdditionsInSixteenBits) {
  const auto pool = [](const std::string& dtype) {
    return "%dy = input " + dtype + "[16,100,1,1]\n%x = input " + dtype +
           "[16,100,4,8]\n%dx = _adaptive_avg_pool2d_backward(%dy, %x) : " +
           dtype + "[16,100,4,8]\n";
  };
  constexpr double kElements = 1600 * 32;
  EXPECT_DOUBLE_EQ(Us(pool("f32")),
                   FillUs(kElements * 4) + SharedUs(kElements * 3.3));
  // Two waves of blocks for each plane, whose window has 32 elements.
  EXPECT_DOUBLE_EQ(Us(pool("bf16")),
                   FillUs(kElements * 2) + 2 * 750 * 32 / test::kRoundClockMhz);
}

TEST_F(GradientTime, OfALinearInterpolationGoesFromImageToImage) {
  const auto interpolation = [](const std::string& dtype) {
    return KernelsOf(
               "phase backward\n%dy = input " + dtype +
               "[16,64,100]\n%x = input " + dtype +
               "[16,64,50]\n%dx = upsample_linear1d_backward(%dy, %x) : " +
               dtype + "[16,64,50]\n")
        .back();
  };
  EXPECT_EQ(interpolation("f32").serial_steps, 16 * 64);
  EXPECT_EQ(interpolation("f16").serial_steps, 8 * 16 * 64);
  EXPECT_GE(TimeOf(interpolation("f32"), machine_).memory_us, 0.3 * 16 * 64);
}

}  // namespace
}  // namespace foretell::cost
