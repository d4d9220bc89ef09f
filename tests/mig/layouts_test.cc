#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

int IndexOf(const DeviceSpec& device, const std::string& name) {
  return static_cast<int>(&device.FindMigProfile(name) -
                          device.mig_profiles.data());
}

PlacedInstance At(const std::string& profile, int start) {
  return {IndexOf(A100(), profile), start};
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
      EXPECT_EQ(WhyInvalid(A100(), layout), "");
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
    if (WhyInvalid(device, layout).empty()) ++valid;
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

TEST(WhyInvalid, AcceptsThePublishedExamples) {
  // 4g at slots 0 to 3 and 3g at 4 to 7; two 3g leave a compute slice idle.
  EXPECT_EQ(WhyInvalid(A100(), {At("4g.20gb", 0), At("3g.20gb", 4)}), "");
  EXPECT_EQ(WhyInvalid(A100(), {At("3g.20gb", 4), At("3g.20gb", 0)}), "");
  EXPECT_EQ(WhyInvalid(A100(), {}), "");
}

TEST(WhyInvalid, NamesInstancesThatOverlap) {
  EXPECT_EQ(WhyInvalid(A100(), {At("1g.5gb", 1), At("2g.10gb", 0)}),
            "1g.5gb at slot 1 and 2g.10gb at slot 0 overlap");
}

TEST(WhyInvalid, NamesTheSlotsWhereAProfileMayStart) {
  EXPECT_EQ(WhyInvalid(A100(), {At("3g.20gb", 2)}),
            "3g.20gb at slot 2 may only start at slot 0, 4");
  EXPECT_EQ(WhyInvalid(A100(), {At("1g.5gb", 7)}),
            "1g.5gb at slot 7 may only start at slot 0, 1, 2, 3, 4, 5, 6");
}

TEST(WhyInvalid, CountsComputeSlices) {
  // 4 + 2 + 1 slices are all there are; a device of six has one too few.
  EXPECT_EQ(WhyInvalid(A100(),
                       {At("4g.20gb", 0), At("2g.10gb", 4), At("1g.10gb", 6)}),
            "");
  DeviceSpec six = A100();
  six.compute_slices = 6;
  EXPECT_EQ(WhyInvalid(six, {At("4g.20gb", 0), At("3g.20gb", 4)}),
            "the instances take 7 compute slices, expected at most 6");
}

TEST(WhyInvalid, AllowsOneMediaInstance) {
  EXPECT_EQ(WhyInvalid(A100(), {At("1g.5gb+me", 0), At("1g.5gb+me", 1)}),
            "1g.5gb+me at slot 0 and 1g.5gb+me at slot 1 both have media "
            "extensions, expected one at most");
}

TEST(WhyInvalid, NamesAnUnknownProfile) {
  EXPECT_EQ(WhyInvalid(A100(), {{7, 0}}),
            "profile 7 does not exist, expected 0 to 6");
  EXPECT_EQ(WhyInvalid(A100(), {{-1, 0}}),
            "profile -1 does not exist, expected 0 to 6");
}

}  // namespace
}  // namespace foretell::mig
