#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/commands/interruption.h"
#include "cli/print/progress_bar.h"
#include "training/fit/trainer.h"

namespace foretell::cli {

/// "3/100 loss 0.1234 mem 4.1% lat 5.2%".
std::string DescribeProgress(const training::BatchProgress& progress);

/// Several trainings of equal length one after the other, as one progress bar
/// that counts graphs, and as hooks that end on a signal.
class TrainingProgress {
 public:
  /// `runs` trainings of `epochs` passes over about `graphs` each.
  TrainingProgress(std::int64_t runs, std::int64_t epochs, std::int64_t graphs);

  /// Hooks of training number `run`, from 0; valid while this object lives.
  training::TrainerHooks HooksOf(std::int64_t run, const std::string& name);

 private:
  void Show(std::int64_t run, const std::string& name,
            const training::BatchProgress& progress);

  Interruption interruption_;
  ProgressBar bar_;
  std::int64_t runs_;
  std::int64_t graphs_of_run_;
  std::optional<std::int64_t> begun_;  ///< Graphs that were done before.
};

}  // namespace foretell::cli
