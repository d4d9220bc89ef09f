#include "training/fit/training_run.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/core/files.h"
#include "src/core/output_file.h"
#include "training/fit/fit_info.h"

namespace foretell::training {
namespace {

constexpr char kRequestFile[] = "run.json";
constexpr char kRateTestFile[] = "learning_rate.html";

}  // namespace

TrainingRun::TrainingRun(TrainingRunOptions options, Communicator& workers)
    : options_(std::move(options)),
      workers_(workers),
      folder_(options_.folder, !options_.resume && workers.IsFirst()) {
  if (options_.resume) {
    const std::string path = folder_.File(kRequestFile);
    ReadSampleRequest(ReadText(path), path, options_.samples);
  }
  opened_ = OpenSamples(options_.samples);
  const SampleSet& set = opened_.set;
  data_.emplace(TrainingData{set, *opened_.store, set.PartOf(Part::kTrain),
                             set.ForJudging(set.PartOf(Part::kValidation))});
}

std::string TrainingRun::rate_test_path() const {
  return folder_.File(kRateTestFile);
}

std::optional<RateTest> TrainingRun::Prepare() {
  if (!options_.resume) return Start();
  Resume();
  return std::nullopt;
}

std::optional<RateTest> TrainingRun::Start() {
  TrainerOptions& trainer = options_.trainer;
  trainer.batch_size *= workers_.size();
  learned::CheckpointInfo info =
      FitInfo(trainer, opened_.set, options_.samples.Targets(), data_->train);
  std::optional<RateTest> test;
  if (options_.find_rate) {
    test = FindRate(trainer, info, *data_, workers_);
    trainer.learning_rate = test->suggested;
  }
  if (workers_.IsFirst()) {
    if (test) WriteWhole(rate_test_path(), RateTestToHtml(*test));
    WriteWhole(folder_.File(kRequestFile),
               SampleRequestToJson(options_.samples).dump() + "\n");
    folder_.KeepMetrics(0);
  }
  trainer_ =
      std::make_unique<Trainer>(trainer, std::move(info), *data_, workers_);
  return test;
}

void TrainingRun::Resume() {
  const std::string origin = folder_.last_path();
  SavedRun saved{.last = learned::ReadCheckpoint(origin), .origin = origin};
  const bool has_best = std::filesystem::exists(folder_.best_path());
  saved.best =
      has_best ? learned::ReadCheckpoint(folder_.best_path()) : saved.last;
  options_.trainer = OptionsOf(saved.last, origin);
  if (options_.epochs) options_.trainer.epochs = *options_.epochs;
  if (options_.patience) options_.trainer.patience = *options_.patience;
  if (workers_.IsFirst()) folder_.KeepMetrics(saved.last.info.epochs);
  trainer_ =
      std::make_unique<Trainer>(options_.trainer, saved, *data_, workers_);
}

RunEnd TrainingRun::Run(TrainerHooks hooks) {
  hooks.on_epoch =
      [this, tell = std::move(hooks.on_epoch)](const EpochMetrics& metrics) {
        if (workers_.IsFirst()) Write(metrics);
        if (tell) tell(metrics);
      };
  const RunEnd end = trainer_->Run(hooks);
  if (workers_.IsFirst()) WriteLast();
  return end;
}

void TrainingRun::Write(const EpochMetrics& metrics) {
  if (metrics.is_best) {
    WriteWhole(folder_.best_path(), SerializeCheckpoint(trainer_->Best()));
  }
  // Before the checkpoint: a resumed run drops lines beyond its checkpoint, but
  // could not know that a line is missing.
  folder_.AddMetrics(metrics);
  WriteLast();
  folder_.WriteCurves();
}

void TrainingRun::WriteLast() const {
  WriteWhole(folder_.last_path(), SerializeCheckpoint(trainer_->Last()));
}

bool HasRun(const std::string& folder, Communicator& workers) {
  return workers.AsFirst(RunFolder::HasRun(folder));
}

}  // namespace foretell::training
