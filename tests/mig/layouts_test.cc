#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/is_valid.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

int IndexOf(const DeviceSpec& device, const std::string& name) {
  return static_cast<int>(&device.FindMigProfile(name) -
                          device.mig_profiles.data());
}

/// "2x1g.5gb + 2g.10gb + 3g.20gb", in the order of the device's table.
std::string MultisetName(const DeviceSpec& device, const Layout& layout) {
  std::string name;
  for (int i = 0; i < std::ssize(device.mig_profiles); ++i) {
    const auto count = std::ranges::count(layout, i, &PlacedInstance::profile);
    if (count == 0) continue;
    name += (name.empty() ? "" : " + ") +
            (count == 1 ? "" : std::to_string(count) + "x") +
            device.mig_profiles[static_cast<std::size_t>(i)].name;
  }
  return name;
}

constexpr LayoutOptions kWithoutDoubleMemory{.double_memory = false};

TEST(CountLayouts, AgreesWithTheKnownNumbersOfAnA100) {
  EXPECT_EQ(CountLayouts(A100(), kWithoutDoubleMemory),
            (LayoutCounts{297, 37, 19, 14}));
  EXPECT_EQ(CountLayouts(A100()), (LayoutCounts{722, 77, 78, 38}));
}

TEST(CountLayouts, AgreesWithTheKnownNumbersOfAnA30) {
  EXPECT_EQ(CountLayouts(A30()), (LayoutCounts{25, 9, 5, 4}));
  EXPECT_EQ(CountLayouts(A30(), kWithoutDoubleMemory),
            (LayoutCounts{25, 9, 5, 4}));
}

TEST(CountLayouts, IsTheSameForAllDevicesOfSevenSlices) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    if (device.compute_slices != 7) continue;
    EXPECT_EQ(CountLayouts(device), (LayoutCounts{722, 77, 78, 38}))
        << device.name;
  }
}

TEST(EnumerateLayouts, GivesEachValidLayoutOnce) {
  for (const bool media : {false, true}) {
    const auto layouts = EnumerateLayouts(A100(), {.media_extensions = media});
    std::set<std::string> seen;
    for (const Layout& layout : layouts) {
      EXPECT_TRUE(IsValid(A100(), layout));
      EXPECT_TRUE(seen.insert(FormatLayouts(A100(), {&layout, 1})).second);
    }
    EXPECT_EQ(seen.size(), layouts.size());
  }
}

/// Independent of the enumeration: every set of placed instances is tried.
std::size_t CountByBruteForce(const DeviceSpec& device) {
  std::vector<PlacedInstance> places;
  for (std::size_t i = 0; i < device.mig_profiles.size(); ++i) {
    for (const int start : device.mig_profiles[i].placements) {
      places.push_back({static_cast<int>(i), start});
    }
  }
  std::size_t valid = 0;
  for (std::uint32_t set = 1; set < std::uint32_t{1} << places.size(); ++set) {
    Layout layout;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((set >> i & 1) != 0) layout.push_back(places[i]);
    }
    if (IsValid(device, layout)) ++valid;
  }
  return valid;
}

TEST(EnumerateLayouts, FindsWhatBruteForceFindsWithMediaExtensions) {
  EXPECT_EQ(EnumerateLayouts(A30(), {.media_extensions = true}).size(),
            CountByBruteForce(A30()));
}

TEST(EnumerateLayouts, HoldsOneMediaInstanceAtMost) {
  std::size_t with_media = 0;
  for (const Layout& layout :
       EnumerateLayouts(A100(), {.media_extensions = true})) {
    const auto count = std::count_if(
        layout.begin(), layout.end(), [](const PlacedInstance& instance) {
          return instance.profile == IndexOf(A100(), "1g.5gb+me");
        });
    EXPECT_LE(count, 1);
    with_media += static_cast<std::size_t>(count);
  }
  EXPECT_GT(with_media, 0u);
}

TEST(EnumerateLayouts, RefusesADeviceWithoutMig) {
  try {
    EnumerateLayouts(DeviceWithoutMig());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(), "'plain' has no MIG");
  }
}

TEST(EnumerateLayouts, RefusesADeviceWithEndlesslyManyLayouts) {
  DeviceSpec device;
  device.name = "endless";
  device.compute_slices = 12;
  device.memory_slots = 12;
  for (int i = 0; i < 8; ++i) {
    MigProfile profile;
    profile.name = "1g." + std::to_string(i) + "gb";
    profile.compute_slices = 1;
    profile.memory_slots = 1;
    for (int start = 0; start < 12; ++start) {
      profile.placements.push_back(start);
    }
    device.mig_profiles.push_back(profile);
  }
  try {
    EnumerateLayouts(device);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_STREQ(error.what(), "'endless' has more than 1000000 MIG layouts");
  }
}

TEST(MaximalLayouts, AreTheFourteenCombinationsOfAnA100) {
  std::set<std::string> names;
  for (const Layout& layout : MaximalLayouts(A100(), kWithoutDoubleMemory)) {
    names.insert(MultisetName(A100(), layout));
  }
  EXPECT_THAT(
      names,
      testing::UnorderedElementsAre(
          "7x1g.5gb", "5x1g.5gb + 2g.10gb", "3x1g.5gb + 2x2g.10gb",
          "1g.5gb + 3x2g.10gb", "4x1g.5gb + 3g.20gb", "3x1g.5gb + 3g.20gb",
          "2x1g.5gb + 2g.10gb + 3g.20gb", "1g.5gb + 2g.10gb + 3g.20gb",
          "2x2g.10gb + 3g.20gb", "2x3g.20gb", "3x1g.5gb + 4g.20gb",
          "1g.5gb + 2g.10gb + 4g.20gb", "3g.20gb + 4g.20gb", "7g.40gb"));
}

TEST(MaximalLayouts, BelongToAllLayouts) {
  const auto all = EnumerateLayouts(A100());
  for (const Layout& layout : MaximalLayouts(A100())) {
    EXPECT_NE(std::find(all.begin(), all.end(), layout), all.end());
  }
}

}  // namespace
}  // namespace foretell::mig
