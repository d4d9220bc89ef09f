#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "foretell/mig.h"
#include "src/mig/pack_device.h"
#include "tests/mig/is_valid.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

std::string Instances(const Packing& packing) {
  std::string text;
  for (const PackedInstance& instance : packing.instances) {
    text += std::to_string(instance.device) + "/" +
            std::to_string(instance.start) + ":" +
            std::to_string(instance.memory_slots) + " " + instance.profile +
            " " + instance.model + "; ";
  }
  return text;
}

/// Every device of the packing holds a valid layout, every instance has enough
/// memory for its job, and every job has one instance or is unplaced.
void ExpectSound(const Packing& packing, const std::vector<Job>& jobs,
                 const DeviceSpec& device) {
  std::map<int, Layout> layouts;
  std::map<std::string, int> placed;
  for (const PackedInstance& instance : packing.instances) {
    const MigProfile& profile = device.FindMigProfile(instance.profile);
    layouts[instance.device].push_back(
        {static_cast<int>(&profile - device.mig_profiles.data()),
         instance.start});
    ++placed[instance.model];
    const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) {
      return j.model == instance.model;
    });
    ASSERT_NE(job, jobs.end());
    EXPECT_GE(static_cast<double>(profile.usable_mib), job->needed_mib);
  }
  for (const auto& [index, layout] : layouts) {
    EXPECT_LT(index, packing.num_devices);
    EXPECT_TRUE(IsValid(device, layout));
  }
  EXPECT_EQ(layouts.size(), static_cast<std::size_t>(packing.num_devices));
  for (const std::string& model : packing.unplaced) ++placed[model];
  EXPECT_EQ(placed.size(), jobs.size());
  for (const auto& [model, count] : placed) EXPECT_EQ(count, 1) << model;
  EXPECT_EQ(packing.fits, packing.unplaced.empty());
  EXPECT_EQ(packing.fits, packing.reason.empty());
}

std::vector<Job> Jobs(const std::vector<double>& needed_mib) {
  std::vector<Job> jobs;
  for (const double mib : needed_mib) {
    std::string model = "m";
    model += std::to_string(jobs.size());
    jobs.push_back({model, mib, {}});
  }
  return jobs;
}

