// The one table of kernel features: the code, the tests and docs/kernels.md
// read it.
//
// Bytes, products and extents span many orders of magnitude and act by ratios,
// so they enter as logarithms. Whether an extent divides by 8 or 64 decides
// which tensor-core kernels a library can use. A device enters by its peaks
// and by what the kernel makes of them: bytes per L2, tiles per
// multiprocessor, the balance of arithmetic and memory.
#include "src/features/kernel_features.h"

#include <cmath>
#include <cstddef>

#include "src/core/failure.h"
#include "src/core/units.h"
#include "src/cost/kernel_time.h"

namespace foretell::cost {
namespace {

constexpr double kFlopsPerUsPerTflops = 1e6;
/// Keeps ratios of times and bytes finite.
constexpr double kSmallUs = 1e-3;
/// Windows from here on are large.
constexpr std::int64_t kLargeWindow = 6;

template <auto member>
double Get(const KernelFacts& facts) {
  return static_cast<double>(facts.kernel.*member);
}

/// Whether an extent divides by `divisor`.
template <auto member, std::int64_t divisor>
double Divides(const KernelFacts& facts) {
  return facts.kernel.*member % divisor == 0 ? 1 : 0;
}

double Intensity(const KernelFacts& facts) {
  return Real(facts.kernel.macs + 1) / Real(facts.kernel.Bytes() + 1);
}

double IsBatched(const KernelFacts& facts) {
  return facts.kernel.batch > 1 ? 1 : 0;
}

double HasOddWindow(const KernelFacts& facts) {
  const Kernel& kernel = facts.kernel;
  return kernel.window_height >= kLargeWindow ||
                 kernel.window_height != kernel.window_width
             ? 1
             : 0;
}

double RunsChannelsLast(const KernelFacts& facts) {
  return facts.mode.channels_last ? 1 : 0;
}

template <TorchGeneration generation>
double IsTorch(const KernelFacts& facts) {
  return facts.mode.torch.Generation() == generation ? 1 : 0;
}

double BandwidthTbS(const KernelFacts& facts) {
  return facts.machine.bytes_per_us / 1e6;
}

template <Precision precision>
double PeakTflops(const KernelFacts& facts) {
  return facts.machine.FlopsPerUs(precision) / kFlopsPerUsPerTflops;
}

double Sms(const KernelFacts& facts) { return facts.machine.sms; }

double L2Mib(const KernelFacts& facts) {
  return facts.machine.device->l2_mib * facts.machine.share;
}

double BytesPerL2(const KernelFacts& facts) {
  return Real(facts.kernel.Bytes() + 1) / (L2Mib(facts) * kMiB);
}

double Waves(const KernelFacts& facts) { return facts.roofline.waves; }

double WaveFill(const KernelFacts& facts) {
  const double waves = facts.roofline.waves;
  return waves > 0 ? waves / std::ceil(waves) : 0;
}

double Balance(const KernelFacts& facts) {
  return (facts.roofline.arithmetic_us + kSmallUs) /
         (facts.roofline.memory_us + kSmallUs);
}

double Work(const KernelFacts& facts) {
  return (WorkUs(facts.kernel, facts.machine) + kSmallUs) /
         (facts.roofline.memory_us + facts.roofline.arithmetic_us + kSmallUs);
}

double Encode(const KernelFeature& feature, const KernelFacts& facts) {
  const double x = feature.quantity(facts);
  switch (feature.encoding) {
    case KernelEncoding::kFlag:
      return x;
    case KernelEncoding::kLinear:
      return x / feature.divisor - feature.offset;
    case KernelEncoding::kLog2:
      return std::log2(x) / feature.divisor - feature.offset;
    case KernelEncoding::kLog2Of1:
      return std::log2(1 + x) / feature.divisor - feature.offset;
  }
  return x;
}

void RequireFacts(const Machine& machine) {
  if (machine.device->l2_mib > 0) return;
  throw InvalidArgument("device {}: l2_mib is {:f}, expected more than 0",
                        machine.device->name, machine.device->l2_mib);
}

}  // namespace

using enum KernelEncoding;

// clang-format off
constexpr std::array<KernelFeature, kNumKernelFeatures> kKernelFeatures = {{
    {"bytes_in", "bytes of the activations that it reads",
     kLog2Of1, 20, 1, &Get<&Kernel::bytes_in>},
    {"bytes_weight", "bytes of the parameters and buffers that it reads",
     kLog2Of1, 20, 0.5, &Get<&Kernel::bytes_weight>},
    {"bytes_out", "bytes that it writes",
     kLog2Of1, 20, 1, &Get<&Kernel::bytes_out>},
    {"macs", "multiply-accumulates",
     kLog2Of1, 30, 0.5, &Get<&Kernel::macs>},
    {"batch", "products side by side",
     kLog2Of1, 8, 0, &Get<&Kernel::batch>},
    {"m", "rows of the product",
     kLog2Of1, 16, 0.5, &Get<&Kernel::m>},
    {"n", "columns of the product",
     kLog2Of1, 10, 0.5, &Get<&Kernel::n>},
    {"k", "extent that the product sums over",
     kLog2Of1, 10, 0.5, &Get<&Kernel::k>},
    {"window_height", "rows of the window of a convolution or pooling",
     kLog2Of1, 3, 0, &Get<&Kernel::window_height>},
    {"window_width", "columns of the window",
     kLog2Of1, 3, 0, &Get<&Kernel::window_width>},
    {"stride", "stride along the last dimension",
     kLog2Of1, 1, 0, &Get<&Kernel::stride>},
    {"positions", "elements of the result per image and channel",
     kLog2Of1, 12, 0.5, &Get<&Kernel::positions>},
    {"channels_in", "channels of the input",
     kLog2Of1, 10, 0.5, &Get<&Kernel::channels_in>},
    {"channels_out", "channels of the result",
     kLog2Of1, 10, 0.5, &Get<&Kernel::channels_out>},
    {"groups", "groups of a convolution",
     kLog2Of1, 10, 0, &Get<&Kernel::groups>},
    {"element_bytes_in", "bytes of an element that it reads",
     kLinear, 4, 0, &Get<&Kernel::element_bytes_in>},
    {"element_bytes_out", "bytes of an element that it writes",
     kLinear, 4, 0, &Get<&Kernel::element_bytes_out>},
    {"inner_extent", "elements side by side",
     kLog2Of1, 10, 0.5, &Get<&Kernel::inner_extent>},
    {"n_divides_by_8", "n divides by 8",
     kFlag, 1, 0, &Divides<&Kernel::n, 8>},
    {"k_divides_by_8", "k divides by 8",
     kFlag, 1, 0, &Divides<&Kernel::k, 8>},
    {"m_divides_by_8", "m divides by 8",
     kFlag, 1, 0, &Divides<&Kernel::m, 8>},
    {"channels_in_divide_by_8", "channels_in divide by 8",
     kFlag, 1, 0, &Divides<&Kernel::channels_in, 8>},
    {"channels_out_divide_by_8", "channels_out divide by 8",
     kFlag, 1, 0, &Divides<&Kernel::channels_out, 8>},
    {"n_divides_by_64", "n divides by 64",
     kFlag, 1, 0, &Divides<&Kernel::n, 64>},
    {"k_divides_by_64", "k divides by 64",
     kFlag, 1, 0, &Divides<&Kernel::k, 64>},
    {"channels_in_divide_by_32", "channels_in divide by 32",
     kFlag, 1, 0, &Divides<&Kernel::channels_in, 32>},
    {"intensity", "(1 + MACs) / (1 + bytes)",
     kLog2, 10, 0, &Intensity},
    {"inner_extent_divides_by_8", "inner_extent divides by 8",
     kFlag, 1, 0, &Divides<&Kernel::inner_extent, 8>},
    {"is_batched", "several products side by side",
     kFlag, 1, 0, &IsBatched},
    {"channels_last", "works on channels-last images",
     kFlag, 1, 0, &Get<&Kernel::channels_last>},
    {"mixed_layouts", "operands differ in layout or have gaps",
     kFlag, 1, 0, &Get<&Kernel::mixed_layouts>},
    {"odd_window", "window larger than 5, or not square",
     kFlag, 1, 0, &HasOddWindow},
    {"variant", "attention with a mask, reduction over the last dimension, "
     "element-wise operator that broadcasts",
     kFlag, 1, 0, &Get<&Kernel::variant>},
    {"runs_channels_last", "the network was converted to channels-last",
     kFlag, 1, 0, &RunsChannelsLast},
    {"torch_before_2_0", "PyTorch without fused attention",
     kFlag, 1, 0, &IsTorch<TorchGeneration::kNoFusedAttention>},
    {"torch_from_2_5", "PyTorch whose attention falls back to FP32",
     kFlag, 1, 0, &IsTorch<TorchGeneration::kFloatAttentionFallback>},
    {"bandwidth", "memory bandwidth in TB/s",
     kLog2, 1, 0, &BandwidthTbS},
    {"peak_fp16", "peak rate in FP16, TFLOP/s",
     kLog2, 1, 6.5, &PeakTflops<Precision::kFp16>},
    {"peak_fp32", "peak rate in FP32, TFLOP/s",
     kLog2, 1, 6, &PeakTflops<Precision::kFp32>},
    {"sms", "multiprocessors",
     kLog2, 1, 6.5, &Sms},
    {"l2", "L2 cache in MiB",
     kLog2, 3, 1.5, &L2Mib},
    {"bytes_per_l2", "(1 + bytes) / L2 cache",
     kLog2, 10, 0, &BytesPerL2},
    {"waves", "tiles of 128 x 128 per multiprocessor",
     kLog2Of1, 8, 0, &Waves},
    {"wave_fill", "waves / waves rounded up",
     kLinear, 1, 0, &WaveFill},
    {"balance", "(1 ns + arithmetic) / (1 ns + memory), at the peaks",
     kLog2, 8, 0, &Balance},
    {"work", "(1 ns + time by the cost model without launch) / (1 ns + roofline)",
     kLog2, 4, 0, &Work},
}};
// clang-format on

double WorkUs(const Kernel& kernel, const Machine& machine) {
  Kernel parallel = kernel;
  parallel.serial_steps = 0;
  return TimeOf(parallel, machine).WorkUs();
}

std::array<double, kNumKernelFeatures> KernelFeatures(const Kernel& kernel,
                                                      const Machine& machine,
                                                      const Run& mode) {
  RequireFacts(machine);
  const KernelFacts facts = {kernel, machine, mode,
                             RooflineOf(kernel, machine)};
  std::array<double, kNumKernelFeatures> features;
  for (std::size_t i = 0; i < features.size(); ++i) {
    features[i] = Encode(kKernelFeatures[i], facts);
  }
  return features;
}

}  // namespace foretell::cost
