#pragma once

#include <string>
#include <vector>

#include "datasets/collect/plan.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

/// Sources of the models of a plan; at least one of the first two.
struct PlanSources {
  std::string sweep;               ///< A sweep of the zoo, or empty.
  std::vector<std::string> paths;  ///< Model files and folders of them.
  /// Table of the batches of each file (ReadBatches), or empty.
  std::string batches_from;
};

/// The points of a sweep of the zoo, with mode, precision and optimizer of
/// `options`. Batches are those of the sweep unless `options.batches` has some.
/// Throws Error as zoo::ListSweep does.
std::vector<Point> PlanSweep(const std::string& name,
                             const PlanOptions& options);

/// The points of a sweep, then those of files, at batch 1 unless
/// `options.batches` has some. Throws Error(kInvalidArgument) if `sources` are
/// empty or name a zoo network as a file, and what PlanSweep, FindModelFiles,
/// PlanFiles and ReadBatches throw.
std::vector<Point> PlanAll(const PlanSources& sources, PlanOptions options);

/// Name that opens the model of a point: its file, or its name in the zoo.
std::string ModelNameOf(const Point& point);

}  // namespace foretell::dataset
