#include "src/cost/power.h"

#include <algorithm>

#include "src/cost/attention_time.h"
#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// Power from what a kernel does, as shares of what the chip draws at full use
// beyond its idle power:
//
//   power = idle + (chip - idle) * (clock * voltage^2 * sm + 0.34 * memory)
//   sm    = 0.27 + 1.2 * tensor + 0.6 * lanes
//
// Fitted to published power of operators alone (scripts/published/fit_power.py
// prints the fit): 45 runs of 15 operators on A100 SXM, matrix products on A100
// PCIe, 17,001 matrix products on H200. Shares carry over to other boards,
// which are built so that their best products draw the limit; a board whose
// limit is set below what its chip can draw states that as chip_power_w.
//
// A limit acts on the average over many kernels: hungry ones may draw more than
// it while others draw less. Where the average is above it, the clock of the
// whole step falls (estimate_cost.cc), the voltage with it down to a floor.
//
// Published times are of kernels run alone, many times over, and so hold the
// lower clocks of those that would draw more than the board's own limit. Such
// kernels take longer only below that clock of their own. It is 0.88 for a
// product of 8192 x 8192 in 16 bits on an A100, as it is in published times:
// TensorRT-LLM and FlagPerf reach 257 to 265 TFLOP/s, vLLM's collector 294,
// with uninitialised weights.
//
// A kernel that multiplies by an instruction which cannot reach the peak keeps
// the matrix units as busy as that instruction can (tensor_convolution.h).
//
// The values of the data alone move power by up to 40 %, which no graph shows.

