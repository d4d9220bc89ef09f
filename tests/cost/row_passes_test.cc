#include "src/cost/row_passes.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
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
  EXPECT_EQ(RowAlignmentShare(KernelsOf(Softmax("2048"), {}).at(0)), 1);
  EXPECT_LT(RowAlignmentShare(KernelsOf(Softmax("2047"), {}).at(0)), 1);
  EXPECT_EQ(RowAlignmentShare(KernelsOf(Softmax("197"), {}).at(0)), 1);
  EXPECT_EQ(RowAlignmentShare(KernelsOf(LayerNorm("2047"), {}).at(0)), 1);
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

std::string GroupNorm(const std::string& type, const std::string& shape,
                      const std::string& groups) {
  const std::string full = type + "[" + shape + "]";
  return "%x = input " + full + "\n%y = group_norm(%x) {num_groups=" + groups +
         "} : " + full + "\n";
}

TEST(GroupLoop, WaitsForEachElementOfAThread) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const auto loop_us = [&machine](const std::string& body) {
    return GroupLoopUs(KernelsOf(body).at(0), machine, 0);
  };
  // 60 blocks of 512 threads, 256 elements for each.
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f16", "20,6,65536", "3")), 256 * 0.57);
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f32", "20,6,65536", "3")), 256 * 0.57);
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f16", "2,6,513", "6")), 2 * 0.57);
  // 400 blocks run at a time: one image or 400 take as long, 800 twice that.
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f16", "1,8,512", "1")), 8 * 0.57);
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f16", "400,8,512", "1")), 8 * 0.57);
  EXPECT_DOUBLE_EQ(loop_us(GroupNorm("f16", "800,8,512", "1")), 16 * 0.57);
  EXPECT_EQ(loop_us(LayerNorm("16384")), 0);
}

TEST(GroupLoop, CountsBesideThePassesThatFillTheGpu) {
  const DeviceSpec device = test::RoundDevice();
  const Machine machine = MakeMachine(device, {});
  const Kernel few = KernelsOf(GroupNorm("f32", "20,6,65536", "3")).at(0);
  const double traffic_us = Real(few.Bytes()) / 1e6 / 0.5;
  EXPECT_DOUBLE_EQ(TimeOf(few, machine).memory_us,
                   256 * 0.57 + traffic_us * 2 / 3);
  const Kernel many = KernelsOf(GroupNorm("f32", "400,8,512", "1")).at(0);
  EXPECT_DOUBLE_EQ(TimeOf(many, machine).memory_us,
                   Real(many.Bytes()) / 1e6 / 0.5);
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
