#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/answer/learned_model.h"
#include "src/core/json_fields.h"
#include "src/network/checkpoint.h"
#include "training/fit/epoch_metrics.h"
#include "training/fit/learner.h"
#include "training/fit/trainer_options.h"
#include "training/fit/training_data.h"
#include "training/workers/communicator.h"

namespace foretell::training {

/// Progress of a run.
struct BatchProgress {
  std::int64_t epoch = 0;  ///< From 1.
  std::int64_t epochs = 0;
  std::int64_t batch = 0;  ///< From 1, within the epoch.
  std::int64_t batches = 0;
  const PassSums& so_far;  ///< Sums of this worker, this epoch.
};

/// Callbacks of a run; each may be empty.
struct TrainerHooks {
  std::function<void(const BatchProgress&)> on_batch;
  /// After each epoch, when Last() and Best() are worth writing.
  std::function<void(const EpochMetrics&)> on_epoch;
  /// Called before each batch; true ends the run after it.
  std::function<bool()> interrupted;
};

enum class RunEnd {
  kFinished,      ///< All epochs are done.
  kStoppedEarly,  ///< No better validation loss for `patience` epochs.
  kInterrupted,   ///< TrainerHooks::interrupted; Last() goes on from there.
};

/// A run to continue.
struct SavedRun {
  learned::Checkpoint last;  ///< Trainer::Last().
  learned::Checkpoint best;  ///< Trainer::Best().
  std::string origin;        ///< Names them in errors.
};

/// Trains one network.
///
/// Every random number (weights, order, dropout) depends only on the seed and
/// the position in the run, so that on a CPU with the same number of threads a
/// restored run ends with exactly the same bytes.
///
/// With several workers, gradients of sums are added up and divided by the sum
/// of all weights once: n workers with batches of b give the same steps as one
/// with n · b, except for rounding and dropout.
class Trainer {
 public:
  /// A new run. `info` is FitInfo's. Throws Error as TrainerOptions::Check,
  /// and kUnsupported when there is no such device to compute on.
  Trainer(const TrainerOptions& options, learned::CheckpointInfo info,
          const TrainingData& data, Communicator& communicator);
  /// Continues a run; `options` may differ in epochs and patience. Throws
  /// Error(kCorrupt) that names its origin for checkpoints that do not fit.
  Trainer(const TrainerOptions& options, const SavedRun& saved,
          const TrainingData& data, Communicator& communicator);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Trains to the end. Throws Error(kInvalidArgument) when the loss is no
  /// longer a finite number, and what reading and communicating throw.
  RunEnd Run(const TrainerHooks& hooks);

  /// The current weights, with everything needed to continue.
  learned::Checkpoint Last() const;
  /// The weights with the lowest validation loss (without a validation part:
  /// of the last epoch), with intervals from that part.
  learned::Checkpoint Best() const;
  /// Either of the two, ready to predict on the trainer's device.
  learned::LearnedModel BestModel() const;
  learned::LearnedModel LastModel() const;

 private:
  /// Position in the run; stored in the checkpoint.
  struct Position {
    std::int64_t epoch = 0;  ///< Finished epochs.
    std::int64_t batch = 0;  ///< Finished batches of the next epoch.
    PassSums sums;           ///< Sums over those.
    double norm_sum = 0;     ///< Sum of the gradients' norms in those.
    double best_loss = 0;
    std::int64_t best_epoch = 0;  ///< 0: none yet.
  };

  /// Returns false if it was interrupted.
  bool TrainEpoch(const TrainerHooks& hooks);
  void Step(const LoadedBatch& batch, double progress);
  void SumOverWorkers();
  double RateAt(double progress) const;
  void FinishEpoch(const TrainerHooks& hooks);
  void Validate(EpochMetrics& metrics);
  void KeepBest();
  learned::LearnedModel ModelOf(const learned::Checkpoint& checkpoint) const;
  static void DescribePosition(JsonFields& fields, Position& position);
  std::string PositionToJson() const;
  void RestorePosition(const std::string& json, const std::string& origin);

  TrainerOptions options_;
  learned::CheckpointInfo info_;
  const TrainingData& data_;
  Communicator& communicator_;
  Learner learner_;
  Position position_;
  bool stop_ = false;         ///< Asked to end; all workers agree.
  double epoch_seconds_ = 0;  ///< Time of this process, this epoch.
  double epoch_graphs_ = 0;
  learned::CheckpointInfo best_info_;
  std::map<std::string, learned::StoredTensor> best_weights_;
};

/// Options that a checkpoint of Trainer::Last was made with. Throws
/// Error(kCorrupt) that names `origin` when it is for predicting only.
TrainerOptions OptionsOf(const learned::Checkpoint& last,
                         const std::string& origin);

}  // namespace foretell::training
