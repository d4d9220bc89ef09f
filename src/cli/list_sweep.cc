#include "src/cli/list_sweep.h"

#include <set>
#include <utility>

#include "foretell/error.h"
#ifdef FORETELL_HAS_ZOO
#include "foretell/zoo.h"
#endif

namespace foretell::cli {
namespace {

#ifdef FORETELL_HAS_ZOO
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
#endif

}  // namespace

std::vector<Point> ListSweep(
    [[maybe_unused]] const std::string& name,
    [[maybe_unused]] const dataset::PlanOptions& options) {
#ifdef FORETELL_HAS_ZOO
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
#else
  throw Error(ErrorCode::kUnsupported,
              "sweep '" + name + "': this foretell was built without the zoo");
#endif
}

std::string ModelNameOf(const Point& point) {
  return point.path.empty() ? "zoo:" + point.model : point.path;
}

}  // namespace foretell::cli
