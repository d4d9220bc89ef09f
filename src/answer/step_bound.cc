#include "src/answer/step_bound.h"

#include "src/core/name_table.h"
#include "src/cost/launched_step.h"

// A step overlaps host, GPU and link, so none of their times alone shows which
// of them it waits for: a host as busy as its GPU delays a step whose first
// half is views, and does not where it runs ahead. What counts is how much
// longer the step gets. The same threshold divides published rows in
// docs/hosts.md.

namespace foretell {
namespace {

constexpr NameTable<3> kBoundNames = {"gpu", "host", "link"};

constexpr double kSlowHost = 2;
/// Half as long again.
constexpr double kMuchLonger = 1.5;

}  // namespace

StepBound BoundOfStep(const CostEstimate& estimate, const DeviceSpec& device,
                      const CostOptions& options) {
  const CostEstimate slow =
      cost::EstimateOnHost(estimate, device, options, kSlowHost);
  if (slow.latency_ms > kMuchLonger * estimate.latency_ms) {
    return StepBound::kHost;
  }
  const double without_link = estimate.latency_ms - estimate.exposed_link_ms;
  return estimate.latency_ms > kMuchLonger * without_link ? StepBound::kLink
                                                          : StepBound::kGpu;
}

std::string_view StepBoundName(StepBound bound) {
  return NameIn(kBoundNames, bound);
}

}  // namespace foretell
