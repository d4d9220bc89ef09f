#include "src/network/checkpoint.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>

#include "foretell/version.h"
#include "src/answer/learned_model.h"
#include "src/network/weights.h"
#include "tests/datasets/expect_error.h"

namespace foretell::learned {
namespace {

using dataset_test::ExpectError;

NetworkOptions TinyNetwork() {
  return {.kind = {LayerKind::kPmgns},
          .static_features = 5,
          .hidden = 4,
          .graph_blocks = 1,
          .layers_per_block = 1,
          .head_blocks = 1,
          .outputs = 2};
}

CheckpointInfo TinyInfo() {
  CheckpointInfo info{.feature_version = kFeatureVersion,
                      .foretell_version = kVersion,
                      .network = TinyNetwork()};
  info.targets = {{.scale = {Target::kMemory, ScaleKind::kLog, 7, 1.5},
                   .interval = ResidualInterval{-0.1, 0.2, 0.9, 100},
                   .validation_mape = 0.05},
                  {.scale = {Target::kLatency, ScaleKind::kLog, 1, 0.5}}};
  for (const ColumnKey& key : StaticColumns()) {
    info.recipe.columns.push_back({key, 1, 0.5});
  }
  info.devices = {"a100-sxm4-40gb"};
  info.sources = {"test"};
  info.provenance = {{"measured", 3}};
  info.environment = {{"libtorch", "2"}};
  info.epochs = 7;
  return info;
}

Checkpoint TinyCheckpoint() {
  at::manual_seed(1);
  return {.info = TinyInfo(),
          .weights = WeightsOf(*MakeNetwork(TinyNetwork()))};
}

/// Three nodes in a row, batch 2.
GraphFeatures ThreeNodes() {
  GraphFeatures features{.sources = {0, 1}, .targets = {1, 2}};
  for (int node = 0; node < 3; ++node) {
    NodeFeatureRow row{};
    for (int slot = 0; slot < kNumNodeFeatures; ++slot) {
      row[static_cast<std::size_t>(slot)] =
          static_cast<float>((node * 5 + slot * 3) % 7) / 7;
    }
    features.nodes.push_back(row);
  }
  features.statics = {.macs = 1000, .batch = 2, .convolutions = 1, .relus = 1};
  return features;
}

TargetValues PredictThreeNodes(const LearnedModel& learned) {
  const GraphFeatures features = ThreeNodes();
  std::vector<float> statics;
  for (const InputColumn& column : learned.info().recipe.columns) {
    statics.push_back(ScaleInput(
        column, RawInput(column.key, {.statics = &features.statics})));
  }
  const std::array<GraphInput, 1> graphs = {GraphInput{&features, statics}};
  return learned.Predict(Collate(graphs), {}).at(0);
}

TEST(Checkpoint, GivesEqualBytesAfterBeingRead) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.optimizer = {{"step", {"F32", {}, std::string(4, '\0')}}};
  checkpoint.training = R"({"epoch":3})";
  const std::string bytes = SerializeCheckpoint(checkpoint);
  const Checkpoint read = ParseCheckpoint(bytes, "x");
  EXPECT_EQ(SerializeCheckpoint(read), bytes);
  EXPECT_EQ(read.weights, checkpoint.weights);
  EXPECT_EQ(read.optimizer, checkpoint.optimizer);
  EXPECT_EQ(read.training, checkpoint.training);
  EXPECT_EQ(read.info.targets, checkpoint.info.targets);
  EXPECT_EQ(read.info.recipe, checkpoint.info.recipe);
}

TEST(Checkpoint, PredictsTheSameAfterBeingRead) {
  const Checkpoint checkpoint = TinyCheckpoint();
  const Checkpoint read = ParseCheckpoint(SerializeCheckpoint(checkpoint), "x");
  const TargetValues before = PredictThreeNodes({checkpoint, "x"});
  const TargetValues after = PredictThreeNodes({read, "x"});
  EXPECT_EQ(before[0], after[0]);
  EXPECT_EQ(before[1], after[1]);
  EXPECT_GT(before[0], 0);
  EXPECT_FALSE(IsKnown(before[2]));
}

TEST(Checkpoint, RefusesEveryTruncation) {
  const std::string bytes = SerializeCheckpoint(TinyCheckpoint());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ParseCheckpoint(bytes.substr(0, size), "x"), Error) << size;
  }
}

TEST(Checkpoint, RefusesEveryFlippedBitThatMatters) {
  const std::string bytes = SerializeCheckpoint(TinyCheckpoint());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, static_cast<int>(i % 7) + 1}) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      try {
        const Checkpoint read = ParseCheckpoint(flipped, "x");
        EXPECT_EQ(SerializeCheckpoint(read), bytes) << i << " bit " << bit;
      } catch (const Error&) {
        continue;
      }
    }
  }
}

TEST(Checkpoint, NamesATensorOfAnotherShape) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.info.network.hidden = 5;
  ExpectError(ErrorCode::kCorrupt, "expected F32[",
              [&] { LearnedModel(checkpoint, "a.safetensors"); });
}

