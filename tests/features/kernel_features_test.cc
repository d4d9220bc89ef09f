#include "src/features/kernel_features.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "foretell/error.h"
#include "tests/cost/test_device.h"

namespace foretell::cost {
namespace {

constexpr KernelClass kLinear = KernelClass::kLinear;

/// The round device with 32 MiB of L2.
DeviceSpec Device() {
  DeviceSpec device = test::RoundDevice();
  device.l2_mib = 32;
  return device;
}

/// Sixteen tiles of 128 x 128; 10^6 bytes, 10^8 MACs.
Kernel Product() {
  return {.kernel_class = kLinear,
          .bytes_in = 600'000,
          .bytes_weight = 300'000,
          .bytes_out = 100'000,
          .macs = 100'000'000,
          .batch = 2,
          .m = 512,
          .n = 200,
          .k = 64,
          .element_bytes_in = 2,
          .element_bytes_out = 2,
          .arithmetic = Precision::kFp16};
}

double Us(const Kernel& kernel) {
  const DeviceSpec device = Device();
  const KernelRoofline roofline = RooflineOf(kernel, MakeMachine(device, {}));
  return roofline.memory_us + roofline.arithmetic_us;
}

/// The feature `name` of `kernel` on the round device.
double FeatureOf(const Kernel& kernel, std::string_view name,
                 const Run& mode = {}) {
  const DeviceSpec device = Device();
  const auto features = KernelFeatures(kernel, MakeMachine(device, {}), mode);
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (kKernelFeatures[i].name == name) return features[i];
  }
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

TEST(KernelRoofline, AddsMemoryAndArithmetic) {
  // 10^6 bytes at 10^6 per us; 2 * 10^8 FLOP at 2 * 10^8 per us.
  EXPECT_DOUBLE_EQ(Us(Product()), 1 + 1);
  Kernel copy = Product();
  copy.macs = 0;
  EXPECT_DOUBLE_EQ(Us(copy), 1);
}

TEST(KernelRoofline, TakesTheUnitOfTheArithmetic) {
  Kernel kernel = Product();
  kernel.arithmetic = Precision::kFp32;
  EXPECT_DOUBLE_EQ(Us(kernel), 1 + 20);
  kernel.arithmetic = Precision::kTf32;
  EXPECT_DOUBLE_EQ(Us(kernel), 1 + 2);
  kernel.kernel_class = KernelClass::kAttention;
  EXPECT_DOUBLE_EQ(Us(kernel), 1 + 6);
}

TEST(KernelRoofline, OfANativeDepthwiseKernelIsA25thOfFp32) {
  Kernel kernel = Product();
  kernel.arithmetic = Precision::kFp32;
  kernel.kernel_class = KernelClass::kNativeDepthwise;
  EXPECT_DOUBLE_EQ(Us(kernel), 1 + 500);
  kernel.kernel_class = KernelClass::kDepthwiseConvolution;
  EXPECT_DOUBLE_EQ(Us(kernel), 1 + 20);
}

TEST(KernelRoofline, CountsTilesPerMultiprocessor) {
  const DeviceSpec device = Device();
  EXPECT_DOUBLE_EQ(RooflineOf(Product(), MakeMachine(device, {})).waves,
                   2.0 * 4 * 2 / 100);
}

TEST(KernelRoofline, OfASliceTakesLonger) {
  const DeviceSpec device = Device();
  const Machine slice =
      MakeMachine(device, {.sms = 50, .bandwidth_fraction = 0.25});
  const KernelRoofline roofline = RooflineOf(Product(), slice);
  EXPECT_DOUBLE_EQ(roofline.memory_us, 4);
  EXPECT_DOUBLE_EQ(roofline.arithmetic_us, 2);
}

TEST(KernelRoofline, OfASmallKernelIsItsLaunch) {
  EXPECT_TRUE(IsOnlyALaunch({.bytes_in = 32'767, .macs = 999'999}));
  EXPECT_FALSE(IsOnlyALaunch({.bytes_in = 32'768}));
  EXPECT_FALSE(IsOnlyALaunch({.macs = 1'000'000}));
}

// A checkpoint relies on this order.
TEST(KernelFeatures, KeepTheirOrder) {
  std::vector<std::string_view> names;
  for (const KernelFeature& feature : kKernelFeatures) {
    names.push_back(feature.name);
  }
  EXPECT_THAT(
      names,
      testing::ElementsAre(
          "bytes_in", "bytes_weight", "bytes_out", "macs", "batch", "m", "n",
          "k", "window_height", "window_width", "stride", "positions",
          "channels_in", "channels_out", "groups", "element_bytes_in",
          "element_bytes_out", "inner_extent", "n_divides_by_8",
          "k_divides_by_8", "m_divides_by_8", "channels_in_divide_by_8",
          "channels_out_divide_by_8", "n_divides_by_64", "k_divides_by_64",
          "channels_in_divide_by_32", "intensity", "inner_extent_divides_by_8",
          "is_batched", "channels_last", "mixed_layouts", "odd_window",
          "variant", "runs_channels_last", "torch_before_2_0", "torch_from_2_5",
          "bandwidth", "peak_fp16", "peak_fp32", "sms", "l2", "bytes_per_l2",
          "waves", "wave_fill", "balance", "work"));
}

TEST(KernelFeatures, AreLogarithmsOfExtents) {
  EXPECT_DOUBLE_EQ(FeatureOf({.bytes_in = 1023}, "bytes_in"), 10.0 / 20 - 1);
  EXPECT_DOUBLE_EQ(FeatureOf({.bytes_weight = 1023}, "bytes_weight"), 0.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.macs = 1023}, "macs"), 10.0 / 30 - 0.5);
  EXPECT_DOUBLE_EQ(FeatureOf({.batch = 15}, "batch"), 0.5);
  EXPECT_DOUBLE_EQ(FeatureOf({.m = 255}, "m"), 0.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.n = 31}, "n"), 0.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.k = 1023}, "k"), 0.5);
  EXPECT_DOUBLE_EQ(FeatureOf({.window_height = 7}, "window_height"), 1.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.stride = 1}, "stride"), 1.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.positions = 63}, "positions"), 0.0);
  EXPECT_DOUBLE_EQ(FeatureOf({.element_bytes_in = 2}, "element_bytes_in"), 0.5);
  EXPECT_DOUBLE_EQ(FeatureOf({.element_bytes_out = 4}, "element_bytes_out"),
                   1.0);
}

