// Operators whose result depends on the values in a tensor. Meta tensors have
// none, so all that can be done is to say so and name the operator.

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

void Refuse(Call& call) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, call.schema().name(),
      ": the result depends on the values of a tensor, which a tensor on the "
      "meta device does not have");
}

bool AreTheSame(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() &&
         a.strides().equals(b.strides());
}

// nn::MultiheadAttention asks whether query and key are equal. Tensors of
// other shapes are not, a tensor and itself are; anything else is unknown.
void Equal(Call& call) {
  const at::Tensor& a = call.Tensor("self");
  const at::Tensor& b = call.Tensor("other");
  if (!a.sizes().equals(b.sizes())) return call.ReturnValue(false);
  if (AreTheSame(a, b)) return call.ReturnValue(true);
  Refuse(call);
}

constexpr KernelRow kRows[] = {
    {"_local_scalar_dense", Refuse, Policy::kDataDependent},
    {"nonzero", Refuse, Policy::kDataDependent},
    {"masked_select", Refuse, Policy::kDataDependent},
    {"_unique", Refuse, Policy::kDataDependent},
    {"_unique2", Refuse, Policy::kDataDependent},
    {"unique_dim", Refuse, Policy::kDataDependent},
    {"unique_consecutive", Refuse, Policy::kDataDependent},
    {"unique_dim_consecutive", Refuse, Policy::kDataDependent},
    {"bincount", Refuse, Policy::kDataDependent},
    {"equal", Equal},
    {"torchvision::nms", Refuse, Policy::kDataDependent},
};

}  // namespace

std::span<const KernelRow> DataDependentKernels() { return kRows; }

}  // namespace foretell::meta
