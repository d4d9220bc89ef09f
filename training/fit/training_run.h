#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "src/network/checkpoint.h"
#include "training/fit/rate_finder.h"
#include "training/fit/run_folder.h"
#include "training/fit/trainer.h"
#include "training/samples/open_samples.h"
#include "training/workers/communicator.h"

namespace foretell::training {

/// A training run in a folder, new or resumed.
struct TrainingRunOptions {
  std::string folder;
  bool resume = false;  ///< Continues the run in the folder. For a resumed run
                        ///< only the dataset (if it was moved), the threads and
                        ///< the cache are used.
  SampleRequest samples;
  /// For a new run; its batch size is per worker.
  TrainerOptions trainer;
  bool find_rate = false;  ///< The rate of a new run is that of FindRate.
  /// For a resumed run; empty: as it was.
  std::optional<std::int64_t> epochs;
  std::optional<std::int64_t> patience;
};

/// A training run: samples, scales, training, and its files. In addition to
/// those of RunFolder there are run.json, the request, and with `find_rate`
/// learning_rate.html. All workers call the same methods; only the first one
/// writes.
class TrainingRun {
 public:
  /// Opens folder and samples. Throws Error as RunFolder, ReadText,
  /// ReadSampleRequest and OpenSamples. `workers` must outlive it.
  TrainingRun(TrainingRunOptions options, Communicator& workers);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  const SampleSet& set() const { return opened_.set; }
  const TrainingData& data() const { return *data_; }
  const RunFolder& folder() const { return folder_; }
  /// Path of the chart of the range test.
  std::string rate_test_path() const;

  /// Creates the trainer, new or from the folder's checkpoints; returns the
  /// range test if requested. To be called once, before Run. Throws Error as
  /// FitInfo, FindRate, ReadCheckpoint and Trainer.
  std::optional<RateTest> Prepare();
  std::int64_t epochs() const { return options_.trainer.epochs; }

  /// Trains to the end, or until interrupted. Writes checkpoints, metrics and
  /// curves after each epoch, before the hook. Throws Error as Trainer::Run and
  /// RunFolder.
  RunEnd Run(TrainerHooks hooks);

  /// Metadata of the best checkpoint.
  learned::CheckpointInfo BestInfo() const { return trainer_->Best().info; }

 private:
  std::optional<RateTest> Start();
  void Resume();
  void Write(const EpochMetrics& metrics);
  void WriteLast() const;

  TrainingRunOptions options_;
  Communicator& workers_;
  RunFolder folder_;
  OpenedSamples opened_;
  std::optional<TrainingData> data_;
  std::unique_ptr<Trainer> trainer_;
};

/// True if the folder has a run to continue. All workers return the first one's
/// result, because others may not see the files yet.
bool HasRun(const std::string& folder, Communicator& workers);

}  // namespace foretell::training
