#include "cli/commands/fit_rows.h"

#include <algorithm>
#include <utility>

#include "cli/commands/swept_model.h"
#include "cli/print/progress_bar.h"
#include "foretell/predictor.h"
#include "foretell/zoo.h"
#include "src/core/failure.h"
#include "src/core/model_endings.h"
#include "src/core/numbers.h"

namespace foretell::cli {
namespace {

/// Predictions at every point of a sweep, in one table.
surrogate::Table PredictPoints(const FitCommand& command, SweptModel& model,
                               const Eigen::MatrixXd& points) {
  const Target target = *ParseTarget(command.target);
  const Predictor predictor = command.predictor.Make(
      command.model.run, /*with_least=*/true, /*with_slices=*/false);
  ProgressBar progress;
  Eigen::VectorXd values(points.rows());
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    progress.Show(i, points.rows(), 0, "simulating");
    values[i] = predictor.Predict(model.GraphAt(points.row(i)))[target].value;
  }
  return {.columns = model.Names(),
          .target = std::string(TargetName(target)),
          .inputs = points,
          .values = values};
}

/// Number of the `there` points that are not for judging: --points, or as large
/// a share of a sweep that has fewer.
int FittingPoints(const FitCommand& command, int there) {
  const int asked = command.points + command.checks;
  const int fitting = std::min(command.points, there * command.points / asked);
  if (fitting >= kFewestPoints) return fitting;
  throw InvalidArgument(
      "--sweep {}: has {}, and {} would be fitted, expected at least {}",
      command.sweep, Counted(there, "point"), fitting, kFewestPoints);
}

}  // namespace

void RequireTable(const std::string& name) {
  const bool is_model = name.starts_with(zoo::kPrefix) || HasModelEnding(name);
  if (!is_model) return;
  throw InvalidArgument(
      "{}: is a model, expected a CSV table; to fit a model, add a sweep, e.g. "
      "--sweep batch=1..256",
      name);
}

surrogate::ComparedRows RowsOfTable(const FitCommand& command) {
  RequireTable(command.input());
  const surrogate::Table table =
      surrogate::ReadTable(command.input(), command.target, command.columns);
  surrogate::SplitTable split =
      surrogate::Split(table, command.held_out, command.evolve.seed);
  return {.fitted = std::move(split.fitted),
          .choosing = surrogate::TakeRows(table, {}),
          .held_out = std::move(split.held_out)};
}

/// The first rows are the corners, which are fitted; the last quarter of those
/// to fit chooses, and the rows after these judge.
surrogate::ComparedRows RowsOfSweep(const FitCommand& command) {
  if (!ParseTarget(command.target)) {
    throw InvalidArgument(
        "--target '{}': a sweep predicts memory, latency or energy",
        command.target);
  }
  SweptModel model(command.model, surrogate::ParseAxes(command.sweep));
  const Eigen::MatrixXd points =
      DrawPoints(model.axes(), command.points + command.checks,
                 /*with_corners=*/true, command.evolve.seed);
  const int fitting = FittingPoints(command, static_cast<int>(points.rows()));
  const surrogate::Table table = PredictPoints(command, model, points);
  const int choosing = fitting / 4;
  std::vector<Eigen::Index> parts[3];
  for (int i = 0; i < table.rows(); ++i) {
    const int part = (i >= fitting - choosing) + (i >= fitting);
    parts[part].push_back(i);
  }
  return {.fitted = TakeRows(table, parts[0]),
          .choosing = TakeRows(table, parts[1]),
          .held_out = TakeRows(table, parts[2])};
}

}  // namespace foretell::cli
