#include "src/cost/padded_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "src/cost/padded.h"
#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"

// Convolutions on tensor cores by cuDNN 9.19 (sm80_xmma and sm90_xmma, channels
// innermost): for each element of the window, the channels that are summed and
// those that are made are padded to a tile. Groups are computed one by one, or
// as many as fit into a tile as one:
//
//   time = 2 * groups / merged * m * taps * padded(summed) * padded(made)
//          / (share * peak)
//
// The gradient of a weight sums over the results, and pads the channels of both
// sides. Tiles and shares are fitted to an H100's operators (kinds.jsonl.gz,
// drawn.jsonl.gz). Without groups the sizes of tiles vary more, and the product
// in tiles (gemm.cc) takes longer if channels are many.

namespace foretell::cost {
namespace {

constexpr double kWideGroups = 64;

struct PaddedTile {
  double made;
  double summed;
  double share;  ///< Of the peak.
};

/// By pass (ProductPass), of TF32 and of 16 bits.
constexpr PaddedTile kTiles[][2] = {{{32, 32, 0.70}, {64, 64, 0.70}},
                                    {{128, 64, 0.60}, {64, 64, 0.60}},
                                    {{32, 64, 0.60}, {64, 128, 0.70}}};
constexpr PaddedTile kGroupedTiles[][2] = {{{32, 32, 0.20}, {32, 32, 0.147}},
                                           {{32, 32, 0.15}, {32, 32, 0.147}},
                                           {{64, 64, 0.16}, {64, 64, 0.22}}};

PaddedTile TileOf(const Kernel& kernel) {
  const auto pass = static_cast<std::size_t>(PlainPass(kernel));
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  return (kernel.groups > 1 ? kGroupedTiles : kTiles)[pass][is_half ? 1 : 0];
}

/// A product of a group: `rows` results or, of a weight, elements of its sum,
/// for each of which `taps` products of summed by made channels are added.
struct GroupProduct {
  double rows;
  double taps;
  double summed;
  double made;
};

GroupProduct GroupOf(const Kernel& kernel) {
  if (kernel.pass == ProductPass::kWeightGradient) {
    const double taps = Real(std::max<std::int64_t>(1, kernel.taps));
    return {Real(kernel.k), taps, Real(kernel.m), Real(kernel.n) / taps};
  }
  const double summed = SummedChannels(kernel);
  return {Real(kernel.m), Real(kernel.k) / summed, summed, Real(kernel.n)};
}

}  // namespace

ProductPass PlainPass(const Kernel& kernel) {
  if (kernel.pass == ProductPass::kWeightGradient) return kernel.pass;
  const bool is_transposed =
      kernel.kernel_class == KernelClass::kTransposedConvolution;
  return (kernel.pass == ProductPass::kForward) == is_transposed
             ? ProductPass::kInputGradient
             : ProductPass::kForward;
}

bool HasVectors(const Kernel& kernel) {
  constexpr std::int64_t kVectorBytes = 16;
  const auto are_vectors = [&](std::int64_t channels) {
    return channels / kernel.groups * kernel.element_bytes_in % kVectorBytes ==
           0;
  };
  return are_vectors(kernel.channels_in) && are_vectors(kernel.channels_out);
}

bool HasPaddedGroups(const Kernel& kernel, const Machine& machine) {
  if (kernel.groups <= 1 || !HasNewCudnn(kernel, machine) ||
      !UsesTensorCores(kernel, machine)) {
    return false;
  }
  const auto [narrow, wide] =
      std::minmax(kernel.channels_in, kernel.channels_out);
  const double groups = Real(kernel.groups);
  return Real(wide) / groups <= TileOf(kernel).made ||
         (Real(narrow) / groups < kWideGroups && !HasVectors(kernel));
}

double PaddedConvolutionUs(const Kernel& kernel, const Machine& machine) {
  const PaddedTile tile = TileOf(kernel);
  const GroupProduct group = GroupOf(kernel);
  const double merged =
      std::clamp(std::floor(tile.made / std::max(group.summed, group.made)),
                 1.0, Real(kernel.groups));
  const double flops = 2 * Real(kernel.groups) / merged * group.rows *
                       group.taps * PaddedTo(merged * group.made, tile.made) *
                       PaddedTo(merged * group.summed, tile.summed);
  return flops / PeakFlopsPerUs(kernel, machine) / tile.share;
}

}  // namespace foretell::cost
