#include "src/cost/row_passes.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "src/device/compute_capability.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

std::string LayerNorm(const std::string& columns) {
  return "%x = input f32[1000," + columns +
         "]\n%y = layer_norm(%x, weight f32[" + columns + "], weight f32[" +
         columns + "]) {normalized_shape=[" + columns + "]} : f32[1000," +
         columns + "]\n";
}

std::string Softmax(const std::string& columns) {
  return "%x = input f32[1000," + columns +
         "]\n%y = softmax(%x) {dim=-1} : " + "f32[1000," + columns + "]\n";
}

/// Bytes read again as a multiple of the operand.
double RereadOf(const std::string& body, DeviceSpec device) {
  const Kernel kernel = KernelsOf(body, {}).at(0);
  return RereadBytes(kernel, MakeMachine(device, {})) / Real(kernel.bytes_in);
}

TEST(RowPasses, OfALayerNormHitTheCacheWhileItHoldsTheRowsThatRun) {
  const DeviceSpec device = test::RoundDevice();
  // 1,600 blocks of 4 KiB and of 64 KiB, in a cache of 40 MiB.
  EXPECT_EQ(RereadOf(LayerNorm("1024"), device), 0);
  EXPECT_EQ(RereadOf(LayerNorm("16384"), device), 1);
  const double between = RereadOf(LayerNorm("4096"), device);
  EXPECT_NEAR(between, (1600 * 16384 / 41943040.0 - 0.25) / 0.75, 1e-9);
}

TEST(RowPasses, NeedASmallerCacheWhereFewerThreadsRun) {
  DeviceSpec device = test::RoundDevice();
  device.l2_mib = 16;
  const double ampere = RereadOf(LayerNorm("2048"), device);
  device.compute_capability = 86;
  const double geforce = RereadOf(LayerNorm("2048"), device);
  device.compute_capability = 75;
  const double turing = RereadOf(LayerNorm("2048"), device);
  EXPECT_GT(ampere, geforce);
  EXPECT_GT(geforce, turing);
}

TEST(RowPasses, OfASliceShareItsCache) {
  const DeviceSpec device = test::RoundDevice();
  const Kernel kernel = KernelsOf(LayerNorm("4096"), {}).at(0);
  EXPECT_DOUBLE_EQ(
      RereadBytes(kernel, MakeMachine(device, {})),
      RereadBytes(kernel,
                  MakeMachine(device, {.sms = 50, .bandwidth_fraction = 0.5})));
}

TEST(RowPasses, OfASoftmaxOverAWarpsRowAreOne) {
  DeviceSpec device = test::RoundDevice();
  device.l2_mib = 1;
  EXPECT_EQ(RereadOf(Softmax("1024"), device), 0);
  EXPECT_EQ(RereadOf(Softmax("2048"), device), 2);
}

TEST(RowPasses, OfALongSoftmaxAreSlowerWhereRowsDoNotStartAtVectors) {
  DeviceSpec device = test::RoundDevice();
  const auto share = [&](const std::string& body) {
    return RowAlignmentShare(KernelsOf(body).at(0), MakeMachine(device, {}));
  };
  EXPECT_EQ(share(Softmax("2048")), 1);
  EXPECT_LT(share(Softmax("2047")), 1);
  EXPECT_EQ(share(Softmax("197")), 1);
  EXPECT_EQ(share(LayerNorm("2047")), 1);
  device.compute_capability = device::kHopper;
  EXPECT_EQ(share(Softmax("2047")), 1);
}

TEST(RowPasses, OfALayerNormStartForEveryRow) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const auto starts_us = [&machine](const std::string& body) {
    return RowStartsUs(KernelsOf(body, {}).at(0), machine);
  };
  // 64 lanes of each of 100 SMs reach 10^7 FLOP per us at 781 MHz.
  EXPECT_DOUBLE_EQ(starts_us(LayerNorm("96")), 1000 * 250 / 781.25 / 100);
  EXPECT_DOUBLE_EQ(starts_us(LayerNorm("96")), starts_us(LayerNorm("768")));
  EXPECT_EQ(starts_us(Softmax("96")), 0);
}

TEST(RowPasses, CountInTheTimeOfAKernel) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const Kernel kernel = KernelsOf(LayerNorm("16384"), {}).at(0);
  const double bytes = Real(kernel.Bytes() + kernel.bytes_in);
  EXPECT_DOUBLE_EQ(TimeOf(kernel, machine).memory_us,
                   bytes / 1e6 / 0.88 + RowStartsUs(kernel, machine));
}

}  // namespace
}  // namespace foretell::cost
