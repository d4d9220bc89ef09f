// Normalizations.

#include <array>

#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

bool IsSixteenBit(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kHalf ||
         tensor.scalar_type() == at::kBFloat16;
}

/// Where parameters may be f32 for 16-bit elements.
enum class Mixes { kEverywhere, kOnTheCpu };

/// Types of a norm of `input`: floats, and parameters that fit and are alike.
void RequireNormTypes(const Call& call, const at::Tensor& input, Mixes mixes) {
  const at::Tensor weight = call.TensorOrUndefined("weight");
  const at::Tensor bias = call.TensorOrUndefined("bias");
  if (input.numel() == 0) return;
  RequireFloats(input);
  RequireTypeOf(weight, "a weight", bias, "a bias");
  const at::Tensor& parameter = weight.defined() ? weight : bias;
  const bool may_differ = IsSixteenBit(input) && parameter.defined() &&
                          parameter.scalar_type() == at::kFloat &&
                          (mixes == Mixes::kEverywhere || input.is_cpu());
  if (!may_differ) {
    RequireTypeOf(parameter, "parameters", input, "an input");
  }
}

/// _check_layer_norm_inputs (layer_norm.h), cuda/layer_norm_kernel.cu.
void CheckLayerNorm(const Call& call) {
  const Sizes shape = call.Ints("normalized_shape");
  RequireNormTypes(call, call.Tensor("input"), Mixes::kOnTheCpu);
  RequireShape(call.TensorOrUndefined("weight"), "a weight", shape);
  RequireShape(call.TensorOrUndefined("bias"), "a bias", shape);
}

/// rms_norm promotes the types of its operands (layer_norm.cpp).
void CheckRmsNorm(const Call& call) { RequireFloats(call.Tensor("input")); }

/// check_group_norm_inputs (group_norm.cpp).
void CheckGroupNorm(const Call& call) {
  RequireNormTypes(call, call.Tensor("input"), Mixes::kOnTheCpu);
}

void CheckNativeGroupNorm(const Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const std::int64_t channels = call.Int("C");
  RequireNormTypes(call, input, Mixes::kOnTheCpu);
  RequireElements(input, "an input",
                  call.Int("N") * channels * call.Int("HxW"));
  RequireDivides(channels, "channels", call.Int("group"));
  RequireShape(call.TensorOrUndefined("weight"), "a weight", {channels});
  RequireShape(call.TensorOrUndefined("bias"), "a bias", {channels});
}

/// CUDA's own kernels accept statistics of any type (Normalization.cpp).
void CheckNativeBatchNorm(const Call& call) {
  RequireNormTypes(call, call.Tensor("input"), Mixes::kEverywhere);
}

/// cuDNN's, chosen where parameters are wide, do not (cudnn/BatchNorm.cpp).
void CheckBatchNorm(const Call& call) {
  const at::Tensor weight = call.TensorOrUndefined("weight");
  CheckNativeBatchNorm(call);
  if (call.Tensor("input").numel() == 0 || !call.IsTensor("bias") ||
      !weight.defined() || IsSixteenBit(weight)) {
    return;
  }
  for (const std::string_view name : {"running_mean", "running_var"}) {
    RequireTypeOf(call.TensorOrUndefined(name), name, weight, "a weight");
  }
}

constexpr std::array kNormRows = std::to_array<OperandRow>({
    {"_batch_norm_with_update", &CheckNativeBatchNorm},
    {"_native_batch_norm_legit", &CheckNativeBatchNorm},
    {"batch_norm", &CheckBatchNorm},
    {"group_norm", &CheckGroupNorm},
    {"instance_norm", &CheckNativeBatchNorm},
    {"layer_norm", &CheckLayerNorm},
    {"native_batch_norm", &CheckNativeBatchNorm},
    {"native_group_norm", &CheckNativeGroupNorm},
    {"native_layer_norm", &CheckLayerNorm},
    {"rms_norm", &CheckRmsNorm},
});

}  // namespace

std::span<const OperandRow> NormRows() { return kNormRows; }

}  // namespace foretell::checks
