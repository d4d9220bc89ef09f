#include "cli/commands/training_progress.h"

#include <fmt/core.h>

#include "src/core/numbers.h"

namespace foretell::cli {
namespace {

constexpr std::size_t kShortName = 3;

}  // namespace

std::string DescribeProgress(const training::BatchProgress& progress) {
  std::string text =
      fmt::format("{}/{} loss {}", progress.epoch, progress.epochs,
                  FormatNumber(progress.so_far.Loss(), 4));
  for (const learned::Target target : learned::kAllTargets) {
    const double mape = progress.so_far.Mape(target);
    if (!learned::IsKnown(mape)) continue;
    text += fmt::format(" {} {}%", TargetName(target).substr(0, kShortName),
                        FormatNumber(100 * mape, 1));
  }
  return text;
}

TrainingProgress::TrainingProgress(std::int64_t runs, std::int64_t epochs,
                                   std::int64_t graphs)
    : runs_(runs), graphs_of_run_(epochs * graphs) {}

training::TrainerHooks TrainingProgress::HooksOf(std::int64_t run,
                                                 const std::string& name) {
  return {.on_batch =
              [this, run, name](const training::BatchProgress& progress) {
                Show(run, name, progress);
              },
          .on_epoch = {},
          .interrupted = [this] { return interruption_.Asked(); }};
}

void TrainingProgress::Show(std::int64_t run, const std::string& name,
                            const training::BatchProgress& progress) {
  const std::int64_t batches = progress.batches * progress.epochs;
  const std::int64_t batch =
      (progress.epoch - 1) * progress.batches + progress.batch;
  const std::int64_t done =
      run * graphs_of_run_ + graphs_of_run_ * batch / batches;
  if (!begun_) {
    begun_ = run * graphs_of_run_ + graphs_of_run_ * (batch - 1) / batches;
  }
  bar_.Show(done - *begun_, runs_ * graphs_of_run_ - *begun_, 0,
            name + DescribeProgress(progress));
}

}  // namespace foretell::cli