namespace foretell::cost {
namespace {

/// Multiprocessors that run any kernel.
constexpr double kActiveShare = 0.27;
constexpr double kTensorShare = 1.2;
constexpr double kLaneShare = 0.6;
constexpr double kMemoryShare = 0.34;
/// Clocks that stay up between kernels.
constexpr double kWaitingShare = 0.05;
constexpr double kLowestClock = 0.01;
constexpr int kClockBisections = 16;
/// Voltage falls with the clock down to this share of it: BERT trained under
/// power limits on four GPUs (fit_power.py).
constexpr double kLowestVoltage = 0.6;

/// FP32 multiply-adds whose energy one result costs, apart from moving it.
struct LaneOperations {
  KernelClass kernel_class;
  double per_element;
};

/// Those that published power separates from plain traffic; see fit_power.py.
constexpr LaneOperations kLaneOperations[] = {
    {KernelClass::kSoftmax, 6},  // An exponential.
    {KernelClass::kGelu, 17},
    {KernelClass::kSilu, 6},
    {KernelClass::kActivation, 6},
    {KernelClass::kAttention, 6},  // Of its scores.
};

double LaneOperationsOf(KernelClass kernel_class) {
  const auto* row = std::ranges::find(kLaneOperations, kernel_class,
                                      &LaneOperations::kernel_class);
  return row == std::end(kLaneOperations) ? 0 : row->per_element;
}

/// Results of the function that a kernel computes: the elements that it writes,
/// or the scores of fused attention, which never leave the multiprocessors.
double FunctionResults(const Kernel& kernel) {
  if (IsAttention(kernel.kernel_class)) {
    return Real(kernel.batch) * Real(kernel.m) * Real(kernel.n) *
           (kernel.causal ? kCausalAttentionShare : 1);
  }
  if (kernel.element_bytes_out == 0) return 0;
  return Real(kernel.bytes_out) / Real(kernel.element_bytes_out);
}

/// Share of the FP32 lanes that element-wise arithmetic uses.
double ElementLanes(const Kernel& kernel, double us, const Machine& machine) {
  const double operations = LaneOperationsOf(kernel.kernel_class);
  if (operations == 0) return 0;
  return 2 * operations * FunctionResults(kernel) / us /
         machine.FlopsPerUs(Precision::kFp32);
}

/// Watts of a chip at full use beyond its idle power.
double RangeW(const DeviceSpec& device) {
  const double chip = std::max(device.chip_power_w, device.max_power_w);
  return std::max(0.0, chip - device.idle_power_w);
}

/// The board's own limit as a share of RangeW.
double OwnLimitShare(const DeviceSpec& device) {
  const double range = RangeW(device);
  return range > 0 ? (device.max_power_w - device.idle_power_w) / range : 0;
}

/// Power of the multiprocessors against that at the full clock.
double ClockFactor(double clock) {
  const double voltage = std::max(kLowestVoltage, clock);
  return clock * voltage * voltage;
}

/// Share of RangeW that the multiprocessors draw at the full clock.
double SmShare(const Activity& activity) {
  return kActiveShare + kTensorShare * activity.tensor +
         kLaneShare * activity.lanes;
}

/// The clock at which a kernel alone keeps to the board's own limit, where its
/// time is that at the full clock.
double OwnClock(const Activity& activity, const DeviceSpec& device) {
  const double left = OwnLimitShare(device) - kMemoryShare * activity.memory;
  if (SmShare(activity) <= left) return 1;
  return HighestClock([&](double clock) {
    const Activity use{.tensor = std::min(1.0, activity.tensor / clock),
                       .lanes = std::min(1.0, activity.lanes / clock)};
    return ClockFactor(clock) * SmShare(use) <= left;
  });
}

/// Watts of shares of RangeW: of the multiprocessors and of the memory.
double WattsOf(const Machine& machine, double sm, double memory) {
  const DeviceSpec& device = *machine.device;
  return machine.share * device.idle_power_w +
         RangeW(device) *
             (machine.share * sm + machine.bandwidth_share * memory);
}

}  // namespace

Activity ActivityOf(const Kernel& kernel, const KernelTime& time,
                    const Machine& machine) {
  const double us = time.Us();
  if (!(us > 0)) return {};
  Activity activity = {.lanes = ElementLanes(kernel, us, machine),
                       .memory = (time.memory_us + time.conversion_us) / us};
  if (UsesTensorCores(kernel, machine)) {
    activity.tensor = time.at_peak_us / us / InstructionShare(kernel, machine);
  } else {
    activity.lanes += time.at_peak_us / us;
  }
  return {.tensor = std::min(1.0, activity.tensor),
          .lanes = std::min(1.0, activity.lanes),
          .memory = std::min(1.0, activity.memory)};
}

double HighestClock(const std::function<bool(double)>& keeps) {
  double low = kLowestClock;
  double high = 1;
  for (int i = 0; i < kClockBisections; ++i) {
    const double clock = (low + high) / 2;
    (keeps(clock) ? low : high) = clock;
  }
  return low;
}

KernelTime TimeAtClock(const Kernel& kernel, const Machine& machine) {
  KernelTime time = TimeOf(kernel, machine);
  if (machine.clock == 1 || time.arithmetic_us == 0) return time;
  const Machine full = machine.AtClock(1);
  const KernelTime published = TimeOf(kernel, full);
  const double own_clock =
      OwnClock(ActivityOf(kernel, published, full), *machine.device);
  time.arithmetic_us =
      std::max(published.arithmetic_us, own_clock * time.arithmetic_us);
  return time;
}

double BusyPowerW(const Machine& machine, const Activity& activity) {
  return WattsOf(machine, ClockFactor(machine.clock) * SmShare(activity),
                 machine.BandwidthAtClock() * kMemoryShare * activity.memory);
}

double IdlePowerW(const Machine& machine) { return WattsOf(machine, 0, 0); }

double WaitingPowerW(const Machine& machine) {
  const double share = std::min(kWaitingShare, OwnLimitShare(*machine.device));
  return WattsOf(machine, ClockFactor(machine.clock) * share, 0);
}

double PowerLimitW(const Machine& machine) {
  const DeviceSpec& device = *machine.device;
  const double part = machine.power_limit_w - device.idle_power_w;
  return machine.share * device.idle_power_w +
         part * ((1 - kMemoryShare) * machine.share +
                 kMemoryShare * machine.bandwidth_share);
}

}  // namespace foretell::cost
