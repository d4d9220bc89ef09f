#include "training/fit/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/core/files.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"
#include "tests/page/page_data.h"
#include "tests/training/toy_data.h"
#include "training/fit/rate_finder.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;
using learned::ReadCheckpoint;

/// The second of two workers, which hears from the first what it is told to.
class SecondWorker : public Communicator {
 public:
  int rank() const override { return 1; }
  int size() const override { return 2; }
  void TakeFromFirst(at::Tensor& tensor) override { tensor.fill_(said); }

  double said = 0;
};

class TrainingRunTest : public testing::Test {
 protected:
  TrainingRunTest() { training_test::MakeToyDataset(path_, {.points = 24}); }

  TrainingRunOptions New(const std::string& name, std::int64_t epochs) {
    TrainingRunOptions options{.folder = folder_ / name,
                               .samples = {.dataset = path_, .split = "random"},
                               .trainer = training_test::TinyTraining()};
    options.trainer.epochs = epochs;
    return options;
  }

  static RunEnd Train(const TrainingRunOptions& options) {
    Communicator alone;
    TrainingRun run(options, alone);
    run.Prepare();
    return run.Run({});
  }

  std::string Bytes(const std::string& name) {
    return ReadText(folder_ / name);
  }

  dataset_test::Scratch folder_;
  std::string path_ = folder_ / "d.sqlite";
};

