#include "cli/flags/learning_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tests/datasets/expect_error.h"
#include "training/fit/typical_options.h"

namespace foretell::cli {
namespace {

using dataset_test::ExpectError;
using learned::NetworkKind;
using training::TrainerOptions;

/// A command that has these flags alone.
struct LearningCommand {
  explicit LearningCommand(const std::string& arguments,
                           std::int64_t epochs = 100) {
    flags.options.epochs = epochs;
    flags.AddTo(app, /*with_network=*/true);
    app.parse(arguments);
  }

  CLI::App app;
  LearningFlags flags;
};

TrainerOptions Parsed(const std::string& arguments) {
  return LearningCommand(arguments).flags.ToOptions();
}

nlohmann::json AsJson(const TrainerOptions& options) {
  return TrainerOptionsToJson(options);
}

TEST(LearningFlags, LeaveDefaultsWhereNothingIsGiven) {
  TrainerOptions expected;
  expected.epochs = 100;
  EXPECT_EQ(AsJson(Parsed("")), AsJson(expected));
  EXPECT_EQ(LearningCommand("", 10).flags.ToOptions().epochs, 10);
}

TEST(LearningFlags, SetAFieldEach) {
  const TrainerOptions expected{
      .network = {.kind = learned::NetworkKind{learned::LayerKind::kGin},
                  .hidden = 1,
                  .graph_blocks = 2,
                  .layers_per_block = 3,
                  .head_blocks = 4,
                  .dropout = 0.5,
                  .pooling = learned::Pooling::kPrior,
                  .heads = 6},
      .scale = learned::ScaleKind::kDippm,
      .epochs = 7,
      .batch_size = 8,
      .learning_rate = 0.9,
      .schedule = training::Schedule::kCosine,
      .warmup_epochs = 1.1,
      .weight_decay = 1.2,
      .decoupled_decay = true,
      .clip = 1.3,
      .huber_delta = 1.4,
      .patience = 15,
      .seed = 16,
      .mixed_precision = true,
      .compute = "cuda:1"};
  const TrainerOptions made = Parsed(
      "--network gin --hidden 1 --graph-blocks 2 --layers-per-block 3 "
      "--head-blocks 4 --dropout 0.5 --pooling prior --heads 6 "
      "--target-scale dippm --epochs 7 --batch-size 8 --learning-rate 0.9 "
      "--schedule cosine --warmup 1.1 --weight-decay 1.2 "
      "--decoupled-weight-decay --clip 1.3 --huber-delta 1.4 --patience 15 "
      "--seed 16 --amp --compute cuda:1");
  EXPECT_EQ(AsJson(made), AsJson(expected));
}

TEST(LearningFlags, FollowANetworkOverTerms) {
  TrainerOptions usual;
  usual.epochs = 100;
  for (const char* name : {"kernels", "portable-kernels", "pmgns-kernels",
                           "raw-kernels", "replay", "step-kernels"}) {
    const TrainerOptions made = Parsed(std::string("--network ") + name);
    EXPECT_EQ(NetworkKindName(made.network.kind), name);
    EXPECT_EQ(AsJson(made), AsJson(TypicalOptions(made.network.kind, usual)));
  }
}

TEST(LearningFlags, PrevailOverWhatSuitsTerms) {
  // 512 and constant are the defaults of other networks: given all the same.
  const TrainerOptions made = Parsed(
      "--network kernels --hidden 512 --schedule constant --clip 0 --seed 3");
  EXPECT_EQ(made.network.hidden, 512);
  EXPECT_EQ(made.schedule, training::Schedule::kConstant);
  EXPECT_EQ(made.clip, 0);
  EXPECT_EQ(made.seed, 3);
  EXPECT_EQ(made.network.graph_blocks, 2);
  EXPECT_EQ(made.batch_size, 16);
}

TEST(LearningFlags, ServeCommandsWithSeveralNetworks) {
  CLI::App app;
  LearningFlags flags;
  flags.AddTo(app, /*with_network=*/false);
  EXPECT_THROW(app.parse("--network gcn"), CLI::ParseError);
  app.parse("--hidden 9");
  EXPECT_EQ(flags.ToOptions(learned::NetworkKind{learned::LayerKind::kGcn})
                .network.kind,
            learned::NetworkKind{learned::LayerKind::kGcn});
  EXPECT_EQ(flags.ToOptions(learned::NetworkKind{learned::LayerKind::kMlp})
                .network.kind,
            learned::NetworkKind{learned::LayerKind::kMlp});
  EXPECT_EQ(flags.ToOptions(learned::NetworkKind{learned::LayerKind::kMlp})
                .network.hidden,
            9);
}

TEST(LearningFlags, AreCheckedTogether) {
  ExpectError(ErrorCode::kInvalidArgument, "needs a GPU",
              [] { Parsed("--amp"); });
  ExpectError(ErrorCode::kInvalidArgument, "epochs is 0",
              [] { Parsed("--epochs 0"); });
  EXPECT_THROW(Parsed("--network resnet"), CLI::ValidationError);
  EXPECT_THROW(Parsed("--pooling median"), CLI::ValidationError);
}

TEST(SortedNetworks, ListThoseOverTermsWhenAskedTo) {
  using Kinds = std::vector<NetworkKind>;
  EXPECT_EQ(SortedNetworks(/*with_terms=*/false),
            (Kinds{learned::NetworkKind{learned::LayerKind::kGat},
                   learned::NetworkKind{learned::LayerKind::kGcn},
                   learned::NetworkKind{learned::LayerKind::kGin},
                   learned::NetworkKind{learned::LayerKind::kMlp},
                   learned::NetworkKind{learned::LayerKind::kPmgns}}));
  EXPECT_EQ(SortedNetworks(/*with_terms=*/true).size(),
            learned::kLayerKinds.size() + learned::kTermSets.size());
}

}  // namespace
}  // namespace foretell::cli
