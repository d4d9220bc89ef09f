#include "src/device/describe_gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "src/device/read_device.h"

namespace foretell::device {
namespace {

using testing::HasSubstr;

SmiGpu Workstation() {
  return {.name = "NVIDIA RTX A4000",
          .architecture = "ampere",
          .compute_capability = 86,
          .memory_mib = 16376,
          .reserved_mib = 391,
          .power_w = 140};
}

std::string Refusal(const SmiGpu& gpu, const GpuFacts& facts) {
  try {
    DescribeGpu(gpu, facts, DeviceCatalog::BuiltIn());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(DescribeGpu, TakesAKnownDeviceWithItsOwnLimitAndMemory) {
  const DeviceSpec device = DescribeGpu({.name = "NVIDIA A100-SXM4-80GB",
                                         .architecture = "ampere",
                                         .memory_mib = 81920,
                                         .reserved_mib = 632,
                                         .power_w = 275,
                                         .has_mig = true},
                                        {}, DeviceCatalog::BuiltIn());
  EXPECT_EQ(device.name, "a100-sxm4-80gb");
  EXPECT_EQ(device.usable_mib, 81920 - 632);
  EXPECT_EQ(device.max_power_w, 275);
  EXPECT_EQ(device.chip_power_w, 400);
  EXPECT_EQ(device.sms, 108);
  EXPECT_EQ(device.mig_profiles.size(), 7u);
}

TEST(DescribeGpu, DerivesAnUnknownOneFromItsNearestKin) {
  const DeviceSpec& a10 = DeviceCatalog::BuiltIn().FindDevice("a10");
  const DeviceSpec device =
      DescribeGpu(Workstation(), {.sms = 48, .bandwidth_gb_s = 448},
                  DeviceCatalog::BuiltIn());
  EXPECT_EQ(device.name, "rtx-a4000");
  EXPECT_EQ(device.display_name, "NVIDIA RTX A4000");
  EXPECT_EQ(device.compute_capability, 86);
  EXPECT_EQ(device.sms, 48);
  EXPECT_EQ(device.bandwidth_gb_s, 448);
  EXPECT_EQ(device.usable_mib, 16376 - 391);
  EXPECT_DOUBLE_EQ(device.peak_tflops.at(Precision::kFp16),
                   a10.peak_tflops.at(Precision::kFp16) * 48 / a10.sms);
  EXPECT_DOUBLE_EQ(device.idle_power_w, a10.idle_power_w / 150 * 140);
  EXPECT_THAT(device.sources.front(), HasSubstr("of a10 in proportion"));
}

TEST(DescribeGpu, AsksForTheFiguresOfACardOfTheSameNameWithOtherMemory) {
  SmiGpu gpu{.name = "NVIDIA GeForce RTX 4060 Ti",
             .compute_capability = 89,
             .memory_mib = 8188,
             .power_w = 160};
  EXPECT_THAT(Refusal(gpu, {}), HasSubstr("--sms, --bandwidth"));
  const DeviceSpec device = DescribeGpu(gpu, {.sms = 34, .bandwidth_gb_s = 288},
                                        DeviceCatalog::BuiltIn());
  EXPECT_EQ(device.name, "rtx-4060-ti-16gb");  // Replaces the one of its name.
  EXPECT_EQ(device.memory_mib, 8188);
  EXPECT_LT(device.usable_mib, 8188);
}

TEST(DescribeGpu, NamesEveryFlagThatIsMissing) {
  SmiGpu gpu = Workstation();
  gpu.memory_mib = 0;
  gpu.power_w = 0;
  EXPECT_EQ(Refusal(gpu, {}),
            "'NVIDIA RTX A4000': nvidia-smi does not state all that is needed; "
            "also give --sms, --bandwidth, --memory, --power from its data "
            "sheet");
  EXPECT_THAT(Refusal(Workstation(), {.sms = 48}),
              HasSubstr("also give --bandwidth from"));
}

TEST(DescribeGpu, RefusesAnUnknownArchitecture) {
  EXPECT_THAT(Refusal({.name = "NVIDIA X", .architecture = "rubin"}, {}),
              HasSubstr("no device of its architecture is known"));
  EXPECT_THAT(Refusal({.name = "NVIDIA X"}, {}),
              HasSubstr("add compute_cap to --query-gpu"));
}

TEST(DescribeGpu, LeavesAUnifiedPoolOfTheCatalogueAsItIs) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const DeviceSpec device = DescribeGpu(
      {.name = "NVIDIA GB10", .compute_capability = 121}, {}, catalog);
  EXPECT_EQ(device.usable_mib, catalog.FindDevice("gb10").usable_mib);
}

TEST(DeviceToJson, IsReadAsTheSameDevice) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    const DeviceSpec read = ReadDevice(DeviceToJson(device), "written.json");
    EXPECT_EQ(DeviceToJson(read), DeviceToJson(device)) << device.name;
    EXPECT_EQ(read.usable_mib, device.usable_mib) << device.name;
    EXPECT_EQ(read.peak_tflops, device.peak_tflops) << device.name;
    EXPECT_EQ(read.mig_profiles.size(), device.mig_profiles.size());
  }
}

}  // namespace
}  // namespace foretell::device
