// What a network sees is made by one function: of a stored graph in training,
// of a traced one in prediction. Both must be equal.

#include "src/network/make_input.h"

#include <gtest/gtest.h>

#include "foretell/graph_io.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/samples/samples.h"

namespace foretell::training {
namespace {

using dataset_test::Scratch;
using learned::EdgeKind;
using learned::InputRecipe;
using learned::NetworkInput;
using learned::TermSet;

void ExpectEqual(const NetworkInput& one, const NetworkInput& other) {
  EXPECT_EQ(one.features.nodes, other.features.nodes);
  EXPECT_EQ(one.features.sources, other.features.sources);
  EXPECT_EQ(one.features.targets, other.features.targets);
  EXPECT_EQ(one.costs.columns, other.costs.columns);
  EXPECT_EQ(one.costs.shares, other.costs.shares);
  EXPECT_EQ(one.terms.classes, other.terms.classes);
  EXPECT_EQ(one.terms.features, other.terms.features);
  EXPECT_EQ(one.terms.amounts, other.terms.amounts);
  EXPECT_EQ(one.terms.totals, other.terms.totals);
  EXPECT_EQ(one.terms.sources, other.terms.sources);
  EXPECT_EQ(one.terms.targets, other.terms.targets);
}

TEST(MakeInput, GivesTheSameInTrainingAndInPrediction) {
  const Scratch folder;
  const std::string path = folder / "d.sqlite";
  training_test::MakeToyDataset(path);
  const OperatorGraph graph = Dataset::Open(path).Graph(3);
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const DeviceSpec& device = catalog.FindDevice("a100-sxm4-40gb");
  const foretell::Run run{.autocast = true};
  for (const InputRecipe& recipe :
       {InputRecipe{}, InputRecipe{.edges = EdgeKind::kChain},
        InputRecipe{.node_costs = true, .host = Host::kCpp},
        InputRecipe{.terms = TermSet::kKernels},
        InputRecipe{.terms = TermSet::kPortableKernels},
        InputRecipe{.terms = TermSet::kKernelGraph},
        InputRecipe{.terms = TermSet::kKernelGraph, .edges = EdgeKind::kNone},
        InputRecipe{.terms = TermSet::kReplay}}) {
    FeatureStore store(path, 1 << 20, recipe, catalog.DefaultContext());
    learned::TracedGraph traced(graph);
    ExpectEqual(
        *store.Get({.graph = 3, .device = &device, .run = run}),
        MakeInput(traced, {&device, run, catalog.DefaultContext()}, recipe));
  }
}

TEST(MakeInput, FollowsTheRecipe) {
  const Scratch folder;
  const std::string path = folder / "d.sqlite";
  training_test::MakeToyDataset(path);
  const OperatorGraph graph = Dataset::Open(path).Graph(3);
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const DeviceSpec& device = catalog.FindDevice("a100-sxm4-40gb");
  const auto make = [&](const InputRecipe& recipe) {
    learned::TracedGraph traced(graph);
    return MakeInput(traced, {&device, {}, catalog.DefaultContext()}, recipe);
  };
  EXPECT_TRUE(make({}).costs.columns.empty());
  EXPECT_FALSE(make({.node_costs = true}).costs.columns.empty());
  EXPECT_EQ(make({.edges = EdgeKind::kChain}).features.sources.size(),
            graph.nodes().size() - 1);
  EXPECT_TRUE(make({.edges = EdgeKind::kNone}).features.sources.empty());
  const NetworkInput terms = make({.terms = TermSet::kReplay});
  EXPECT_TRUE(terms.features.nodes.empty());
  EXPECT_GT(terms.terms.num_terms(), 0);
}

TEST(MakeInput, JoinsKernelsAsTheRecipeSays) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[4096,4096]
%a = relu(%x) : f32[4096,4096]
%b = sigmoid(%x) : f32[4096,4096]
%c = add(%a, %b) : f32[4096,4096]
)");
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  const DeviceSpec& device = catalog.FindDevice("a100-sxm4-40gb");
  const auto terms = [&](EdgeKind edges) {
    learned::TracedGraph traced(graph);
    return MakeInput(traced, {&device, {}, catalog.DefaultContext()},
                     {.terms = TermSet::kKernelGraph, .edges = edges})
        .terms;
  };
  using Ends = std::vector<std::int64_t>;
  EXPECT_EQ(terms(EdgeKind::kDataFlow).sources, (Ends{0, 1}));
  EXPECT_EQ(terms(EdgeKind::kDataFlow).targets, (Ends{2, 2}));
  // Launches and the constant stay alone.
  EXPECT_EQ(terms(EdgeKind::kChain).num_terms(), 5);
  EXPECT_EQ(terms(EdgeKind::kChain).sources, (Ends{0, 1}));
  EXPECT_EQ(terms(EdgeKind::kChain).targets, (Ends{1, 2}));
  EXPECT_TRUE(terms(EdgeKind::kNone).sources.empty());
}

TEST(SelectSamples, TakesTheColumnsOfARecipe) {
  const Scratch folder;
  const std::string path = folder / "d.sqlite";
  training_test::MakeToyDataset(path);
  const SampleSet set = SelectSamples(
      Dataset::Open(path),
      {.targets = {learned::Target::kMemory},
       .recipe = {.columns = {{.key = learned::ParseColumnKey("device.sms")},
                              {.key = learned::ParseColumnKey("batch")}}},
       .catalog = &DeviceCatalog::BuiltIn()});
  ASSERT_EQ(set.recipe.columns.size(), 2);
  EXPECT_EQ(set.samples[0].inputs.at(0), 108);
}

}  // namespace
}  // namespace foretell::training
