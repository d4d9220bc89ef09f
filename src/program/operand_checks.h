#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

/// Operands that kernels of the CPU and of CUDA refuse, and those of the meta
/// device let pass.
namespace foretell {

/// Throws Error(kInvalidArgument) with both shapes or types when the operands
/// of the call on `stack` do not fit.
void RequireOperandsFit(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

}  // namespace foretell
