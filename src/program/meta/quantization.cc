// Fake quantisation: values rounded but still floating-point, and the mask of
// those that were not clipped.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void WithMask(Call& call) {
  const at::Tensor input = call.Tensor("self");
  call.Return(Like(input));
  call.Return(Like(input, at::kBool));
}

void Learnable(Call& call) { call.Return(Like(call.Tensor("self"))); }

void LearnableBackward(Call& call) {
  call.Return(Like(call.Tensor("self")));
  call.Return(Like(call.Tensor("scale")));
  call.Return(Like(call.Tensor("zero_point")));
}

constexpr KernelRow kQuantizationKernels[] = {
    {"fake_quantize_per_tensor_affine_cachemask", WithMask},
    {"fake_quantize_per_channel_affine_cachemask", WithMask},
    {"_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", WithMask},
    {"_fused_moving_avg_obs_fq_helper", WithMask},
    {"_fake_quantize_learnable_per_tensor_affine", Learnable},
    {"_fake_quantize_learnable_per_channel_affine", Learnable},
    {"_fake_quantize_learnable_per_tensor_affine_backward", LearnableBackward},
    {"_fake_quantize_learnable_per_channel_affine_backward", LearnableBackward},
};

}  // namespace

std::span<const KernelRow> QuantizationKernels() {
  return kQuantizationKernels;
}

}  // namespace foretell::meta
