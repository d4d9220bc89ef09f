#pragma once

#include <string>
#include <vector>

#include "datasets/collect/plan.h"
#include "foretell/dataset.h"

namespace foretell::cli {

/// The points of a sweep of the zoo, with mode, precision and optimizer of
/// `options`. Batches are those of the sweep unless `options.batches` has some.
/// Throws Error as zoo::ListSweep does; kUnsupported in a build without the
/// zoo.
std::vector<Point> ListSweep(const std::string& name,
                             const dataset::PlanOptions& options);

/// What OpenModel takes for a point: its file, or its name in the zoo.
std::string ModelNameOf(const Point& point);

}  // namespace foretell::cli
