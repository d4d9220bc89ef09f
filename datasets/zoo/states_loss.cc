// Losses of language models that never hold all logits.

#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>
#include <fmt/core.h>

#include "datasets/zoo/network.h"
#include "src/program/fused_kernels.h"
#include "src/program/liger.h"

namespace foretell::zoo {
namespace {

/// As CEWithChunkedOutputLoss of torchtune 10ff7cd: logits of each part of the
/// tokens, of which one part at a time is cast to 32 bits; all parts' softmax
/// is kept.
at::Tensor ChunkedCrossEntropy(const at::Tensor& states, const at::Tensor& head,
                               const at::Tensor& tokens) {
  const std::int64_t chunks = FusedKernelScope::Chunks();
  std::vector<at::Tensor> logits;
  for (const at::Tensor& part : at::tensor_split(states, chunks, 1)) {
    logits.push_back(at::linear(part, head).reshape({-1, head.size(0)}));
  }
  const std::vector<at::Tensor> classes = at::tensor_split(tokens, chunks, 1);
  at::Tensor sum;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const at::Tensor loss = at::cross_entropy_loss(
        logits[i].to(at::kFloat), classes[i].reshape({-1}), /*weight=*/{},
        at::Reduction::Sum);
    sum = sum.defined() ? at::add(sum, loss) : loss;
  }
  return at::div(sum, tokens.numel());
}

bool TakesLinearLoss() {
  return FusedKernelScope::Takes(FusedKernel::kLinearCrossEntropy) ||
         FusedKernelScope::Takes(FusedKernel::kFloatLinearCrossEntropy);
}

}  // namespace

bool LossHasHead() {
  return TakesLinearLoss() ||
         FusedKernelScope::Takes(FusedKernel::kChunkedCrossEntropy);
}

NamedLoss CrossEntropyOfStates(const at::Tensor& states, const at::Tensor& head,
                               const at::Tensor& tokens) {
  const std::string name =
      fmt::format("cross entropy over {} classes, in parts", head.size(0));
  if (!TakesLinearLoss()) {
    return {name, ChunkedCrossEntropy(states, head, tokens)};
  }
  const bool in_floats =
      FusedKernelScope::Takes(FusedKernel::kFloatLinearCrossEntropy);
  return {name,
          liger::LinearCrossEntropy(states.view({-1, states.size(-1)}), head,
                                    tokens.reshape({-1}), in_floats)};
}

}  // namespace foretell::zoo
