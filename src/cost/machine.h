#pragma once

#include "foretell/cost.h"
#include "foretell/device.h"

namespace foretell::cost {

/// A device, or the slice of one, that a step runs on.
struct Machine {
  const DeviceSpec* device = nullptr;
  int sms = 0;
  double bytes_per_us = 0;  ///< Peak memory bandwidth.
  double share = 1;         ///< sms / device->sms.
  /// Whether rates that were measured stand for the data sheet's peaks.
  bool use_measured_rates = true;

  /// Peak rate in FLOP per microsecond: that of the data sheet, or, where
  /// products of large matrices were measured and use_measured_rates is set,
  /// the one of which they reach the share that they reach on an A100. Throws
  /// Error(kInvalidArgument) when the device names none for `precision`.
  double FlopsPerUs(Precision precision) const;
};

/// Checks `options` against `device`; see EstimateCost for the errors.
Machine MakeMachine(const DeviceSpec& device, const CostOptions& options);

}  // namespace foretell::cost