TEST(KernelFeatures, SayWhatDivides) {
  EXPECT_EQ(FeatureOf({.n = 24}, "n_divides_by_8"), 1);
  EXPECT_EQ(FeatureOf({.n = 24}, "n_divides_by_64"), 0);
  EXPECT_EQ(FeatureOf({.k = 20}, "k_divides_by_8"), 0);
  EXPECT_EQ(FeatureOf({.k = 128}, "k_divides_by_64"), 1);
  EXPECT_EQ(FeatureOf({.m = 197}, "m_divides_by_8"), 0);
  EXPECT_EQ(FeatureOf({.channels_in = 48}, "channels_in_divide_by_8"), 1);
  EXPECT_EQ(FeatureOf({.channels_in = 48}, "channels_in_divide_by_32"), 0);
  EXPECT_EQ(FeatureOf({.channels_out = 3}, "channels_out_divide_by_8"), 0);
  EXPECT_EQ(FeatureOf({.inner_extent = 7}, "inner_extent_divides_by_8"), 0);
}

// 10^6 bytes at 0.87 of 10^6 per us.
TEST(KernelFeatures, KnowWhatTheCostModelSaysOfTheWork) {
  const Kernel sum = {.kernel_class = KernelClass::kAdd,
                      .bytes_in = 500'000,
                      .bytes_out = 500'000};
  const double roofline_us = 1 + 1e-3;
  EXPECT_NEAR(FeatureOf(sum, "work"),
              std::log2((1 / 0.87 + 1e-3) / roofline_us) / 4, 1e-12);
  Kernel serial = sum;
  serial.serial_steps = 1000;
  EXPECT_EQ(FeatureOf(serial, "work"), FeatureOf(sum, "work"));
}

TEST(KernelFeatures, KnowOddWindowsAndFlags) {
  EXPECT_EQ(FeatureOf({.window_height = 5, .window_width = 5}, "odd_window"),
            0);
  EXPECT_EQ(FeatureOf({.window_height = 6, .window_width = 6}, "odd_window"),
            1);
  EXPECT_EQ(FeatureOf({.window_height = 1, .window_width = 3}, "odd_window"),
            1);
  EXPECT_EQ(FeatureOf({.batch = 1}, "is_batched"), 0);
  EXPECT_EQ(FeatureOf({.batch = 2}, "is_batched"), 1);
  EXPECT_EQ(FeatureOf({.channels_last = true}, "channels_last"), 1);
  EXPECT_EQ(FeatureOf({.mixed_layouts = true}, "mixed_layouts"), 1);
  EXPECT_EQ(FeatureOf({.variant = true}, "variant"), 1);
}

TEST(KernelFeatures, KnowHowTheNetworkRuns) {
  const foretell::Run old = {.channels_last = true,
                             .torch = {.major = 1, .minor = 13}};
  EXPECT_EQ(FeatureOf({}, "runs_channels_last", old), 1);
  EXPECT_EQ(FeatureOf({}, "torch_before_2_0", old), 1);
  EXPECT_EQ(FeatureOf({}, "torch_from_2_5", old), 0);
  EXPECT_EQ(FeatureOf({}, "runs_channels_last"), 0);
  EXPECT_EQ(FeatureOf({}, "torch_before_2_0"), 0);
  EXPECT_EQ(FeatureOf({}, "torch_from_2_5"), 1);
}

TEST(KernelFeatures, KnowTheDevice) {
  EXPECT_NEAR(FeatureOf({}, "bandwidth"), 0, 1e-12);
  EXPECT_NEAR(FeatureOf({}, "peak_fp16"), std::log2(200.0) - 6.5, 1e-12);
  EXPECT_NEAR(FeatureOf({}, "peak_fp32"), std::log2(10.0) - 6, 1e-12);
  EXPECT_NEAR(FeatureOf({}, "sms"), std::log2(100.0) - 6.5, 1e-12);
  EXPECT_NEAR(FeatureOf({}, "l2"), 5.0 / 3 - 1.5, 1e-12);
}

TEST(KernelFeatures, RelateTheKernelToTheDevice) {
  Kernel kernel = Product();
  EXPECT_NEAR(FeatureOf(kernel, "intensity"),
              std::log2(100'000'001.0 / 1'000'001.0) / 10, 1e-12);
  EXPECT_NEAR(FeatureOf(kernel, "waves"), std::log2(1.16) / 8, 1e-12);
  EXPECT_NEAR(FeatureOf(kernel, "wave_fill"), 0.16, 1e-12);
  EXPECT_NEAR(FeatureOf(kernel, "balance"), 0, 1e-12);
  EXPECT_NEAR(FeatureOf({.bytes_in = (32 << 20) - 1}, "bytes_per_l2"), 0,
              1e-12);
  kernel.macs = 0;
  EXPECT_EQ(FeatureOf(kernel, "waves"), 0);
  EXPECT_EQ(FeatureOf(kernel, "wave_fill"), 0);
}

TEST(KernelFeatures, RefuseADeviceWithoutL2) {
  DeviceSpec device = test::RoundDevice();
  device.l2_mib = 0;
  const Machine machine = MakeMachine(device, {});
  try {
    KernelFeatures({}, machine, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr("device round: l2_mib is 0"));
  }
}

std::string EncodingText(const KernelFeature& feature) {
  std::string text;
  switch (feature.encoding) {
    case KernelEncoding::kFlag:
      return "0 or 1";
    case KernelEncoding::kLinear:
      text = "x";
      break;
    case KernelEncoding::kLog2:
      text = "log2(x)";
      break;
    case KernelEncoding::kLog2Of1:
      text = "log2(1 + x)";
      break;
  }
  if (feature.divisor != 1) text += fmt::format(" / {:g}", feature.divisor);
  if (feature.offset != 0) text += fmt::format(" - {:g}", feature.offset);
  return text;
}

/// The tables of classes and of features.
std::string KernelTablesMarkdown() {
  std::string text = "### Classes\n\n| class | kernels |\n|---|---|\n";
  for (const KernelClassRow& row : kKernelClasses) {
    text += fmt::format("| `{}` | {} |\n", row.name, row.meaning);
  }
  text += "\n### Features\n\n| slot | name | x | value |\n|---|---|---|---|\n";
  for (std::size_t i = 0; i < kKernelFeatures.size(); ++i) {
    const KernelFeature& feature = kKernelFeatures[i];
    text += fmt::format("| {} | `{}` | {} | {} |\n", i, feature.name,
                        feature.meaning, EncodingText(feature));
  }
  return text;
}

constexpr char kDocument[] = FORETELL_SOURCE_DIR "/docs/kernels.md";
constexpr std::string_view kBegin = "<!-- begin generated tables -->\n";
constexpr std::string_view kEnd = "<!-- end generated tables -->\n";

// With FORETELL_UPDATE_GOLDEN in the environment the document is rewritten.
TEST(KernelFeatures, AreTheTableInTheDocumentation) {
  std::ifstream file(kDocument);
  ASSERT_TRUE(file);
  std::stringstream buffer;
  buffer << file.rdbuf();
  std::string text = buffer.str();
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t start = begin + kBegin.size();
  if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
    text.replace(start, end - start, KernelTablesMarkdown());
    std::ofstream(kDocument) << text;
    return;
  }
  EXPECT_EQ(text.substr(start, end - start), KernelTablesMarkdown());
}

}  // namespace
}  // namespace foretell::cost
