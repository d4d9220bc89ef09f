#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/cost/kernels.h"
#include "src/cost/machine.h"

namespace foretell::cost {

/// Times of a kernel at the peaks of a machine, and how it fills the machine.
struct KernelRoofline {
  double memory_us = 0;      ///< Bytes / bandwidth.
  double serial_us = 0;      ///< SerialUs: a bound beside bandwidth.
  double arithmetic_us = 0;  ///< 2 MACs / peak rate of the unit that it takes.
  /// Tiles of 128 x 128 of the product per multiprocessor; 0 without a product.
  double waves = 0;
};

/// Requires a machine with bandwidth; throws Error(kInvalidArgument) that names
/// the device when it has no peak rate for the kernel's arithmetic.
///
/// The unit is that of Kernel::arithmetic, with two exceptions: PyTorch's own
/// depthwise kernels reach a 25th of the FP32 peak, and fused attention of f32
/// splits every product into three TF32 ones.
KernelRoofline RooflineOf(const Kernel& kernel, const Machine& machine);

/// The longer of memory and serial time, and arithmetic, in microseconds, for
/// one kernel whatever its count; errors as there. Launching takes time of its
/// own.
double RooflineUs(const Kernel& kernel, const Machine& machine);

/// True for a kernel so small (below 32 KiB and 10^6 MACs) that nothing but
/// its launch takes time.
bool IsOnlyALaunch(const Kernel& kernel);

/// A kernel on a machine, as the features see it.
struct KernelFacts {
  const Kernel& kernel;
  const Machine& machine;
  const ExecutionMode& mode;
  KernelRoofline roofline;
};

/// How a quantity x becomes a feature near [-1, 1].
enum class KernelEncoding : std::uint8_t {
  kFlag,     ///< x, which is 0 or 1.
  kLinear,   ///< x / divisor - offset.
  kLog2,     ///< log2(x) / divisor - offset.
  kLog2Of1,  ///< log2(1 + x) / divisor - offset.
};

/// One slot: its words for people and its arithmetic for the code.
struct KernelFeature {
  std::string_view name;
  std::string_view meaning;
  KernelEncoding encoding;
  double divisor;
  double offset;
  double (*quantity)(const KernelFacts&);
};

/// Slots that the kernel alone decides; the rest depends on device and mode.
inline constexpr int kNumOwnKernelFeatures = 33;
inline constexpr int kNumKernelFeatures = 45;

/// The slots in their order.
extern const std::array<KernelFeature, kNumKernelFeatures> kKernelFeatures;

/// Numbers that describe `kernel` on `machine` to a learned model, in the order
/// of kKernelFeatures. The class is not among them.
///
/// Throws Error(kInvalidArgument) for a device without bandwidth, L2, or peak
/// rates in FP32, FP16 and the kernel's arithmetic.
std::array<double, kNumKernelFeatures> KernelFeatures(
    const Kernel& kernel, const Machine& machine, const ExecutionMode& mode);

/// The tables of classes and of features as Markdown, for docs/kernels.md.
std::string KernelTablesMarkdown();

}  // namespace foretell::cost
