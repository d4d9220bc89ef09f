#pragma once

#include "foretell/cost.h"
#include "foretell/device.h"

namespace foretell::cost {

/// A device, or the slice of one, that a step runs on.
struct Machine {
  const DeviceSpec* device = nullptr;
  int sms = 0;
  /// Memory bandwidth at its clock: that of the data sheet or, if one was
  /// measured, the measured one divided by the share that element-wise kernels
  /// reach on an A100.
  double bytes_per_us = 0;
  double share = 1;  ///< sms / device->sms.
  double bandwidth_share =
      1;  ///< Share of the device's bandwidth, at full clock. Clock of its
          ///< multiprocessors, as a share of the full one.
  double clock = 1;
  double power_limit_w = 0;  ///< Of the whole device.
  /// True: measured rates replace the data sheet's peaks.
  bool use_measured_rates = true;
  double kernel_factor = 1;  ///< Multiplies the time of every kernel.

  /// True if it has TF32 units: compute capability >= 8.0, or none stated.
  /// Otherwise PyTorch's convolutions stay in FP32.
  bool HasTf32Units() const;

  /// True if its tensor cores have instructions that kernels written for Ampere
  /// do not use: Hopper and B200.
  bool HasNewerTensorCores() const;

  /// Share of the bandwidth that the multiprocessors can use at its clock.
  double BandwidthAtClock() const;

  /// The machine at another clock, (0, 1].
  Machine AtClock(double clock) const;

  /// Peak rate in FLOP per microsecond at its clock: that of the data sheet or,
  /// if large matrix products were measured and use_measured_rates is set, the
  /// measured rate divided by the share that they reach on an A100. Throws
  /// Error(kInvalidArgument) if the device has none for `precision`.
  double FlopsPerUs(Precision precision) const;

  /// FP32 lanes of a multiprocessor.
  double LanesPerSm() const;

  /// Clock of its multiprocessors in cycles per microsecond, from their lanes
  /// and the peak rate of those; errors as FlopsPerUs.
  double CyclesPerUs() const;
};

/// Time of the shortest kernel in a queue that never runs dry, microseconds:
/// the measured one, or an A100's.
double LaunchUs(const DeviceSpec& device);

/// What element-wise kernels on large tensors move, 10^9 bytes per second: the
/// measured bandwidth, or the share of the data sheet's that an A100 reaches.
double ReachedBandwidth(const DeviceSpec& device);

/// What products of large matrices reach, 10^12 FLOP/s: the measured rate, or
/// the share of the data sheet's that an A100 reaches. Throws
/// Error(kInvalidArgument) if the device has none for `precision`.
double ReachedTflops(const DeviceSpec& device, Precision precision);

/// Checks `options` against `device`; see EstimateCost for the errors.
Machine MakeMachine(const DeviceSpec& device, const CostOptions& options);

}  // namespace foretell::cost
