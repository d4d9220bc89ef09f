#include "src/cost/attention_time.h"

#include <gtest/gtest.h>

#include <string>

#include "src/cost/kernel_time.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// One query of each of `heads` heads over `keys` keys of `key_heads` heads.
KernelTime Decode(const std::string& heads, const std::string& key_heads,
                  const std::string& keys) {
  const DeviceSpec device = test::RoundDevice();
  const std::string query = "f16[16," + heads + ",1,128]";
  const std::string cache = "f16[16," + key_heads + "," + keys + ",128]";
  const Kernel kernel =
      KernelsOf("%q = input " + query + "\n%k = input " + cache +
                    "\n%v = input " + cache +
                    "\n%y = scaled_dot_product_attention(%q, %k, %v) : " +
                    query + "\n",
                {})
          .at(0);
  return TimeOf(kernel, MakeMachine(device, {}));
}

TEST(AttentionTime, OfAQueryGrowsWithTheDepthOfItsKeys) {
  const double shallow = Decode("4", "4", "64").launch_us;
  EXPECT_NEAR(Decode("4", "4", "960").launch_us - shallow, 3 * 2.4, 1e-9);
}

TEST(AttentionTime, OfAQueryGrowsWithTheWavesOfItsBlocks) {
  // 16 images x 25 heads on 100 SMs are four waves, one of 6 heads not full.
  const double one = Decode("6", "6", "64").launch_us;
  EXPECT_NEAR(Decode("25", "25", "64").launch_us - one, 3 * 3.3, 1e-9);
}

TEST(AttentionTime, SharesAStepAmongHeadsOfTheSameKeys) {
  const KernelTime apart = Decode("32", "32", "4096");
  const KernelTime shared = Decode("32", "4", "4096");
  EXPECT_LT(shared.memory_us, apart.memory_us / 7);
  EXPECT_NEAR(shared.arithmetic_us, apart.arithmetic_us / 8, 1e-6);
  EXPECT_LT(shared.launch_us, apart.launch_us);
}

/// Microseconds of the products of 16-bit attention with heads of `size` under
/// PyTorch 2.`minor`, on a device with that many TFLOP/s in FP32.
double FlashUs(const std::string& size, int minor, double fp32_tflops,
               int compute_capability = 80) {
  DeviceSpec device = test::RoundDevice();
  device.compute_capability = compute_capability;
  device.peak_tflops[Precision::kFp32] = fp32_tflops;
  const std::string full = "f16[16,8,1024," + size + "]";
  const Kernel kernel =
      KernelsOf("%q = input " + full +
                    "\n%y = scaled_dot_product_attention(%q, %q, %q) : " +
                    full + "\n",
                {.torch = {.major = 2, .minor = minor}})
          .at(0);
  return TimeOf(kernel, MakeMachine(device, {})).arithmetic_us;
}

TEST(AttentionTime, BeforeFlashAttention2IsBoundByTheLanes) {
  EXPECT_NEAR(FlashUs("64", 1, 5), 2 * FlashUs("64", 1, 10), 1e-6);
  EXPECT_NEAR(FlashUs("64", 2, 5), FlashUs("64", 2, 10), 1e-6);
  EXPECT_NEAR(FlashUs("64", 1, 1000), FlashUs("64", 2, 1000), 1e-6);
}

TEST(AttentionTime, BeforeFlashAttention2TakesOldInstructionsOnHopper) {
  // 0.30 of the 0.63 that Ampere's instruction reaches; 0.35 from there.
  EXPECT_NEAR(FlashUs("64", 1, 10, 90),
              FlashUs("64", 2, 10, 90) * 0.35 / (0.30 * 0.63), 1e-6);
  EXPECT_NEAR(FlashUs("64", 1, 5, 90), FlashUs("64", 1, 10, 90), 1e-6);
}

TEST(AttentionTime, BeforeFlashAttention2PadsHeadsToPowersOfTwo) {
  EXPECT_NEAR(FlashUs("80", 1, 5), FlashUs("128", 1, 5), 1e-6);
  EXPECT_NEAR(FlashUs("80", 2, 5), FlashUs("96", 2, 5), 1e-6);
}

