#include "src/cost/power.h"

#include <algorithm>

// Board power as a share of the range between idle and the limit:
//
//   power = idle + (limit - idle) * min(1, active + a * compute + b * memory)
//
// fitted to 17,001 published BF16 matrix products of at least 20 us on H200
// (scripts/published/fit_cost_table.py; median error 4 %). The constants are
// shares, so they carry over to other boards; single-precision and tensor-core
// products of 2048^3 on A100 PCIe sit at its limit, as they give.
// Data-dependent power (up to 40 % between inputs) cannot be seen from a graph.

namespace foretell::cost {
namespace {

constexpr double kActiveShare = 0.55;
constexpr double kComputeShare = 0.60;
constexpr double kMemoryShare = 0.20;
/// Clocks stay up between kernels; judgement.
constexpr double kGapShare = 0.10;

double AtShare(const Machine& machine, double share) {
  const double idle = machine.device->idle_power_w;
  const double range = std::max(0.0, machine.device->max_power_w - idle);
  return machine.share * (idle + range * std::min(1.0, share));
}

}  // namespace

double BusyPowerW(const Machine& machine, double compute, double memory) {
  return AtShare(
      machine, kActiveShare + kComputeShare * compute + kMemoryShare * memory);
}

double IdlePowerW(const Machine& machine) { return AtShare(machine, 0); }

double GapPowerW(const Machine& machine) { return AtShare(machine, kGapShare); }

}  // namespace foretell::cost
