#include "src/cost/pool_time.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

Kernel Pool(const std::string& name, const std::string& from,
            const std::string& to, const std::string& strides = "") {
  const std::string layout =
      strides.empty() ? "" : " strides=[" + strides + "]";
  return KernelsOf("%x = input f32[" + from + "]" + layout + "\n%y = " + name +
                   "(%x) : f32[" + to + "]\n")
      .at(0);
}

class AdaptivePool : public testing::Test {
 protected:
  double CyclesOf(const Kernel& kernel) const {
    return PoolUs(kernel, machine_) * test::kRoundClockMhz;
  }
  DeviceSpec device_ = test::RoundDevice();
  Machine machine_ = MakeMachine(device_, {});
};

TEST_F(AdaptivePool, TakesAWarpForEachRowOfResults) {
  // 512 planes of 7 warps, each with windows of 10 x 10.
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_avg_pool2d", "8,64,70,70", "8,64,7,7")),
      512 * 7 * 100 * 6.2 / 100);
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_avg_pool2d", "8,64,70,330", "8,64,7,33")),
      2 * 512 * 7 * 100 * 6.2 / 100);
}

TEST_F(AdaptivePool, OfFewResultsWaitsForEachElement) {
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_max_pool2d", "1,20,70,70", "1,20,7,7")),
      100 * 165.0);
  // Four blocks share the 32 rows of a plane where channels are few.
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_max_pool2d", "1,4,320,70", "1,4,32,7")),
      100 * 165.0);
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_max_pool2d", "1,20,320,70", "1,20,32,7")),
      4 * 100 * 165.0);
}

TEST_F(AdaptivePool, OfVolumesIsSlower) {
  EXPECT_DOUBLE_EQ(
      CyclesOf(Pool("adaptive_max_pool3d", "8,64,4,40,40", "8,64,4,8,8")),
      8 * 64 * 4 * 8 * 25 * 12.4 / 100);
}

TEST_F(AdaptivePool, AveragesChannelsLastImagesResultByResult) {
  EXPECT_DOUBLE_EQ(CyclesOf(Pool("adaptive_avg_pool2d", "8,64,70,70",
                                 "8,64,7,7", "313600,1,4480,64")),
                   8 * 64 * 49 * 100 * 1.9 / 100);
}

}  // namespace
}  // namespace foretell::cost