std::string Refusal(const std::vector<Job>& jobs, const DeviceSpec& device,
                    const PackOptions& options, ErrorCode code) {
  try {
    Pack(jobs, device, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "accepted";
}

TEST(Pack, GivesOneSmallModelOneSlice) {
  const std::vector<Job> jobs = Jobs({4000});
  const Packing packing = Pack(jobs, A100());
  EXPECT_TRUE(packing.fits);
  EXPECT_EQ(Instances(packing), "0/0:1 1g.5gb m0; ");
  EXPECT_EQ(packing.compute_slices, 1);
  EXPECT_EQ(packing.memory_slots, 1);
  EXPECT_EQ(packing.num_devices, 1);
  EXPECT_EQ(packing.at_least_devices, 1);
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, FillsADeviceWithSevenSmallModels) {
  const std::vector<Job> jobs = Jobs({1, 2, 3, 4, 5, 6, 4864});
  const Packing packing = Pack(jobs, A100());
  EXPECT_TRUE(packing.fits);
  EXPECT_EQ(packing.compute_slices, 7);
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, LeavesTheEighthSmallModelOut) {
  const std::vector<Job> jobs = Jobs({1, 1, 1, 1, 1, 1, 1, 1});
  const Packing packing = Pack(jobs, A100());
  EXPECT_FALSE(packing.fits);
  EXPECT_EQ(packing.instances.size(), 7u);
  EXPECT_EQ(packing.unplaced, std::vector<std::string>{"m7"});
  EXPECT_EQ(packing.at_least_devices, 2);
  EXPECT_EQ(packing.reason,
            "the jobs need at least 8 compute slices and 8 memory slots, "
            "and 1 x 'a100-sxm4-40gb' has 7 and 8");
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, PrefersAComputeSliceLessToAMemorySlotLess) {
  // 9 GB fit 1g.10gb and 2g.10gb alike.
  EXPECT_EQ(Instances(Pack(Jobs({9000}), A100())), "0/0:2 1g.10gb m0; ");
}

TEST(Pack, PlacesTheFourSliceInstanceFirstThoughThreeWouldGoThere) {
  // Each job names its profile; 4g may only start at slot 0.
  const std::vector<Job> jobs = {{"three", 20000, {"3g.20gb"}},
                                 {"four", 20000, {"4g.20gb"}}};
  const Packing packing = Pack(jobs, A100());
  EXPECT_TRUE(packing.fits);
  EXPECT_EQ(Instances(packing), "0/0:4 4g.20gb four; 0/4:4 3g.20gb three; ");
  EXPECT_EQ(packing.compute_slices, 7);
  EXPECT_EQ(packing.memory_slots, 8);
}

TEST(Pack, MovesTheLargeInstanceOutOfTheWayOfTheSmallOnes) {
  // 2g.10gb may start at slots 0, 2 and 4, so two of them beside 3g.20gb, which
  // comes first in the order of need, leave it only the right half.
  const std::vector<Job> jobs = {{"a", 20000, {"3g.20gb"}},
                                 {"b", 9000, {"2g.10gb"}},
                                 {"c", 9000, {"2g.10gb"}}};
  EXPECT_EQ(Instances(Pack(jobs, A100())),
            "0/0:2 2g.10gb b; 0/2:2 2g.10gb c; 0/4:4 3g.20gb a; ");
}

TEST(Pack, FillsTheLastSlotsWithTheDoubleMemoryProfile) {
  const std::vector<Job> jobs = {{"a", 9000, {"2g.10gb"}},
                                 {"b", 9000, {"2g.10gb"}},
                                 {"c", 9000, {"2g.10gb"}},
                                 {"d", 9000, {"1g.10gb"}}};
  EXPECT_EQ(Instances(Pack(jobs, A100())),
            "0/0:2 2g.10gb a; 0/2:2 2g.10gb b; 0/4:2 2g.10gb c; 0/6:2 1g.10gb "
            "d; ");
}

TEST(Pack, KnowsThatTotalsCanFitWhereNoPlacementDoes) {
  const std::vector<Job> jobs = {{"a", 9000, {"2g.10gb"}},
                                 {"b", 9000, {"2g.10gb"}},
                                 {"c", 9000, {"2g.10gb"}},
                                 {"d", 9000, {"1g.10gb"}}};
  DeviceSpec no_last_slot = A100();
  no_last_slot.mig_profiles[2].placements = {0, 2, 4};  // 1g.10gb.
  const Packing packing = Pack(jobs, no_last_slot);
  EXPECT_FALSE(packing.fits);
  EXPECT_EQ(packing.unplaced, std::vector<std::string>{"d"});
  EXPECT_EQ(packing.reason,
            "the jobs need at least 7 compute slices and 8 memory slots, and 1 "
            "x 'a100-sxm4-40gb' has 7 and 8, but no placement was found that "
            "holds them all");
}

TEST(Pack, SaysThatNoProfileHoldsAModel) {
  const std::vector<Job> jobs = {
      {"huge", 50000, {}}, {"picky", 6000, {"1g.5gb"}}, {"small", 100, {}}};
  const Packing packing = Pack(jobs, A100());
  EXPECT_FALSE(packing.fits);
  EXPECT_THAT(packing.unplaced, testing::ElementsAre("huge", "picky"));
  EXPECT_EQ(packing.reason,
            "'huge' needs 50000 MiB, but its largest profile 7g.40gb has 40448 "
            "MiB; 'picky' needs 6000 MiB, but its largest profile 1g.5gb has "
            "4864 MiB");
  EXPECT_EQ(Instances(packing), "0/0:1 1g.5gb small; ");
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, UsesMediaProfilesOnRequestAndOnce) {
  const std::vector<Job> jobs = {{"a", 100, {"1g.5gb+me"}},
                                 {"b", 100, {"1g.5gb+me"}}};
  const Packing without = Pack(jobs, A100());
  EXPECT_EQ(without.unplaced.size(), 2u);
  EXPECT_THAT(without.reason,
              testing::StartsWith("'a' needs 100 MiB, but its profiles are "
                                  "used only with media extensions"));
  const Packing one = Pack(jobs, A100(), {.media_extensions = true});
  EXPECT_EQ(Instances(one), "0/0:1 1g.5gb+me a; ");
  const Packing two =
      Pack(jobs, A100(), {.media_extensions = true, .max_devices = 2});
  EXPECT_EQ(Instances(two), "0/0:1 1g.5gb+me a; 1/0:1 1g.5gb+me b; ");
}

TEST(Pack, JudgesEveryProfileWithItsOwnContext) {
  // 4954 MiB on the whole card, 190 less on the smallest slice: as `fits` says.
  const Demand demand = {
      .model = "net",
      .total_mib = 4900,
      .lo_mib = 4800,
      .hi_mib = 4954,
      .slices = {{.profile = "1g.5gb", .context_saved_mib = 190},
                 {.profile = "1g.10gb", .context_saved_mib = 190}}};
  const std::vector<Job> jobs = {ToJob(demand)};
  const Packing packing = Pack(jobs, A100());
  ASSERT_TRUE(packing.fits);
  EXPECT_EQ(packing.instances[0].profile, "1g.5gb");
  EXPECT_EQ(packing.instances[0].needed_mib, 4764);
  EXPECT_EQ(packing.instances[0].margin_mib, 100);
  EXPECT_EQ(packing.instances[0].profile, Recommend(demand, A100()).profile);
}

TEST(Pack, PlacesManySmallJobsRatherThanALargeOne) {
  const std::vector<Job> jobs = Jobs({40000, 4000, 4000, 20000, 9000});
  const Packing packing = Pack(jobs, A100());
  EXPECT_FALSE(packing.fits);
  EXPECT_EQ(packing.unplaced, std::vector<std::string>{"m0"});
  EXPECT_EQ(packing.instances.size(), 4);
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, RefusesAStepThatGpusShare) {
  const std::vector<Job> jobs = {ToJob(
      {.model = "net", .total_mib = 1, .lo_mib = 1, .hi_mib = 1, .gpus = 4})};
  EXPECT_THAT(Refusal(jobs, A100(), {}, ErrorCode::kInvalidArgument),
              testing::HasSubstr("NCCL does not span MIG instances"));
}

TEST(Pack, TakesAsManyDevicesAsItNeeds) {
  const std::vector<Job> jobs(20, Job{"m", 20000, {}});
  const Packing packing = Pack(jobs, A100(), {.max_devices = 0});
  EXPECT_TRUE(packing.fits);
  EXPECT_EQ(packing.num_devices, 10);
  EXPECT_EQ(packing.at_least_devices, 10);
  EXPECT_EQ(packing.compute_slices, 60);
  EXPECT_EQ(packing.memory_slots, 80);
}

TEST(Pack, StopsAtTheDevicesItIsGiven) {
  const std::vector<Job> jobs = Jobs({40000, 40000, 40000});
  const Packing packing = Pack(jobs, A100(), {.max_devices = 2});
  EXPECT_FALSE(packing.fits);
  EXPECT_EQ(packing.num_devices, 2);
  EXPECT_EQ(packing.at_least_devices, 3);
  EXPECT_EQ(packing.reason,
            "the jobs need at least 21 compute slices and 24 memory "
            "slots, and 2 x 'a100-sxm4-40gb' has 14 and 16");
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, FillsAFormerDeviceBeforeItOpensAnother) {
  const std::vector<Job> jobs = Jobs({4000, 20000, 20000, 20000, 4000});
  const Packing packing = Pack(jobs, A100(), {.max_devices = 0});
  EXPECT_EQ(packing.num_devices, 2);
  ExpectSound(packing, jobs, A100());
}

TEST(Pack, DoesNotDependOnTheOrderOfTheJobs) {
  std::mt19937 random(7);
  std::vector<Job> jobs = Jobs({4000, 20000, 9000, 300, 4900, 19000, 100});
  const Packing first = Pack(jobs, A100(), {.max_devices = 0});
  for (int i = 0; i < 20; ++i) {
    std::shuffle(jobs.begin(), jobs.end(), random);
    const Packing shuffled = Pack(jobs, A100(), {.max_devices = 0});
    EXPECT_EQ(shuffled.num_devices, first.num_devices);
    EXPECT_EQ(shuffled.compute_slices, first.compute_slices);
    EXPECT_EQ(shuffled.memory_slots, first.memory_slots);
    ExpectSound(shuffled, jobs, A100());
  }
}

TEST(Pack, IsSoundForLongRandomLists) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> mib(1, 45000);
  for (const DeviceSpec* device : {&A100(), &A30()}) {
    std::vector<double> needs;
    for (int i = 0; i < 300; ++i) needs.push_back(mib(random));
    const std::vector<Job> jobs = Jobs(needs);
    const Packing packing = Pack(jobs, *device, {.max_devices = 0});
    ExpectSound(packing, jobs, *device);
    EXPECT_GE(packing.num_devices, packing.at_least_devices);
    EXPECT_LE(packing.num_devices, packing.at_least_devices * 3 / 2);
  }
}

TEST(Pack, GivesAnEmptyListNoDevice) {
  const Packing packing = Pack({}, A100());
  EXPECT_TRUE(packing.fits);
  EXPECT_EQ(packing.num_devices, 0);
  EXPECT_EQ(packing.at_least_devices, 0);
}

TEST(Pack, RefusesWhatMakesNoSense) {
  EXPECT_EQ(Refusal({{"a", -1, {}}}, A100(), {}, ErrorCode::kInvalidArgument),
            "pack: 'a' needs -1.0 MiB, expected a finite number of at least 0");
  EXPECT_THAT(
      Refusal({{"a", NAN, {}}}, A100(), {}, ErrorCode::kInvalidArgument),
      testing::HasSubstr("expected a finite number"));
  EXPECT_EQ(
      Refusal({}, A100(), {.max_devices = -1}, ErrorCode::kInvalidArgument),
      "pack: max_devices is -1, expected at least 0");
  EXPECT_EQ(
      Refusal(std::vector<Job>(10001), A100(), {}, ErrorCode::kInvalidArgument),
      "pack: 10001 jobs are given, expected at most 10000");
  EXPECT_THAT(Refusal({{"a", 1, {"9g.5gb"}}}, A100(), {}, ErrorCode::kNotFound),
              testing::HasSubstr("'9g.5gb' is unknown"));
  EXPECT_EQ(Refusal({}, DeviceWithoutMig(), {}, ErrorCode::kUnsupported),
            "'plain' has no MIG");
}

/// Cheapest layout of EnumerateLayouts whose instances serve all jobs.
std::optional<std::pair<int, int>> CheapestByEnumeration(
    const DeviceSpec& device, const std::vector<ProfileSet>& jobs,
    const std::vector<Layout>& layouts) {
  std::optional<std::pair<int, int>> best;
  for (const Layout& layout : layouts) {
    if (layout.size() != jobs.size()) continue;
    std::vector<std::size_t> order(jobs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    bool serves = false;
    do {
      serves = true;
      for (std::size_t i = 0; i < order.size() && serves; ++i) {
        const ProfileSet& set = jobs[order[i]];
        serves =
            std::find(set.begin(), set.end(), layout[i].profile) != set.end();
      }
    } while (!serves && std::next_permutation(order.begin(), order.end()));
    if (!serves) continue;
    std::pair<int, int> cost{0, 0};
    for (const PlacedInstance& instance : layout) {
      const MigProfile& profile =
          device.mig_profiles[static_cast<std::size_t>(instance.profile)];
      cost.first += profile.compute_slices;
      cost.second += profile.memory_slots;
    }
    if (!best || cost < *best) best = cost;
  }
  return best;
}

TEST(PackDevice, FindsTheOptimumOfTheEnumeration) {
  std::mt19937 random(3);
  const auto layouts = EnumerateLayouts(A100(), {.media_extensions = true});
  int feasible = 0;
  int infeasible = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<ProfileSet> jobs(1 + random() % 4);
    for (ProfileSet& set : jobs) {
      const std::uint32_t bits = 1 + random() % 127;
      for (int i = 0; i < 7; ++i) {
        if ((bits >> i & 1) != 0) set.push_back(i);
      }
      if (random() % 2 == 0) set.resize(1);
    }
    std::sort(jobs.begin(), jobs.end());
    const auto expected = CheapestByEnumeration(A100(), jobs, layouts);
    const auto found = PackDevice(A100(), jobs);
    ASSERT_EQ(found.has_value(), expected.has_value()) << round;
    ++(found ? feasible : infeasible);
    if (!found) continue;
    EXPECT_EQ(found->compute_slices, expected->first) << round;
    EXPECT_EQ(found->memory_slots, expected->second) << round;
    EXPECT_TRUE(IsValid(A100(), found->instances)) << round;
  }
  EXPECT_GT(feasible, 30);
  EXPECT_GT(infeasible, 10);
}

TEST(Pack, GivesEachInstanceTheFiguresOfItsProfile) {
  const Demand demand{.model = "a",
                      .total_mib = 8000,
                      .lo_mib = 7000,
                      .hi_mib = 9000,
                      .latency_ms = 1,
                      .slices = {{"1g.5gb", 8, 2}, {"1g.10gb", 7, 3}}};
  const std::vector<Job> jobs = {ToJob(demand), {"b", 100, {}}};
  EXPECT_EQ(jobs[0].needed_mib, 9000);
  const Packing packing = Pack(jobs, A100());
  ASSERT_EQ(Instances(packing), "0/0:2 1g.10gb a; 0/2:1 1g.5gb b; ");
  EXPECT_EQ(packing.instances[0].demand->latency_ms, 7);
  EXPECT_EQ(packing.instances[0].demand->energy_j, 3);
  EXPECT_EQ(packing.instances[1].demand, std::nullopt);
}

}  // namespace
}  // namespace foretell::mig
