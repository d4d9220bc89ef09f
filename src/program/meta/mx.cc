// Launches of torchao's kernels for MX formats (0.18.0,
// prototype/mx_formats/kernels.py) as operators; src/program/mxfp8_linear.cc
// runs them. A block of values has a scale of a byte.

#include "src/program/meta/mx.h"

#include <utility>

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

constexpr const char* kMxSchemas[] = {
    "mxfp8_quantize(Tensor input, bool rowwise, bool colwise) -> (Tensor, "
    "Tensor)",
    "triton_mx_block_rearrange(Tensor scale) -> Tensor",
};

/// Values and scales, by columns as of the transposed input.
void Mxfp8Quantize(Call& call) {
  Sizes sizes = call.Tensor("input").sizes().vec();
  if (call.Bool("colwise", false)) std::swap(sizes[0], sizes[1]);
  call.Return(Contiguous(sizes, at::kFloat8_e4m3fn));
  call.Return(Contiguous(Sizes{sizes[0], sizes[1] / kMxBlock}, at::kByte));
}

void MxBlockRearrange(Call& call) {
  const at::Tensor& scale = call.Tensor("scale");
  call.Return(Contiguous(Sizes{TiledScaleBytes(scale.size(0), scale.size(1))},
                         at::kByte));
}

constexpr KernelRow kMxKernels[] = {
    {"torchao::mxfp8_quantize", Mxfp8Quantize},
    {"torchao::triton_mx_block_rearrange", MxBlockRearrange},
};

}  // namespace

std::vector<LibrarySchemas> MxSchemas() { return {{"torchao", kMxSchemas}}; }

std::span<const KernelRow> MxKernels() { return kMxKernels; }

}  // namespace foretell::meta
