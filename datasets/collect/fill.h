#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "datasets/collect/generate.h"
#include "datasets/collect/plan.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

/// A point to label.
struct LabelTask {
  StoredPoint point;
  bool with_energy = true;  ///< Measuring energy is slow: not for every point.
};

/// Measures or simulates one point. `point` and `attempts` of the result are
/// ignored. A status of kFailed, or an exception, is a failure with its reason;
/// kOutOfMemory is a result.
using LabelFunction = std::function<Label(const LabelTask&)>;

struct FillOptions {
  std::string device;  ///< DeviceSpec::name, or the device to measure on.
  std::string source;  ///< Source of the labels.
  Provenance provenance = Provenance::kMeasured;
  /// Setting in labels of runs that threw.
  std::string setting = "{}";
  Shard shard;                    ///< Part of the points, in sampling order.
  std::uint64_t seed = 0;         ///< Seed of SamplingOrder.
  std::int64_t energy_every = 1;  ///< Every n-th point with energy.
  std::int64_t max_attempts = 3;  ///< Attempts at one point, over all runs.
  std::optional<std::int64_t> limit;  ///< Most points in this run.
  std::optional<double> budget_s;     ///< Starts no point later than this.
  bool needs_graph = false;           ///< Only points whose graph is stored.
  /// Worker processes; 0: in this process, each label committed at once.
  int workers = 0;
  double deadline_s = 600;    ///< Limit of one point in a worker.
  ProgressFunction progress;  ///< May be empty.
};

/// Every point of the shard is in exactly one of the last five counts.
struct FillSummary {
  std::int64_t points = 0;
  std::int64_t present = 0;   ///< Labelled before; those out of memory too.
  std::int64_t labelled = 0;  ///< Now; those out of memory too.
  std::int64_t failed = 0;    ///< In this run.
  std::int64_t given_up = 0;  ///< Failed too often before.
  std::int64_t left = 0;      ///< Beyond limit or budget.
  std::vector<std::string> failures;  ///< "point: reason" of this run.
};

/// Labels the points of `from` without a label of the device and source,
/// neither there nor in `into`, and stores new labels in `into` (both may be
/// the same). A point that succeeds loses its record of failures.
FillSummary FillLabels(const Dataset& from, Dataset& into,
                       const LabelFunction& label, const FillOptions& options);

}  // namespace foretell::dataset
