#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/fit/fit_info.h"
#include "training/samples/batch_loader.h"
#include "training/samples/batch_plan.h"
#include "training/samples/feature_store.h"

namespace foretell::training {
namespace {

using dataset_test::Scratch;
using training_test::AllOf;

/// Samples with these numbers of nodes.
SampleSet SetOf(const std::vector<std::int64_t>& sizes) {
  SampleSet set;
  for (const std::int64_t size : sizes) {
    set.samples.push_back({.num_nodes = size});
  }
  return set;
}

SampleSet Hundred() {
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < 100; ++i) sizes.push_back(i * 37 % 101);
  return SetOf(sizes);
}

std::vector<std::size_t> Flat(const BatchPlan& plan) {
  std::vector<std::size_t> all;
  for (const auto& batch : plan) {
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(BatchPlan, HasEverySampleOnce) {
  const SampleSet set = Hundred();
  std::vector<std::size_t> all = Flat(PlanEpoch(set, AllOf(set), 8, 1));
  std::ranges::sort(all);
  EXPECT_EQ(all, AllOf(set));
}

TEST(BatchPlan, IsAFunctionOfItsSeed) {
  const SampleSet set = Hundred();
  EXPECT_EQ(PlanEpoch(set, AllOf(set), 8, 1), PlanEpoch(set, AllOf(set), 8, 1));
  EXPECT_NE(PlanEpoch(set, AllOf(set), 8, 1), PlanEpoch(set, AllOf(set), 8, 2));
}

// Must not change: a resumed run would go on in another order.
TEST(BatchPlan, IsTheSameOnEveryMachine) {
  const SampleSet set = SetOf({1, 2, 3, 4, 5});
  EXPECT_EQ(MixSeed(1, 2), 15286609552136564448u);
  EXPECT_EQ(PlanEpoch(set, AllOf(set), 2, 7), (BatchPlan{{4}, {0, 1}, {2, 3}}));
}

TEST(BatchPlan, PutsGraphsOfSimilarSizeTogether) {
  const SampleSet set = Hundred();
  std::int64_t spread = 0;
  for (const auto& batch : PlanEpoch(set, AllOf(set), 8, 3)) {
    const auto [low, high] = std::ranges::minmax(
        batch, {}, [&](std::size_t i) { return set.samples[i].num_nodes; });
    spread += set.samples[high].num_nodes - set.samples[low].num_nodes;
  }
  // 13 batches that share out 0 to 100 in order.
  EXPECT_LE(spread, 100);
}

TEST(BatchPlan, SharesBatchesBetweenWorkers) {
  const BatchPlan plan = {{5, 6, 7}, {8}};
  EXPECT_EQ(ShareOf(plan, 0, 2), (BatchPlan{{5, 7}, {8}}));
  EXPECT_EQ(ShareOf(plan, 1, 2), (BatchPlan{{6}, {}}));
}

TEST(BatchPlan, LimitsNodesInEvaluation) {
  const SampleSet set = SetOf({kMaxNodesInEvaluation, 1, 2, 3});
  EXPECT_EQ(PlanEvaluation(set, AllOf(set), 2), (BatchPlan{{1, 2}, {3}, {0}}));
}

TEST(FeatureStore, ReadsAGraphOnceWhileItFits) {
  const Scratch folder;
  training_test::MakeToyDataset(folder / "d.sqlite");
  FeatureStore store(folder / "d.sqlite", 1 << 20);
  const auto first = store.Get({.graph = 1});
  EXPECT_EQ(store.Get({.graph = 1}), first);
  EXPECT_EQ(store.reads(), 1);
  EXPECT_EQ(first->features.nodes.size(), 2);
}

TEST(FeatureStore, ForgetsWhatWasUsedLongestAgo) {
  const Scratch folder;
  training_test::MakeToyDataset(folder / "d.sqlite");
  FeatureStore probe(folder / "d.sqlite", 1 << 20);
  probe.Get({.graph = 1});
  probe.Get({.graph = 2});
  // Room for the first two only.
  FeatureStore store(folder / "d.sqlite", probe.cached_bytes());
  store.Get({.graph = 1});
  store.Get({.graph = 2});
  store.Get({.graph = 1});
  store.Get({.graph = 3});
  EXPECT_LE(store.cached_bytes(), probe.cached_bytes());
  EXPECT_EQ(store.reads(), 3);
  store.Get({.graph = 2});
  EXPECT_EQ(store.reads(), 4);
}

TEST(FeatureStore, MakesAChainOfTheNodesWhenAsked) {
  const Scratch folder;
  training_test::MakeToyDataset(folder / "d.sqlite");
  FeatureStore store(folder / "d.sqlite", 1 << 20,
                     {.edges = learned::EdgeKind::kChain});
  // Eight layers with a relu each.
  const auto input = store.Get({.graph = 8});
  const GraphFeatures& features = input->features;
  ASSERT_EQ(features.nodes.size(), 16);
  ASSERT_EQ(features.sources.size(), 15);
  for (std::int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(features.sources[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(features.targets[static_cast<std::size_t>(i)], i + 1);
  }
}

TEST(FeatureStore, TermsAreReadOnceWhileTheyFit) {
  const Scratch folder;
  training_test::MakeToyDataset(folder / "d.sqlite");
  FeatureStore store(folder / "d.sqlite", 1 << 20,
                     {.terms = learned::TermSet::kKernels});
  const InputKey request{
      .graph = 1,
      .device = &DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb")};
  const auto first = store.Get(request);
  EXPECT_GT(first->terms.num_terms(), 0);
  EXPECT_TRUE(first->features.nodes.empty());
  EXPECT_EQ(store.Get(request), first);
  InputKey other = request;
  other.run.autocast = true;
  EXPECT_NE(store.Get(other), first);
  EXPECT_EQ(store.reads(), 2);
  EXPECT_GT(store.cached_bytes(), 0);
}

TEST(FeatureStore, KeepsNothingWithoutRoom) {
  const Scratch folder;
  training_test::MakeToyDataset(folder / "d.sqlite");
  FeatureStore store(folder / "d.sqlite", 0);
  EXPECT_EQ(store.Get({.graph = 1})->features.nodes.size(), 2);
  EXPECT_EQ(store.cached_bytes(), 0);
}

class Loader : public testing::Test {
 protected:
  Loader() {
    training_test::MakeToyDataset(path_, {.energy_every = 2});
    set_ = training_test::SelectToy(path_);
    info_ = FitInfo({}, set_, learned::kAllTargets, AllOf(set_));
    store_.emplace(path_, 1 << 20);
  }

  Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
  SampleSet set_;
  learned::CheckpointInfo info_;
  std::optional<FeatureStore> store_;
};

TEST_F(Loader, MasksUnknownFigures) {
  const LoadedBatch batch = LoadBatch(*store_, set_, info_, {0, 1});
  EXPECT_EQ(batch.graphs.num_graphs(), 2);
  EXPECT_EQ(batch.graphs.num_nodes(), 2 + 4);
  const auto weights = batch.weights.accessor<float, 2>();
  EXPECT_EQ(weights[0][2], 1);
  EXPECT_EQ(weights[1][1], 1);
  EXPECT_EQ(weights[1][2], 0);
  EXPECT_NEAR(batch.targets[0][1].item<double>(),
              Encode(info_.targets[1].scale, 0.1, 1), 1e-6);
}

TEST_F(Loader, HandsBatchesOutInOrderFromTheFirstWanted) {
  const BatchPlan plan = {{0}, {1, 2}, {}, {3}, {4}, {5}, {6}, {7}};
  BatchLoader loader(*store_, set_, info_, plan, 1);
  for (std::size_t i = 1; i < plan.size(); ++i) {
    const std::optional<LoadedBatch> batch = loader.Next();
    ASSERT_TRUE(batch.has_value());
    EXPECT_EQ(batch->samples, plan[i]);
  }
  EXPECT_FALSE(loader.Next().has_value());
  EXPECT_FALSE(loader.Next().has_value());
}

TEST_F(Loader, EndsWithoutBeingEmptied) {
  BatchPlan plan(100, {0, 1});
  BatchLoader loader(*store_, set_, info_, plan);
  EXPECT_TRUE(loader.Next().has_value());
}

TEST_F(Loader, PassesErrorsOn) {
  set_.samples[2].graph = 999;
  BatchLoader loader(*store_, set_, info_, {{0}, {2}, {3}});
  EXPECT_TRUE(loader.Next().has_value());
  EXPECT_THROW(loader.Next(), Error);
}

}  // namespace
}  // namespace foretell::training
