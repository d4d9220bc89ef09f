#include "src/cost/gemm.h"

#include <gtest/gtest.h>

#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

class Gemm : public testing::Test {
 protected:
  /// On FP32 lanes of `sms` SMs of the round device.
  double SimtUs(const GemmShape& shape, int sms = 100) {
    const Machine machine = MakeMachine(device_, {.sms = sms});
    return GemmUs(shape, MatrixUnit::kSimt,
                  machine.FlopsPerUs(Precision::kFp32), machine);
  }

  const DeviceSpec device_ = test::RoundDevice();
};

// A tile of 128 x 128 with k = 1024 on one SM, which does 10^5 FLOP per
// microsecond at its peak and 0.87 of that on this tile.
constexpr double kTileUs = 2.0 * 128 * 128 * 1024 / (1e5 * 0.87);

TEST_F(Gemm, FillsEverySmOnce) {
  EXPECT_NEAR(SimtUs({1, 1280, 1280, 1024}), kTileUs, 1e-6);
}

TEST_F(Gemm, TakesAsManyWavesAsTheTilesNeed) {
  EXPECT_NEAR(SimtUs({1, 2560, 1280, 1024}), 2 * kTileUs, 1e-6);
  EXPECT_NEAR(SimtUs({4, 1280, 1280, 1024}), 4 * kTileUs, 1e-6);
}

TEST_F(Gemm, PaysForATileThatIsHardlyUsed) {
  EXPECT_GT(SimtUs({1, 1281, 1280, 1024}), 1.1 * kTileUs);
  // Further rows in the same tiles cost their partial results only.
  EXPECT_NEAR(SimtUs({1, 1400, 1280, 1024}) - SimtUs({1, 1281, 1280, 1024}),
              119 * 1280 * 8 / 1e6, 1e-6);
}

TEST_F(Gemm, SplitsALongSumWhenThereAreFewTiles) {
  // Four tiles of 128 x 32, each in 16 blocks of k = 1024: 64 SMs work. Partial
  // results are 128 x 128 of 8 bytes.
  const double block_us = 2.0 * 128 * 32 * 1024 / (1e5 * 0.65);
  const double partial_us = 128 * 128 * 8 / 1e6;
  EXPECT_NEAR(SimtUs({1, 128, 128, 16384}), block_us + partial_us, 1e-6);
}

TEST_F(Gemm, DoesNotSplitAShortSum) {
  // Halves of k = 128 would be too short: 4 blocks of 128 x 32.
  const double block_us = 2.0 * 128 * 32 * 128 / (1e5 * 0.65);
  EXPECT_NEAR(SimtUs({1, 128, 128, 128}), block_us, 1e-6);
}

TEST_F(Gemm, CutsFewRowsOrColumnsIntoTilesAsNarrow) {
  // 100 tiles of 32 x 128 at once.
  const double tile_us = 2.0 * 32 * 128 * 128 / (1e5 * 0.65);
  EXPECT_NEAR(SimtUs({1, 16, 12800, 128}), tile_us, 1e-6);
  EXPECT_NEAR(SimtUs({1, 12800, 16, 128}), tile_us, 1e-6);
}

TEST_F(Gemm, IsSlowOnManySmallProducts) {
  // 100 tiles of 32 x 32, one per product.
  EXPECT_NEAR(SimtUs({100, 32, 32, 128}), 2.0 * 32 * 32 * 128 / (1e5 * 0.06),
              1e-6);
}

// DeepBench, V100: 2048 x 16 by 2048 in 42 us, of which 18.6 us are reading the
// matrix.
TEST_F(Gemm, TakesFewRowsAsLongAsTheyWereMeasured) {
  DeviceSpec v100 = device_;
  v100.sms = 80;
  const Machine machine = MakeMachine(v100, {});
  const double us =
      GemmUs({1, 2048, 16, 2048}, MatrixUnit::kSimt, 15.7e6, machine);
  EXPECT_NEAR(us, 42, 0.4 * 42);
}

TEST_F(Gemm, DoesNotTileAMatrixVectorProduct) {
  const double us = 2.0 * 4096 * 25088 / 1e7 / 0.5;
  EXPECT_NEAR(SimtUs({1, 1, 4096, 25088}), us, 1e-6);
  EXPECT_NEAR(SimtUs({1, 4096, 1, 25088}), us, 1e-6);
}

TEST_F(Gemm, IsFasterOnTensorCores) {
  const Machine machine = MakeMachine(device_, {});
  const GemmShape shape = {1, 2560, 2560, 1024};
  const double tf32 = machine.FlopsPerUs(Precision::kTf32);
  EXPECT_LT(GemmUs(shape, MatrixUnit::kTensorCore, tf32, machine),
            SimtUs(shape) / 5);
}

