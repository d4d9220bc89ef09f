// Operators whose result depends on the values in a tensor. Meta tensors have
// no values, so these can only throw an error that names the operator.
// Composites are listed too: they would fail half way, with the name of a part.
// Those that depend on data with some arguments only have a table of their own.

#include <algorithm>

#include "src/program/meta/families.h"
#include "src/program/meta/meta_kernels.h"

namespace foretell {
namespace meta {
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

/// A single Boolean. istft asks whether its window is zero somewhere and
/// refuses if that equals true (is_scalar_tensor_true of
/// ATen/TensorSubclassLikeUtils.h).
bool IsFlag(const at::Tensor& a) {
  return a.dim() == 0 && a.scalar_type() == at::kBool;
}

// nn::MultiheadAttention asks whether query and key are equal. Tensors of
// other shapes are not, a tensor and itself are; anything else is unknown.
void Equal(Call& call) {
  const at::Tensor& a = call.Tensor("self");
  const at::Tensor& b = call.Tensor("other");
  if (!a.sizes().equals(b.sizes())) return call.ReturnValue(false);
  if (AreTheSame(a, b)) return call.ReturnValue(true);
  if (IsFlag(a)) return call.ReturnValue(false);
  Refuse(call);
}

constexpr KernelRow kDataDependentKernels[] = {
    {"item", Refuse, Policy::kDataDependent},
    {"is_nonzero", Refuse, Policy::kDataDependent},
    {"_local_scalar_dense", Refuse, Policy::kDataDependent},
    {"nonzero", Refuse, Policy::kDataDependent},
    {"nonzero_numpy", Refuse, Policy::kDataDependent},
    {"argwhere", Refuse, Policy::kDataDependent},
    {"where.", Refuse, Policy::kDataDependent},
    {"tensor_split.tensor_indices_or_sections", Refuse, Policy::kDataDependent},
    {"allclose", Refuse, Policy::kDataDependent},
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

// ---- With some arguments only ----------------------------------------------

using Stack = torch::jit::Stack;

bool IsMask(const c10::IValue& index) {
  if (!index.isTensor() || !index.toTensor().defined()) return false;
  const at::ScalarType type = index.toTensor().scalar_type();
  return type == at::kBool || type == at::kByte;
}

/// The content of a mask on the host is known to a trace on meta.
bool HasBooleanIndex(const c10::FunctionSchema& schema, const Stack& stack) {
  const c10::IValue& self = stack[stack.size() - schema.arguments().size()];
  const c10::IValue& indices = stack.back();
  if (!indices.isList() || !self.isTensor()) return false;
  const auto list = indices.toListRef();
  return std::any_of(list.begin(), list.end(), [&](const c10::IValue& index) {
    return IsMask(index) &&
           index.toTensor().is_meta() == self.toTensor().is_meta();
  });
}

/// With output_size, with an int or with counts on the CPU the shape is known.
bool RepeatsByUnknownCounts(const c10::FunctionSchema& schema,
                            const Stack& stack) {
  const std::size_t count = schema.arguments().size();
  const std::size_t first = stack.size() - count;
  const c10::IValue& repeats = stack[count > 2 ? first + 1 : first];
  return repeats.isTensor() && repeats.toTensor().is_meta() &&
         stack.back().isNone();
}

/// Lengths on the host are known.
bool PacksByUnknownLengths(const c10::FunctionSchema& schema,
                           const Stack& stack) {
  const c10::IValue& lengths =
      stack[stack.size() - schema.arguments().size() + 1];
  return lengths.isTensor() && lengths.toTensor().is_meta();
}

struct Condition {
  std::string_view name;  ///< Name of all overloads.
  bool (*depends)(const c10::FunctionSchema& schema, const Stack& stack);
};

constexpr Condition kConditions[] = {
    {"aten::_pack_padded_sequence", PacksByUnknownLengths},
    {"aten::index", HasBooleanIndex},
    {"aten::repeat_interleave", RepeatsByUnknownCounts},
};

}  // namespace

std::span<const KernelRow> DataDependentKernels() {
  return kDataDependentKernels;
}

}  // namespace meta

bool DependsOnData(const c10::OperatorHandle& op,
                   const torch::jit::Stack& stack) {
  if (IsDataDependent(op)) return true;
  const c10::FunctionSchema& schema = op.schema();
  return std::any_of(std::begin(meta::kConditions), std::end(meta::kConditions),
                     [&](const meta::Condition& row) {
                       return row.name == schema.name() &&
                              row.depends(schema, stack);
                     });
}

}  // namespace foretell
