#include "src/cost/winograd.h"

#include <cmath>

#include "src/cost/gemm.h"
#include "src/cost/roofline.h"

// Winograd's F(4 x 4, 3 x 3), as cuDNN computes 3 x 3 convolutions of f32 on
// FP32 lanes: images and windows are transformed, 36 products of [tiles, in] by
// [in, out] take a quarter of the multiplications of the direct way, and the
// results are transformed back.
//
//   time = start + products / 0.80 + transforms at 0.60 of the bandwidth
//
// Fitted to half of the published FP32 convolutions of A100 (TF32 off), V100
// and T4; scripts/published/score_operators.py judges by the other half.
// The gradient of the input is such a convolution too, of the results' gradient.
// Tensor cores do without: their products are cheaper than the transforms.

namespace foretell::cost {
namespace {

constexpr std::int64_t kWindow = 3;
constexpr double kTileEdge = 4;
/// Products per tile: (4 + 3 - 1) squared.
constexpr double kProducts = 36;
constexpr double kProductShare = 0.80;
constexpr double kBandwidthShare = 0.60;
/// Four launches, and what is not filled between them.
constexpr double kStartUs = 30;
constexpr double kFloatBytes = 4;

bool TakesWinograd(const Kernel& kernel, const Machine& machine) {
  return kernel.groups == 1 && kernel.pass != ProductPass::kWeightGradient &&
         kernel.window_height == kWindow && kernel.window_width == kWindow &&
         kernel.stride == 1 && kernel.element_bytes_in == kFloatBytes &&
         kernel.kernel_class != KernelClass::kTransposedConvolution &&
         ArithmeticOf(kernel, machine) == Precision::kFp32;
}

}  // namespace

std::optional<double> WinogradUs(const Kernel& kernel, const Machine& machine) {
  if (!TakesWinograd(kernel, machine) || kernel.positions == 0) return {};
  const double edge = std::ceil(std::sqrt(Real(kernel.positions)) / kTileEdge);
  const double images = Real(kernel.m) / Real(kernel.positions);
  const double tiles = images * edge * edge;
  const double in = Real(kernel.k) / (kWindow * kWindow);
  const double out = Real(kernel.n);
  const double products_us =
      GemmUs({kProducts, tiles, out, in}, MatrixUnit::kSimt,
             PeakFlopsPerUs(kernel, machine), machine) /
      kProductShare;
  const double transformed =
      kFloatBytes * kProducts * (tiles * (in + out) + in * out);
  const double bytes = Real(kernel.bytes_in + kernel.bytes_out) + transformed;
  return kStartUs + products_us +
         bytes / machine.bytes_per_us / kBandwidthShare;
}

}  // namespace foretell::cost
