#include "training/samples/samples.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using learned::Target;
using training_test::MakeToyDataset;

const std::vector<Target> kTargets = {Target::kMemory, Target::kLatency,
                                      Target::kEnergy};

/// Eight points measured on an A100, the first also simulated.
class Samples : public testing::Test {
 protected:
  Samples() {
    MakeToyDataset(path_, {.energy_every = 2});
    Label simulated{.point = 1, .device = "a100-sxm4-40gb"};
    simulated.source = "foretell analytic";
    simulated.provenance = Provenance::kSimulated;
    simulated.memory_mib = 400;
    simulated.latency_ms = 0.2;
    Put(simulated);
  }

  void Put(const Label& label) {
    Dataset::OpenForWriting(path_).PutLabel(label);
  }
  SampleSet Select(const SampleOptions& options) const {
    return SelectSamples(Dataset::Open(path_), options);
  }

  Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
};

TEST_F(Samples, JoinLabelsPointsAndGraphs) {
  const SampleSet set = Select({.targets = kTargets});
  ASSERT_EQ(set.samples.size(), 8);
  const Sample& third = set.samples[2];
  EXPECT_EQ(third.model, "chain3");
  EXPECT_EQ(third.family, "odd");
  EXPECT_EQ(third.num_nodes, 6);
  EXPECT_EQ(ValueOf(third.targets, Target::kMemory), 530);
  ASSERT_EQ(third.inputs.size(), 5);
  // Three convolutions of 7 × 7 × 3 × 3 weights on 64 pixels.
  EXPECT_EQ(third.inputs[0], 3 * 7 * 7 * 9 * 64);
}

TEST_F(Samples, HaveTheGraphOfTheRunOfTheirLabel) {
  Label label{.point = 2, .device = "h100"};
  label.setting = R"({"autocast":"true","driver":"570"})";
  label.source = "test";
  label.latency_ms = 4;
  Put(label);
  const SampleOptions options{.targets = {Target::kLatency},
                              .devices = {"h100"}};
  ExpectError(ErrorCode::kInvalidArgument,
              "no graph of the 1 label that match; add graphs",
              [&] { Select(options); });
  Dataset::OpenForWriting(path_).AddRunGraph(
      2, R"({"autocast":"true"})", training_test::ChainGraph(2, 3, 5));
  const SampleSet set = Select(options);
  ASSERT_EQ(set.samples.size(), 1);
  EXPECT_EQ(set.samples[0].graph, Dataset::Open(path_).RunGraphs().at(0).graph);
  EXPECT_EQ(set.samples[0].num_nodes, 6);
  EXPECT_EQ(set.without_graph, 0);
}

TEST_F(Samples, HaveAColumnForEachValueInTheirEnvironments) {
  Label label{.point = 2, .device = "a100-sxm4-40gb"};
  label.setting = R"({"memory_format":"nhwc"})";
  label.source = "another";
  label.memory_mib = 400;
  Put(label);
  Dataset::OpenForWriting(path_).AddRunGraph(
      2, R"({"memory_format":"channels_last"})",
      training_test::ChainGraph(2, 3, 5));
  const SampleSet set =
      Select({.targets = kTargets, .setting_keys = {"memory_format"}});
  ASSERT_EQ(set.samples.size(), 9);
  const auto keys = KeysOf(set.recipe.columns);
  ASSERT_EQ(keys.size(), 7);
  EXPECT_EQ(ToString(keys[5]), "environment.memory_format=");
  EXPECT_EQ(ToString(keys[6]), "environment.memory_format=nhwc");
  EXPECT_EQ(set.samples[0].inputs[6], 0);
  EXPECT_EQ(set.samples[8].inputs[6], 1);
}

TEST_F(Samples, KnowTheirDeviceForTheCostsOfNodes) {
  const SampleSet set = Select({.targets = kTargets,
                                .recipe = {.node_costs = true},
                                .catalog = &DeviceCatalog::BuiltIn()});
  const Sample& first = set.samples[0];
  EXPECT_EQ(set.InputOf(first).graph, first.graph);
  EXPECT_EQ(set.InputOf(first).device->name, "a100-sxm4-40gb");
  EXPECT_EQ(Select({.targets = kTargets}).InputOf(first).device, nullptr);
}

