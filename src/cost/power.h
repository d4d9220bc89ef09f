#pragma once

#include <functional>

#include "src/cost/kernel_time.h"
#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Shares of a machine that a running kernel uses at its clock, each 0..1.
struct Activity {
  double tensor = 0;  ///< Rate of its matrix units, of their peak.
  double lanes = 0;   ///< Rate of its FP32 lanes, of their peak.
  double memory = 0;  ///< Share of the time in which it moves data.
};

/// Activity of `kernel`, which takes `time` on `machine`; zero without time.
Activity ActivityOf(const Kernel& kernel, const KernelTime& time,
                    const Machine& machine);

/// The highest clock, (0, 1), at which `keeps` holds, as it does at all lower
/// ones.
double HighestClock(const std::function<bool(double)>& keeps);

/// TimeOf at the machine's clock; but arithmetic that alone would exceed the
/// board's default limit slows down only below the clock that keeps the limit,
/// since published times include this.
KernelTime TimeAtClock(const Kernel& kernel, const Machine& machine);

/// Watts of the machine while a kernel runs; may exceed PowerLimitW, which
/// limits the average. A slice draws its share of the SMs' power, idle power
/// included, and its share of the memory's power, by bandwidth.
double BusyPowerW(const Machine& machine, const Activity& activity);

/// Watts of the machine when nothing runs on it.
double IdlePowerW(const Machine& machine);

/// Watts while the machine waits for the host in the middle of a step.
double WaitingPowerW(const Machine& machine);

/// Limit of a step's average power in W: the limit that was set, or the board's
/// default. A slice's limit is in proportion to its power at full use.
double PowerLimitW(const Machine& machine);

}  // namespace foretell::cost
