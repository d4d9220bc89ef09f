#include "src/cost/float_weight_gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "src/cost/padded.h"
#include "src/cost/padded_convolution.h"
#include "src/cost/roofline.h"
#include "src/cost/tensor_convolution.h"

// The gradient of the weight of a convolution on FP32 lanes sums over all
// results. Of images without groups wgrad_alg0_engine divides that sum, and
// pads the product to tiles of 32 x 32. None of cuDNN's kernels for volumes
// divides it, so that few channels leave an H100 idle:
//
//   tiles    sm80_xmma_wgrad_…_ffma_…_tilesize32x32x8: a block for 32 x 32
//            channels of an element of the window, groups one after the other
//   direct   wgrad2d_grouped_direct_kernel: a thread block for an element of
//            the weight
//   engine   convolveNd_wgrad_engine, for many images whose channels come in
//            fours: padded to 32
//
// Of the first two cuDNN is assumed to find the faster one. Cycles are fitted
// to an H100's operators (kinds.jsonl.gz, drawn.jsonl.gz).

namespace foretell::cost {
namespace {

constexpr double kWeightTile = 32;  ///< Channels.
/// For each element of the sum: of a block alone, and of each of many that
/// share a multiprocessor.
constexpr double kTileCycles = 48, kSharedTileCycles = 14;
constexpr double kDirectWeightCycles = 22, kSharedDirectWeightCycles = 1;
/// Of a multiply-accumulate with padded channels.
constexpr double kEngineWeightCycles = 0.026;
constexpr double kManyImages = 16;
/// The same of images, whose product is padded as a whole, and for loading an
/// element of the image, which all elements of the window share.
constexpr double kImageWeightCycles = 0.023, kImageLoadCycles = 0.0276;

double EngineWeightCycles(const Kernel& kernel, double taps, double sms) {
  return Real(kernel.batch) * Real(kernel.k) * taps *
         PaddedTo(Real(kernel.m), kWeightTile) *
         PaddedTo(Real(kernel.n) / taps, kWeightTile) * kEngineWeightCycles /
         sms;
}

double TiledWeightCycles(const Kernel& kernel, double taps, double sms) {
  const double blocks = taps * std::ceil(Real(kernel.m) / kWeightTile) *
                        std::ceil(Real(kernel.n) / taps / kWeightTile);
  return Real(kernel.batch) * Real(kernel.k) *
         std::max(kTileCycles, kSharedTileCycles * std::ceil(blocks / sms));
}

double DirectWeightCycles(const Kernel& kernel, double sms) {
  const double weights = Real(kernel.batch) * Real(kernel.m) * Real(kernel.n);
  return Real(kernel.k) * std::max(kDirectWeightCycles,
                                   kSharedDirectWeightCycles * weights / sms);
}

double ImageWeightCycles(const Kernel& kernel, double taps, double sms) {
  return Real(kernel.k) * PaddedTo(Real(kernel.m), kWeightTile) *
         PaddedTo(Real(kernel.n), kWeightTile) *
         (kImageWeightCycles + kImageLoadCycles / taps) / sms;
}

bool HasEngine(const Kernel& kernel) {
  const bool is_transposed =
      kernel.kernel_class == KernelClass::kTransposedConvolution;
  return !is_transposed && HasVectors(kernel) &&
         Real(kernel.k) > kManyImages * Real(kernel.positions);
}

}  // namespace

bool HasFloatWeightKernels(const Kernel& kernel, const Machine& machine) {
  return kernel.pass == ProductPass::kWeightGradient &&
         (kernel.volume || kernel.groups == 1) &&
         kernel.element_bytes_in == kFloatElementBytes &&
         HasNewCudnn(kernel, machine);
}

double FloatWeightGradientUs(const Kernel& kernel, const Machine& machine) {
  const double taps = Real(std::max<std::int64_t>(1, kernel.taps));
  const double sms = machine.sms;
  const double cycles = !kernel.volume ? ImageWeightCycles(kernel, taps, sms)
                        : HasEngine(kernel)
                            ? EngineWeightCycles(kernel, taps, sms)
                            : std::min(TiledWeightCycles(kernel, taps, sms),
                                       DirectWeightCycles(kernel, sms));
  return cycles / machine.CyclesPerUs();
}

}  // namespace foretell::cost
