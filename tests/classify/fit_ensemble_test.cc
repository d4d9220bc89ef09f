#include "src/classify/fit_ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "src/classify/class_checkpoint.h"
#include "tests/classify/toy_steps.h"
#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;
using ::testing::DoubleNear;

FitOptions Quick(int epochs = 40) {
  return {.epochs = epochs, .batch_size = 16, .learning_rate = 1e-2};
}

int Hits(const Ensemble& ensemble, const std::vector<LabelledStep>& steps) {
  int hits = 0;
  for (const LabelledStep& step : steps) {
    hits += ensemble.Answer(step.inputs).Cautious() ==
            ensemble.info().classes.ClassOf(step.memory_mib);
  }
  return hits;
}

TEST(ClassAnswer, NamesTheLowestClassThatIsNotExceeded) {
  EXPECT_EQ((ClassAnswer{{0.7, 0.2, 0.1}}.Cautious()), 0);
  EXPECT_EQ((ClassAnswer{{0.2, 0.35, 0.35, 0.1}}.Cautious()), 2);
  EXPECT_EQ((ClassAnswer{{0, 0.5, 0.05}}.Cautious()), 2);
}

/// Steps of which the simulation says too little.
std::vector<LabelledStep> UnderestimatedSteps(int count) {
  std::vector<LabelledStep> steps = ToySteps(count);
  for (LabelledStep& step : steps) step.inputs.simulated.total_mib *= 0.6;
  return steps;
}

TEST(FitEnsemble, LearnsWhereTheSimulationIsWrong) {
  const std::vector<LabelledStep> steps = UnderestimatedSteps(40);
  for (const EstimatorKind kind :
       {EstimatorKind::kMlp, EstimatorKind::kTransformer}) {
    // 16 of 40 lie above the edge and are said to lie below.
    EXPECT_LE(Hits(Ensemble(ToyInfo(kind)), steps), 30);
    EXPECT_GE(Hits(FitEnsemble(steps, ToyInfo(kind), Quick()), steps), 38);
  }
}

TEST(FitEnsemble, NeedsTheSimulationWhereNothingElseDiffers) {
  const std::vector<LabelledStep> steps = ToySteps(40);
  EnsembleInfo info = ToyInfo();
  info.inputs = InputSet::kPublished;
  EXPECT_LT(Hits(FitEnsemble(steps, info, Quick()), steps), 30);
}

TEST(FitEnsemble, SaysFromWhatItLearned) {
  std::vector<LabelledStep> steps = ToySteps(4);
  steps[1].set = "others";
  const Ensemble ensemble = FitEnsemble(steps, ToyInfo(), Quick(1));
  EXPECT_THAT(ensemble.info().sets, testing::ElementsAre("others", "toys"));
  EXPECT_EQ(ensemble.info().steps, 4);
}

TEST(FitEnsemble, GivesTheSameWeightsFromTheSameSeed) {
  const std::vector<LabelledStep> steps = ToySteps(10);
  const auto fitted = [&](std::uint64_t seed) {
    FitOptions options = Quick(2);
    options.seed = seed;
    return SerializeEnsemble(FitEnsemble(steps, ToyInfo(), options));
  };
  EXPECT_EQ(fitted(3), fitted(3));
  EXPECT_NE(fitted(3), fitted(4));
}

TEST(FitEnsemble, ReportsEveryEpochOfEveryMember) {
  std::vector<std::int64_t> done;
  FitOptions options = Quick(3);
  options.progress = [&](std::int64_t now, std::int64_t total) {
    EXPECT_EQ(total, 6);
    done.push_back(now);
  };
  FitEnsemble(ToySteps(4), ToyInfo(), options);
  EXPECT_THAT(done, testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(FitEnsemble, RefusesNoSteps) {
  ExpectError(ErrorCode::kInvalidArgument, "no steps",
              [] { FitEnsemble({}, ToyInfo(), Quick(1)); });
}

TEST(Ensemble, AnswersByProbabilities) {
  const Ensemble ensemble = FitEnsemble(ToySteps(10), ToyInfo(), Quick(1));
  const ClassAnswer answer = ensemble.Answer(ToyStep(3000).inputs);
  ASSERT_EQ(answer.probabilities.size(), 2);
  EXPECT_THAT(answer.probabilities[0] + answer.probabilities[1],
              DoubleNear(1, 1e-6));
}

TEST(CrossValidate, AnswersEveryStepFromFoldsOfEqualSize) {
  const std::vector<LabelledStep> steps = ToySteps(30);
  const std::vector<HeldOutAnswer> answers =
      CrossValidate(steps, ToyInfo(), Quick(20), 3);
  ASSERT_EQ(answers.size(), 30);
  std::multiset<int> folds;
  for (const HeldOutAnswer& one : answers) folds.insert(one.fold);
  for (const int fold : {0, 1, 2}) EXPECT_EQ(folds.count(fold), 10);
}

TEST(CrossValidate, DoesNotShowAStepToTheOneThatAnswersIt) {
  // The label of one step is wrong: it is answered by what the others say.
  std::vector<LabelledStep> steps = ToySteps(30);
  steps[0].memory_mib = 9000;
  const std::vector<HeldOutAnswer> answers =
      CrossValidate(steps, ToyInfo(), Quick(), 3);
  EXPECT_EQ(answers[0].answer.Cautious(), 0);
}

TEST(CrossValidate, RefusesMoreFoldsThanSteps) {
  ExpectError(ErrorCode::kInvalidArgument, "4 folds of 3 steps",
              [] { CrossValidate(ToySteps(3), ToyInfo(), Quick(1), 4); });
}

}  // namespace
}  // namespace foretell::classify
