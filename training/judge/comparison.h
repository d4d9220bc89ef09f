#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "training/fit/trainer.h"

namespace foretell::training {

/// Mean absolute percentage errors of a part, as shares.
struct PartErrors {
  double pooled = learned::kUnknown;  ///< Over the labels of all targets.
  learned::TargetValues mape = learned::kNoValues;
};

/// One network trained with one seed, evaluated after its last epoch.
struct ComparisonCell {
  learned::NetworkKind network = {};
  std::uint64_t seed = 0;
  PartErrors train;
  PartErrors validation;
  PartErrors test;
};

/// Trains one cell. Empty when `hooks.interrupted` ended it.
std::optional<ComparisonCell> TrainCell(
    const TrainerOptions& options, std::span<const learned::Target> targets,
    const TrainingData& data, std::span<const std::size_t> test,
    const TrainerHooks& hooks);

nlohmann::json CellToJson(const ComparisonCell& cell);
/// Throws Error(kCorrupt) that names `origin`.
ComparisonCell CellFromJson(const nlohmann::json& json,
                            const std::string& origin);

/// A table like DIPPM's Table 3: a row per network with errors of the parts,
/// pooled over targets and per target of the test part; mean ± deviation over
/// seeds (of a sample, n - 1). Rows in the order in which networks first occur.
std::string ComparisonToText(std::span<const ComparisonCell> cells);
std::string ComparisonToMarkdown(std::span<const ComparisonCell> cells);
/// {"schema_version", "networks": [{"network", "seeds", "train": {"pooled":
/// {"mean", "deviation"}, "memory": …}, "validation", "test"}]}.
std::string ComparisonToJson(std::span<const ComparisonCell> cells);
/// A page with the same, as charts.
std::string ComparisonToHtml(std::span<const ComparisonCell> cells);

}  // namespace foretell::training