TEST(AttentionTime, OfManyQueriesPadsHeadsAndLagsOnHopper) {
  const auto us = [](const std::string& type, const std::string& size,
                     int capability = 80) {
    DeviceSpec device = test::RoundDevice();
    device.compute_capability = capability;
    const std::string full = type + "[16,8,1024," + size + "]";
    const Kernel kernel =
        KernelsOf("%q = input " + full +
                      "\n%y = scaled_dot_product_attention(%q, %q, %q) : " +
                      full + "\n",
                  {})
            .at(0);
    return TimeOf(kernel, MakeMachine(device, {})).arithmetic_us;
  };
  EXPECT_NEAR(us("f16", "40"), us("f16", "64"), 1e-6);
  EXPECT_LT(us("f32", "40"), us("f32", "64"));
  EXPECT_NEAR(us("f16", "64", 90), us("f16", "64") * 0.55 / 0.35, 1e-6);
}

/// Cycles of the products of attention of f32 on Hopper, of 300 heads.
double EfficientCycles(const std::string& queries, const std::string& keys,
                       const std::string& size) {
  const std::string heads = "f32[12,25,", end = "," + size + "]";
  const Machine machine = MakeMachine(test::RoundHopper(), {});
  const Kernel kernel =
      KernelsOf("%q = input " + heads + queries + end + "\n%k = input " +
                    heads + keys + end +
                    "\n%y = scaled_dot_product_attention(%q, %k, %k) : " +
                    heads + queries + end + "\n",
                {})
          .at(0);
  return TimeOf(kernel, machine).arithmetic_us * machine.CyclesPerUs();
}

TEST(AttentionTime, WithAMaskInSixteenBitsOnHopperHasBlocksOfItsOwn) {
  const auto cycles = [](const std::string& mask, const std::string& keys) {
    const std::string queries = "f16[12,25,64,64]";
    const std::string values = "f16[12,25," + keys + ",64]";
    const Machine machine = MakeMachine(test::RoundHopper(), {});
    const Kernel kernel =
        KernelsOf("%q = input " + queries + "\n%k = input " + values +
                      "\n%m = input f16[64," + keys +
                      "]\n%y = scaled_dot_product_attention(%q, %k, %k" + mask +
                      ") : " + queries + "\n",
                  {})
            .at(0);
    return TimeOf(kernel, machine).arithmetic_us * machine.CyclesPerUs();
  };
  // 300 blocks on 100 multiprocessors, and steps of 128 keys.
  EXPECT_NEAR(cycles(", %m", "64"), 3 * (2'000 + 2'025), 1e-6);
  EXPECT_NEAR(cycles(", %m", "256"), 3 * (2'000 + 2 * 2'025), 1e-6);
  EXPECT_NEAR(cycles(", %m", "63"), 3 * (2'000 + 2'025) * 1.85, 1e-6);
  EXPECT_LT(cycles("", "64"), cycles(", %m", "64"));
}

TEST(AttentionTime, OfF32OnHopperTakesStepsOfTheEfficientKernel) {
  // 300 heads on 100 multiprocessors, three at a time.
  EXPECT_NEAR(EfficientCycles("64", "64", "64"), 3 * 8'300, 1e-6);
  EXPECT_NEAR(EfficientCycles("10", "10", "40"), 3 * 8'300, 1e-6);
  EXPECT_NEAR(EfficientCycles("64", "65", "64"), 3 * 2 * 8'300, 1e-6);
  EXPECT_NEAR(EfficientCycles("64", "128", "96"), 3 * 25'000, 1e-6);
  EXPECT_NEAR(EfficientCycles("32", "128", "256"), 3 * 19'000, 1e-6);
  EXPECT_NEAR(EfficientCycles("32", "128", "512"), 3 * 2 * 19'000, 1e-6);
}

}  // namespace
}  // namespace foretell::cost
