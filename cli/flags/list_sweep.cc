#include "cli/flags/list_sweep.h"

#include <set>
#include <utility>

#include "foretell/zoo.h"

namespace foretell::cli {
namespace {

Point ToPoint(const zoo::SweepPoint& swept, std::int64_t batch,
              const dataset::PlanOptions& options) {
  return {.model = swept.model,
          .family = swept.family,
          .format = "zoo",
          .path = {},
          .batch = batch,
          .mode = options.mode,
          .precision = options.precision,
          .optimizer = options.optimizer,
          .inputs = {},
          .image_size = {}};
}

}  // namespace

std::vector<Point> ListSweep(const std::string& name,
                             const dataset::PlanOptions& options) {
  std::vector<Point> points;
  std::set<std::string> seen;
  for (const zoo::SweepPoint& swept : zoo::ListSweep(name)) {
    std::vector<std::int64_t> batches = options.batches;
    if (batches.empty()) batches = {swept.batch};
    for (const std::int64_t batch : batches) {
      Point point = ToPoint(swept, batch, options);
      // A sweep lists a model again for each of its own batches.
      if (seen.insert(ToString(point)).second) {
        points.push_back(std::move(point));
      }
    }
  }
  return points;
}

std::string ModelNameOf(const Point& point) {
  return point.path.empty() ? "zoo:" + point.model : point.path;
}

}  // namespace foretell::cli
