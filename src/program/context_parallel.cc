#include "src/program/context_parallel.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "src/core/failure.h"
#include "src/program/operand_checks.h"
#include "src/program/ring_attention.h"
#include "src/program/weighted_operators.h"

// context_parallel of torch.distributed.tensor.experimental (PyTorch 2.13)
// divides the buffers that it is told of along their tokens, and the network
// runs on its part: only attention knows of the others. So a network is traced
// with the tokens of one GPU.

namespace foretell {
namespace {

thread_local ContextParallelScope* current_context = nullptr;

/// RequireOperandsFit of the call on `stack` with the operands `in` instead of
/// its own, whose types may differ before autocast has cast them.
void RequireCastFits(const c10::OperatorHandle& op,
                     const meta::AttentionInputs& in, torch::jit::Stack stack) {
  auto argument =
      stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  for (const at::Tensor& x : {in.query, in.key, in.value}) *argument++ = x;
  RequireOperandsFit(op, stack);
}

bool MayHoldTokens(const BoundInput& input) {
  const std::size_t rank = input.type.shape.size();
  return rank == 3 || (rank == 2 && !IsFloatingPoint(input.type.dtype));
}

}  // namespace

std::vector<BoundInput> OwnTokens(std::vector<BoundInput> inputs,
                                  const ParallelSpec& spec) {
  if (!SharesSequences(spec)) return inputs;
  const auto first = std::ranges::find_if(inputs, &MayHoldTokens);
  if (first == inputs.end()) {
    throw InvalidArgument(
        "{}: no input is [batch, tokens] of whole numbers or [batch, tokens, "
        "features], so there are no sequences to share",
        ToString(spec));
  }
  const std::int64_t length = first->type.shape[1];
  if (length % spec.gpus != 0) {
    throw InvalidArgument("{}: {} tokens of input {} are no {} equal parts",
                          ToString(spec), length, first->name, spec.gpus);
  }
  for (BoundInput& input : inputs) {
    std::vector<std::int64_t>& shape = input.type.shape;
    const bool is_divided = shape.size() > 1 && shape[1] == length;
    if (is_divided && input.values.empty()) shape[1] /= spec.gpus;
  }
  return inputs;
}

ContextParallelScope::ContextParallelScope(const TraceOptions& options)
    : spec_(options.loop.parallel) {
  if (!SharesSequences(spec_)) return;
  if (const auto cast = AutocastType(options.run)) cast_ = ToScalarType(*cast);
  current_context = this;
}

ContextParallelScope::~ContextParallelScope() { current_context = nullptr; }

bool ContextParallelScope::Intercept(const c10::OperatorHandle& op,
                                     torch::jit::Stack& stack) {
  if (current_context == nullptr ||
      op.operator_name().name != "aten::scaled_dot_product_attention") {
    return false;
  }
  meta::Call call(op, stack);
  meta::AttentionInputs in = meta::AttentionInputsOf(call);
  if (current_context->cast_) {
    for (at::Tensor* x : {&in.query, &in.key, &in.value}) {
      *x = InType(*x, *current_context->cast_);
    }
  }
  RequireCastFits(op, in, stack);
  call.Return(RingAttention(in, current_context->spec_));
  call.Finish();
  return current_context->is_used_ = true;
}

void ContextParallelScope::RequireUse() const {
  if (!SharesSequences(spec_) || is_used_) return;
  throw InvalidArgument(
      "{}: the network calls no scaled_dot_product_attention, so GPUs cannot "
      "share its sequences",
      ToString(spec_));
}

}  // namespace foretell
