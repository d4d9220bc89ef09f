#include "src/cost/kernel_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "src/cost/roofline.h"
#include "tests/cost/test_device.h"
#include "tests/kernels/kernels_of.h"

namespace foretell::cost {
namespace {

/// Peak rate of the unit that multiplies, as a share of FP32's 10 TFLOP/s.
double RateOf(const std::string& body, const std::string& precision) {
  const DeviceSpec device = test::RoundDevice();
  const std::vector<Kernel> kernels =
      KernelsOf(body, {}, "precision=" + precision);
  EXPECT_EQ(kernels.size(), 1U);
  return PeakFlopsPerUs(kernels.at(0), MakeMachine(device, {})) / 1e7;
}

std::string Convolution(const std::string& type) {
  return "%x = input " + type + "[8,64,16,16]\n%y = conv2d(%x, weight " + type +
         "[64,64,3,3]) {padding=[1,1]} : " + type + "[8,64,16,16]\n";
}

std::string Linear(const std::string& type) {
  return "%x = input " + type + "[8,64]\n%y = linear(%x, weight " + type +
         "[32,64]) : " + type + "[8,32]\n";
}

std::string Attention(const std::string& type) {
  const std::string full = type + "[2,4,128,64]";
  return "%q = input " + full +
         "\n%y = scaled_dot_product_attention(%q, %q, %q) : " + full + "\n";
}

/// Of the last kernel, which normalises 10^6 elements of 4 bytes.
double NormUs(const std::string& training) {
  const DeviceSpec device = test::RoundDevice();
  const Kernel kernel =
      KernelsOf(
          "%x = input f32[10,10,100,100]\n%y = batch_norm(%x) {training=" +
          training + "} : f32[10,10,100,100]\n")
          .back();
  return TimeOf(kernel, MakeMachine(device, {})).memory_us;
}

TEST(KernelTime, NormalisesMoreSlowlyByTheBatch) {
  EXPECT_DOUBLE_EQ(NormUs("false"), 8 / 0.87);
  EXPECT_DOUBLE_EQ(NormUs("true"), 8 / 0.75);
}

TEST(KernelTime, FloatsOfEightBitsRunTwiceAsFastSinceAda) {
  const Kernel kernel = KernelsOf(
                            "%x = input f8[8,64]\n%w = parameter f8[64,32]\n"
                            "%y = _scaled_mm(%x, %w) : bf16[8,32]\n")
                            .at(0);
  DeviceSpec device = test::RoundDevice();
  const auto rate = [&](int capability) {
    device.compute_capability = capability;
    return PeakFlopsPerUs(kernel, MakeMachine(device, {})) / 1e7;
  };
  EXPECT_DOUBLE_EQ(rate(80), 20);
  EXPECT_DOUBLE_EQ(rate(89), 40);
}

/// A row of docs/cost.md: the unit of each kind of product.
struct UnitRow {
  std::string tensors;
  std::string type;
  std::string precision;
  double convolution;
  double product;
  double attention;
  std::string words;  ///< The row's cells on the page.
};

const UnitRow kUnits[] = {
    {"f32, precision fp32", "f32", "fp32", 10, 1, 10.0 / 3,
     "| TF32 | FP32 lanes | three TF32 products |"},
    {"f32, precision tf32", "f32", "tf32", 10, 10, 10.0 / 3,
     "| TF32 | TF32 | three TF32 products |"},
    {"f16, bf16", "f16", "fp16", 20, 20, 20,
     "| tensor cores | tensor cores | tensor cores |"},
    {"f16, bf16", "bf16", "bf16", 20, 20, 20,
     "| tensor cores | tensor cores | tensor cores |"},
};

TEST(KernelTime, MultipliesOnTheUnitThatTheDocsName) {
  std::ifstream file(FORETELL_SOURCE_DIR "/docs/cost.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const UnitRow& row : kUnits) {
    EXPECT_DOUBLE_EQ(RateOf(Convolution(row.type), row.precision),
                     row.convolution);
    EXPECT_DOUBLE_EQ(RateOf(Linear(row.type), row.precision), row.product);
    EXPECT_DOUBLE_EQ(RateOf(Attention(row.type), row.precision), row.attention);
    EXPECT_NE(page.find("| " + row.tensors + " " + row.words),
              std::string::npos)
        << row.tensors;
  }
}

TEST(KernelTime, MultipliesDoublesAtHalfTheRateOfFloats) {
  EXPECT_DOUBLE_EQ(RateOf(Linear("f64"), "fp32"), 0.5);
  EXPECT_DOUBLE_EQ(RateOf(Convolution("f64"), "fp32"), 0.5);
  EXPECT_DOUBLE_EQ(RateOf(Attention("f64"), "fp32"), 0.5);
  std::ifstream file(FORETELL_SOURCE_DIR "/docs/cost.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(page.find("| f64 | half the FP32 rate | half the FP32 rate | half "
                      "the FP32 rate |"),
            std::string::npos);
}

KernelTime TimeOfOne(const std::string& body, const Run& mode = {}) {
  const DeviceSpec device = test::RoundDevice();
  return TimeOf(KernelsOf(body, mode).at(0), MakeMachine(device, {}));
}

TEST(KernelTime, OfAnElementwiseKernelIsItsTraffic) {
  const KernelTime time = TimeOfOne(R"(%x = input f32[10875000]
%y = relu(%x) : f32[10875000]
)");
  EXPECT_NEAR(time.memory_us, 100, 1e-9);  // 87 MB at 0.87 of 10^6 per us.
  EXPECT_NEAR(time.traffic_us, 87, 1e-9);
  EXPECT_EQ(time.arithmetic_us, 0);
  EXPECT_NEAR(time.Us(), 103, 1e-9);
}

TEST(KernelTime, AddsTheCopiesOfImagesToThatOfAConvolution) {
  const KernelTime time = TimeOfOne(Convolution("f32"));
  EXPECT_GT(time.conversion_us, 0);
  EXPECT_DOUBLE_EQ(time.Us(), time.launch_us + time.conversion_us +
                                  std::max(time.arithmetic_us, time.memory_us));
  EXPECT_EQ(TimeOfOne(Linear("f32")).conversion_us, 0);
}

TEST(KernelTime, OfASoftmaxFollowsItsElementsInSixteenBits) {
  const auto memory_us = [](const std::string& type) {
    return TimeOfOne("%x = input " + type + "[4000,1000]\n%y = softmax(%x) " +
                     "{dim=-1} : " + type + "[4000,1000]\n")
        .memory_us;
  };
  EXPECT_NEAR(memory_us("f32"), 32 / 0.80, 1e-9);
  EXPECT_NEAR(memory_us("f16"), 4000 * (15 + 1024 * 0.66) / 100 / 781.25, 1e-9);
}

/// Fused attention of 16-bit tensors, 16 x 8 heads of 64 elements.
KernelTime AttentionTime(const std::string& queries, const std::string& keys,
                         const std::string& attributes = "") {
  const std::string full = "f16[16,8," + queries + ",64]";
  const std::string cache = "f16[16,8," + keys + ",64]";
  return TimeOfOne("%q = input " + full + "\n%k = input " + cache +
                   "\n%y = scaled_dot_product_attention(%q, %k, %k) {" +
                   attributes + "} : " + full + "\n");
}

TEST(KernelTime, OfAttentionIsThatOfWholeBlocksOfQueriesAndSteps) {
  EXPECT_DOUBLE_EQ(AttentionTime("49", "49").arithmetic_us,
                   AttentionTime("128", "64").arithmetic_us);
  EXPECT_LT(AttentionTime("128", "128").arithmetic_us,
            AttentionTime("129", "128").arithmetic_us);
}

TEST(KernelTime, OfCausalAttentionIsHalfAndTheDiagonal) {
  const double full = AttentionTime("4096", "4096").arithmetic_us;
  const double causal =
      AttentionTime("4096", "4096", "is_causal=true").arithmetic_us;
  EXPECT_GT(causal, 0.5 * full);
  EXPECT_LT(causal, 0.6 * full);
}

TEST(KernelTime, OfOneQueryIsThatOfItsCache) {
  const KernelTime time = AttentionTime("1", "4096");
  EXPECT_LT(time.arithmetic_us, time.memory_us);
}

TEST(KernelTime, OfAProductInTf32IsLessThanTwiceThatInSixteenBits) {
  // 100 tiles of 256 x 128 on 100 SMs.
  const auto arithmetic_us = [](const std::string& type,
                                const std::string& precision) {
    const DeviceSpec device = test::RoundDevice();
    const std::vector<Kernel> kernels =
        KernelsOf("%x = input " + type + "[2560,512]\n%y = linear(%x, weight " +
                      type + "[1280,512]) : " + type + "[2560,1280]\n",
                  {}, "precision=" + precision);
    return TimeOf(kernels.at(0), MakeMachine(device, {})).arithmetic_us;
  };
  // 2 x 10^6 FLOP of 16 bits in a microsecond of an SM, of 781.25 cycles.
  const double half_us = 2.0 * 256 * 128 * 512 / 2e6;
  const double start_us = 3000 / 781.25;
  EXPECT_NEAR(arithmetic_us("f16", "fp16"), (half_us + start_us) / 0.85, 1e-9);
  EXPECT_NEAR(arithmetic_us("f32", "tf32"), (2 * half_us + start_us) / 0.85,
              1e-9);
}

TEST(KernelTime, OfAProductStartsWithItsFirstTiles) {
  const KernelTime large = TimeOfOne(R"(%x = input f16[4096,4096]
%y = linear(%x, weight f16[4096,4096]) : f16[4096,4096]
)");
  EXPECT_DOUBLE_EQ(large.launch_us, 3 + 2.5);
  const KernelTime tiny = TimeOfOne(Linear("f16"));
  EXPECT_DOUBLE_EQ(tiny.launch_us,
                   3 + std::max(tiny.arithmetic_us, tiny.memory_us));
}

TEST(KernelTime, OfAProductOnHopperStartsSoonerIfRowsAreWhole) {
  const auto start_us = [](int minor, const std::string& k) {
    const Kernel kernel = KernelsOf("%x = input f16[4096," + k +
                                        "]\n%y = linear(%x, weight f16[4096," +
                                        k + "]) : f16[4096,4096]\n",
                                    {.torch = {.major = 2, .minor = minor}})
                              .front();
    return TimeOf(kernel, MakeMachine(test::RoundHopper(), {})).launch_us - 3;
  };
  EXPECT_DOUBLE_EQ(start_us(8, "4096"), 0.5);
  EXPECT_DOUBLE_EQ(start_us(7, "4096"), 2.5);
  EXPECT_DOUBLE_EQ(start_us(8, "4095"), 2.5);
}

TEST(KernelTime, HasTheMeasuredLaunchOfItsDevice) {
  DeviceSpec device = test::RoundDevice();
  EXPECT_EQ(LaunchUs(device), 3);
  device.launch_us = 4.5;
  EXPECT_EQ(LaunchUs(device), 4.5);
}

TEST(KernelTime, OfSeveralLaunchesHasTheFloorOfEach) {
  EXPECT_DOUBLE_EQ(TimeOfOne(R"(%x = input f32[16]
%y, %i = sort(%x) : f32[16], i64[16]
)")
                       .launch_us,
                   6 * 3);
}

}  // namespace
}  // namespace foretell::cost
