#include "src/cost/packed_groups.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Of images of 64 channels in two groups, on FP32 lanes.
Kernel Grouped(const std::string& images, const std::string& strides = "") {
  const std::string type = "f32[" + images + ",64,10,10]" + strides;
  Kernel kernel = KernelsOf("%x = input " + type +
                                "\n%y = convolution(%x, weight f32[64,32,3,3]) "
                                "{padding=[1,1], groups=2} : " +
                                type + "\n",
                            {.torch = kNewCudnn})
                      .at(0);
  kernel.arithmetic = Precision::kFp32;
  return kernel;
}

class PackedGroups : public testing::Test {
 protected:
  PackedGroups() { device_.compute_capability = 90; }
  DeviceSpec device_ = test::RoundDevice();
};

TEST_F(PackedGroups, AreCopiedInAndOut) {
  const Machine machine = MakeMachine(device_, {});
  ASSERT_TRUE(PacksGroups(Grouped("4"), machine));
  // 19 cycles for each of 2 x 25,600 elements; 100 multiprocessors.
  EXPECT_DOUBLE_EQ(ConversionUs(Grouped("4"), machine),
                   19 * 2 * 25600 / (100 * 390.625));
}

TEST_F(PackedGroups, LieSideBySideInASingleImage) {
  EXPECT_FALSE(PacksGroups(Grouped("1"), MakeMachine(device_, {})));
}

TEST_F(PackedGroups, AreNoneOnTensorCoresOrOlderGpus) {
  Kernel kernel = Grouped("4");
  kernel.arithmetic = Precision::kTf32;
  EXPECT_FALSE(PacksGroups(kernel, MakeMachine(device_, {})));
  device_.compute_capability = 80;
  EXPECT_FALSE(PacksGroups(Grouped("4"), MakeMachine(device_, {})));
}

}  // namespace
}  // namespace foretell::cost
