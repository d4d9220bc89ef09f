#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "foretell/mig.h"
#include "tests/mig/toy_device.h"

namespace foretell::mig {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Demand ExampleDemand() {
  Demand demand{.model = "net",
                .total_mib = 5000,
                .lo_mib = 4000,
                .hi_mib = 6000.5,
                .latency_ms = 1,
                .energy_j = 2};
  for (const MigProfile& profile : A100().mig_profiles) {
    demand.slices.push_back({.profile = profile.name,
                             .latency_ms = 100.0 / profile.sms,
                             .energy_j = profile.sms / 50.0});
  }
  return demand;
}

Recommendation Example() { return Recommend(ExampleDemand(), A100()); }

TEST(FormatTable, ShowsEveryVerdictAndMarksTheChoice) {
  EXPECT_EQ(
      FormatTable(Example()),
      "profile      usable MiB  SMs  fits  margin MiB  latency ms  energy J\n"
      "1g.5gb             4864   14    no     -1136.5       7.143     0.280\n"
      "1g.10gb *          9984   14   yes     +3983.5       7.143     0.280\n"
      "2g.10gb            9984   28   yes     +3983.5       3.571     0.560\n"
      "3g.20gb           20096   42   yes    +14095.5       2.381     0.840\n"
      "4g.20gb           20096   56   yes    +14095.5       1.786     1.120\n"
      "7g.40gb           40448   98   yes    +34447.5       1.020     1.960\n"
      "without MIG       40441  108   yes    +34440.5       1.000     2.000\n"
      "MIG profile (usable-memory): 1g.10gb, the smallest profile that holds "
      "the upper bound: up to 6000.5 MiB are needed and 9984 MiB are usable\n");
}

TEST(FormatTable, CallsAProfileTightThatFitsWithoutTheCache) {
  Demand demand = ExampleDemand();
  demand.cache_mib = 1136.5;
  EXPECT_THAT(FormatTable(Recommend(demand, A100())),
              HasSubstr("14  tight     -1136.5"));
}

TEST(FormatTable, SaysNoneWhereNothingFits) {
  const Recommendation result = Recommend(
      {.total_mib = 5000, .lo_mib = 5000, .hi_mib = 5000}, DeviceWithoutMig());
  EXPECT_THAT(FormatTable(result),
              HasSubstr("MIG profile (usable-memory): none, 'plain' has no "
                        "MIG\n"));
}

TEST(FormatJson, StaysValidForANameThatIsNoUtf8) {
  Packing packing;
  packing.unplaced = {"\xff\"\n"};
  EXPECT_NO_THROW(json::parse(FormatJson(packing)));
}

TEST(FormatProfilesTable, ShowsTheMigTableOfADevice) {
  const std::string table = FormatProfilesTable(A30());
  EXPECT_EQ(
      table,
      "profile     usable MiB  SMs  compute slices  memory slots  bandwidth "
      "GB/s  most  starts at\n"
      "1g.6gb            5952   14               1             1             "
      "233     4    0,1,2,3\n"
      "1g.6gb+me         5952   14               1             1             "
      "233     1    0,1,2,3\n"
      "2g.12gb          11968   28               2             2             "
      "466     2        0,2\n"
      "2g.12gb+me       11968   28               2             2             "
      "466     1        0,2\n"
      "4g.24gb          24000   56               4             4             "
      "933     1          0\n");
  EXPECT_EQ(FormatProfilesTable(DeviceWithoutMig()), "plain has no MIG\n");
}

TEST(FormatProfilesJson, HoldsEveryField) {
  const json document = json::parse(FormatProfilesJson(A30()));
  EXPECT_EQ(document["device"], "a30");
  EXPECT_EQ(document["compute_slices"], 4);
  EXPECT_EQ(document["memory_slots"], 4);
  const json& last = document["profiles"][4];
  EXPECT_EQ(last["profile"], "4g.24gb");
  EXPECT_EQ(last["bandwidth_fraction"], 1);
  EXPECT_EQ(last["max_instances"], 1);
  EXPECT_EQ(last["media_extensions"], false);
  EXPECT_EQ(last["placements"], json({0}));
  EXPECT_THAT(last["source"].get<std::string>(), HasSubstr("nvidia-smi"));
}

TEST(FormatCounts, ShowsAllFourNumbers) {
  const LayoutCounts counts{297, 37, 19, 14};
  EXPECT_EQ(FormatCountsTable(A100(), counts),
            "a100-sxm4-40gb   placed  multisets\n"
            "layouts             297         37\n"
            "maximal layouts      19         14\n");
  const json document = json::parse(FormatCountsJson(A100(), counts));
  EXPECT_EQ(document["device"], "a100-sxm4-40gb");
  EXPECT_EQ(document["layouts"], 297);
  EXPECT_EQ(document["multisets"], 37);
  EXPECT_EQ(document["maximal_layouts"], 19);
  EXPECT_EQ(document["maximal_multisets"], 14);
}

TEST(FormatLayouts, WritesALinePerLayout) {
  const std::vector<Layout> layouts = {{{0, 0}, {4, 4}}, {{6, 0}}};
  EXPECT_EQ(FormatLayouts(A100(), layouts),
            "0:1 1g.5gb, 4:4 3g.20gb\n0:8 7g.40gb\n");
}

TEST(FormatTable, ShowsAPackingWithWhatWasLeftOut) {
  const std::vector<Job> jobs = {{"a", 100, {}}, {"b\n", 50000, {}}};
  EXPECT_EQ(FormatTable(Pack(jobs, A100())),
            "model  device  profile  slots  MiB at most  margin MiB  latency "
            "ms  energy J\n"
            "a           0   1g.5gb    0:1          100        4764           "
            "-         -\n"
            "1 device of a100-sxm4-40gb, 1 compute slice and 1 memory slot "
            "used\n"
            "lower bound on the number of devices: 1\n"
            "no place for b\\x0a\n"
            "does not fit: 'b\\x0a' needs 50000 MiB, but its largest profile "
            "7g.40gb has 40448 MiB\n");
}

TEST(FormatTable, ShowsWhatAModelTakesOnItsInstance) {
  const std::vector<Job> jobs = {ToJob(ExampleDemand())};
  EXPECT_THAT(
      FormatTable(Pack(jobs, A100())),
      HasSubstr("net         0  1g.10gb    0:2         6000        3984 "
                "      7.143     0.280\n"));
}

TEST(FormatJson, HoldsTheWholePacking) {
  const std::vector<Job> jobs = {{"a", 100, {}, {{"1g.5gb", 7, 3}}},
                                 {"b", 50000, {}}};
  const json document = json::parse(FormatJson(Pack(jobs, A100())));
  EXPECT_EQ(document["device"], "a100-sxm4-40gb");
  EXPECT_EQ(document["fits"], false);
  EXPECT_EQ(document["num_devices"], 1);
  EXPECT_EQ(document["at_least_devices"], 1);
  EXPECT_EQ(document["compute_slices"], 1);
  EXPECT_EQ(document["memory_slots"], 1);
  EXPECT_EQ(document["instances"],
            json::parse(R"([{"device": 0, "profile": "1g.5gb", "start": 0,
                             "memory_slots": 1, "model": "a",
                             "needed_mib": 100.0, "margin_mib": 4764.0,
                             "latency_ms": 7.0, "energy_j": 3.0}])"));
  EXPECT_EQ(document["unplaced"], json({"b"}));
  EXPECT_THAT(document["reason"].get<std::string>(), HasSubstr("50000"));
  const std::vector<Job> unknown = {{"a", 100, {}}};
  const json one = json::parse(FormatJson(Pack(unknown, A100())));
  EXPECT_TRUE(one["instances"][0]["latency_ms"].is_null());
}

}  // namespace
}  // namespace foretell::mig
