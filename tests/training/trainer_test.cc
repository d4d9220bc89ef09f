#include "training/fit/trainer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/answer/learned_model.h"
#include "tests/datasets/expect_error.h"
#include "tests/training/toy_training.h"
#include "training/fit/fit_info.h"
#include "training/fit/predict_samples.h"
#include "training/judge/folds.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::Target;
using training_test::AllOf;

TrainerOptions SmallOptions() {
  return {.network = {.kind = {learned::LayerKind::kPmgns},
                      .hidden = 16,
                      .graph_blocks = 1,
                      .head_blocks = 1,
                      .dropout = 0.1},
          .epochs = 6,
          .batch_size = 4,
          .learning_rate = 3e-3,
          .seed = 5};
}

class TrainerTest : public training_test::ToyTraining {
 protected:
  void Make(const training_test::ToyDataOptions& options = {.points = 16}) {
    training_test::MakeToyDataset(path_, options);
    LearnFrom(training_test::SelectToy(path_));
  }

  /// Every fourth sample is for validation.
  void HoldOut() {
    data_->train.clear();
    for (std::size_t i = 0; i < set_.samples.size(); ++i) {
      (i % 4 == 3 ? data_->validation : data_->train).push_back(i);
    }
  }

  std::unique_ptr<Trainer> New(const TrainerOptions& options) {
    return std::make_unique<Trainer>(
        options, FitInfo(options, set_, learned::kAllTargets, data_->train),
        *data_, alone_);
  }

  std::unique_ptr<Trainer> Restored(const TrainerOptions& options,
                                    const std::string& last,
                                    const std::string& best) {
    return std::make_unique<Trainer>(
        options,
        SavedRun{learned::ParseCheckpoint(last, "l"),
                 learned::ParseCheckpoint(best, "b"), "l"},
        *data_, alone_);
  }

  PassSums Judge(const learned::LearnedModel& learned) {
    return Predict(learned).sums;
  }
};

TEST_F(TrainerTest, LearnsEightGraphsByHeart) {
  Make({.points = 8});
  for (const learned::LayerKindRow& row : learned::kLayerKinds) {
    TrainerOptions options = SmallOptions();
    options.network.kind = {row.layer};
    options.network.dropout = 0;
    options.epochs = 400;
    options.batch_size = 8;
    options.learning_rate = 1e-2;
    options.schedule = Schedule::kCosine;
    const auto trainer = New(options);
    EXPECT_EQ(trainer->Run({}), RunEnd::kFinished);
    EXPECT_LT(Judge(trainer->BestModel()).PooledMape(), 0.02) << row.name;
  }
}

TEST_F(TrainerTest, LearnsWithTheScaleOfThePaper) {
  Make({.points = 8});
  TrainerOptions options = SmallOptions();
  options.network.dropout = 0;
  options.scale = learned::ScaleKind::kDippm;
  options.epochs = 60;
  options.learning_rate = 3e-2;
  const auto trainer = New(options);
  const double before = Judge(trainer->LastModel()).Loss();
  trainer->Run({});
  EXPECT_LT(Judge(trainer->LastModel()).Loss(), before / 2);
}

TEST_F(TrainerTest, IsNotMovedByMaskedTargets) {
  Make({.points = 8, .energy_every = 8});
  TrainerOptions options = SmallOptions();
  options.epochs = 3;
  const auto trainer = New(options);
  trainer->Run({});
  // A wild number where the label is unknown must not matter: it is masked.
  for (Sample& sample : set_.samples) sample.prior = {1e30, 1e30, 1e30};
  const auto again = New(options);
  again->Run({});
  EXPECT_EQ(SerializeCheckpoint(trainer->Last()),
            SerializeCheckpoint(again->Last()));
}

