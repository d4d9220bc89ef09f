#include "training/judge/judge_samples.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/fit/training_run.h"
#include "training/judge/method_text.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::Target;

class JudgeSamplesTest : public testing::Test {
 protected:
  JudgeSamplesTest() { training_test::MakeToyDataset(path_, {.points = 24}); }

  SampleRequest All() { return {.dataset = path_, .split = kNoSplit}; }

  /// The best checkpoint of a run of one epoch.
  std::string Train(const SampleRequest& samples) {
    Communicator alone;
    TrainingRun run({.folder = folder_ / "run",
                     .samples = samples,
                     .trainer = training_test::TinyTraining()},
                    alone);
    run.Prepare();
    run.Run({});
    return run.folder().best_path();
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
};

TEST_F(JudgeSamplesTest, JudgesTheAnalyticModelWithoutACheckpoint) {
  const Judgement judgement = JudgeSamples({.samples = All()});
  EXPECT_EQ(judgement.evaluation.method, "analytic");
  EXPECT_EQ(judgement.evaluation.dataset, path_);
  EXPECT_EQ(judgement.evaluation.selection, "all samples");
  EXPECT_EQ(judgement.evaluation.samples, 24);
  EXPECT_FALSE(judgement.evaluation.fits.empty());
  ASSERT_EQ(judgement.predictions.size(), 24);
  for (const PredictedSample& answer : judgement.predictions) {
    EXPECT_EQ(answer.predicted,
              judgement.opened.set.samples[answer.sample].prior);
    EXPECT_FALSE(answer.intervals[0]);
  }
}

TEST_F(JudgeSamplesTest, JudgesSimulatedLabelsByMeasuredOnes) {
  Label simulated{.point = 3, .device = "a100-sxm4-40gb"};
  simulated.source = "foretell analytic";
  simulated.provenance = Provenance::kSimulated;
  simulated.memory_mib = 265;
  Dataset::OpenForWriting(path_).PutLabel(simulated);
  SampleRequest samples = All();
  samples.prior = PriorSource::kLabels;
  const Judgement judgement = JudgeSamples({.samples = samples});
  ASSERT_EQ(judgement.predictions.size(), 1);
  // Three layers at batch 1: measured 530 MiB.
  ASSERT_EQ(judgement.evaluation.targets.size(), 1);
  EXPECT_NEAR(judgement.evaluation.targets[0].mape, 0.5, 1e-12);
}

TEST_F(JudgeSamplesTest, TakesFromACheckpointWhatItSees) {
  SampleRequest learned = All();
  learned.targets = {Target::kLatency};
  learned.prior = PriorSource::kAnalytic;
  learned.prior_columns = true;
  learned.device_columns = true;
  const Judgement judgement =
      JudgeSamples({.samples = All(), .checkpoint = Train(learned)});
  EXPECT_EQ(judgement.evaluation.method, "pmgns 8 x analytic");
  ASSERT_EQ(judgement.evaluation.targets.size(), 1);
  EXPECT_EQ(judgement.evaluation.targets[0].target, Target::kLatency);
  EXPECT_EQ(judgement.opened.set.recipe.prior, "analytic");
  for (const PredictedSample& answer : judgement.predictions) {
    EXPECT_GT(ValueOf(answer.predicted, Target::kLatency), 0);
    EXPECT_FALSE(learned::IsKnown(ValueOf(answer.predicted, Target::kMemory)));
  }
}

TEST_F(JudgeSamplesTest, LooksAtOnePartOfASplit) {
  SampleRequest samples = All();
  samples.split = "random";
  const Judgement judgement =
      JudgeSamples({.samples = samples, .part = Part::kValidation});
  EXPECT_EQ(judgement.evaluation.samples, 4);
  EXPECT_EQ(judgement.evaluation.selection, "split random, part validation");
  for (const PredictedSample& answer : judgement.predictions) {
    EXPECT_EQ(judgement.opened.set.samples[answer.sample].part,
              Part::kValidation);
  }
}

TEST_F(JudgeSamplesTest, NamesASelectionWithoutSamples) {
  Dataset::OpenForWriting(path_).PutSplit("mine", "random", 0, {{1, "train"}});
  SampleRequest samples = All();
  samples.split = "mine";
  ExpectError(ErrorCode::kInvalidArgument,
              "d.sqlite: no sample in split mine, part test; --split none",
              [&] { JudgeSamples({.samples = samples}); });
}

TEST_F(JudgeSamplesTest, NamesACheckpointThatIsMissing) {
  ExpectError(ErrorCode::kNotFound, "none.safetensors", [&] {
    JudgeSamples(
        {.samples = All(), .checkpoint = folder_ / "none.safetensors"});
  });
}

TEST(MethodText, NamesNetworkWidthAndPrior) {
  const learned::NetworkOptions network{
      .kind = learned::NetworkKind{learned::LayerKind::kGat}, .hidden = 64};
  EXPECT_EQ(MethodText(network, ""), "gat 64");
  EXPECT_EQ(MethodText(network, "analytic"), "gat 64 x analytic");
  const learned::NetworkOptions terms{
      .kind = learned::NetworkKind{.terms = learned::TermSet::kReplay},
      .hidden = 32};
  EXPECT_EQ(MethodText(terms, "analytic"), "replay 32, averaged with analytic");
}

}  // namespace
}  // namespace foretell::training
