// Launches of Liger's kernels (linkedin/Liger-Kernel 0.8.2,
// src/liger_kernel/ops), which are no operators of PyTorch, as operators: what
// they write, in place where the kernel does it. src/program/liger.cc runs
// them.

#include <array>

#include "src/program/meta/families.h"

namespace foretell::meta {
namespace {

constexpr const char* kLigerSchemas[] = {
    "cross_entropy_(Tensor(a!) logits, Tensor target, Tensor(b!) losses) -> "
    "(Tensor(a!), Tensor(b!))",
    "rms_norm(Tensor input, Tensor weight) -> (Tensor, Tensor)",
    "rms_norm_backward(Tensor(a!) grad, Tensor input, Tensor weight, "
    "Tensor rstd) -> (Tensor(a!), Tensor)",
    "rope_(Tensor(a!) queries, Tensor(b!) keys, Tensor cosine, Tensor sine) -> "
    "(Tensor(a!), Tensor(b!))",
    "swiglu(Tensor gate, Tensor up) -> Tensor",
    "swiglu_backward(Tensor grad, Tensor(a!) gate, Tensor(b!) up) -> "
    "(Tensor(a!), Tensor(b!))",
};

/// Returns everything that the operator overwrites.
void LigerInPlace(Call& call) {
  for (std::size_t i = 0; i < call.schema().returns().size(); ++i) {
    call.Return(call.NextOutput());
  }
}

void LigerRmsNorm(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const std::int64_t width = call.Tensor("weight").numel();
  TORCH_CHECK(input.dim() > 0 && input.size(-1) == width,
              "liger::rms_norm: the input ", input.sizes(),
              " does not end with the weight's ", width, " elements");
  const std::array<std::int64_t, 1> rows = {width == 0 ? 0
                                                       : input.numel() / width};
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
  call.Return(Contiguous(rows, at::kFloat));
}

void LigerRmsNormBackward(Call& call) {
  call.Return(call.NextOutput());
  call.Return(Like(call.Tensor("weight")));
}

void LigerSwiGlu(Call& call) {
  const at::Tensor& gate = call.Tensor("gate");
  TORCH_CHECK(gate.sizes() == call.Tensor("up").sizes(),
              "liger::swiglu: the gate ", gate.sizes(),
              " has other sizes than ", call.Tensor("up").sizes());
  call.Return(Like(gate));
}

constexpr KernelRow kLigerKernels[] = {
    {"liger::cross_entropy_", LigerInPlace},
    {"liger::rms_norm", LigerRmsNorm},
    {"liger::rms_norm_backward", LigerRmsNormBackward},
    {"liger::rope_", LigerInPlace},
    {"liger::swiglu", LigerSwiGlu},
    {"liger::swiglu_backward", LigerInPlace},
};

}  // namespace

std::vector<LibrarySchemas> LigerSchemas() {
  return {{"liger", kLigerSchemas}};
}

std::span<const KernelRow> LigerKernels() { return kLigerKernels; }

}  // namespace foretell::meta
