#include "src/cost/roofline.h"

#include <algorithm>
#include <cmath>

#include "src/device/compute_capability.h"

namespace foretell::cost {
namespace {

constexpr double kTile = 128;
constexpr double kNativeDepthwiseShare = 1.0 / 25;
/// A float32 product out of TF32 ones needs three of them.
constexpr double kEmulatedFloatProducts = 3;
constexpr double kDoubleShare = 0.5;
/// Of the data sheets, against 16 bits (H100 SXM: 1979 and 989 TFLOP/s).
constexpr double kFloat8Speedup = 2;
/// Of a device that does not state its rate: that of B200.
constexpr double kFloat4Speedup = 4;
constexpr std::int64_t kDoubleBytes = 8;
constexpr std::int64_t kLaunchOnlyBytes = 32 * 1024;
constexpr std::int64_t kLaunchOnlyMacs = 1'000'000;
/// From EfficientFormerV2's published latencies on four GPUs (0.27 to 0.40).
constexpr double kSerialStepUs = 0.3;
/// Registers allow no more threads of an interpolation on a multiprocessor.
constexpr double kSerialThreadsPerSm = 1024;

/// Of the data sheets, against dense products in 16 bits: T4 130 and 65 TOP/s,
/// A100 624 and 312, and 1248 with sparse weights.
constexpr double kInt8Speedup = 2;
constexpr double kSparseSpeedup = 2;

/// For as many threads as fit on the multiprocessors at once.
double SerialUs(const Kernel& kernel, const Machine& machine) {
  const double rounds =
      std::ceil(Real(kernel.positions) / (kSerialThreadsPerSm * machine.sms));
  return kSerialStepUs * Real(kernel.serial_steps) * std::max(rounds, 1.0);
}

/// How much faster than in 16 bits an engine's tensor cores multiply.
double EngineSpeedup(const Kernel& kernel, const Machine& machine) {
  const int capability = machine.device->compute_capability;
  return (kernel.int8 && capability >= device::kTuring ? kInt8Speedup : 1) *
         (kernel.sparse && capability >= device::kAmpereData ? kSparseSpeedup
                                                             : 1);
}

/// How much faster than in BF16 tensor cores multiply floats of 4 bits.
double Float4Speedup(const DeviceSpec& device) {
  const auto wide = device.peak_tflops.find(Precision::kBf16);
  if (device.fp4_tflops <= 0 || wide == device.peak_tflops.end()) {
    return kFloat4Speedup;
  }
  return device.fp4_tflops / wide->second;
}

}  // namespace

Precision ArithmeticOf(const Kernel& kernel, const Machine& machine) {
  const bool lacks_unit =
      kernel.arithmetic == Precision::kTf32 && !machine.HasTf32Units();
  return lacks_unit ? Precision::kFp32 : kernel.arithmetic;
}

double PeakFlopsPerUs(const Kernel& kernel, const Machine& machine) {
  const Precision arithmetic = ArithmeticOf(kernel, machine);
  const double peak =
      machine.FlopsPerUs(arithmetic) * EngineSpeedup(kernel, machine);
  if (kernel.kernel_class == KernelClass::kNativeDepthwise) {
    return peak * kNativeDepthwiseShare;
  }
  if (kernel.float8 && machine.device->compute_capability >= device::kAda) {
    return peak * kFloat8Speedup;
  }
  if (kernel.float4) return peak * Float4Speedup(*machine.device);
  if (kernel.element_bytes_in == kDoubleBytes) return peak * kDoubleShare;
  const bool emulates =
      IsAttention(kernel.kernel_class) && arithmetic == Precision::kTf32;
  return emulates ? peak / kEmulatedFloatProducts : peak;
}

bool UsesTensorCores(const Kernel& kernel, const Machine& machine) {
  return kernel.macs > 0 && kernel.arithmetic != Precision::kFp32 &&
         machine.FlopsPerUs(kernel.arithmetic) >
             machine.FlopsPerUs(Precision::kFp32);
}

KernelRoofline RooflineOf(const Kernel& kernel, const Machine& machine) {
  KernelRoofline roofline = {
      .memory_us = Real(kernel.Bytes()) / machine.bytes_per_us,
      .serial_us = SerialUs(kernel, machine)};
  if (kernel.macs == 0) return roofline;
  roofline.arithmetic_us =
      2 * Real(kernel.macs) / PeakFlopsPerUs(kernel, machine);
  const double tiles = Real(kernel.batch) * std::ceil(Real(kernel.m) / kTile) *
                       std::ceil(Real(kernel.n) / kTile);
  roofline.waves = tiles / machine.sms;
  return roofline;
}

bool IsOnlyALaunch(const Kernel& kernel) {
  return kernel.Bytes() < kLaunchOnlyBytes && kernel.macs < kLaunchOnlyMacs;
}

}  // namespace foretell::cost
