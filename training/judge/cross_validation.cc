#include "training/judge/cross_validation.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "foretell/version.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/method_text.h"

namespace foretell::training {
namespace {

/// A row per sample: its index and its values, null where unknown.
nlohmann::json RowsOf(std::span<const PredictedSample> predictions) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PredictedSample& one : predictions) {
    nlohmann::json row = {one.sample};
    for (const double value : one.predicted)
      row.push_back(nlohmann::json(JsonNumber(value)));
    rows.push_back(std::move(row));
  }
  return rows;
}

PredictedSample PredictionFrom(const nlohmann::json& row) {
  PredictedSample one{.sample = row.at(0)};
  for (std::size_t i = 0; i < one.predicted.size(); ++i) {
    const nlohmann::json& value = row.at(i + 1);
    if (!value.is_null()) one.predicted[i] = value.get<double>();
  }
  return one;
}

ResultCache CacheOf(const CrossValidationOptions& options,
                    const std::vector<int>& folds) {
  return {options.folder + "/folds",
          {{"version", kVersion},
           {"samples", SampleRequestToJson(options.samples)},
           {"folds", folds},
           {"options", TrainerOptionsToJson(options.trainer)}}};
}

}  // namespace

CrossValidation::CrossValidation(CrossValidationOptions options)
    : options_(std::move(options)),
      targets_(options_.samples.Targets()),
      opened_(OpenSamples(options_.samples)),
      folds_(AssignFolds(opened_.set, options_.kind, options_.folds,
                         options_.seed)),
      cache_(CacheOf(options_, folds_)) {}

std::int64_t CrossValidation::samples_per_training() const {
  return std::ssize(folds_) * (options_.folds - 1) / options_.folds;
}

LearningTask CrossValidation::Task() const {
  return {options_.trainer, targets_, opened_.set, *opened_.store};
}

std::optional<std::vector<PredictedSample>> CrossValidation::PredictFolds(
    const HooksOfRun& hooks) const {
  std::vector<PredictedSample> pooled;
  for (int fold = 0; fold < options_.folds; ++fold) {
    const std::string name = fmt::format("fold-{}", fold);
    std::optional<std::vector<PredictedSample>> predictions;
    if (const auto found = cache_.Find(name)) {
      predictions = Kept(*found, name);
    } else {
      predictions = PredictFold(Task(), folds_, fold,
                                hooks(fold, fmt::format("fold {} ", fold)));
      if (!predictions) return std::nullopt;
      cache_.Put(name, RowsOf(*predictions));
    }
    pooled.insert(pooled.end(), predictions->begin(), predictions->end());
  }
  return pooled;
}

std::vector<PredictedSample> CrossValidation::Kept(
    const nlohmann::json& rows, const std::string& name) const {
  const auto corrupt = [&](const std::string& what) {
    return Corrupt("{}/folds/{}.json: {}", options_.folder, name, what);
  };
  std::vector<PredictedSample> predictions;
  try {
    for (const nlohmann::json& row : rows) {
      predictions.push_back(PredictionFrom(row));
      PredictedSample& one = predictions.back();
      if (one.sample >= folds_.size()) {
        throw corrupt(fmt::format("has sample {}, expected fewer than {}",
                                  one.sample, folds_.size()));
      }
      one.truth = opened_.set.samples[one.sample].targets;
    }
  } catch (const nlohmann::json::exception& error) {
    throw corrupt(error.what());
  }
  return predictions;
}

std::optional<learned::Checkpoint> CrossValidation::TrainFinal(
    std::span<const PredictedSample> predictions,
    const TrainerHooks& hooks) const {
  std::optional<learned::Checkpoint> checkpoint =
      TrainOnAll(Task(), predictions, hooks);
  if (!checkpoint) return std::nullopt;
  checkpoint->info.environment["judged_by"] = fmt::format(
      "{} by {}", Counted(options_.folds, "fold"), FoldKindName(options_.kind));
  return checkpoint;
}

std::string SelectionOf(FoldKind kind, std::int64_t folds) {
  if (kind == FoldKind::kRandom) {
    return fmt::format("each sample predicted without it, {} random folds",
                       folds);
  }
  return fmt::format("each sample predicted without its {}, {}",
                     FoldKindName(kind), Counted(folds, "fold"));
}

Evaluation CrossValidation::Judge(
    std::span<const PredictedSample> predictions) const {
  const SampleSet& set = opened_.set;
  const std::vector<PredictedSample> answers =
      CrossConformal(predictions, folds_, options_.folds);
  Evaluation evaluation =
      Evaluate(set, answers, targets_, opened_.OnlyDevice());
  evaluation.method = fmt::format(
      "{}, {}", MethodText(options_.trainer.network, set.recipe.prior),
      Counted(options_.trainer.epochs, "epoch"));
  evaluation.dataset = options_.samples.dataset;
  evaluation.selection = SelectionOf(options_.kind, options_.folds);
  const auto write = [this](const char* name, const std::string& text) {
    WriteWhole(fmt::format("{}/{}", options_.folder, name), text);
  };
  write("predictions.csv", PredictionsToCsv(set, answers, targets_));
  write("evaluation.txt", EvaluationToText(evaluation));
  write("evaluation.md", EvaluationToMarkdown(evaluation));
  write("evaluation.json", EvaluationToJson(evaluation));
  return evaluation;
}

}  // namespace foretell::training
