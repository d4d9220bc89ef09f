#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

/// 10 ms, of which 6 compute, 3 bandwidth, 1 overhead; 5 J, of which 1 static.
Demand DemandOf(double lo_mib, double total_mib, double hi_mib) {
  return {.model = "net",
          .total_mib = total_mib,
          .lo_mib = lo_mib,
          .hi_mib = hi_mib,
          .latency_ms = 10,
          .latency_split = {6, 3, 1},
          .energy_j = 5,
          .energy_split = {4, 1}};
}

Demand Exactly(double mib) { return DemandOf(mib, mib, mib); }

const Verdict& VerdictOn(const Recommendation& recommendation,
                         const std::string& profile) {
  for (const Verdict& verdict : recommendation.profiles) {
    if (verdict.profile == profile) return verdict;
  }
  throw Error(ErrorCode::kNotFound, profile);
}

std::string Refusal(const Demand& demand) {
  try {
    Recommend(demand, A100());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "accepted";
}

TEST(Recommend, JudgesEveryProfileFromSmallToLarge) {
  const Recommendation result = Recommend(Exactly(1000), A100());
  std::vector<std::string> names;
  for (const Verdict& verdict : result.profiles) {
    names.push_back(verdict.profile);
  }
  EXPECT_THAT(names, testing::ElementsAre("1g.5gb", "1g.10gb", "2g.10gb",
                                          "3g.20gb", "4g.20gb", "7g.40gb"));
  EXPECT_EQ(result.model, "net");
  EXPECT_EQ(result.device, "a100-sxm4-40gb");
}

TEST(Recommend, ListsMediaProfilesOnlyOnRequest) {
  const Recommendation result =
      Recommend(Exactly(1000), A100(), {.include_media_extensions = true});
  EXPECT_EQ(result.profiles.size(), 7u);
  EXPECT_EQ(VerdictOn(result, "1g.5gb+me").usable_mib, 4864);
  // The twin without them comes first and is chosen.
  EXPECT_EQ(result.profile, "1g.5gb");
}

TEST(Recommend, ChoosesByTheUpperBoundAndNotByTheTotal) {
  EXPECT_EQ(Recommend(DemandOf(4000, 4500, 4864), A100()).profile, "1g.5gb");
  EXPECT_EQ(Recommend(DemandOf(4000, 4500, 4865), A100()).profile, "1g.10gb");
}

TEST(Recommend, ComparesWithUsableMemoryAndNotWithTheName) {
  // 4.9 GB is below "5gb" but above the 4864 MiB that 1g.5gb has.
  const Recommendation result = Recommend(Exactly(4900), A100());
  EXPECT_FALSE(VerdictOn(result, "1g.5gb").fits);
  EXPECT_EQ(result.profile, "1g.10gb");
}

TEST(Recommend, PrefersFewerSmsForTheSameMemory) {
  EXPECT_EQ(Recommend(Exactly(20000), A100()).profile, "3g.20gb");
}

TEST(Recommend, GivesTheMarginToTheUpperBound) {
  const Recommendation result = Recommend(DemandOf(4000, 5000, 6000), A100());
  EXPECT_EQ(VerdictOn(result, "1g.5gb").margin_mib, 4864 - 6000);
  EXPECT_EQ(VerdictOn(result, "2g.10gb").margin_mib, 9984 - 6000);
  EXPECT_EQ(VerdictOn(result, "7g.40gb").margin_mib, 40448 - 6000);
  EXPECT_EQ(VerdictOn(result, "1g.5gb").reason,
            "up to 6000.0 MiB are needed and 4864 MiB are usable");
}

TEST(Recommend, SaysWhetherTheWholeDeviceWouldDo) {
  const Recommendation fits = Recommend(Exactly(40441), A100());
  EXPECT_TRUE(fits.whole_device.fits);
  EXPECT_EQ(fits.whole_device.margin_mib, 0);
  EXPECT_EQ(fits.whole_device.profile, "");
  EXPECT_EQ(fits.whole_device.sms, 108);
  EXPECT_EQ(fits.whole_device.latency_ms, 10);
  EXPECT_EQ(fits.whole_device.energy_j, 5);
  EXPECT_FALSE(Recommend(Exactly(40442), A100()).whole_device.fits);
}

TEST(Recommend, ChoosesNothingWhenNothingFits) {
  const Recommendation result = Recommend(Exactly(50000), A100());
  EXPECT_EQ(result.profile, std::nullopt);
  EXPECT_EQ(result.reason,
            "no profile holds the upper bound of 50000.0 MiB: the largest has "
            "40448 MiB");
}

TEST(Recommend, ScalesLatencyByTheSmsAndTheBandwidthOfTheSlice) {
  const Recommendation result = Recommend(Exactly(1000), A100());
  // 6 ms of compute on 14 of 108 SMs, 3 ms of traffic at an eighth, 1 ms.
  EXPECT_NEAR(VerdictOn(result, "1g.5gb").latency_ms,
              6 * 108.0 / 14 + 3 * 8.0 + 1, 1e-9);
  EXPECT_NEAR(VerdictOn(result, "1g.10gb").latency_ms,
              6 * 108.0 / 14 + 3 * 4.0 + 1, 1e-9);
  EXPECT_NEAR(VerdictOn(result, "3g.20gb").latency_ms,
              6 * 108.0 / 42 + 3 * 2.0 + 1, 1e-9);
  // MIG mode leaves 98 SMs even to the largest profile.
  EXPECT_NEAR(VerdictOn(result, "7g.40gb").latency_ms, 6 * 108.0 / 98 + 3 + 1,
              1e-9);
}

TEST(Recommend, TakesTheLatencySplitAsProportions) {
  Demand half = Exactly(1000);
  half.latency_ms = 5;  // The split still says 6 + 3 + 1.
  const double whole =
      VerdictOn(Recommend(Exactly(1000), A100()), "2g.10gb").latency_ms;
  EXPECT_NEAR(VerdictOn(Recommend(half, A100()), "2g.10gb").latency_ms,
              whole / 2, 1e-9);
}

TEST(Recommend, ChargesASliceForItsShareOfTheIdleChip) {
  const Recommendation result = Recommend(Exactly(1000), A100());
  const double slow_1g = (6 * 108.0 / 14 + 3 * 8.0 + 1) / 10;
  EXPECT_NEAR(VerdictOn(result, "1g.5gb").energy_j, 4 + slow_1g / 7, 1e-9);
  // 2 of 8 slots are a larger share than 1 of 7 slices.
  const double slow_1g_10gb = (6 * 108.0 / 14 + 3 * 4.0 + 1) / 10;
  EXPECT_NEAR(VerdictOn(result, "1g.10gb").energy_j, 4 + slow_1g_10gb * 2 / 8,
              1e-9);
  const double slow_7g = (6 * 108.0 / 98 + 3 + 1) / 10;
  EXPECT_NEAR(VerdictOn(result, "7g.40gb").energy_j, 4 + slow_7g, 1e-9);
}

TEST(Recommend, NeverPromisesASliceFasterThanTheDevice) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    const Recommendation result = Recommend(Exactly(1000), device);
    for (const Verdict& verdict : result.profiles) {
      EXPECT_GE(verdict.latency_ms, 10) << device.name << verdict.profile;
    }
  }
}

