// Kernels that Inductor makes of flex_attention (PyTorch 2.13,
// torch/_inductor/kernel/flex/flex_attention.py) as operators;
// src/program/flex_attention.cc runs them.

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

constexpr const char* kFlexSchemas[] = {
    "flex_attention(Tensor query, Tensor key, Tensor value, bool is_causal) -> "
    "(Tensor, Tensor, Tensor)",
    "flex_attention_delta(Tensor grad, Tensor out) -> Tensor",
    "flex_attention_backward(Tensor grad, Tensor query, Tensor key, Tensor "
    "value, Tensor logsumexp, Tensor delta, bool is_causal) -> "
    "(Tensor, Tensor, Tensor)",
};

TensorSpec RowFloats(const at::Tensor& tensor) {
  return Contiguous(tensor.sizes().slice(0, 3), at::kFloat);
}

/// The result in the layout of the queries, the logarithm of the sum and the
/// largest score of each row.
void FlexForward(Call& call) {
  const at::Tensor& query = call.Tensor("query");
  call.Return(Like(query));
  call.Return(RowFloats(query));
  call.Return(RowFloats(query));
}

void FlexDelta(Call& call) { call.Return(RowFloats(call.Tensor("out"))); }

void FlexBackward(Call& call) {
  for (const char* name : {"query", "key", "value"}) {
    call.Return(Like(call.Tensor(name)));
  }
}

constexpr KernelRow kFlexKernels[] = {
    {"higher_order::flex_attention", FlexForward},
    {"higher_order::flex_attention_backward", FlexBackward},
    {"higher_order::flex_attention_delta", FlexDelta},
};

}  // namespace

std::vector<LibrarySchemas> FlexSchemas() {
  return {{"higher_order", kFlexSchemas}};
}

std::span<const KernelRow> FlexKernels() { return kFlexKernels; }

}  // namespace foretell::meta
