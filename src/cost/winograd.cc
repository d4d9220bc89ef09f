#include "src/cost/winograd.h"

#include <algorithm>
#include <cmath>

#include "src/cost/float_convolution.h"
#include "src/cost/gemm.h"
#include "src/cost/roofline.h"

// Winograd's algorithms, as cuDNN computes 3 x 3 convolutions of f32 on FP32
// lanes and their gradients: images and windows are transformed, products of
// [tiles, in] by [in, out] take fewer multiplications than the direct way, and
// the results are transformed back.
//
//   apart    F(4 x 4, 3 x 3): 36 products, a quarter of the multiplications,
//            and transforms that go through memory, at 0.80 of the bandwidth
//   at once  F(2 x 2, 3 x 3): 16 products, 1 / 2.25 of the multiplications, in
//            one kernel that transforms on the way, at 0.65 of the peak
//
// Few channels use the second, many the first. The gradient of the input is
// such a convolution of the results' gradient; the gradient of the weight sums
// over tiles instead of channels and is computed apart.
//
// cuDNN 9 does not use them on an H100 (kinds.jsonl.gz).
//
// Fitted as in float_convolution.cc. Tensor cores do not use it: their products
// are cheaper than the transforms.

namespace foretell::cost {
namespace {

constexpr std::int64_t kWinogradWindow = 3;
constexpr double kWinogradElementBytes = 4;
constexpr double kApartEdge = 4;
constexpr double kApartProducts = 36;
constexpr double kTransformBandwidthShare = 0.80;
/// Four launches, and what is not filled between them.
constexpr double kApartStartUs = 50;
constexpr double kAtOnceEdge = 2;
constexpr double kAtOnceProducts = 16;
constexpr double kAtOnceShare = 0.65;
constexpr double kAtOnceBandwidthShare = 0.70;
/// A block of the kernel at once: tiles of the image, channels of the result,
/// and channels of the input at a time, of which starting costs another 12.
constexpr double kBlock = 32;
constexpr double kBlockStep = 8;
constexpr double kBlockStartDepth = 12;

bool TakesWinograd(const Kernel& kernel, const Machine& machine) {
  return kernel.groups == 1 && kernel.window_height == kWinogradWindow &&
         kernel.window_width == kWinogradWindow &&
         kernel.taps == kWinogradWindow * kWinogradWindow && !kernel.dilated &&
         kernel.stride == 1 && !machine.HasNewerTensorCores() &&
         kernel.element_bytes_in == kWinogradElementBytes &&
         kernel.kernel_class != KernelClass::kTransposedConvolution &&
         ArithmeticOf(kernel, machine) == Precision::kFp32;
}

/// The products of a convolution between its transforms.
struct TransformedSizes {
  double tiles = 0;
  double in = 0;
  double out = 0;
};

TransformedSizes SizesOf(const Kernel& kernel, double edge) {
  const bool sums_positions = kernel.pass == ProductPass::kWeightGradient;
  const double results = Real(sums_positions ? kernel.k : kernel.m);
  const double side = std::ceil(std::sqrt(Real(kernel.positions)) / edge);
  const bool is_turned = kernel.pass == ProductPass::kInputGradient;
  const std::int64_t in = kernel.channels_in;
  const std::int64_t out = kernel.channels_out;
  return {.tiles = results / Real(kernel.positions) * side * side,
          .in = Real(is_turned ? out : in),
          .out = Real(is_turned ? in : out)};
}

double ApartUs(const Kernel& kernel, const Machine& machine) {
  const auto [tiles, in, out] = SizesOf(kernel, kApartEdge);
  const GemmShape shape = kernel.pass == ProductPass::kWeightGradient
                              ? GemmShape{kApartProducts, in, out, tiles}
                              : GemmShape{kApartProducts, tiles, out, in};
  const double products_us = GemmUs(shape, MatrixUnit::kSimtConvolution,
                                    PeakFlopsPerUs(kernel, machine), machine) /
                             ChannelShare(kernel);
  const double transformed =
      kWinogradElementBytes * kApartProducts * (tiles * (in + out) + in * out);
  return kApartStartUs + products_us +
         (Real(kernel.Bytes()) + transformed) / machine.bytes_per_us /
             kTransformBandwidthShare;
}

double AtOnceUs(const Kernel& kernel, const Machine& machine) {
  const auto [tiles, in, out] = SizesOf(kernel, kAtOnceEdge);
  const double blocks = std::ceil(tiles / kBlock) * std::ceil(out / kBlock);
  const double waves = std::ceil(blocks / machine.sms);
  const double depth =
      std::ceil(in / kBlockStep) * kBlockStep + kBlockStartDepth;
  const double flops =
      waves * machine.sms * 2 * kAtOnceProducts * kBlock * kBlock * depth;
  return std::max(
      flops / PeakFlopsPerUs(kernel, machine) /
          (kAtOnceShare * ChannelShare(kernel)),
      Real(kernel.Bytes()) / machine.bytes_per_us / kAtOnceBandwidthShare);
}

}  // namespace

std::optional<double> WinogradUs(const Kernel& kernel, const Machine& machine) {
  if (!TakesWinograd(kernel, machine) || kernel.positions == 0) return {};
  const double apart_us = ApartUs(kernel, machine);
  if (kernel.pass == ProductPass::kWeightGradient) return apart_us;
  return std::min(apart_us, AtOnceUs(kernel, machine));
}

}  // namespace foretell::cost