TEST(Recommend, NeverGivesMoreMemoryASmallerProfile) {
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    if (device.mig_profiles.empty()) continue;
    std::int64_t previous = 0;
    for (double mib = 0; mib < 200000; mib += 61) {
      const Recommendation result = Recommend(Exactly(mib), device);
      if (!result.profile) {
        EXPECT_GT(mib, device.mig_profiles.back().usable_mib);
        continue;
      }
      const std::int64_t usable =
          device.FindMigProfile(*result.profile).usable_mib;
      EXPECT_GE(usable, previous) << device.name << " " << mib;
      EXPECT_GE(static_cast<double>(usable), mib) << device.name;
      previous = usable;
    }
    EXPECT_EQ(previous, device.mig_profiles.back().usable_mib);
  }
}

TEST(Recommend, WorksForADeviceWithoutMig) {
  const Recommendation result = Recommend(Exactly(4000), DeviceWithoutMig());
  EXPECT_TRUE(result.whole_device.fits);
  EXPECT_TRUE(result.profiles.empty());
  EXPECT_EQ(result.profile, std::nullopt);
  EXPECT_EQ(result.reason, "'plain' has no MIG");
}

TEST(Recommend, AcceptsADemandWithoutTimeAndEnergy) {
  const Demand demand{.total_mib = 10, .lo_mib = 10, .hi_mib = 10};
  const Recommendation result = Recommend(demand, A100());
  EXPECT_EQ(result.profile, "1g.5gb");
  EXPECT_EQ(VerdictOn(result, "1g.5gb").latency_ms, 0);
  EXPECT_EQ(VerdictOn(result, "1g.5gb").energy_j, 0);
}

