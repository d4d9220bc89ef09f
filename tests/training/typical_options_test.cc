#include "training/fit/typical_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace foretell::training {
namespace {

using learned::NetworkKind;

/// Nothing in it is a default.
TrainerOptions Usual() {
  return {.network = {.hidden = 7, .head_blocks = 5, .dropout = 0.7},
          .scale = learned::ScaleKind::kDippm,
          .epochs = 70,
          .learning_rate = 0.7,
          .patience = 9,
          .seed = 6};
}

TEST(TypicalOptions, AreTheUsualOnesForNetworksOverOperators) {
  for (const NetworkKind kind :
       {learned::NetworkKind{learned::LayerKind::kGcn},
        learned::NetworkKind{learned::LayerKind::kMlp}}) {
    TrainerOptions expected = Usual();
    expected.network.kind = kind;
    EXPECT_EQ(TrainerOptionsToJson(TypicalOptions(kind, Usual())),
              TrainerOptionsToJson(expected));
  }
}

TEST(TypicalOptions, SuitTheFigureThatTermsAddUpTo) {
  const TrainerOptions kernels = TypicalOptions(
      learned::NetworkKind{.terms = learned::TermSet::kKernels}, Usual());
  EXPECT_EQ(kernels.network.dropout, 0.1);
  EXPECT_EQ(kernels.epochs, 16);
  EXPECT_EQ(kernels.weight_decay, 0.02);
  const TrainerOptions replay = TypicalOptions(
      learned::NetworkKind{.terms = learned::TermSet::kReplay}, Usual());
  EXPECT_EQ(replay.network.dropout, 0.3);
  EXPECT_EQ(replay.epochs, 24);
  EXPECT_EQ(replay.weight_decay, 0.1);
  TrainerOptions portable = TypicalOptions(
      learned::NetworkKind{.terms = learned::TermSet::kPortableKernels},
      Usual());
  portable.network.kind =
      learned::NetworkKind{.terms = learned::TermSet::kKernels};
  EXPECT_EQ(TrainerOptionsToJson(portable), TrainerOptionsToJson(kernels));
}

TEST(TypicalOptions, OfTermsDifferInSizeLossAndCourseOnly) {
  const TrainerOptions made = TypicalOptions(
      learned::NetworkKind{.terms = learned::TermSet::kReplay}, Usual());
  EXPECT_EQ(made.network.hidden, 32);
  EXPECT_EQ(made.network.graph_blocks, 2);
  EXPECT_EQ(made.network.layers_per_block, 1);
  EXPECT_EQ(made.batch_size, 16);
  EXPECT_EQ(made.learning_rate, 4e-3);
  EXPECT_EQ(made.schedule, Schedule::kCosine);
  EXPECT_EQ(made.warmup_epochs, 1.6);
  EXPECT_TRUE(made.decoupled_decay);
  EXPECT_EQ(made.clip, 0.05);
  EXPECT_EQ(made.huber_delta, 0.05);
  // The rest is as it was.
  EXPECT_EQ(made.network.head_blocks, 5);
  EXPECT_EQ(made.scale, learned::ScaleKind::kDippm);
  EXPECT_EQ(made.patience, 9);
  EXPECT_EQ(made.seed, 6);
}

}  // namespace
}  // namespace foretell::training