TEST_F(Samples, LeaveUnknownFiguresUnknown) {
  const SampleSet set = Select({.targets = kTargets});
  EXPECT_TRUE(
      learned::IsKnown(ValueOf(set.samples[0].targets, Target::kEnergy)));
  EXPECT_FALSE(
      learned::IsKnown(ValueOf(set.samples[1].targets, Target::kEnergy)));
}

TEST_F(Samples, WithoutAnyFigureAreLeftOut) {
  const SampleSet set = Select({.targets = {Target::kEnergy}});
  EXPECT_EQ(set.samples.size(), 4);
  EXPECT_EQ(set.without_figure, 4);
  EXPECT_FALSE(
      learned::IsKnown(ValueOf(set.samples[0].targets, Target::kMemory)));
}

TEST_F(Samples, AreNotSimulatedWhereThereAreMeasuredOnes) {
  const SampleSet set = Select({.targets = kTargets});
  for (const Sample& sample : set.samples) {
    EXPECT_EQ(sample.provenance, Provenance::kMeasured);
  }
}

TEST_F(Samples, MixProvenancesWhenBothAreNamed) {
  const SampleSet set =
      Select({.targets = kTargets,
              .provenances = {Provenance::kMeasured, Provenance::kSimulated},
              .simulated_weight = 0.25});
  ASSERT_EQ(set.samples.size(), 9);
  EXPECT_EQ(set.samples[7].weight, 1);
  EXPECT_EQ(set.samples[8].weight, 0.25);
  const auto counts = set.CountProvenance(training_test::AllOf(set));
  EXPECT_EQ(counts.at(Provenance::kSimulated), 1);
}

TEST_F(Samples, WeighSourcesAlikeWhereThatIsAsked) {
  Label label{.point = 2, .device = "a100-sxm4-40gb"};
  label.source = "another";
  label.memory_mib = 400;
  Put(label);
  const SampleSet set = Select({.targets = kTargets, .source_balance = 1});
  ASSERT_EQ(set.samples.size(), 9);
  EXPECT_EQ(set.sources[set.samples[8].source], "another");
  EXPECT_EQ(set.sources[set.samples[0].source], "test");
  EXPECT_FLOAT_EQ(set.samples[0].weight, 4.5 / 8);
  EXPECT_FLOAT_EQ(set.samples[8].weight, 4.5);
}

TEST_F(Samples, AreJudgedByMeasuredLabelsWhereTheyAreMixed) {
  const SampleSet set =
      Select({.targets = kTargets,
              .provenances = {Provenance::kMeasured, Provenance::kSimulated}});
  EXPECT_EQ(set.ForJudging({6, 7, 8}), (std::vector<std::size_t>{6, 7}));
  EXPECT_EQ(set.ForJudging({8}), (std::vector<std::size_t>{8}));
}

TEST_F(Samples, TakeSimulatedLabelsForAPrior) {
  const SampleSet set =
      Select({.targets = kTargets, .prior_from_labels = true});
  ASSERT_EQ(set.samples.size(), 1);
  EXPECT_EQ(set.recipe.prior, "analytic");
  EXPECT_EQ(ValueOf(set.samples[0].prior, Target::kMemory), 400);
  // Its energy was not simulated: two of three figures remain.
  EXPECT_FALSE(
      learned::IsKnown(ValueOf(set.samples[0].targets, Target::kEnergy)));
  EXPECT_EQ(set.without_prior, 7 * 2 + 4);
}

