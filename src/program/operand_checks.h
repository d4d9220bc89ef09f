#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

/// Operands that the kernels of the CPU and of CUDA refuse and those of the
/// meta device let pass: LibTorch checks them in the kernels, after the shapes.
namespace foretell {

/// Throws Error(kInvalidArgument) with both shapes, types or numbers when the
/// operands of the call on `stack` do not fit: a bias that does not expand to
/// the result, indices that are not integers, an element type without a kernel.
void RequireOperandsFit(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack);

}  // namespace foretell