TEST(Checkpoint, NamesAMissingTensor) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.weights.erase(checkpoint.weights.begin());
  ExpectError(ErrorCode::kCorrupt, "a.safetensors: no tensor '",
              [&] { LearnedModel(checkpoint, "a.safetensors"); });
}

TEST(Checkpoint, RefusesATensorTooMany) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.weights["more"] = {"F32", {}, std::string(4, '\0')};
  ExpectError(ErrorCode::kCorrupt, "tensors, the network",
              [&] { LearnedModel(checkpoint, "x"); });
}

TEST(Checkpoint, RefusesSizesItsWeightsCannotFill) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.info.network.hidden = 16384;
  checkpoint.info.network.graph_blocks = 256;
  ExpectError(ErrorCode::kCorrupt, "width 16384",
              [&] { LearnedModel(checkpoint, "x"); });
}

TEST(Checkpoint, KeepsWhatItsNetworkSawOfTheProbe) {
  Checkpoint checkpoint = TinyCheckpoint();
  EXPECT_FALSE(checkpoint.info.Drift());
  checkpoint.info.probe = {.amounts = {1.25, 0}, .features = {-0.5}};
  const Checkpoint read = ParseCheckpoint(SerializeCheckpoint(checkpoint), "x");
  EXPECT_EQ(read.info.probe, checkpoint.info.probe);
}

TEST(Checkpoint, RefusesScalesOfTwoKinds) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.info.targets[1].scale.kind = ScaleKind::kDippm;
  ExpectError(ErrorCode::kCorrupt, "both 'dippm' and 'log'",
              [&] { ParseCheckpoint(SerializeCheckpoint(checkpoint), "x"); });
}

TEST(Checkpoint, RefusesIntervalsThatHoldNothing) {
  const std::pair<ResidualInterval, const char*> cases[] = {
      {{0.3, 0.2, 0.9, 100}, "interval.hi is 0.2, below lo 0.3"},
      {{-0.1, 0.2, 1.5, 100}, "interval.coverage is 1.5"},
      {{-0.1, 0.2, 0.9, -1}, "interval.count is -1"}};
  for (const auto& [interval, problem] : cases) {
    Checkpoint checkpoint = TinyCheckpoint();
    checkpoint.info.targets.front().interval = interval;
    ExpectError(ErrorCode::kCorrupt, problem, [&] {
      ParseCheckpoint(SerializeCheckpoint(checkpoint), "c.safetensors");
    });
  }
}

TEST(Checkpoint, RefusesOtherFeatures) {
  Checkpoint checkpoint = TinyCheckpoint();
  checkpoint.info.feature_version = kFeatureVersion + 1;
  ExpectError(ErrorCode::kUnsupported, "features of version",
              [&] { ParseCheckpoint(SerializeCheckpoint(checkpoint), "x"); });
}

TEST(Checkpoint, RefusesSafetensorsOfSomethingElse) {
  const std::string bytes =
      SerializeSafeTensors({.tensors = {{"w", {"U8", {1}, "x"}}}});
  ExpectError(ErrorCode::kCorrupt, "not a checkpoint of foretell",
              [&] { ParseCheckpoint(bytes, "x"); });
}

TEST(Checkpoint, IsNotFoundWhereThereIsNone) {
  ExpectError(ErrorCode::kNotFound, "/nowhere/x.safetensors",
              [] { ReadCheckpoint("/nowhere/x.safetensors"); });
}

// The file was written once by TinyCheckpoint and must load for ever. Its
// numbers were recorded then; dropout is off, so nothing is random.
TEST(Checkpoint, OfTheFirstVersionStillPredictsWhatItDid) {
  const LearnedModel learned = LearnedModel::Load(
      FORETELL_SOURCE_DIR "/tests/golden/checkpoint/first.safetensors");
  const TargetValues predicted = PredictThreeNodes(learned);
  EXPECT_NEAR(ValueOf(predicted, Target::kMemory), 849.603921, 1e-2);
  EXPECT_NEAR(ValueOf(predicted, Target::kLatency), 2.23984569, 1e-5);
  const std::optional<Interval> interval =
      learned.IntervalOf(Target::kMemory, 1000);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->lo, 904.837, 1e-3);
  EXPECT_NEAR(interval->hi, 1221.403, 1e-3);
  EXPECT_FALSE(learned.IntervalOf(Target::kLatency, 1).has_value());
}

TEST(Checkpoint, WithMoreHeadsThanWeightsIsRefusedBeforeTheyAreMade) {
  const TermLayout layout = LayoutOf(TermSet::kReplay);
  NetworkOptions options{.kind = {.terms = TermSet::kReplay},
                         .node_features = layout.num_classes,
                         .static_features = layout.num_totals,
                         .hidden = 8,
                         .graph_blocks = 1,
                         .layers_per_block = 1,
                         .outputs = 1};
  const auto weights = WeightsOf(*MakeNetwork(options));
  EXPECT_NO_THROW(RestoreNetwork(options, weights, "x"));
  options.heads = 256;
  ExpectError(ErrorCode::kCorrupt, "x: network of 257 layers and width 8",
              [&] { RestoreNetwork(options, weights, "x"); });
}

}  // namespace
}  // namespace foretell::learned
