#include "datasets/collect/plan_sweep.h"

#include <fmt/core.h>

#include <set>
#include <span>
#include <utility>

#include "foretell/zoo.h"
#include "src/core/failure.h"

namespace foretell::dataset {
namespace {

Point ToPoint(const zoo::SweepPoint& swept, std::int64_t batch,
              const PlanOptions& options) {
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

void RefuseZoo(std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    if (!path.starts_with(zoo::kPrefix)) continue;
    throw InvalidArgument(
        "{}: is not a file; select zoo networks with --sweep, e.g. --sweep "
        "dippm",
        path);
  }
}

}  // namespace

std::vector<Point> PlanSweep(const std::string& name,
                             const PlanOptions& options) {
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

std::vector<Point> PlanAll(const PlanSources& sources, PlanOptions options) {
  std::vector<Point> points;
  if (!sources.sweep.empty()) points = PlanSweep(sources.sweep, options);
  RefuseZoo(sources.paths);
  if (!sources.paths.empty()) {
    if (options.batches.empty()) options.batches = {1};
    if (!sources.batches_from.empty()) {
      options.batches_of = ReadBatches(sources.batches_from);
    }
    for (Point& point : PlanFiles(FindModelFiles(sources.paths), options)) {
      points.push_back(std::move(point));
    }
  }
  if (!points.empty()) return points;
  throw InvalidArgument(
      "nothing to trace: give --sweep, --files or model files");
}

std::string ModelNameOf(const Point& point) {
  if (!point.path.empty()) return point.path;
  return fmt::format("{}{}", zoo::kPrefix, point.model);
}

}  // namespace foretell::dataset
