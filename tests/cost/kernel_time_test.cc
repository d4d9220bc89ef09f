#include "src/cost/kernel_time.h"

#include <gtest/gtest.h>

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

TEST(KernelTime, ConvertsHalfOfTheImagesThatTf32KernelsCannotTake) {
  const double contiguous = TimeOfOne(Convolution("f32")).conversion_us;
  const double bytes = 2.0 * 4 * 8 * 64 * 16 * 16;
  EXPECT_DOUBLE_EQ(contiguous, 0.5 * 2 * bytes / 1e6 / 0.8);
  EXPECT_EQ(
      TimeOfOne(Convolution("f32"), {.channels_last = true}).conversion_us, 0);
  EXPECT_EQ(TimeOfOne(Convolution("f16")).conversion_us, 0);
  EXPECT_EQ(TimeOfOne(Linear("f32")).conversion_us, 0);
}

TEST(KernelTime, SparesMultiplicationsOfSmallWindowsBeforeTf32) {
  DeviceSpec device = test::RoundDevice();
  device.peak_tflops[Precision::kTf32] = 10;
  Kernel convolution{.kernel_class = KernelClass::kDenseConvolution,
                     .bytes_in = 1'000'000,
                     .bytes_out = 1'000'000,
                     .macs = 128 * 100 * 128 * 576,
                     .batch = 1,
                     .m = 128 * 100,
                     .n = 128,
                     .k = 576,
                     .window_height = 3,
                     .window_width = 3,
                     .stride = 1,
                     .groups = 1,
                     .element_bytes_in = 4,
                     .element_bytes_out = 4,
                     .arithmetic = Precision::kTf32};
  const auto time = [&] {
    return TimeOf(convolution, MakeMachine(device, {}));
  };
  device.compute_capability = 80;
  const KernelTime tf32 = time();
  EXPECT_GT(tf32.conversion_us, 0);
  device.compute_capability = 70;
  EXPECT_EQ(time().conversion_us, 0);
  EXPECT_DOUBLE_EQ(time().arithmetic_us, tf32.arithmetic_us * 0.8 / 1.8);
  convolution.stride = 2;
  EXPECT_DOUBLE_EQ(time().arithmetic_us, tf32.arithmetic_us);
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
