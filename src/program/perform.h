#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace foretell {

/// Runs `op` on CPU tensors of the shapes of its meta arguments, filled with
/// ones, and replaces the results by meta tensors. For operators that have no
/// meta kernel. Throws Error(kUnsupported) when they are too large, when the
/// operator writes into an argument, or when its gradient will be wanted.
void PerformOnCpuForShapes(const c10::OperatorHandle& op,
                           torch::jit::Stack& stack);

}  // namespace foretell
