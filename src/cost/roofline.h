#pragma once

#include "src/cost/machine.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// Bytes of an element of 16 bits, and of f32.
inline constexpr std::int64_t kHalfElementBytes = 2;
inline constexpr std::int64_t kFloatElementBytes = 4;

/// The PyTorch of the labels of single operators on an H100 (kinds.jsonl.gz):
/// the first that was seen to run cuDNN's attention and the kernels of cuDNN
/// 9.19.
inline constexpr TorchVersion kNewCudnn = {.major = 2, .minor = 11};
/// The first whose cuDNN, 9.10, has the kernels of 9.19 for groups and for
/// windows that a mask of 32 bits does not hold, and copies images of few
/// channels: KernelBench's table of PyTorch 2.9 on an H100.
inline constexpr TorchVersion kCudnn910 = {.major = 2, .minor = 8};

/// Times of a kernel at the peaks of a machine, and its occupancy of the
/// machine.
struct KernelRoofline {
  double memory_us = 0;      ///< Bytes / bandwidth.
  double serial_us = 0;      ///< Of Kernel::serial_steps: a further bound.
  double arithmetic_us = 0;  ///< 2 MACs / peak rate of the unit that it uses.
  /// Tiles of 128 x 128 of the product per multiprocessor; 0 without a product.
  double waves = 0;
};

/// Type of `kernel`'s products on `machine`: that of the kernel, but FP32
/// instead of TF32 on a GPU before Ampere.
Precision ArithmeticOf(const Kernel& kernel, const Machine& machine);

/// Peak rate in FLOP per microsecond of the unit that computes the kernel's
/// products: that of ArithmeticOf, with three exceptions. PyTorch's own
/// depthwise kernels reach a 25th of the FP32 peak, attention of f32 splits
/// every product into three TF32 ones, and f64 has half the rate of f32. The
/// table is in docs/cost.md. Throws Error(kInvalidArgument) that names the
/// device when it has no such rate.
double PeakFlopsPerUs(const Kernel& kernel, const Machine& machine);

/// True if the kernel's products run on matrix units: false for FP32, FP64 and
/// depthwise kernels, and for a type that the device multiplies no faster than
/// FP32.
bool UsesTensorCores(const Kernel& kernel, const Machine& machine);

/// Requires a machine with bandwidth; errors as PeakFlopsPerUs.
KernelRoofline RooflineOf(const Kernel& kernel, const Machine& machine);

/// True for a kernel so small (< 32 KiB and < 10^6 MACs) that its launch
/// dominates.
bool IsOnlyALaunch(const Kernel& kernel);

}  // namespace foretell::cost