TEST_F(TrainingRunTest, LeavesItsFiles) {
  TrainingRunOptions options = New("run", 3);
  options.samples.targets = {learned::Target::kLatency};
  EXPECT_EQ(Train(options), RunEnd::kFinished);
  EXPECT_EQ(nlohmann::json::parse(Bytes("run/run.json")),
            SampleRequestToJson(options.samples));
  const std::string metrics = Bytes("run/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 3);
  EXPECT_EQ(PageData(Bytes("run/curves.html"))["epochs"].size(), 3U);
  EXPECT_EQ(ReadCheckpoint(folder_ / "run/last.safetensors").info.epochs, 3);
  EXPECT_FALSE(
      ReadCheckpoint(folder_ / "run/last.safetensors").training.empty());
  EXPECT_TRUE(
      ReadCheckpoint(folder_ / "run/best.safetensors").training.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/learning_rate.html"));
}

TEST_F(TrainingRunTest, RecordsWhatItLearnedFrom) {
  TrainingRunOptions options = New("run", 1);
  options.samples.prior = PriorSource::kAnalytic;
  options.samples.recipe.edges = learned::EdgeKind::kChain;
  Communicator alone;
  TrainingRun run(options, alone);
  EXPECT_EQ(run.data().train.size(), 17);
  EXPECT_EQ(run.data().validation.size(), 4);
  run.Prepare();
  run.Run({});
  const learned::CheckpointInfo info = run.BestInfo();
  EXPECT_EQ(info.devices, std::vector<std::string>{"a100-sxm4-40gb"});
  EXPECT_EQ(info.sources, std::vector<std::string>{"test"});
  EXPECT_EQ(info.provenance,
            (std::map<std::string, std::int64_t>{{"measured", 17}}));
  EXPECT_EQ(info.recipe.edges, learned::EdgeKind::kChain);
  EXPECT_EQ(info.recipe.prior, "analytic");
  EXPECT_EQ(info.recipe.context,
            DeviceCatalog::BuiltIn().DefaultContext().name);
  EXPECT_EQ(info.environment.at("compute"), "cpu");
  const learned::Checkpoint best = ReadCheckpoint(run.folder().best_path());
  EXPECT_EQ(best.info.recipe, info.recipe);
}

TEST_F(TrainingRunTest, TellsOfEachEpochOnceItsFilesAreThere) {
  Communicator alone;
  TrainingRun run(New("run", 2), alone);
  run.Prepare();
  std::vector<std::int64_t> written;
  run.Run({.on_epoch = [&](const EpochMetrics&) {
    written.push_back(ReadCheckpoint(run.folder().last_path()).info.epochs);
  }});
  EXPECT_EQ(written, (std::vector<std::int64_t>{1, 2}));
}

TEST_F(TrainingRunTest, ResumesToTheSameBytesFromAnotherPlace) {
  Train(New("whole", 4));
  Train(New("half", 2));
  std::filesystem::rename(path_, folder_ / "moved.sqlite");
  // All but the dataset's new place is as it was.
  const TrainingRunOptions resumed{
      .folder = folder_ / "half",
      .resume = true,
      .samples = {.dataset = folder_ / "moved.sqlite",
                  .split = kNoSplit,
                  .targets = {learned::Target::kEnergy}},
      .epochs = 4};
  EXPECT_EQ(Train(resumed), RunEnd::kFinished);
  EXPECT_EQ(Bytes("half/last.safetensors"), Bytes("whole/last.safetensors"));
  EXPECT_EQ(Bytes("half/best.safetensors"), Bytes("whole/best.safetensors"));
  const std::string metrics = Bytes("half/metrics.jsonl");
  EXPECT_EQ(std::ranges::count(metrics, '\n'), 4);
}

TEST_F(TrainingRunTest, TakesPatienceAndEpochsOfAResumedRun) {
  Train(New("run", 1));
  const TrainingRunOptions resumed{
      .folder = folder_ / "run", .resume = true, .epochs = 9, .patience = 5};
  Communicator alone;
  TrainingRun run(resumed, alone);
  EXPECT_EQ(run.Prepare(), std::nullopt);
  EXPECT_EQ(run.epochs(), 9);
  run.Run({.interrupted = [] { return true; }});
  const std::string path = run.folder().last_path();
  const TrainerOptions options = OptionsOf(ReadCheckpoint(path), path);
  EXPECT_EQ(options.patience, 5);
  EXPECT_EQ(options.learning_rate, New("run", 1).trainer.learning_rate);
}

TEST_F(TrainingRunTest, SavesWhereItWasInterrupted) {
  Communicator alone;
  TrainingRun run(New("run", 5), alone);
  run.Prepare();
  EXPECT_EQ(run.Run({.interrupted = [] { return true; }}),
            RunEnd::kInterrupted);
  EXPECT_TRUE(HasRun(folder_ / "run", alone));
  EXPECT_FALSE(std::filesystem::exists(run.folder().best_path()));
  EXPECT_EQ(Train({.folder = folder_ / "run", .resume = true}),
            RunEnd::kFinished);
  Train(New("whole", 5));
  EXPECT_EQ(Bytes("run/last.safetensors"), Bytes("whole/last.safetensors"));
}

TEST_F(TrainingRunTest, LearnsAtTheRateOfItsRangeTest) {
  TrainingRunOptions options = New("run", 1);
  options.find_rate = true;
  Communicator alone;
  TrainingRun run(options, alone);
  const std::optional<RateTest> test = run.Prepare();
  ASSERT_TRUE(test);
  EXPECT_EQ(ReadText(run.rate_test_path()), RateTestToHtml(*test));
  run.Run({});
  const std::string path = run.folder().last_path();
  EXPECT_EQ(OptionsOf(ReadCheckpoint(path), path).learning_rate,
            test->suggested);
}

TEST_F(TrainingRunTest, DoesNotBeginWhereThereIsARun) {
  Train(New("run", 1));
  ExpectError(ErrorCode::kInvalidArgument, "run: already has a run",
              [&] { Train(New("run", 1)); });
}

TEST_F(TrainingRunTest, NamesWhatAResumedRunLacks) {
  const TrainingRunOptions resumed{.folder = folder_ / "run", .resume = true};
  ExpectError(ErrorCode::kNotFound, "run/run.json", [&] { Train(resumed); });
  Train(New("run", 1));
  std::filesystem::remove(folder_ / "run/last.safetensors");
  ExpectError(ErrorCode::kNotFound, "run/last.safetensors",
              [&] { Train(resumed); });
}

TEST_F(TrainingRunTest, WritesNothingAsTheSecondWorker) {
  SecondWorker worker;
  TrainingRun run(New("run", 1), worker);
  run.Prepare();
  EXPECT_EQ(run.Run({}), RunEnd::kFinished);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "run"));
}

TEST_F(TrainingRunTest, GivesEveryWorkerABatch) {
  SecondWorker worker;
  TrainingRun run(New("run", 1), worker);
  run.Prepare();
  std::int64_t batches = 0;
  run.Run({.on_batch = [&](const BatchProgress& progress) {
    batches = progress.batches;
  }});
  // 17 samples, 2 workers with 4 each.
  EXPECT_EQ(batches, 3);
}

TEST_F(TrainingRunTest, IsThereForAllWorkersWhenTheFirstSeesIt) {
  SecondWorker worker;
  EXPECT_FALSE(HasRun(folder_ / "run", worker));
  worker.said = 1;
  EXPECT_TRUE(HasRun(folder_ / "run", worker));
  Communicator alone;
  EXPECT_FALSE(HasRun(folder_ / "run", alone));
}

}  // namespace
}  // namespace foretell::training
