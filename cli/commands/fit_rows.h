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
  ModelOptions model;  ///< Its only name is the table unless one is swept.
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

/// Throws Error(kInvalidArgument) where the name is that of a model.
void RequireTable(const std::string& name);

/// Rows of the table, a share `held_out` of them held out; no row chooses.
surrogate::ComparedRows RowsOfTable(const FitCommand& command);

/// Predictions at points of the sweep, with progress: the corners and most of
/// `points` are fitted, the rest of them choose, and `checks` judge; a sweep
/// with fewer points is divided in proportion. Throws Error(kInvalidArgument)
/// for a target that is not a figure and where fewer than kFewestPoints would
/// be fitted, and what Predict throws.
surrogate::ComparedRows RowsOfSweep(const FitCommand& command);

}  // namespace foretell::cli