TEST_F(TrainerTest, GivesEqualBytesForEqualSeeds) {
  Make();
  const auto run = [&](std::uint64_t seed) {
    TrainerOptions options = SmallOptions();
    options.seed = seed;
    options.epochs = 2;
    const auto trainer = New(options);
    trainer->Run({});
    return trainer->Last().weights;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_F(TrainerTest, ResumesToTheSameBytes) {
  Make();
  HoldOut();
  const auto whole = New(SmallOptions());
  whole->Run({});

  TrainerOptions half = SmallOptions();
  half.epochs = 3;
  const auto first = New(half);
  first->Run({});
  const auto second =
      Restored(SmallOptions(), SerializeCheckpoint(first->Last()),
               SerializeCheckpoint(first->Best()));
  second->Run({});
  EXPECT_EQ(SerializeCheckpoint(second->Last()),
            SerializeCheckpoint(whole->Last()));
  EXPECT_EQ(SerializeCheckpoint(second->Best()),
            SerializeCheckpoint(whole->Best()));
}

TEST_F(TrainerTest, ResumesFromTheMiddleOfAnEpoch) {
  Make();
  HoldOut();
  std::vector<double> losses;
  TrainerHooks keep;
  keep.on_epoch = [&](const EpochMetrics& metrics) {
    losses.push_back(metrics.train.Loss());
  };
  const auto whole = New(SmallOptions());
  whole->Run(keep);

  // Three batches an epoch: stopped within the second epoch.
  int asked = 0;
  TrainerHooks interrupting;
  interrupting.interrupted = [&] { return ++asked == 5; };
  const auto first = New(SmallOptions());
  EXPECT_EQ(first->Run(interrupting), RunEnd::kInterrupted);
  EXPECT_EQ(first->Last().info.epochs, 1);
  std::vector<double> resumed;
  keep.on_epoch = [&](const EpochMetrics& metrics) {
    resumed.push_back(metrics.train.Loss());
  };
  const auto second =
      Restored(SmallOptions(), SerializeCheckpoint(first->Last()),
               SerializeCheckpoint(first->Best()));
  second->Run(keep);
  EXPECT_EQ(SerializeCheckpoint(second->Last()),
            SerializeCheckpoint(whole->Last()));
  EXPECT_EQ(resumed, std::vector<double>(losses.begin() + 1, losses.end()));
}

TEST_F(TrainerTest, StopsEarlyWhenValidationGetsWorse) {
  Make();
  HoldOut();
  TrainerOptions options = SmallOptions();
  options.epochs = 200;
  options.patience = 2;
  options.learning_rate = 0.3;
  std::int64_t best = 0;
  std::int64_t last = 0;
  TrainerHooks hooks;
  hooks.on_epoch = [&](const EpochMetrics& metrics) {
    last = metrics.epoch;
    if (metrics.is_best) best = metrics.epoch;
  };
  const auto trainer = New(options);
  EXPECT_EQ(trainer->Run(hooks), RunEnd::kStoppedEarly);
  EXPECT_EQ(last, best + 2);
  EXPECT_EQ(trainer->Best().info.epochs, best);
}

TEST_F(TrainerTest, KeepsIntervalsOfTheValidationPart) {
  Make({.points = 80});
  HoldOut();
  TrainerOptions options = SmallOptions();
  options.epochs = 2;
  const auto trainer = New(options);
  trainer->Run({});
  for (const learned::CheckpointTarget& target : trainer->Best().info.targets) {
    ASSERT_TRUE(target.interval.has_value());
    EXPECT_EQ(target.interval->count, 20);
    EXPECT_LE(target.interval->lo, 0);
    EXPECT_GE(target.interval->hi, 0);
    EXPECT_GT(target.validation_mape.value(), 0);
  }
}

TEST_F(TrainerTest, CorrectsAPriorInsteadOfReplacingIt) {
  Make({.points = 8});
  for (Sample& sample : set_.samples) {
    sample.prior = sample.targets;
    for (double& value : sample.prior) value /= 3;
  }
  set_.recipe.prior = "third";
  TrainerOptions options = SmallOptions();
  options.epochs = 1;
  options.learning_rate = 1e-9;
  const auto trainer = New(options);
  // log(value / prior) is log 3 everywhere: a network that has learned nothing
  // puts out about 0, which stands for the mean.
  const learned::CheckpointInfo info = trainer->Last().info;
  for (const learned::CheckpointTarget& target : info.targets) {
    EXPECT_NEAR(target.scale.mean, std::log(3.0), 1e-12);
    EXPECT_EQ(target.scale.deviation, 1);
  }
  const std::vector<learned::TargetValues> rows = learned::DecodeAll(
      info, at::zeros({1, 3}), std::vector{set_.samples[0].prior});
  EXPECT_NEAR(rows[0][0], set_.samples[0].targets[0], 1e-9);
}

TEST_F(TrainerTest, WeighsSimulatedLabels) {
  Make({.points = 8});
  TrainerOptions options = SmallOptions();
  options.epochs = 1;
  options.network.dropout = 0;
  options.batch_size = 8;
  const auto with_weights = [&](float weight) {
    for (std::size_t i = 4; i < 8; ++i) set_.samples[i].weight = weight;
    double loss = 0;
    TrainerHooks hooks;
    hooks.on_epoch = [&](const EpochMetrics& metrics) {
      loss = metrics.train.loss;
      EXPECT_EQ(metrics.train.weight, 3 * (4 + 4 * weight));
    };
    New(options)->Run(hooks);
    return loss;
  };
  const double none = with_weights(0);
  const double half = with_weights(0.5F);
  const double full = with_weights(1);
  EXPECT_NEAR(half - none, (full - none) / 2, 1e-5);
}

TEST_F(TrainerTest, RefusesMixedPrecisionOnTheProcessor) {
  Make();
  TrainerOptions options = SmallOptions();
  options.mixed_precision = true;
  ExpectError(ErrorCode::kInvalidArgument, "needs a GPU",
              [&] { New(options); });
}

TEST_F(TrainerTest, NamesOptionsThatMakeNoSense) {
  Make();
  TrainerOptions options = SmallOptions();
  options.learning_rate = -1;
  ExpectError(ErrorCode::kInvalidArgument, "learning rate is -1",
              [&] { New(options); });
  options = SmallOptions();
  options.compute = "tpu";
  ExpectError(ErrorCode::kInvalidArgument, "'tpu'", [&] { New(options); });
}

TEST_F(TrainerTest, SaysWhenTheLossIsLost) {
  Make();
  for (Sample& sample : set_.samples) sample.inputs[0] = 1e300;
  set_.samples[0].inputs[0] = 0;
  TrainerOptions options = SmallOptions();
  options.learning_rate = 1e38;
  ExpectError(ErrorCode::kInvalidArgument, "gradient is not finite",
              [&] { New(options)->Run({}); });
}

TEST_F(TrainerTest, DoesNotResumeWhatIsForPredicting) {
  Make();
  TrainerOptions options = SmallOptions();
  options.epochs = 1;
  const auto trainer = New(options);
  trainer->Run({});
  ExpectError(ErrorCode::kCorrupt, "for prediction",
              [&] { OptionsOf(trainer->Best(), "best"); });
  EXPECT_EQ(OptionsOf(trainer->Last(), "last").seed, 5);
}

TEST_F(TrainerTest, NamesWhatIsWrongInAStateToResume) {
  Make();
  learned::Checkpoint last = New(SmallOptions())->Last();
  nlohmann::json state = nlohmann::json::parse(last.training);
  state["options"]["epochs"] = "many";
  last.training = state.dump();
  ExpectError(ErrorCode::kCorrupt,
              "last: training.options.epochs is \"many\", expected a whole",
              [&] { OptionsOf(last, "last"); });
}

TEST(TrainerOptions, ComeBackFromTheirJson) {
  const TrainerOptions options{
      .network = {.hidden = 64, .heads = 2, .members = 3},
      .scale = learned::ScaleKind::kDippm,
      .epochs = 3,
      .batch_size = 8,
      .learning_rate = 0.25,
      .schedule = Schedule::kCosine,
      .warmup_epochs = 0.5,
      .weight_decay = 0.125,
      .decoupled_decay = true,
      .clip = 2,
      .huber_delta = 0.75,
      .patience = 4,
      .seed = 5,
      .mixed_precision = true,
      .compute = "cuda:1"};
  nlohmann::json json = TrainerOptionsToJson(options);
  EXPECT_EQ(TrainerOptionsToJson(TrainerOptionsFromJson({json, "x", ""})),
            json);
  json.erase("decoupled_decay");  // Runs older than the option.
  EXPECT_FALSE(TrainerOptionsFromJson({json, "x", ""}).decoupled_decay);
}

TEST_F(TrainerTest, ReadsGraphsAsTheyAreNeeded) {
  Make({.points = 64});
  store_.emplace(path_, 0);
  TrainerOptions options = SmallOptions();
  options.epochs = 2;
  data_.emplace(TrainingData{set_, *store_, AllOf(set_), {}});
  New(options)->Run({});
  EXPECT_EQ(store_->cached_bytes(), 0);
  EXPECT_EQ(store_->reads(), 2 * 64);
}

TEST_F(TrainerTest, PredictsFoldsThatItHasNotSeen) {
  Make();
  const std::vector<int> folds = AssignFolds(set_, FoldKind::kModel, 4, 0);
  TrainerOptions options = SmallOptions();
  options.epochs = 1;
  std::vector<PredictedSample> pooled;
  for (int fold = 0; fold < 4; ++fold) {
    const auto part = PredictFold(
        {options, learned::kAllTargets, set_, *store_}, folds, fold, {});
    for (const PredictedSample& one : part.value()) {
      EXPECT_EQ(folds[one.sample], fold);
      pooled.push_back(one);
    }
  }
  EXPECT_EQ(pooled.size(), set_.samples.size());
}

}  // namespace
}  // namespace foretell::training
