#include "src/measure/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "src/core/units.h"

namespace foretell::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kUuid[] = "GPU-00000000-0000-0000-0000-000000000000";

/// The fake library with one of its behaviours (fake_nvml.cc).
class Nvml : public testing::Test {
 protected:
  ~Nvml() override { unsetenv("FAKE_NVML"); }

  Reading<NvmlDevice> Open(const char* behaviour) {
    setenv("FAKE_NVML", behaviour, 1);
    return NvmlDevice::Open(FORETELL_FAKE_NVML, kUuid);
  }
};

TEST_F(Nvml, ReadsAWholeGpu) {
  const Reading<NvmlDevice> device = Open("");
  ASSERT_TRUE(device.has_value()) << device.reason;
  EXPECT_EQ(device.value->Driver().value, "580.65.06");
  EXPECT_EQ(device.value->Name().value, "Fake GPU");
  EXPECT_EQ(device.value->IsMig().value, false);
  EXPECT_EQ(device.value->UsedBytes().value, 960 * kMiB);
  EXPECT_EQ(device.value->ProcessBytes(getpid()).value, 512 * kMiB);
  EXPECT_EQ(device.value->SmClockMhz().value, 1410);
  EXPECT_EQ(device.value->MemoryClockMhz().value, 1215);
  EXPECT_EQ(device.value->MaxSmClockMhz().value, 1980);
  EXPECT_EQ(device.value->TemperatureC().value, 43);
}

TEST_F(Nvml, EnergyStandsStillBetweenSteps) {
  const Reading<NvmlDevice> device = Open("");
  ASSERT_TRUE(device.has_value());
  std::vector<std::int64_t> readings;
  for (int i = 0; i < 6; ++i) {
    readings.push_back(*device.value->EnergyMillijoules().value);
  }
  EXPECT_EQ(readings.back() - readings.front(), 30'000);
  EXPECT_GE(readings.front(), 5'000'000);
}

TEST_F(Nvml, NamesThrottleReasonsByEitherFunction) {
  const Reading<NvmlDevice> device = Open("");
  ASSERT_TRUE(device.has_value());
  // The fake only has the function's newer name.
  EXPECT_THAT(device.value->ThrottleReasons().value.value(),
              ElementsAre("power_cap", "sw_thermal"));
}

TEST_F(Nvml, ShowsThrottleBitsThatItDoesNotKnow) {
  const Reading<NvmlDevice> device = Open("strange");
  ASSERT_TRUE(device.has_value());
  EXPECT_THAT(device.value->ThrottleReasons().value.value(),
              ElementsAre("power_cap", "0x10000"));
}

TEST_F(Nvml, SaysWhichFunctionIsMissing) {
  const Reading<NvmlDevice> device = Open("");
  ASSERT_TRUE(device.has_value());
  const Reading<double> limit = device.value->PowerLimitW();
  EXPECT_FALSE(limit.has_value());
  EXPECT_EQ(limit.reason,
            "NVML: nvmlDeviceGetEnforcedPowerLimit: not in this library");
}

TEST_F(Nvml, MigInstanceAnswersWhatItCan) {
  const Reading<NvmlDevice> device = Open("mig");
  ASSERT_TRUE(device.has_value());
  EXPECT_EQ(device.value->IsMig().value, true);
  EXPECT_EQ(device.value->UsedBytes().value, 960 * kMiB);
  const Reading<std::int64_t> energy = device.value->EnergyMillijoules();
  EXPECT_FALSE(energy.has_value());
  EXPECT_EQ(energy.reason,
            "NVML: nvmlDeviceGetTotalEnergyConsumption: Not Supported");
  EXPECT_FALSE(device.value->SmClockMhz().has_value());
  EXPECT_FALSE(device.value->TemperatureC().has_value());
  EXPECT_FALSE(device.value->ThrottleReasons().has_value());
  EXPECT_FALSE(device.value->ProcessBytes(getpid()).has_value());
}

TEST_F(Nvml, SaysThatAContainerHidesTheProcess) {
  const Reading<NvmlDevice> device = Open("strange");
  ASSERT_TRUE(device.has_value());
  EXPECT_THAT(device.value->ProcessBytes(getpid()).reason,
              HasSubstr("does not list this process"));
  EXPECT_THAT(device.value->ProcessBytes(3).reason,
              HasSubstr("does not tell the size"));
}

TEST_F(Nvml, SaysWhyItCannotBeOpened) {
  EXPECT_THAT(Open("broken").reason,
              testing::AllOf(HasSubstr("nvmlInit_v2"), HasSubstr("Unknown")));
  EXPECT_THAT(Open("foreign").reason,
              testing::AllOf(HasSubstr("Not Found"), HasSubstr(kUuid)));
  const Reading<NvmlDevice> missing =
      NvmlDevice::Open("/nowhere/libnvidia-ml.so", kUuid);
  EXPECT_THAT(missing.reason, HasSubstr("/nowhere/libnvidia-ml.so"));
}

TEST(NvmlLibrary, IsTheOptionElseTheVariableElseTheSystems) {
  unsetenv("FORETELL_NVML");
  EXPECT_EQ(NvmlLibraryPath(""), "libnvidia-ml.so.1");
  setenv("FORETELL_NVML", "/some/library.so", 1);
  EXPECT_EQ(NvmlLibraryPath(""), "/some/library.so");
  EXPECT_EQ(NvmlLibraryPath("/other.so"), "/other.so");
  unsetenv("FORETELL_NVML");
}

}  // namespace
}  // namespace foretell::measure
