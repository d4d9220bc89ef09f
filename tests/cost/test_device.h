#pragma once

#include "foretell/device.h"

namespace foretell::test {

inline const DeviceSpec& A100() {
  return DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
}

/// A device with round numbers: 100 SMs, 10^6 bytes per microsecond, 10^7
/// (FP32), 10^8 (TF32) and 2 * 10^8 (16 bit) FLOP per microsecond, 50 to 250 W,
/// 2,048 threads per SM and an L2 cache of 40 MiB.
inline DeviceSpec RoundDevice() {
  DeviceSpec device;
  device.name = "round";
  device.compute_capability = 80;
  device.sms = 100;
  device.l2_mib = 40;
  device.bandwidth_gb_s = 1000;
  device.peak_tflops = {{Precision::kFp32, 10},
                        {Precision::kTf32, 100},
                        {Precision::kFp16, 200},
                        {Precision::kBf16, 200}};
  device.idle_power_w = 50;
  device.max_power_w = 250;
  return device;
}

/// Clock of RoundDevice: at it, 64 lanes of each multiprocessor reach 10^7 FLOP
/// per microsecond.
inline constexpr double kRoundClockMhz = 781.25;

/// RoundDevice of Hopper, whose 128 lanes of each multiprocessor need half of
/// that clock.
inline const DeviceSpec& RoundHopper() {
  static const DeviceSpec device = [] {
    DeviceSpec hopper = RoundDevice();
    hopper.compute_capability = 90;
    return hopper;
  }();
  return device;
}

inline constexpr double kRoundHopperClockMhz = kRoundClockMhz / 2;

}  // namespace foretell::test
