#include "src/cost/grouped_convolution.h"

#include <algorithm>
#include <cmath>

#include "src/cost/roofline.h"
#include "src/cost/strided_gradient.h"
#include "src/cost/tensor_convolution.h"

// Convolutions in groups on tensor cores by cuDNN 9.19 (sm90_xmma, channels
// innermost): the channels of a group are padded to 32, and as many groups as
// fit into 32 channels are computed as one. At that size an H100 reaches 0.2 of
// its peak in TF32 and 0.147 in 16 bits, for 3 to 127 channels in a group: rows
// of its operators at extents drawn at random, and RegNet's and ResNeXt's on an
// H200 (kernels.jsonl.gz).

namespace foretell::cost {
namespace {

constexpr double kPaddedChannels = 32;
constexpr double kTf32Share = 0.20;
constexpr double kHalfShare = 0.147;

double Padded(double channels) {
  return std::ceil(channels / kPaddedChannels) * kPaddedChannels;
}

}  // namespace

bool HasPaddedGroups(const Kernel& kernel, const Machine& machine) {
  return kernel.groups > 1 && HasNewCudnn(kernel, machine) &&
         kernel.pass != ProductPass::kWeightGradient &&
         std::max(SummedChannels(kernel), Real(kernel.n)) <= kPaddedChannels &&
         UsesTensorCores(kernel, machine);
}

double GroupedConvolutionUs(const Kernel& kernel, const Machine& machine) {
  const double summed = SummedChannels(kernel);
  const double made = Real(kernel.n);
  const double merged =
      std::clamp(std::floor(kPaddedChannels / std::max(summed, made)), 1.0,
                 Real(kernel.groups));
  const double flops = 2 * Real(kernel.groups) / merged * Real(kernel.m) *
                       Padded(merged * made) * Padded(merged * summed) *
                       Real(kernel.k) / summed;
  const bool is_half = kernel.element_bytes_in == kHalfElementBytes;
  return flops / PeakFlopsPerUs(kernel, machine) /
         (is_half ? kHalfShare : kTf32Share);
}

}  // namespace foretell::cost
