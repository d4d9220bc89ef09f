#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

struct MergeOptions {
  /// Copies intact rows from damaged files instead of throwing.
  bool salvage = false;
};

struct MergeSummary {
  std::int64_t points = 0;     ///< New points.
  std::int64_t graphs = 0;     ///< Points that got a graph.
  std::int64_t labels = 0;     ///< Labels that are new or replace failures.
  std::int64_t conflicts = 0;  ///< Labels that differ from existing ones.
  std::vector<std::string> damage;  ///< "path: table row 7: …", of salvage.
};

/// Adds points, graphs and labels of `inputs` to the dataset `out`, which is
/// created if missing. The order of the inputs decides only between labels that
/// contradict each other: the first stays. A result replaces a failure. Splits
/// are not copied, since they divide one set of points. Each input is added
/// entirely or not at all.
///
/// Throws Error(kInvalidArgument) when `out` is one of the inputs, kCorrupt for
/// damage unless it salvages, and kUnsupported for features of another version.
MergeSummary MergeDatasets(std::span<const std::string> inputs,
                           const std::string& out,
                           const MergeOptions& options = {});

}  // namespace foretell::dataset
