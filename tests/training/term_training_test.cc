// Networks over terms in the trainer.

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/training/toy_training.h"
#include "training/fit/fit_info.h"
#include "training/judge/folds.h"

namespace foretell::training {
namespace {

using learned::Target;
using training_test::AllOf;

constexpr Target kLatency[] = {Target::kLatency};

class TermTraining : public training_test::ToyTraining {
 protected:
  explicit TermTraining(learned::TermSet terms = learned::TermSet::kKernels)
      : terms_(terms) {
    training_test::MakeToyDataset(path_, {.points = 32});
    LearnFrom(SelectSamples(Dataset::Open(path_),
                            {.targets = {Target::kLatency},
                             .recipe = {.terms = terms_},
                             .device_columns = true,
                             .catalog = &DeviceCatalog::BuiltIn()}));
  }

  TrainerOptions Options() const {
    return {.network = {.kind = {.terms = terms_},
                        .hidden = 8,
                        .graph_blocks = 2,
                        .layers_per_block = 1,
                        .dropout = 0.1},
            .epochs = 4,
            .batch_size = 8,
            .learning_rate = 1e-2,
            .decoupled_decay = true,
            .seed = 5};
  }

  learned::CheckpointInfo Info() const {
    return FitInfo(Options(), set_, kLatency, data_->train);
  }

  /// Mean |log(predicted / true)| of a network that was trained for long.
  double ErrorOnceTrained() {
    TrainerOptions options = Options();
    options.epochs = 40;
    options.schedule = Schedule::kCosine;
    Trainer trainer(options, Info(), *data_, alone_);
    EXPECT_EQ(trainer.Run({}), RunEnd::kFinished);
    const std::vector<PredictedSample> predictions =
        Predict(trainer.LastModel()).predictions;
    double sum = 0;
    for (const PredictedSample& one : predictions) {
      const double ratio = ValueOf(one.predicted, Target::kLatency) /
                           ValueOf(one.truth, Target::kLatency);
      sum += std::abs(std::log(ratio));
    }
    return sum / static_cast<double>(predictions.size());
  }

  learned::TermSet terms_;
};

TEST_F(TermTraining, ScalesWhatTheHeadsSee) {
  const learned::CheckpointInfo info = Info();
  at::manual_seed(1);
  const auto network = learned::MakeNetwork(info.network);
  FitInputScale(*network, info, *data_);
  const at::NoGradGuard no_gradients;
  const at::Tensor distances = network->InputDistance(
      LoadBatch(*store_, set_, info, data_->train).graphs);
  // 1 for every input that varies; the others are 0. Of the toy's inputs at
  // least one in ten varies.
  const double mean_square = distances.square().mean().item<double>();
  EXPECT_LT(mean_square, 1.001);
  EXPECT_GT(mean_square, 0.1);
}

TEST_F(TermTraining, LearnsAndPredictsInMilliseconds) {
  // The labels have nothing to do with physics; untrained it is 2.
  EXPECT_LT(ErrorOnceTrained(), 0.5);
}

TEST_F(TermTraining, AveragesItsFigureWithAPriorAndLearnsAsWithoutOne) {
  const auto trained = [this] {
    Trainer trainer(Options(), Info(), *data_, alone_);
    trainer.Run({});
    return Predict(trainer.LastModel()).predictions;
  };
  const std::vector<PredictedSample> alone = trained();
  set_.recipe.prior = "twelve";
  for (Sample& sample : set_.samples) {
    ValueOf(sample.prior, Target::kLatency) = 12;
  }
  const std::vector<PredictedSample> averaged = trained();
  ASSERT_EQ(averaged.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const double mean =
        std::sqrt(12 * ValueOf(alone[i].predicted, Target::kLatency));
    EXPECT_NEAR(ValueOf(averaged[i].predicted, Target::kLatency), mean,
                1e-9 * mean);
  }
}

class KernelGraphTraining : public TermTraining {
 protected:
  KernelGraphTraining() : TermTraining(learned::TermSet::kKernelGraph) {}
};

TEST_F(KernelGraphTraining, LearnsAndPredictsInMilliseconds) {
  EXPECT_LT(ErrorOnceTrained(), 0.5);
}

TEST_F(KernelGraphTraining, LeavesACheckpointThatKnowsItsEdges) {
  set_.recipe.edges = learned::EdgeKind::kChain;
  const TrainerOptions options = Options();
  Trainer trainer(options, Info(), *data_, alone_);
  trainer.Run({});
  const learned::Checkpoint read =
      learned::ParseCheckpoint(SerializeCheckpoint(trainer.Last()), "read");
  EXPECT_EQ(read.info.recipe.terms, learned::TermSet::kKernelGraph);
  EXPECT_EQ(read.info.recipe.edges, learned::EdgeKind::kChain);
  EXPECT_EQ(read.info.network.kind, trainer.Last().info.network.kind);
}

TEST_F(TermTraining, ResumesToTheSameBytes) {
  Trainer whole(Options(), Info(), *data_, alone_);
  whole.Run({});
  TrainerOptions half = Options();
  Trainer first(half, Info(), *data_, alone_);
  int epochs = 0;
  first.Run({.on_epoch = [&epochs](const EpochMetrics&) { ++epochs; },
             .interrupted = [&epochs] { return epochs == 2; }});
  const learned::Checkpoint last =
      learned::ParseCheckpoint(SerializeCheckpoint(first.Last()), "last");
  Trainer second(half, SavedRun{last, last, "last"}, *data_, alone_);
  second.Run({});
  EXPECT_EQ(SerializeCheckpoint(whole.Last()),
            SerializeCheckpoint(second.Last()));
}

TEST_F(TermTraining, StatesTheErrorsOfFoldsInACheckpointOfAllSamples) {
  std::vector<PredictedSample> predictions;
  for (const std::size_t i : AllOf(set_)) {
    PredictedSample one{.sample = i, .truth = set_.samples[i].targets};
    // Ten percent too high.
    ValueOf(one.predicted, Target::kLatency) =
        1.1 * ValueOf(one.truth, Target::kLatency);
    predictions.push_back(one);
  }
  const TrainerOptions options = Options();
  const std::optional<learned::Checkpoint> checkpoint =
      TrainOnAll({options, kLatency, set_, *store_}, predictions, {});
  ASSERT_TRUE(checkpoint);
  const learned::CheckpointTarget& target = checkpoint->info.targets.at(0);
  EXPECT_NEAR(*target.validation_mape, 0.1, 1e-9);
  EXPECT_NEAR(target.interval->lo, -std::log(1.1), 1e-9);
  EXPECT_EQ(target.interval->hi, 0);
  EXPECT_GT(*checkpoint->info.far_distance, 0);
  EXPECT_TRUE(checkpoint->optimizer.empty());
  const learned::Checkpoint read =
      learned::ParseCheckpoint(SerializeCheckpoint(*checkpoint), "read");
  EXPECT_EQ(read.info.far_distance, checkpoint->info.far_distance);
}

}  // namespace
}  // namespace foretell::training
