#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "src/cost/machine.h"
#include "src/cost/roofline.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {

/// A kernel on a machine, as input of the features.
struct KernelFacts {
  const Kernel& kernel;
  const Machine& machine;
  const Run& mode;
  KernelRoofline roofline;
};

/// How a quantity x becomes a feature near [-1, 1].
enum class KernelEncoding : std::uint8_t {
  kFlag,     ///< x, which is 0 or 1.
  kLinear,   ///< x / divisor - offset.
  kLog2,     ///< log2(x) / divisor - offset.
  kLog2Of1,  ///< log2(1 + x) / divisor - offset.
};

/// A slot: its description and its computation.
struct KernelFeature {
  std::string_view name;
  std::string_view meaning;
  KernelEncoding encoding;
  double divisor;
  double offset;
  double (*quantity)(const KernelFacts&);
};

inline constexpr int kNumKernelFeatures = 46;

/// The slots in their order.
extern const std::array<KernelFeature, kNumKernelFeatures> kKernelFeatures;

/// Time of the kernel by the cost model, in microseconds, without its launch
/// and without serial work of its threads.
double WorkUs(const Kernel& kernel, const Machine& machine);

/// Numbers that describe `kernel` on `machine` to a learned model, in the order
/// of kKernelFeatures. The class is not among them.
///
/// Throws Error(kInvalidArgument) for a device without bandwidth, L2, or peak
/// rates in FP32, FP16 and the kernel's arithmetic.
std::array<double, kNumKernelFeatures> KernelFeatures(const Kernel& kernel,
                                                      const Machine& machine,
                                                      const Run& mode);

}  // namespace foretell::cost
