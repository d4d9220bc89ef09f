#pragma once

#include <string>
#include <vector>

#include "cli/flags/model_options.h"
#include "cli/flags/run_flags.h"
#include "src/surrogate/comparison.h"

namespace foretell::cli {

/// Fewest points of a sweep that fit and choose a formula.
inline constexpr int kFewestPoints = 16;

/// Options of `foretell fit`.
struct FitCommand {
  ModelOptions
      model;  ///< Names the table as its only model, unless a model is swept.
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

/// Throws Error(kInvalidArgument) if `name` is that of a model.
void RequireTable(const std::string& name);

/// Rows of the table, with a share `held_out` for the test and none for
/// choosing a method.
surrogate::ComparedRows RowsOfTable(const FitCommand& command);

/// Predictions at points of the sweep, with progress: the corners and most of
/// `points` are for fitting, the rest of them for choosing a method, and
/// `checks` for the test; a sweep with fewer points is divided in proportion.
/// Throws Error(kInvalidArgument) for a target that is not a figure and if
/// fewer than kFewestPoints would be fitted, and what Predict throws.
surrogate::ComparedRows RowsOfSweep(const FitCommand& command);

}  // namespace foretell::cli
