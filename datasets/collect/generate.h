#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/store/packed_graph.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

/// A point after its trace: format, inputs and image size are known now.
struct TracedPoint {
  Point point;
  PackedGraph graph;
  std::string warnings;  ///< One per line.
};

/// Traces a point, in a worker process. Throws to report a failure.
using TraceFunction = std::function<TracedPoint(const Point&)>;

/// How far a run has come.
struct Progress {
  std::int64_t done = 0;  ///< Failed ones included.
  std::int64_t total = 0;
  std::int64_t failed = 0;
  std::string current;  ///< The point that was done last.
};
using ProgressFunction = std::function<void(const Progress&)>;

struct GenerateOptions {
  int workers = 1;
  double deadline_s = 300;  ///< Limit of one trace.
  /// A point that has failed this often in all is left alone. What ends a
  /// worker process is tried again in the same run, since it may have been the
  /// lack of memory; an error is certain to come again and waits for the next.
  std::int64_t max_attempts = 3;
  bool retry_given_up = false;  ///< Counts attempts anew.
  /// Seconds between commits: what a crash costs at most.
  double commit_every_s = 1;
  ProgressFunction progress;  ///< May be empty.
};

/// What a run did; every planned point is in exactly one of the last four.
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
/// stores graphs and failures. Whatever ends the process, at most the work
/// since its last commit is done again by the next run.
GenerateSummary Generate(Dataset& dataset, const std::vector<Point>& plan,
                         const TraceFunction& trace,
                         const GenerateOptions& options);

}  // namespace foretell::dataset
