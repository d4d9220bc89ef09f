#pragma once

#include <chrono>
#include <optional>

#include "foretell/dataset.h"

namespace foretell::dataset {

/// Writes of a long run, committed every so often: a crash costs the writes
/// since the last commit. The first write after a pause is committed at once,
/// because the next may be long in coming and other processes wait for the
/// file.
class TimedBatch {
 public:
  TimedBatch(Dataset& dataset, double commit_every_s)
      : dataset_(dataset), interval_(commit_every_s) {}

  /// Before each write.
  void Begin() {
    if (!batch_) batch_.emplace(dataset_);
  }
  /// After each write: commits unless the last commit is too recent.
  void End() {
    if (!committed_ || Clock::now() - *committed_ >= interval_) Commit();
  }
  /// Commits the remaining writes.
  void Commit() {
    if (batch_) batch_->Commit();
    batch_.reset();
    committed_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;

  Dataset& dataset_;
  std::chrono::duration<double> interval_;
  std::optional<Dataset::Batch> batch_;
  std::optional<Clock::time_point> committed_;
};

}  // namespace foretell::dataset
