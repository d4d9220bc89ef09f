#include "src/cost/machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "foretell/error.h"
#include "src/core/units.h"
#include "src/device/compute_capability.h"

namespace foretell::cost {
namespace {

constexpr double kFlopsPerUsOfATflops = 1e6;
/// Share of the A100's peak that its best measured BF16 product reaches, 267.9
/// of 312 TFLOP/s: the efficiencies of the cost model are shares of that peak.
constexpr double kReachedShareOfPeak = 0.86;
/// Share of its bandwidth that an A100's element-wise kernels reach: the shares
/// of the cost model are of that bandwidth.
constexpr double kReachedShareOfBandwidth = 0.87;
/// 2.4 us for the shortest measured kernels on A100, 4.7 us fitted to matrix
/// products.
constexpr double kLaunchUs = 3.0;
/// Clock from which on the multiprocessors ask for all of the bandwidth;
/// judgement.
constexpr double kClockOfFullBandwidth = 0.6;

[[noreturn]] void Refuse(const DeviceSpec& device, const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("device {}: {}", device.name, what));
}

/// Bandwidth of which the device reaches as much as an A100 of its own.
double BytesPerUs(const DeviceSpec& device) {
  const double reached = device.reached_bandwidth_gb_s;
  return kBytesPerUsPerGbS * (reached > 0 ? reached / kReachedShareOfBandwidth
                                          : device.bandwidth_gb_s);
}

double PowerLimit(const DeviceSpec& device, const Run& run) {
  if (!run.power_limit_w) return device.max_power_w;
  const double limit = *run.power_limit_w;
  if (!(limit > device.idle_power_w) || limit > device.max_power_w) {
    Refuse(device, fmt::format("power limit is {} W, expected more than {} "
                               "(idle) and at most {}",
                               limit, device.idle_power_w, device.max_power_w));
  }
  return limit;
}

/// The peak rate that the data sheet states.
double SheetTflops(const DeviceSpec& device, Precision precision) {
  const auto peak = device.peak_tflops.find(precision);
  if (peak == device.peak_tflops.end() || !(peak->second > 0)) {
    Refuse(device, "no peak rate for " + std::string(PrecisionName(precision)));
  }
  return peak->second;
}

/// Rate of which the device reaches as much as an A100 of its own.
double LikeA100Tflops(const DeviceSpec& device, Precision precision) {
  const auto reached = device.matmul_tflops.find(precision);
  return reached != device.matmul_tflops.end()
             ? reached->second / kReachedShareOfPeak
             : SheetTflops(device, precision);
}

}  // namespace

bool Machine::HasTf32Units() const {
  return device->compute_capability == 0 ||
         device->compute_capability >= device::kAmpereData;
}

bool Machine::HasNewerTensorCores() const {
  return device->compute_capability >= device::kHopper &&
         device->compute_capability < device::kGeForceBlackwell;
}

double Machine::BandwidthAtClock() const {
  return std::min(1.0, clock / kClockOfFullBandwidth);
}

Machine Machine::AtClock(double new_clock) const {
  Machine slower = *this;
  slower.clock = new_clock;
  slower.bytes_per_us *= slower.BandwidthAtClock() / BandwidthAtClock();
  return slower;
}

double Machine::FlopsPerUs(Precision precision) const {
  const double tflops = use_measured_rates ? LikeA100Tflops(*device, precision)
                                           : SheetTflops(*device, precision);
  return tflops * kFlopsPerUsOfATflops * share * clock;
}

double Machine::LanesPerSm() const {
  const int capability = device->compute_capability;
  const bool has_many =
      capability > device::kAmpereData || capability == device::kPascalGeForce;
  return has_many ? 128 : 64;
}

double Machine::CyclesPerUs() const {
  return SheetTflops(*device, Precision::kFp32) * kFlopsPerUsOfATflops * share *
         clock / (2 * sms * LanesPerSm());
}

double LaunchUs(const DeviceSpec& device) {
  return device.launch_us > 0 ? device.launch_us : kLaunchUs;
}

double ReachedBandwidth(const DeviceSpec& device) {
  return BytesPerUs(device) / kBytesPerUsPerGbS * kReachedShareOfBandwidth;
}

double ReachedTflops(const DeviceSpec& device, Precision precision) {
  return LikeA100Tflops(device, precision) * kReachedShareOfPeak;
}

Machine MakeMachine(const DeviceSpec& device, const CostOptions& options) {
  if (device.sms <= 0) Refuse(device, "no multiprocessors");
  if (!(device.bandwidth_gb_s > 0)) Refuse(device, "no memory bandwidth");
  if (options.sms < 0 || options.sms > device.sms) {
    Refuse(device,
           fmt::format("sms is {}, expected 0 to {}", options.sms, device.sms));
  }
  const double fraction = options.bandwidth_fraction;
  if (!(fraction > 0) || fraction > 1) {
    Refuse(device,
           fmt::format(
               "bandwidth_fraction is {:f}, expected more than 0 and at most 1",
               fraction));
  }
  if (!(options.host_factor >= 0)) {
    Refuse(device, fmt::format("host_factor is {:f}, expected at least 0",
                               options.host_factor));
  }
  const int sms = options.sms == 0 ? device.sms : options.sms;
  return {.device = &device,
          .sms = sms,
          .bytes_per_us = BytesPerUs(device) * fraction,
          .share = static_cast<double>(sms) / device.sms,
          .bandwidth_share = fraction,
          .power_limit_w = PowerLimit(device, options.run)};
}

}  // namespace foretell::cost