TEST_F(Gemm, StartsATileOfTensorCoresInCycles) {
  // An SM does 2 x 10^6 FLOP per microsecond; 10 TFLOP/s on 100 SMs of 64 lanes
  // are 781.25 cycles. A tile is 256 x 128.
  const Machine machine = MakeMachine(device_, {});
  const double start_us = 3000 / 781.25;
  for (const double k : {64, 768, 8192}) {
    const GemmShape shape = {1, 2560, 1280, k};
    const double product_us = 2.0 * 256 * 128 * k / 2e6;
    EXPECT_NEAR(GemmUs(shape, MatrixUnit::kTensorCore, 2e8, machine),
                (product_us + start_us) / 0.85, 1e-6);
    EXPECT_NEAR(GemmUs(shape, MatrixUnit::kTensorConvolution, 2e8, machine),
                product_us / 0.83, 1e-6);
  }
}

TEST_F(Gemm, StartsATileOnASliceAsOnTheWhole) {
  const Machine whole = MakeMachine(device_, {});
  const Machine slice = MakeMachine(device_, {.sms = 10});
  EXPECT_NEAR(GemmUs({1, 256, 1280, 64}, MatrixUnit::kTensorCore, 2e7, slice),
              GemmUs({1, 2560, 1280, 64}, MatrixUnit::kTensorCore, 2e8, whole),
              1e-6);
}

TEST_F(Gemm, NeverExceedsThePeak) {
  for (const double size : {64, 300, 1000, 4096, 10000}) {
    const GemmShape shape = {1, size, size, size};
    EXPECT_GT(SimtUs(shape), 2 * shape.Macs() / 1e7);
  }
}

TEST_F(Gemm, NeverGetsSlowerWithMoreSms) {
  const GemmShape shape = {3, 700, 900, 2000};
  double previous = SimtUs(shape, 1);
  for (int sms = 2; sms <= 100; ++sms) {
    const double us = SimtUs(shape, sms);
    EXPECT_LE(us, previous * (1 + 1e-12)) << sms;
    previous = us;
  }
}

TEST_F(Gemm, OfNothingTakesNoTime) {
  EXPECT_EQ(SimtUs({1, 0, 128, 128}), 0);
  EXPECT_EQ(SimtUs({0, 128, 128, 128}), 0);
}

// Tiles of 256 x 128 load 384 elements for each of the sum. Every one of them
// alone takes 384 / 4.8 cycles of 781.25 per microsecond.
TEST_F(Gemm, WaitsForElementsThatAreLoadedOneByOne) {
  const Machine machine = MakeMachine(device_, {});
  const auto us = [&](double loads) {
    return GemmUs({1, 2560, 1280, 4096, loads}, MatrixUnit::kTensorCore,
                  machine.FlopsPerUs(Precision::kFp16), machine);
  };
  EXPECT_GT(us(1), 2 * us(0));
  EXPECT_NEAR(us(1) - us(0.5), 4096 * 384 / 4.8 / 781.25 / 2,
              0.02 * (us(1) - us(0.5)));
}

// Hopper's tiles of 16 bits: 100 of 320 x 128 are a wave, and starting one
// costs 3,000 cycles for each 256 x 128 results.
TEST(WarpgroupGemm, HasTilesUpTo320) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  const double flops_per_us = machine.FlopsPerUs(Precision::kBf16);
  const double tile_us = 2.0 * 320 * 128 * 4096 / (flops_per_us / 100 * 0.90) +
                         3000.0 * 320 / 256 / test::kRoundHopperClockMhz / 0.90;
  EXPECT_NEAR(GemmUs({1, 3200, 1280, 4096}, MatrixUnit::kWarpgroup,
                     flops_per_us, machine),
              tile_us, 1e-6 * tile_us);
}

TEST(WarpgroupGemm, TakesLessThanOthersOnHopper) {
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  const double flops_per_us = machine.FlopsPerUs(Precision::kBf16);
  const GemmShape shape = {1, 4096, 4096, 4096};
  EXPECT_LT(GemmUs(shape, MatrixUnit::kWarpgroup, flops_per_us, machine),
            GemmUs(shape, MatrixUnit::kTensorCore, flops_per_us, machine));
}

TEST(PeakFlops, OfFourBitsIsWhatTheDeviceStatesAgainstBf16) {
  DeviceSpec device = test::RoundDevice();
  Kernel kernel{.macs = 1, .arithmetic = Precision::kBf16};
  const auto gain = [&] {
    const Machine machine = MakeMachine(device, {});
    kernel.float4 = false;
    const double wide = PeakFlopsPerUs(kernel, machine);
    kernel.float4 = true;
    return PeakFlopsPerUs(kernel, machine) / wide;
  };
  EXPECT_DOUBLE_EQ(gain(), 4);
  device.fp4_tflops = 1600;
  EXPECT_DOUBLE_EQ(gain(), 8);
}

}  // namespace
}  // namespace foretell::cost
