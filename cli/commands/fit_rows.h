#pragma once

#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "src/surrogate/comparison.h"

namespace foretell::cli {

/// Fewest points of a sweep that fit and choose a formula.
inline constexpr int kFewestPoints = 16;

/// What `foretell fit` was asked for.
struct FitCommand {
  ModelOptions model;  ///< Its only name is the table where none is swept.
  PredictorFlags predictor;
  std::string target;
  std::vector<std::string> columns;
  std::vector<surrogate::Method> methods;
  surrogate::EvolveOptions evolve;
  double held_out = 0.3;
  std::string sweep;
  int points = 120;
  int checks = 30;
  std::string judge;
  std::string out;
  bool json = false;

  const std::string& input() const { return model.models.front(); }
};

/// Throws Error(kInvalidArgument) where the table is a model by its name.
void RequireTable(const std::string& name);

/// Rows of the table, `held_out` of them apart; none chooses.
surrogate::ComparedRows RowsOfTable(const FitCommand& command);

/// Predictions at points of the sweep, with progress: the corners and most of
/// `points` are fitted, the others of them choose, and `checks` judge; of a
/// sweep with fewer points as large shares. Throws Error(kInvalidArgument) for
/// a target that is no figure and where fewer than kFewestPoints would be
/// fitted, and what Predict throws.
surrogate::ComparedRows RowsOfSweep(const FitCommand& command);

}  // namespace foretell::cli
