#include "src/features/term_probe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "foretell/graph_io.h"
#include "src/features/probe_graphs.h"

namespace foretell::learned {
namespace {

TEST(TermProbe, IsWithinTheThresholdUntilAnAmountOrAFeatureMoves) {
  const TermProbe then{.amounts = {1, 0.5}, .features = {0.1, -0.2}};
  EXPECT_FALSE(DriftOf(then, then).IsLarge());
  TermProbe now = then;
  now.amounts[1] = 0.505;
  EXPECT_NEAR(DriftOf(then, now).amounts, std::log(0.506 / 0.501), 1e-9);
  EXPECT_FALSE(DriftOf(then, now).IsLarge());
  now.amounts[1] = 0.48;
  EXPECT_TRUE(DriftOf(then, now).IsLarge());
  now = then;
  now.features[0] = 0.13;
  EXPECT_NEAR(DriftOf(then, now).features, 0.03, 1e-9);
  EXPECT_TRUE(DriftOf(then, now).IsLarge());
  now = then;
  now.amounts.push_back(1);
  EXPECT_EQ(DriftOf(then, now).amounts,
            std::numeric_limits<double>::infinity());
}

TEST(TermProbe, ForgivesWhatIsBelowAMicrosecond) {
  const TermProbe then{.amounts = {0, 1e-6}};
  EXPECT_FALSE(DriftOf(then, {.amounts = {1e-6, 1e-5}}).IsLarge());
}

TEST(TermProbe, SeesEveryDevice) {
  const InputRecipe recipe{.terms = TermSet::kPortableKernels};
  const TermProbe one = ProbeTerms(recipe, {"rtx-3090"});
  const TermProbe both = ProbeTerms(recipe, {"rtx-3090", "rtx-4090"});
  EXPECT_EQ(both.amounts.size(), 2 * one.amounts.size());
  EXPECT_GT(DriftOf(one, ProbeTerms(recipe, {"rtx-4090"})).amounts, 0.1);
  // A name that only a device file knows.
  EXPECT_EQ(ProbeTerms(recipe, {"my-card"}),
            ProbeTerms(recipe, {"a100-sxm4-40gb"}));
}

TEST(TermProbe, SeesWhatASetStartsFrom) {
  const auto probe = [](TermSet terms) {
    return ProbeTerms({.terms = terms}, {"a100-sxm4-40gb"});
  };
  EXPECT_GT(DriftOf(probe(TermSet::kRawKernels), probe(TermSet::kStepKernels))
                .amounts,
            0.1);
  EXPECT_GT(probe(TermSet::kReplay).amounts[0], 100);
}

// A class that is in no probe could change without notice.
TEST(ProbeGraphs, HaveEveryClassOfForwardKernels) {
  const OperatorGraph graph = ParseGraph(kProbeGraphs[0]);
  const DeviceSpec& device =
      DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
  const TermTable table = KernelTerms(
      graph, {device, RunAsLearned(RunOf(graph.info(), {}), {}), {}});
  const std::set<std::int32_t> seen(table.classes.begin(), table.classes.end());
  for (std::int32_t one = 0; one < kLaunchClass; ++one) {
    EXPECT_TRUE(seen.contains(one)) << one;
  }
}

}  // namespace
}  // namespace foretell::learned
