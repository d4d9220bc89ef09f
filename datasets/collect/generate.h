#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/store/packed_graph.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

/// A point after its trace: format, inputs and image size are now known.
struct TracedPoint {
  Point point;
  PackedGraph graph;
  std::string warnings;  ///< One per line.
};

/// Traces a point, in a worker process, under the run that RunGraph::run gives;
/// under the default if that is empty. Throws to report a failure.
using TraceFunction =
    std::function<TracedPoint(const Point& point, const std::string& run)>;

/// Progress of a run.
struct Progress {
  std::int64_t done = 0;  ///< Failed ones included.
  std::int64_t total = 0;
  std::int64_t failed = 0;
  std::string current;  ///< The point finished last.
};
using ProgressFunction = std::function<void(const Progress&)>;

struct GenerateOptions {
  int workers = 1;
  double deadline_s = 300;  ///< Limit of one trace.
  /// A point that has failed this often in total is skipped. One that ended a
  /// worker process is tried again in the same run, since memory may have been
  /// short; after an error, which is certain to recur, only in the next run.
  std::int64_t max_attempts = 3;
  bool retry_given_up = false;  ///< Counts attempts from 0 again.
  /// Seconds between commits: the most that a crash costs.
  double commit_every_s = 1;
  ProgressFunction progress;  ///< May be empty.
};

/// Summary of a run; each planned point is in exactly one of the last four.
struct GenerateSummary {
  std::int64_t planned = 0;
  std::int64_t present = 0;   ///< Had a graph before.
  std::int64_t traced = 0;    ///< Has one now.
  std::int64_t failed = 0;    ///< Failed in this run.
  std::int64_t given_up = 0;  ///< Failed too often before.
  /// "point: reason" of those that failed in this run.
  std::vector<std::string> failures;
};

/// Traces the points of `plan` that `dataset` lacks, in worker processes, and
/// stores graphs and failures. If the process dies, the next run repeats at
/// most the work since the last commit.
GenerateSummary Generate(Dataset& dataset, const std::vector<Point>& plan,
                         const TraceFunction& trace,
                         const GenerateOptions& options);

/// Traces points that `dataset` holds under the runs that their labels state
/// and that their graphs do not show (RunGraph), in worker processes, as
/// Generate does. Labels of failures are ignored.
GenerateSummary TraceLabelRuns(Dataset& dataset, const TraceFunction& trace,
                               const GenerateOptions& options);

}  // namespace foretell::dataset
