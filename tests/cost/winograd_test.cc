#include "src/cost/winograd.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// A GPU without TF32 units.
DeviceSpec Volta() {
  DeviceSpec device = test::RoundDevice();
  device.compute_capability = 70;
  return device;
}

std::string Square(const std::string& window, const std::string& attributes,
                   const std::string& size, const std::string& type = "f32") {
  return "%x = input " + type + "[32,256,56,56]\n%y = conv2d(%x, weight " +
         type + "[256,256," + window + "," + window + "]) {" + attributes +
         "} : " + type + "[32,256," + size + "," + size + "]\n";
}

std::optional<double> UsOn(const DeviceSpec& device, const std::string& body) {
  return WinogradUs(KernelsOf(body, {}).at(0), MakeMachine(device, {}));
}

TEST(Winograd, IsForPlainWindowsOfThreeOnFp32Lanes) {
  const std::string plain = Square("3", "padding=[1,1]", "56");
  EXPECT_TRUE(UsOn(Volta(), plain));
  EXPECT_FALSE(UsOn(test::RoundDevice(), plain));  // TF32.
  EXPECT_FALSE(UsOn(Volta(), Square("3", "padding=[1,1]", "56", "f16")));
  EXPECT_FALSE(UsOn(Volta(), Square("5", "padding=[2,2]", "56")));
  EXPECT_FALSE(UsOn(Volta(), Square("3", "padding=[1,1], stride=[2,2]", "28")));
  EXPECT_FALSE(
      UsOn(Volta(), Square("3", "padding=[2,2], dilation=[2,2]", "56")));
}

TEST(Winograd, ReplacesASlowerDirectConvolution) {
  const DeviceSpec device = Volta();
  const Machine machine = MakeMachine(device, {});
  const Kernel kernel = KernelsOf(Square("3", "padding=[1,1]", "56"), {}).at(0);
  const KernelTime time = TimeOf(kernel, machine);
  EXPECT_DOUBLE_EQ(time.arithmetic_us, *WinogradUs(kernel, machine));
  EXPECT_EQ(time.memory_us, 0);  // In its time already.
  // A quarter of the multiplications, and transforms.
  EXPECT_LT(time.arithmetic_us, time.at_peak_us);
  EXPECT_GT(time.arithmetic_us, time.at_peak_us / 4);
}

TEST(Winograd, IsForGradientsToo) {
  const DeviceSpec device = Volta();
  const Machine machine = MakeMachine(device, {});
  Kernel kernel = KernelsOf(Square("3", "padding=[1,1]", "56"), {}).at(0);
  const std::optional<double> forward = WinogradUs(kernel, machine);
  kernel.pass = ProductPass::kInputGradient;
  EXPECT_EQ(WinogradUs(kernel, machine), forward);
  kernel.pass = ProductPass::kWeightGradient;
  kernel.k = kernel.m;
  kernel.m = kernel.channels_out;
  EXPECT_TRUE(WinogradUs(kernel, machine));
}

/// Of the multiplications of the direct way.
double ShareOfWinograd(const std::string& channels) {
  const DeviceSpec device = Volta();
  const Machine machine = MakeMachine(device, {});
  const Kernel kernel =
      KernelsOf("%x = input f32[32," + channels +
                    ",56,56]\n%y = conv2d(%x, weight f32[" + channels + "," +
                    channels + ",3,3]) {padding=[1,1]} : f32[32," + channels +
                    ",56,56]\n",
                {})
          .at(0);
  return *WinogradUs(kernel, machine) / TimeOf(kernel, machine).at_peak_us;
}

TEST(Winograd, TakesLargerTilesForManyChannels) {
  // 1 / 2.25 at 0.65 of the peak, and 1 / 4 beside transforms.
  EXPECT_NEAR(ShareOfWinograd("64"), 1 / 2.25 / 0.65, 0.15);
  EXPECT_LT(ShareOfWinograd("512"), 0.8 / 2.25 / 0.65);
}

TEST(Winograd, LeavesSmallConvolutionsDirect) {
  const DeviceSpec device = Volta();
  const Machine machine = MakeMachine(device, {});
  const Kernel kernel = KernelsOf(R"(%x = input f32[1,3,8,8]
%y = conv2d(%x, weight f32[16,3,3,3]) {padding=[1,1]} : f32[1,16,8,8]
)",
                                  {})
                            .at(0);
  EXPECT_LT(TimeOf(kernel, machine).arithmetic_us,
            *WinogradUs(kernel, machine));
}

TEST(Roofline, TakesFp32LanesWhereThereAreNoTf32Units) {
  const Kernel kernel = KernelsOf(Square("3", "padding=[1,1]", "56"), {}).at(0);
  const DeviceSpec volta = Volta();
  const DeviceSpec ampere = test::RoundDevice();
  EXPECT_EQ(ArithmeticOf(kernel, MakeMachine(ampere, {})), Precision::kTf32);
  EXPECT_EQ(ArithmeticOf(kernel, MakeMachine(volta, {})), Precision::kFp32);
  EXPECT_EQ(TimeOf(kernel, MakeMachine(volta, {})).conversion_us, 0);
}

}  // namespace
}  // namespace foretell::cost
