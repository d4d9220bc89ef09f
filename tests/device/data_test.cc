// The figures of data/devices: spot checks against their sources, and
// properties that every device must have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "src/device/embedded_data.h"
#include "src/device/read_device.h"

namespace foretell {
namespace {

namespace fs = std::filesystem;

const DeviceSpec& Find(const char* name) {
  return DeviceCatalog::BuiltIn().FindDevice(name);
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string NameOf(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    names.push_back(device.name);
  }
  return names;
}

TEST(DeviceData, IsEmbeddedByteForByteAndCompletely) {
  std::set<fs::path> embedded;
  for (const EmbeddedFile& file : device::DeviceFiles()) {
    const fs::path path = fs::path(FORETELL_SOURCE_DIR) / file.path;
    EXPECT_EQ(ReadFile(path), file.bytes) << path;
    embedded.insert(path);
  }
  const fs::path folder = fs::path(FORETELL_SOURCE_DIR) / "data/devices";
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_TRUE(embedded.count(entry.path()) > 0) << entry.path();
  }
  const EmbeddedFile& environments = device::EnvironmentFiles().front();
  EXPECT_EQ(ReadFile(fs::path(FORETELL_SOURCE_DIR) / environments.path),
            environments.bytes);
}

TEST(DeviceData, HasTheA100OfTheDatasheet) {
  const DeviceSpec& a100 = Find("a100-sxm4-40gb");
  EXPECT_EQ(a100.sms, 108);
  EXPECT_EQ(a100.memory_mib, 40960);
  EXPECT_EQ(a100.bandwidth_gb_s, 1555);
  EXPECT_EQ(a100.max_power_w, 400);
  EXPECT_EQ(a100.peak_tflops.at(Precision::kFp32), 19.5);
  EXPECT_EQ(a100.peak_tflops.at(Precision::kTf32), 156);
  EXPECT_EQ(a100.peak_tflops.at(Precision::kFp16), 312);
  EXPECT_EQ(a100.peak_tflops.at(Precision::kBf16), 312);
  // CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 in KiB.
  EXPECT_EQ(a100.cublas_workspace_bytes, (4096 * 2 + 16 * 8) * 1024);
}

TEST(DeviceData, HasTheMemoryThatNvidiaSmiShows) {
  EXPECT_EQ(Find("a100-sxm4-80gb").memory_mib, 81920);
  EXPECT_EQ(Find("a30").memory_mib, 24576);
  EXPECT_EQ(Find("h100").memory_mib, 81559);
  EXPECT_EQ(Find("h100-nvl").memory_mib, 95830);
  EXPECT_EQ(Find("h200").memory_mib, 143771);
  EXPECT_EQ(Find("b200").memory_mib, 183359);
  EXPECT_EQ(Find("t4").memory_mib, 15360);
  EXPECT_EQ(Find("a10g").memory_mib, 23028);
  EXPECT_EQ(Find("l40s").memory_mib, 46068);
  EXPECT_EQ(Find("rtx-a6000").memory_mib, 49140);
}

TEST(DeviceData, ListsUsableMemoryAndNotTheGbOfTheName) {
  EXPECT_EQ(Find("a100").FindMigProfile("1g.5gb").usable_mib, 4864);
  EXPECT_EQ(Find("a100").FindMigProfile("2g.10gb").usable_mib, 9984);
  EXPECT_EQ(Find("a100").FindMigProfile("3g.20gb").usable_mib, 20096);
  EXPECT_EQ(Find("a100").FindMigProfile("7g.40gb").usable_mib, 40448);
  EXPECT_EQ(Find("h200").FindMigProfile("1g.18gb").usable_mib, 16 * 1024);
}

TEST(DeviceData, KnowsThatMigModeCostsAnA100TenSms) {
  EXPECT_EQ(Find("a100").FindMigProfile("7g.40gb").sms, 98);
  EXPECT_EQ(Find("h100").FindMigProfile("7g.80gb").sms, 132);
}

TEST(DeviceData, KnowsThatHopperSlicesAreNotSevenths) {
  EXPECT_EQ(Find("h100").FindMigProfile("1g.10gb").sms, 16);
  EXPECT_EQ(Find("h100").FindMigProfile("1g.20gb").sms, 26);
  EXPECT_EQ(Find("h100").FindMigProfile("3g.40gb").sms, 60);
  EXPECT_EQ(Find("h100").FindMigProfile("4g.40gb").sms, 64);
  EXPECT_EQ(Find("h100-pcie").FindMigProfile("1g.10gb").sms, 14);
}

TEST(DeviceData, HasMigTablesOfNewerDevices) {
  EXPECT_EQ(Find("gh200-144gb").FindMigProfile("1g.18gb").usable_mib, 17920);
  EXPECT_EQ(Find("gb200").FindMigProfile("2g.47gb").sms, 38);
  EXPECT_EQ(Find("b300").FindMigProfile("7g.269gb").sms, 148);
  EXPECT_EQ(Find("h20").FindMigProfile("3g.48gb").usable_mib, 47616);
  EXPECT_EQ(Find("rtx-pro-6000-server").FindMigProfile("2g.48gb").sms, 94);
  EXPECT_EQ(Find("rtx-pro-6000-server").compute_slices, 4);
}

class DeviceDataOf : public testing::TestWithParam<std::string> {
 protected:
  const DeviceSpec& device() const { return Find(GetParam().c_str()); }
};

INSTANTIATE_TEST_SUITE_P(All, DeviceDataOf, testing::ValuesIn(AllNames()),
                         NameOf);

/// Of devices that can be cut into instances.
class MigDataOf : public DeviceDataOf {};

std::vector<std::string> NamesWithMig() {
  std::vector<std::string> names = AllNames();
  std::erase_if(names, [](const std::string& name) {
    return Find(name.c_str()).mig_profiles.empty();
  });
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, MigDataOf, testing::ValuesIn(NamesWithMig()),
                         NameOf);

TEST_P(DeviceDataOf, CitesItsSources) {
  EXPECT_GE(device().sources.size(), 4u);
  for (const MigProfile& profile : device().mig_profiles) {
    EXPECT_THAT(profile.source, testing::Not(testing::IsEmpty()));
  }
}

TEST_P(DeviceDataOf, GetsFasterWithLowerPrecision) {
  const auto& peak = device().peak_tflops;
  if (device().compute_capability < 80) {  // Neither TF32 nor BF16 units.
    EXPECT_EQ(peak.at(Precision::kTf32), peak.at(Precision::kFp32));
    EXPECT_EQ(peak.at(Precision::kBf16), peak.at(Precision::kFp32));
    // Products of FP16 on compute capability 6.1 run as FP32.
    const double gain = device().compute_capability == 61 ? 1 : 2;
    EXPECT_GE(peak.at(Precision::kFp16), gain * peak.at(Precision::kFp32));
    return;
  }
  EXPECT_LE(peak.at(Precision::kFp32), peak.at(Precision::kTf32));
  EXPECT_NEAR(peak.at(Precision::kFp16) / peak.at(Precision::kTf32), 2, 0.03);
  EXPECT_EQ(peak.at(Precision::kFp16), peak.at(Precision::kBf16));
}

// Four times BF16; of GeForce cards, whose BF16 is halved, eight times, and six
// of B300, which has more units for 4 bits.
TEST_P(DeviceDataOf, StatesItsRateOfFourBitsSinceBlackwell) {
  const double rate = device().fp4_tflops;
  if (device().compute_capability < 100) {
    EXPECT_EQ(rate, 0);
    return;
  }
  const double gain = rate / device().peak_tflops.at(Precision::kBf16);
  const bool is_geforce = device().name.starts_with("rtx-5");
  const double expected = is_geforce                           ? 8
                          : device().compute_capability == 103 ? 6
                                                               : 4;
  EXPECT_NEAR(gain, expected, 0.05) << rate;
}

// No product beats the data sheet by more than a boost clock above the printed
// one does, and none that was measured well stays below half of it, except on
// an L4, which its limit of 72 W keeps at a third.
TEST_P(DeviceDataOf, MultipliesNearItsPeak) {
  for (const auto& [precision, rate] : device().matmul_tflops) {
    const double share = rate / device().peak_tflops.at(precision);
    EXPECT_GT(share, device().name == "l4" ? 0.3 : 0.5)
        << PrecisionName(precision);
    EXPECT_LT(share, 1.25) << PrecisionName(precision);
  }
}

/// FP32 lanes of a multiprocessor.
int LanesPerSm(int capability) {
  return capability > 80 || capability == 61 ? 128 : 64;
}

// Two FLOP per lane and cycle at a clock that GPUs reach; tensor cores multiply
// a power of two per multiprocessor and cycle, or somewhat less where data
// sheets state their rate at a lower clock than that of the lanes. The H20's
// does so most: its FP32 rate asks for 2.2 GHz.
TEST_P(DeviceDataOf, HasRatesThatItsUnitsReach) {
  const auto& peak = device().peak_tflops;
  const double lanes = LanesPerSm(device().compute_capability);
  const double ghz =
      1e3 * peak.at(Precision::kFp32) / (2 * lanes * device().sms);
  EXPECT_GT(ghz, 1.0);
  EXPECT_LT(ghz, 2.7);
  const double flops = 1e3 * peak.at(Precision::kFp16) / (device().sms * ghz);
  const double share = flops / std::exp2(std::ceil(std::log2(flops / 1.06)));
  EXPECT_GT(share, 0.84);
}

TEST_P(DeviceDataOf, HasTheWorkspaceOfItsComputeCapability) {
  EXPECT_EQ(device().cublas_workspace_bytes,
            device().compute_capability < 90 ? 8519680 : 32 << 20);
}

TEST_P(DeviceDataOf, UsesLessPowerIdleAndLessMemoryThanInAll) {
  // Fast clocks of 48 GB of GDDR6 alone take an A40 a third of its limit, and
  // those of an L4 27 of 72 W.
  EXPECT_LT(device().idle_power_w, device().max_power_w * 0.4);
  EXPECT_GE(device().chip_power_w, device().max_power_w);
  EXPECT_LE(device().usable_mib, device().memory_mib);
  EXPECT_GT(device().usable_mib,
            (device().memory_mib - device().host_share_mib) * 95 / 100);
}

TEST_P(MigDataOf, MultipliesTf32FasterThanFp32) {
  const auto& peak = device().peak_tflops;
  EXPECT_LT(peak.at(Precision::kFp32), peak.at(Precision::kTf32));
}

TEST_P(MigDataOf, NamesProfilesByTheirSlices) {
  for (const MigProfile& profile : device().mig_profiles) {
    EXPECT_EQ(
        profile.name.rfind(std::to_string(profile.compute_slices) + "g.", 0),
        0u)
        << profile.name;
    EXPECT_EQ(profile.name.find("+me") != std::string::npos,
              profile.media_extensions)
        << profile.name;
  }
}

TEST_P(MigDataOf, HasLessUsableMemoryThanTheNamePromises) {
  for (const MigProfile& profile : device().mig_profiles) {
    const std::size_t dot = profile.name.find('.');
    const double promised_gb = std::stod(profile.name.substr(dot + 1));
    EXPECT_LT(static_cast<double>(profile.usable_mib), promised_gb * 1024)
        << profile.name;
    EXPECT_GT(static_cast<double>(profile.usable_mib),
              promised_gb * 1024 * 0.85)
        << profile.name;
  }
}

TEST_P(MigDataOf, SharesBandwidthByMemorySlots) {
  for (const MigProfile& profile : device().mig_profiles) {
    EXPECT_DOUBLE_EQ(
        profile.bandwidth_fraction,
        static_cast<double>(profile.memory_slots) / device().memory_slots)
        << profile.name;
  }
}

TEST_P(MigDataOf, AllowsAsManyInstancesAsPlacementsPermit) {
  for (const MigProfile& profile : device().mig_profiles) {
    EXPECT_EQ(
        profile.max_instances,
        profile.media_extensions ? 1 : device::MaxPlaceable(device(), profile))
        << profile.name;
  }
}

TEST_P(MigDataOf, HasATwinWithoutMediaForEachProfileWithThem) {
  for (const MigProfile& profile : device().mig_profiles) {
    if (!profile.media_extensions) continue;
    const MigProfile& twin =
        device().FindMigProfile(profile.name.substr(0, profile.name.find('+')));
    EXPECT_EQ(twin.usable_mib, profile.usable_mib);
    EXPECT_EQ(twin.sms, profile.sms);
    EXPECT_EQ(twin.placements, profile.placements);
  }
}

TEST_P(MigDataOf, GrowsInSmsAndMemoryWithTheSlices) {
  const auto& profiles = device().mig_profiles;
  for (const MigProfile& small : profiles) {
    for (const MigProfile& large : profiles) {
      if (small.memory_slots < large.memory_slots) {
        EXPECT_LT(small.usable_mib, large.usable_mib);
      }
      if (small.compute_slices < large.compute_slices) {
        EXPECT_LT(small.sms, large.sms);
      }
    }
  }
}

// What unlisted sizes were derived from.
TEST_P(MigDataOf, HasTwiceTheMemoryOfHalfTheSlots) {
  const auto& profiles = device().mig_profiles;
  for (const MigProfile& small : profiles) {
    for (const MigProfile& large : profiles) {
      if (large.memory_slots != 2 * small.memory_slots) continue;
      EXPECT_GE(large.usable_mib, 2 * small.usable_mib) << large.name;
    }
  }
}

TEST_P(MigDataOf, HasOneProfileThatTakesEverything) {
  const MigProfile& last = device().mig_profiles.back();
  EXPECT_EQ(last.compute_slices, device().compute_slices);
  EXPECT_EQ(last.memory_slots, device().memory_slots);
  EXPECT_EQ(last.bandwidth_fraction, 1);
  EXPECT_GT(last.usable_mib, device().memory_mib * 97 / 100);
}

}  // namespace
}  // namespace foretell
