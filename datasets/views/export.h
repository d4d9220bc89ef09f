#pragma once

#include <cstdint>
#include <string>

#include "datasets/collect/generate.h"
#include "foretell/dataset.h"

namespace foretell::dataset {

struct ExportOptions {
  std::int64_t graphs_per_file = 1000;
  ProgressFunction progress;  ///< May be empty.
};

/// Writes all points with a graph into `folder` (created if missing):
///
/// - `points.csv`: a row per point with its static features and its part in
///   every split;
/// - `labels.csv`: a row per label, with the row id of its point;
/// - `graphs-00000.npz`, …: node features and edges of many points, one after
///   the other (docs/dataset.md lists the arrays).
///
/// Holds the graphs of one file in memory at a time. Returns the number of
/// points. Throws Error(kIo) that names the file.
std::int64_t ExportDataset(const Dataset& dataset, const std::string& folder,
                           const ExportOptions& options = {});

}  // namespace foretell::dataset
