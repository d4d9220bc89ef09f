#include "src/classify/fit_ensemble.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/random.h"

namespace foretell::classify {
namespace {

using RowList = std::vector<std::int64_t>;

/// Seeds of members lie apart, so that runs with adjacent seeds share none of
/// them.
constexpr std::uint64_t kSeedStep = 1000003;

std::vector<const StepInputs*> InputsOf(std::span<const LabelledStep> steps) {
  std::vector<const StepInputs*> inputs;
  for (const LabelledStep& step : steps) inputs.push_back(&step.inputs);
  return inputs;
}

RowList Shuffled(RowList rows, std::uint64_t seed) {
  Random(seed).Shuffle(rows);
  return rows;
}

/// Encoded steps and their classes.
struct Lessons {
  StepTable table;
  at::Tensor classes;  ///< int64 [n].
};

Lessons MakeLessons(std::span<const LabelledStep> steps,
                    const Ensemble& ensemble) {
  RowList classes;
  for (const LabelledStep& step : steps) {
    classes.push_back(ensemble.info().classes.ClassOf(step.memory_mib));
  }
  return {ensemble.Encode(InputsOf(steps)), at::tensor(classes)};
}

/// Counts epochs of all members for FitOptions::progress.
struct Progress {
  const FitOptions& options;
  std::int64_t total;
  std::int64_t done = 0;

  void Step() {
    ++done;
    if (options.progress) options.progress(done, total);
  }
};

void FitMember(const Lessons& lessons, const RowList& rows, int member,
               Ensemble& ensemble, Progress& progress) {
  const FitOptions& options = progress.options;
  const std::int64_t epochs = progress.total / ensemble.info().members;
  const std::uint64_t seed =
      options.seed + kSeedStep * (static_cast<std::uint64_t>(member) + 1);
  Estimator& estimator = ensemble.member(member);
  torch::optim::AdamW adam(estimator.parameters(),
                           torch::optim::AdamWOptions(options.learning_rate)
                               .weight_decay(options.weight_decay));
  auto& settings = static_cast<torch::optim::AdamWOptions&>(
      adam.param_groups().front().options());
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const double part =
        static_cast<double>(epoch) / static_cast<double>(epochs);
    settings.lr(options.learning_rate *
                (1 + std::cos(part * std::numbers::pi)) / 2);
    const RowList order =
        Shuffled(rows, seed + static_cast<std::uint64_t>(epoch));
    const auto count = static_cast<std::int64_t>(order.size());
    for (std::int64_t begin = 0; begin < count; begin += options.batch_size) {
      const Rows batch(order.data() + begin,
                       static_cast<std::size_t>(
                           std::min(options.batch_size, count - begin)));
      const at::Tensor truth = lessons.classes.index_select(
          0,
          at::tensor(at::ArrayRef<std::int64_t>(batch.data(), batch.size())));
      adam.zero_grad();
      at::cross_entropy_loss(
          estimator.forward(ensemble.Scaled(lessons.table.Take(batch))), truth)
          .backward();
      adam.step();
    }
    progress.Step();
  }
}

/// One thread while it lives: estimators are so small that several of them only
/// wait for each other, and sums come out the same everywhere.
class OneThread {
 public:
  OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(threads_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int threads_;
};

RowList AllRows(std::size_t count) {
  RowList rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

void FillIn(std::span<const LabelledStep> steps, EnsembleInfo& info) {
  std::set<std::string> sets;
  for (const LabelledStep& step : steps) sets.insert(step.set);
  info.sets.assign(sets.begin(), sets.end());
  info.steps = static_cast<std::int64_t>(steps.size());
}

}  // namespace

int DefaultMembers(EstimatorKind kind) {
  return kind == EstimatorKind::kMlp ? 6 : 2;
}

int DefaultEpochs(EstimatorKind kind, InputSet inputs) {
  constexpr int kEpochs[2][2] = {{150, 5}, {40, 4}};
  return kEpochs[static_cast<int>(kind)][static_cast<int>(inputs)];
}

Ensemble FitEnsemble(std::span<const LabelledStep> steps, EnsembleInfo info,
                     const FitOptions& options) {
  if (steps.empty()) {
    throw InvalidArgument("no steps to learn from");
  }
  FillIn(steps, info);
  const OneThread one_thread;
  at::manual_seed(options.seed);
  const int epochs = options.epochs > 0 ? options.epochs
                                        : DefaultEpochs(info.kind, info.inputs);
  Ensemble ensemble(std::move(info));
  const Lessons lessons = MakeLessons(steps, ensemble);
  const RowList rows = AllRows(steps.size());
  ensemble.SetScale(lessons.table, rows);
  Progress progress{options, std::int64_t{epochs} * ensemble.info().members};
  for (int i = 0; i < ensemble.info().members; ++i) {
    FitMember(lessons, rows, i, ensemble, progress);
  }
  return ensemble;
}

std::vector<HeldOutAnswer> CrossValidate(std::span<const LabelledStep> steps,
                                         const EnsembleInfo& info,
                                         const FitOptions& options, int folds) {
  const auto count = static_cast<std::int64_t>(steps.size());
  if (folds < 2 || folds > count) {
    throw InvalidArgument("{} of {}, expected 2 to that many",
                          Counted(folds, "fold"), Counted(count, "step"));
  }
  const RowList order = Shuffled(AllRows(steps.size()), options.seed);
  std::vector<HeldOutAnswer> answers(steps.size());
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<LabelledStep> known;
    std::vector<const StepInputs*> asked;
    RowList places;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = order[static_cast<std::size_t>(i)];
      const LabelledStep& step = steps[static_cast<std::size_t>(place)];
      if (i * folds / count != fold) {
        known.push_back(step);
        continue;
      }
      asked.push_back(&step.inputs);
      places.push_back(place);
    }
    FitOptions part = options;
    if (options.progress) {
      part.progress = [&](std::int64_t done, std::int64_t total) {
        options.progress(fold * total + done, folds * total);
      };
    }
    const Ensemble ensemble = FitEnsemble(known, info, part);
    const std::vector<ClassAnswer> found =
        ensemble.Answer(ensemble.Encode(asked), AllRows(asked.size()));
    for (std::size_t i = 0; i < places.size(); ++i) {
      answers[static_cast<std::size_t>(places[i])] = {fold, found[i]};
    }
  }
  return answers;
}

}  // namespace foretell::classify
