#include "cli/commands/calibration_runs.h"

#include <algorithm>
#include <utility>

#include "cli/print/progress_bar.h"
#include "foretell/error.h"
#include "foretell/memory.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/units.h"
#include "src/surrogate/orthogonal_array.h"

namespace foretell::cli {
namespace {

double MemoryOf(const Measurement& row, bool resident) {
  const MeasuredMemory& memory = row.memory;
  if (resident) return ToMiB(memory.peak_rss_bytes);
  if (memory.process_bytes) return ToMiB(*memory.process_bytes);
  return ToMiB(memory.peak_allocated_bytes.value_or(0));
}

/// Measures and estimates one point after the other; `total` are the points of
/// all designs.
class Bench {
 public:
  Bench(const CalibrationPlan& plan, SweptModel& model, Eigen::Index total)
      : plan_(plan),
        model_(model),
        total_(total),
        memory_{.device = plan.catalog.Find(),
                .context = plan.catalog.Catalog().DefaultContext(),
                .with_workspaces = plan.device != "cpu",
                .torch = plan.model.run.torch} {}

  CalibrationRuns RunAll(const Eigen::MatrixXd& points) {
    std::vector<Eigen::Index> good;
    Eigen::VectorXd measured(points.rows());
    Eigen::VectorXd estimated(points.rows());
    std::vector<FailedPoint> failed;
    std::vector<ShownStep> shown;
    for (Eigen::Index i = 0; i < points.rows(); ++i) {
      progress_.Show(done_++, total_, failures_, "measuring");
      if (Run(points.row(i), measured[i], estimated[i], failed)) {
        good.push_back(i);
        shown.push_back(std::move(shown_));
      }
    }
    return {.measured = {.columns = model_.Names(),
                         .target = "memory",
                         .inputs = points(good, Eigen::all),
                         .values = measured(good)},
            .estimated = estimated(good),
            .shown = std::move(shown),
            .failed = std::move(failed)};
  }

 private:
  /// False where the point is one of those that failed.
  bool Run(const Eigen::VectorXd& point, double& measured, double& estimated,
           std::vector<FailedPoint>& failed) {
    const auto fail = [&](std::string_view status, std::string message) {
      ++failures_;
      failed.push_back({{point.begin(), point.end()},
                        std::string(status),
                        std::move(message)});
      return false;
    };
    try {
      estimated = Estimate(point);
      const Measurement row = MeasureIsolated(RequestAt(point));
      if (row.status != MeasureStatus::kOk) {
        return fail(MeasureStatusName(row.status), row.message);
      }
      measured = MemoryOf(row, plan_.resident);
      return true;
    } catch (const Error& error) {
      return fail(MeasureStatusName(MeasureStatus::kFailed), error.what());
    }
  }

  MeasureRequest RequestAt(const Eigen::VectorXd& point) {
    const SweptPoint swept = model_.At(point);
    return {.model = swept.model,
            .load = plan_.model.ToLoadOptions(),
            .inputs = swept.step.inputs,
            .run = plan_.model.run,
            .device = plan_.device,
            .seed = plan_.seed,
            .options = plan_.measure};
  }

  double Estimate(const Eigen::VectorXd& point) {
    const OperatorGraph graph = model_.GraphAt(point);
    shown_ = ShownBy(graph, {point.begin(), point.end()});
    const MemoryBreakdown memory = SimulateMemory(graph, memory_);
    return ToMiB(plan_.device == "cpu" ? memory.allocated_peak : memory.total);
  }

  const CalibrationPlan& plan_;
  SweptModel& model_;
  Eigen::Index total_;
  MemoryOptions memory_;
  ShownStep shown_;  ///< Of the last estimate.
  ProgressBar progress_;
  Eigen::Index done_ = 0;
  Eigen::Index failures_ = 0;
};

/// A line in every factor, and a point to leave out.
void RequireEnough(const CalibrationRuns& runs) {
  const auto factors = std::ssize(runs.measured.columns);
  const Eigen::Index needed = factors + 2;
  const Eigen::Index there = runs.estimated.size();
  const auto points =
      std::ssize(surrogate::FirstRowsOfPoints(runs.measured.inputs));
  if (points >= needed || runs.failed.empty()) return;
  throw Unsupported(
      "{} of {} could be measured, and a polynomial of {} needs {}; first "
      "failure: {}: {}",
      there, Counted(there + std::ssize(runs.failed), "run"),
      Counted(factors, "factor"), needed, runs.failed.front().status,
      runs.failed.front().message);
}

}  // namespace

CalibrationResult RunCalibrationPlan(const CalibrationPlan& plan,
                                     SweptModel& model) {
  const surrogate::PlannedRuns planned = surrogate::PlanRuns(model.axes());
  const Eigen::Index count = planned.points.rows();
  const Eigen::MatrixXd others =
      DrawPoints(model.axes(), static_cast<int>(count) + plan.checks,
                 /*with_corners=*/false, plan.seed);
  const Eigen::Index checks =
      std::min<Eigen::Index>(plan.checks, others.rows());
  const Eigen::Index random =
      plan.random ? std::min<Eigen::Index>(count, others.rows()) : 0;
  Bench bench(plan, model, count + checks + random);
  CalibrationRuns runs = bench.RunAll(planned.points);
  RequireEnough(runs);
  surrogate::GapFit fit = FitGap(runs.measured, runs.estimated);
  CalibrationResult found{.model = plan.model.models.front(),
                          .device = plan.device,
                          .resident = plan.resident,
                          .array = std::string(planned.array),
                          .runs = std::move(runs),
                          .fit = std::move(fit)};
  if (checks > 0) found.checks = bench.RunAll(others.topRows(checks));
  if (random == 0) return found;
  found.random_runs = bench.RunAll(others.bottomRows(random));
  RequireEnough(*found.random_runs);
  found.random =
      FitGap(found.random_runs->measured, found.random_runs->estimated);
  return found;
}

}  // namespace foretell::cli
