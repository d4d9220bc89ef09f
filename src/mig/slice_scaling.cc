// From the whole device to a slice of it.
//
// A slice has fewer SMs and a share of the bandwidth, so time that arithmetic
// limits grows with the ratio of SMs and time that bandwidth limits with the
// inverse of the share; what the CPU spends on launching does not change. MIG
// mode itself costs SMs (98 of 108 on an A100 even with 7g), which the ratio
// contains. The estimate leans high for small batches, whose kernels do not
// fill the whole device either, and low where a slice turns a hidden kernel
// into the bottleneck; both need per-operator times, which a Demand lacks.
//
// Energy: the work switches the same bits wherever it runs, so its dynamic
// part stays. Static power is paid for longer, but a slice answers only for
// its share of the chip; NVML measures none per slice, so the share is a
// convention: the larger one of its shares of compute slices and memory slots,
// which makes the full-size profile pay for everything.
#include "src/mig/slice_scaling.h"

#include <algorithm>

namespace foretell::mig {
namespace {

/// How many times longer a batch takes than on the whole device.
double Slowdown(const LatencySplit& split, double sm_ratio,
                double bandwidth_fraction) {
  const double whole = split.compute_ms + split.memory_ms + split.overhead_ms;
  if (whole <= 0) return 1;
  return (split.compute_ms * sm_ratio + split.memory_ms / bandwidth_fraction +
          split.overhead_ms) /
         whole;
}

double ShareOfDevice(const DeviceSpec& device, const MigProfile& profile) {
  return std::max(
      static_cast<double>(profile.compute_slices) / device.compute_slices,
      static_cast<double>(profile.memory_slots) / device.memory_slots);
}

}  // namespace

SliceCost ScaleToSlice(const Demand& demand, const DeviceSpec& device,
                       const MigProfile& profile) {
  const double sm_ratio = static_cast<double>(device.sms) / profile.sms;
  const double slowdown =
      Slowdown(demand.latency_split, sm_ratio, profile.bandwidth_fraction);
  const EnergySplit& energy = demand.energy_split;
  const double whole_j = energy.dynamic_j + energy.static_j;
  const double static_share = whole_j > 0 ? energy.static_j / whole_j : 0;
  SliceCost cost;
  cost.latency_ms = demand.latency_ms * slowdown;
  cost.energy_j = demand.energy_j *
                  (1 - static_share +
                   static_share * slowdown * ShareOfDevice(device, profile));
  return cost;
}

}  // namespace foretell::mig
