#include "training/judge/cross_validation.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/core/files.h"
#include "src/core/output_file.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/training/toy_data.h"
#include "training/fit/run_folder.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;

/// Sixteen samples of eight networks in four folds.
class CrossValidationTest : public testing::Test {
 protected:
  CrossValidationTest() {
    training_test::MakeToyDataset(path_, {.points = 16});
  }

  CrossValidationOptions Options() {
    return {.samples = {.dataset = path_, .split = kNoSplit},
            .trainer = training_test::TinyTraining(),
            .kind = FoldKind::kModel,
            .folds = 4,
            .folder = folder_ / "cv"};
  }

  /// Notes in trained_ which trainings are done.
  HooksOfRun Noting() {
    trained_.clear();
    return [this](std::int64_t run, const std::string& name) {
      trained_.push_back(fmt::format("{}: {}", run, name));
      return TrainerHooks{};
    };
  }

  std::vector<PredictedSample> PredictAll(
      const CrossValidationOptions& options) {
    return CrossValidation(options).PredictFolds(Noting()).value();
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
  std::vector<std::string> trained_;
};

TEST_F(CrossValidationTest, PredictsEverySampleOnce) {
  const CrossValidation validation(Options());
  EXPECT_EQ(validation.samples_per_training(), 12);
  const auto predictions = validation.PredictFolds(Noting());
  EXPECT_EQ(trained_, (std::vector<std::string>{"0: fold 0 ", "1: fold 1 ",
                                                "2: fold 2 ", "3: fold 3 "}));
  ASSERT_TRUE(predictions);
  std::vector<std::size_t> samples;
  for (const PredictedSample& one : *predictions) {
    samples.push_back(one.sample);
    EXPECT_GT(ValueOf(one.predicted, learned::Target::kEnergy), 0);
  }
  std::ranges::sort(samples);
  EXPECT_EQ(samples, training_test::AllOf(validation.set()));
  // Both batch sizes of a network are left out together.
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(validation.folds()[i], validation.folds()[i + 8]);
  }
}

TEST_F(CrossValidationTest, RepeatsNoFoldThatIsThere) {
  const auto first = PredictAll(Options());
  std::filesystem::remove(folder_ / "cv/folds/fold-2.json");
  const auto second = PredictAll(Options());
  EXPECT_EQ(trained_, std::vector<std::string>{"2: fold 2 "});
  ASSERT_EQ(second.size(), first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(second[i].sample, first[i].sample);
    EXPECT_EQ(second[i].predicted, first[i].predicted);
  }
}

TEST_F(CrossValidationTest, KeepsUnknownValuesUnknown) {
  CrossValidationOptions options = Options();
  options.samples.targets = {learned::Target::kLatency};
  PredictAll(options);
  for (const PredictedSample& one : PredictAll(options)) {
    EXPECT_FALSE(learned::IsKnown(one.predicted[0]));
    EXPECT_GT(one.predicted[1], 0);
  }
  EXPECT_TRUE(trained_.empty());
}

TEST_F(CrossValidationTest, RepeatsFoldsThatSomethingElseMade) {
  PredictAll(Options());
  CrossValidationOptions options = Options();
  options.trainer.seed = 1;
  PredictAll(options);
  EXPECT_EQ(trained_.size(), 4);
  options.samples.simulated_weight = 0.5;
  PredictAll(options);
  EXPECT_EQ(trained_.size(), 4);
}

TEST_F(CrossValidationTest, KeepsFinishedFoldsWhenItIsInterrupted) {
  const CrossValidation validation(Options());
  EXPECT_FALSE(validation.PredictFolds([](std::int64_t run, const auto&) {
    return TrainerHooks{.interrupted = [run] { return run == 2; }};
  }));
  EXPECT_TRUE(validation.PredictFolds(Noting()));
  EXPECT_EQ(trained_, (std::vector<std::string>{"2: fold 2 ", "3: fold 3 "}));
}

TEST_F(CrossValidationTest, NamesAKeptFoldThatDoesNotFit) {
  PredictAll(Options());
  const std::string path = folder_ / "cv/folds/fold-1.json";
  const auto expect = [&](const nlohmann::json& row, const std::string& part) {
    nlohmann::json json = nlohmann::json::parse(ReadText(path));
    json["result"] = nlohmann::json::array({row});
    WriteWhole(path, json.dump());
    ExpectError(ErrorCode::kCorrupt, part, [&] { PredictAll(Options()); });
  };
  expect({16, 1, 2, 3}, "fold-1.json: has sample 16, expected fewer than 16");
  expect({1, 2}, "fold-1.json: ");
  expect({"one", 1, 2, 3}, "fold-1.json: ");
}

TEST_F(CrossValidationTest, SaysInItsCheckpointByWhatItWasJudged) {
  const CrossValidation validation(Options());
  std::vector<PredictedSample> predictions;
  for (const std::size_t i : training_test::AllOf(validation.set())) {
    const learned::TargetValues& truth = validation.set().samples[i].targets;
    predictions.push_back({.sample = i, .truth = truth, .predicted = truth});
    for (double& value : predictions.back().predicted) value *= 1.5;
  }
  const auto checkpoint = validation.TrainFinal(predictions, {});
  ASSERT_TRUE(checkpoint);
  EXPECT_EQ(checkpoint->info.environment.at("judged_by"), "4 folds by model");
  EXPECT_EQ(checkpoint->info.provenance.at("measured"), 16);
  for (const learned::CheckpointTarget& target : checkpoint->info.targets) {
    EXPECT_NEAR(target.validation_mape.value(), 0.5, 1e-9);
  }
  EXPECT_FALSE(
      validation.TrainFinal(predictions, {.interrupted = [] { return true; }}));
}

TEST_F(CrossValidationTest, JudgesAndWritesEveryForm) {
  const CrossValidation validation(Options());
  const auto predictions = validation.PredictFolds(Noting()).value();
  const Evaluation evaluation = validation.Judge(predictions);
  EXPECT_EQ(evaluation.method, "pmgns 8, 1 epoch");
  EXPECT_EQ(evaluation.dataset, path_);
  EXPECT_EQ(evaluation.selection,
            "each sample predicted without its model, 4 folds");
  EXPECT_EQ(SelectionOf(FoldKind::kRandom, 3),
            "each sample predicted without it, 3 random folds");
  EXPECT_EQ(evaluation.samples, 16);
  const auto text = [&](const char* name) {
    return ReadText(folder_ / "cv/" + name);
  };
  EXPECT_EQ(text("evaluation.txt"), EvaluationToText(evaluation));
  EXPECT_EQ(text("evaluation.md"), EvaluationToMarkdown(evaluation));
  EXPECT_EQ(text("evaluation.json"), EvaluationToJson(evaluation));
  const std::string csv = text("predictions.csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 3 * 16);
}

TEST_F(CrossValidationTest, NamesThePriorInItsMethod) {
  CrossValidationOptions options = Options();
  options.samples.prior = PriorSource::kAnalytic;
  const CrossValidation validation(options);
  EXPECT_EQ(validation.Judge({}).method, "pmgns 8 x analytic, 1 epoch");
}

TEST_F(CrossValidationTest, NeedsAsManyGroupsAsFolds) {
  CrossValidationOptions options = Options();
  options.kind = FoldKind::kFamily;
  ExpectError(ErrorCode::kInvalidArgument, "4 folds by family: expected 2 to 2",
              [&] { CrossValidation validation(options); });
}

}  // namespace
}  // namespace foretell::training
