#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

/// Memory alone.
Demand DemandOf(double lo_mib, double total_mib, double hi_mib) {
  return {.model = "net",
          .total_mib = total_mib,
          .lo_mib = lo_mib,
          .hi_mib = hi_mib};
}

Demand Exactly(double mib) { return DemandOf(mib, mib, mib); }

/// 1000 MiB and 10 ms, 5 J; on a profile of n SMs n ms and n / 10 J.
Demand WithSlices(const DeviceSpec& device) {
  Demand demand = Exactly(1000);
  demand.latency_ms = 10;
  demand.energy_j = 5;
  for (const MigProfile& profile : device.mig_profiles) {
    demand.slices.push_back({.profile = profile.name,
                             .latency_ms = 1.0 * profile.sms,
                             .energy_j = 0.1 * profile.sms});
  }
  return demand;
}

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

TEST(Recommend, ShowsTightProfilesAndChoosesNone) {
  Demand demand = DemandOf(4000, 5000, 6000);
  demand.cache_mib = 1136;
  const Recommendation result = Recommend(demand, A100());
  EXPECT_EQ(VerdictOn(result, "1g.5gb").fit, Fit::kFitsWithoutCache);
  EXPECT_FALSE(VerdictOn(result, "1g.5gb").fits);
  EXPECT_EQ(VerdictOn(result, "2g.10gb").fit, Fit::kFits);
  EXPECT_EQ(result.profile, "1g.10gb");
  demand.cache_mib = 1135;
  EXPECT_EQ(VerdictOn(Recommend(demand, A100()), "1g.5gb").fit,
            Fit::kDoesNotFit);
}

TEST(Recommend, NamesATightProfileWhereNoneFits) {
  Demand demand = Exactly(50000);
  demand.cache_mib = 20000;
  const Recommendation result = Recommend(demand, A100());
  EXPECT_EQ(result.profile, std::nullopt);
  EXPECT_THAT(result.reason,
              testing::EndsWith(
                  "40448 MiB; '7g.40gb' fits when PyTorch empties its cache"));
}

TEST(Recommend, TakesTheContextOfTheSlice) {
  Demand demand = DemandOf(4000, 4800, 5000);
  demand.slices = {{.profile = "1g.5gb", .context_saved_mib = 136}};
  const Verdict verdict = Judge(demand, A100(), "1g.5gb");
  EXPECT_EQ(verdict.total_mib, 4664);
  EXPECT_EQ(verdict.needed_mib, 4864);
  EXPECT_TRUE(verdict.fits);
  EXPECT_EQ(verdict.margin_mib, 0);
  EXPECT_EQ(verdict.reason,
            "up to 4864.0 MiB are needed and 4864 MiB are usable");
  demand.slices[0].context_saved_mib = 135;
  EXPECT_FALSE(Judge(demand, A100(), "1g.5gb").fits);
  EXPECT_EQ(Judge(demand, A100()).needed_mib, 5000);
}

TEST(Recommend, SaysWhetherTheWholeDeviceWouldDo) {
  const Recommendation fits = Recommend(Exactly(40441), A100());
  EXPECT_TRUE(fits.whole_device.fits);
  EXPECT_EQ(fits.whole_device.margin_mib, 0);
  EXPECT_EQ(fits.whole_device.profile, "");
  EXPECT_EQ(fits.whole_device.sms, 108);
  EXPECT_FALSE(Recommend(Exactly(40442), A100()).whole_device.fits);
}

TEST(Recommend, StatesWhatTheHostKeepsOfAUnifiedMemory) {
  const DeviceSpec& spark = DeviceCatalog::BuiltIn().FindDevice("dgx-spark");
  const Verdict verdict = Judge(Exactly(1000), spark);
  EXPECT_EQ(verdict.usable_mib, spark.memory_mib - 8192);
  EXPECT_THAT(verdict.reason,
              testing::HasSubstr(", 8192 MiB of the pool left to the host"));
}

TEST(Recommend, ChoosesNothingWhenNothingFits) {
  const Recommendation result = Recommend(Exactly(50000), A100());
  EXPECT_EQ(result.profile, std::nullopt);
  EXPECT_EQ(result.reason,
            "no profile holds the upper bound of 50000.0 MiB: the largest has "
            "40448 MiB");
}

TEST(Recommend, GivesEachProfileItsOwnFigures) {
  Demand demand = WithSlices(A100());
  std::ranges::reverse(demand.slices);  // Their order says nothing.
  const Recommendation result = Recommend(demand, A100());
  for (const Verdict& verdict : result.profiles) {
    EXPECT_DOUBLE_EQ(verdict.latency_ms, verdict.sms) << verdict.profile;
    EXPECT_DOUBLE_EQ(verdict.energy_j, 0.1 * verdict.sms) << verdict.profile;
  }
  EXPECT_EQ(result.whole_device.latency_ms, 10);
  EXPECT_EQ(result.whole_device.energy_j, 5);
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
  demand.total_mib = -1;
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': total_mib is -1.000, expected a finite number "
            "of at least 0");
  demand = Exactly(10);
  demand.hi_mib = INFINITY;
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': hi_mib is inf, expected a finite number of at "
            "least 0");
  demand = Exactly(10);
  demand.energy_j = NAN;
  EXPECT_THAT(Refusal(demand), testing::HasSubstr("energy_j is "));
  demand = WithSlices(A100());
  demand.slices[1].latency_ms = -2;
  EXPECT_EQ(Refusal(demand), "demand of 'net': " + demand.slices[1].profile +
                                 " latency_ms is -2.000, expected a finite "
                                 "number of at least 0");
}

TEST(Recommend, RefusesAnIntervalWithoutItsTotal) {
  EXPECT_EQ(Refusal(DemandOf(20, 10, 30)),
            "demand of 'net': total_mib is 10.000, expected it within its "
            "interval 20.000 to 30.000");
  EXPECT_EQ(Refusal(DemandOf(5, 10, 9)),
            "demand of 'net': total_mib is 10.000, expected it within its "
            "interval 5.000 to 9.000");
}

TEST(Recommend, RefusesATimeThatLeavesAProfileOut) {
  Demand demand = WithSlices(A100());
  demand.slices.erase(demand.slices.begin());
  EXPECT_EQ(Refusal(demand),
            "demand of 'net': latency_ms is 10.000 and energy_j 5.000, but "
            "profile '1g.5gb' is not judged");
  // The device without MIG needs none.
  EXPECT_EQ(Judge(demand, A100()).latency_ms, 10);
}

TEST(Judge, IsWhatRecommendSaysOfThatPlace) {
  const Demand demand = WithSlices(A100());
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

TEST(Recommend, KnowsNoProfileForAStepThatGpusShare) {
  const Recommendation shared = Recommend(
      {.total_mib = 100, .lo_mib = 100, .hi_mib = 100, .gpus = 8}, A100());
  EXPECT_FALSE(shared.profile);
  EXPECT_TRUE(shared.profiles.empty());
  EXPECT_TRUE(shared.whole_device.fits);
  EXPECT_THAT(shared.reason,
              testing::HasSubstr("NCCL does not span MIG instances"));
}

}  // namespace
}  // namespace foretell::mig