TEST(Recommend, RefusesANegativeOrInfiniteNumber) {
  Demand demand = Exactly(10);
  demand.latency_split.memory_ms = -1;
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': memory_ms is -1.000, expected a finite number "
            "of at least 0");
  demand = Exactly(10);
  demand.hi_mib = INFINITY;
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': hi_mib is inf, expected a finite number of at "
            "least 0");
  demand = Exactly(10);
  demand.energy_j = NAN;
  EXPECT_THAT(Refusal(demand), testing::HasSubstr("energy_j is "));
}

TEST(Recommend, RefusesAnIntervalWithoutItsTotal) {
  EXPECT_EQ(Refusal(DemandOf(20, 10, 30)),
            "demand of 'net': total_mib is 10.000, expected it within its "
            "interval 20.000 to 30.000");
  EXPECT_EQ(Refusal(DemandOf(5, 10, 9)),
            "demand of 'net': total_mib is 10.000, expected it within its "
            "interval 5.000 to 9.000");
}

TEST(Recommend, RefusesATotalWithoutASplit) {
  Demand demand = Exactly(10);
  demand.latency_split = {};
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': latency_ms is 10.000, but the parts of its "
            "split are 0");
  demand = Exactly(10);
  demand.model = "";
  demand.energy_split = {};
  EXPECT_EQ(Refusal(demand),
            "demand: energy_j is 5.000, but the parts of its split are 0");
}

TEST(Judge, IsWhatRecommendSaysOfThatPlace) {
  const Demand demand = DemandOf(4000, 5000, 6000);
  const Recommendation result =
      Recommend(demand, A100(), {.include_media_extensions = true});
  for (const MigProfile& profile : A100().mig_profiles) {
    const Verdict verdict = Judge(demand, A100(), profile.name);
    const Verdict& listed = VerdictOn(result, profile.name);
    EXPECT_EQ(verdict.fits, listed.fits);
    EXPECT_EQ(verdict.margin_mib, listed.margin_mib);
    EXPECT_EQ(verdict.latency_ms, listed.latency_ms);
  }
  EXPECT_EQ(Judge(demand, A100()).usable_mib, result.whole_device.usable_mib);
  EXPECT_EQ(Judge(demand, A100(), "1G.5GB").profile, "1g.5gb");
}

TEST(Judge, RefusesAnUnknownProfile) {
  try {
    Judge(Exactly(10), A100(), "9g.9gb");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST(FitsMemory, HoldsUpToTheLastByte) {
  EXPECT_TRUE(FitsMemory(4864, 4864));
  EXPECT_FALSE(FitsMemory(4864 + 1.0 / (1 << 20), 4864));
}

TEST(Rule, RoundTripsThroughItsName) {
  for (const Rule rule : {Rule::kUsableMemory, Rule::kDippm}) {
    EXPECT_EQ(ParseRule(RuleName(rule)), rule);
  }
  EXPECT_EQ(RuleName(Rule::kDippm), "dippm");
  EXPECT_EQ(ParseRule("DIPPM"), std::nullopt);
}

}  // namespace
}  // namespace foretell::mig
