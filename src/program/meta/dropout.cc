// Dropout as CUDA fuses it: one mask byte per element is saved.

#include <ATen/ATen.h>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

// Result and mask.
void Fused(Call& call) {
  const at::Tensor input = call.FirstTensor();
  const bool has_mask = call.Bool("train", true);
  call.Return(Like(input));
  call.Return(has_mask ? Like(input, at::kBool)
                       : Contiguous(input.sizes(), at::kBool));
}

// The older fused kernel has a byte mask.
void FusedByte(Call& call) {
  const at::Tensor input = call.FirstTensor();
  call.Return(Like(input));
  call.Return(Like(input, at::kByte));
}

void FusedBackward(Call& call) {
  const at::Tensor grad = call.FirstTensor();
  ReturnPointwise(call, {grad, call.Tensor("mask")}, grad.scalar_type());
}

// The composite, which on other devices than CUDA multiplies by a mask of the
// input's own type.
void Dropout(Call& call) {
  const at::Tensor input = call.Tensor("input");
  const double p = call.Double("p", 0);
  TORCH_CHECK(p >= 0 && p <= 1, "dropout: the probability is ", p,
              ", expected 0 to 1");
  if (p == 0 || !call.Bool("train", true) || input.numel() == 0) {
    return call.Return(input);
  }
  if (p == 1) {
    return call.Return(at::mul(input, at::zeros({}, input.options())));
  }
  call.Return(std::get<0>(at::native_dropout(input, p, true)));
}

constexpr KernelRow kDropoutKernels[] = {
    {"dropout.", Dropout, Policy::kOverrideWhole},
    {"native_dropout", Fused},
    {"native_dropout_backward", FusedBackward},
    {"_fused_dropout", FusedByte},
    {"_masked_scale", FusedBackward},
};

}  // namespace

std::span<const KernelRow> DropoutKernels() { return kDropoutKernels; }

}  // namespace foretell::meta
