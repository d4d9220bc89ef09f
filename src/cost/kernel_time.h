#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Time of one launch of a kernel, in parts.
struct KernelTime {
  double launch_us = 0;      ///< Before and after the work.
  double conversion_us = 0;  ///< Copies into the required layout.
  double arithmetic_us = 0;  ///< Its product, at the rate of such kernels.
  double memory_us = 0;      ///< Its traffic, at the rate of such kernels.
  double at_peak_us = 0;     ///< Its product at the peak of its unit.
  double traffic_us = 0;     ///< Its bytes at the peak bandwidth.

  /// Without the launch: arithmetic and traffic overlap.
  double WorkUs() const;
  double Us() const { return launch_us + WorkUs(); }
};

/// Time of one launch of `kernel` on `machine`, regardless of its count.
/// docs/cost.md has the formulas and where their constants come from.
///
/// Throws Error(kInvalidArgument) that names the device when it has no peak
/// rate for the kernel's arithmetic.
KernelTime TimeOf(const Kernel& kernel, const Machine& machine);

}  // namespace foretell::cost