TEST_F(Samples, SeeThePriorAndTheDevice) {
  const Prior prior{
      .name = "half",
      .figures = {"nodes"},
      .estimate = [](const OperatorGraph& graph, const DeviceSpec& device,
                     const foretell::Run&) {
        const auto nodes = static_cast<double>(graph.nodes().size());
        return PriorFigures{{nodes, 2 * nodes, 1.0 * device.sms},
                            {{"nodes", nodes}}};
      }};
  const SampleSet set = Select({.targets = kTargets,
                                .device_columns = true,
                                .prior_columns = true,
                                .prior = &prior,
                                .catalog = &DeviceCatalog::BuiltIn(),
                                .threads = 3});
  const Sample& second = set.samples[1];
  EXPECT_EQ(ValueOf(second.prior, Target::kLatency), 8);
  EXPECT_EQ(ValueOf(second.prior, Target::kEnergy), 108);
  const auto column = [&](const std::string& name) {
    const auto keys = KeysOf(set.recipe.columns);
    const auto found = std::ranges::find(keys, learned::ParseColumnKey(name));
    return second.inputs.at(static_cast<std::size_t>(found - keys.begin()));
  };
  EXPECT_EQ(column("device.sms"), 108);
  EXPECT_EQ(column("prior.memory_mib"), 4);
  EXPECT_EQ(column("prior:nodes"), 4);
}

TEST_F(Samples, ThrowWhatThePriorThrows) {
  const Prior prior{.name = "none",
                    .figures = {},
                    .estimate = [](const OperatorGraph&, const DeviceSpec&,
                                   const foretell::Run&) -> PriorFigures {
                      throw Error(ErrorCode::kUnsupported, "cannot");
                    }};
  ExpectError(ErrorCode::kUnsupported, "cannot", [&] {
    Select({.targets = kTargets,
            .prior = &prior,
            .catalog = &DeviceCatalog::BuiltIn(),
            .threads = 2});
  });
}

TEST_F(Samples, NeedADeviceToBeNamedWhereThereAreSeveral) {
  Label other{.point = 1, .device = "h100"};
  other.source = "test";
  other.latency_ms = 1;
  Put(other);
  ExpectError(ErrorCode::kInvalidArgument, "a100-sxm4-40gb, h100",
              [&] { Select({.targets = kTargets}); });
  EXPECT_EQ(Select({.targets = kTargets, .devices = {"h100"}}).samples.size(),
            1);
  const SampleSet all = Select({.targets = kTargets, .all_devices = true});
  EXPECT_EQ(all.samples.size(), 9);
  EXPECT_EQ(all.devices[all.samples[8].device], "h100");
  EXPECT_EQ(all.settings[all.samples[8].setting], other.setting);
}

TEST_F(Samples, SayWhatThereIsWhenNoneFits) {
  ExpectError(ErrorCode::kInvalidArgument, "a100-sxm4-40gb",
              [&] { Select({.targets = kTargets, .devices = {"b200"}}); });
}

TEST_F(Samples, FollowTheSplitsOfTheDataset) {
  Dataset dataset = Dataset::OpenForWriting(path_);
  dataset.PutSplit("mine", "random", 0,
                   {{1, "train"}, {2, "validation"}, {3, "test"}});
  const SampleSet set = Select({.targets = kTargets, .split = "mine"});
  EXPECT_EQ(set.PartOf(Part::kTrain), (std::vector<std::size_t>{0}));
  EXPECT_EQ(set.PartOf(Part::kValidation), (std::vector<std::size_t>{1}));
  EXPECT_EQ(set.PartOf(Part::kTest), (std::vector<std::size_t>{2}));
  EXPECT_EQ(set.samples[3].part, std::nullopt);
  ExpectError(ErrorCode::kNotFound, "mine",
              [&] { Select({.targets = kTargets, .split = "yours"}); });
}

TEST_F(Samples, SplitByConfigurationWithoutAStoredSplit) {
  const SampleSet set = Select({.targets = kTargets, .split = "configuration"});
  const std::size_t parts = set.PartOf(Part::kTrain).size() +
                            set.PartOf(Part::kValidation).size() +
                            set.PartOf(Part::kTest).size();
  EXPECT_EQ(parts, 8);
  EXPECT_EQ(set.PartOf(Part::kTrain).size(), 6);
}

}  // namespace
}  // namespace foretell::training
