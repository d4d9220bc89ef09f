#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace foretell {

/// What to advise a user whose program calls `op`, which meta cannot run: to
/// execute on the CPU, unless LibTorch has no kernel for that either (of
/// torchvision's operators it may know the schema alone).
std::string_view WayOut(const c10::OperatorHandle& op);

/// Runs `op` on CPU tensors of the shapes of its meta arguments, filled with
/// ones, and replaces the results by meta tensors. For operators that have no
/// meta kernel. Throws Error(kUnsupported) when they are too large, when the
/// operator writes into an argument, when its gradient will be wanted, or when
/// it has no kernel for the CPU either.
void PerformOnCpuForShapes(const c10::OperatorHandle& op,
                           torch::jit::Stack& stack);

/// True of a call with a tensor on meta that also reads one of the host with
/// dimensions, where a GPU would not: copies, indices and lengths of sequences
/// may lie there. Throws Error(kUnsupported) if it writes into one of the
/// host.
bool MixesDevices(const c10::FunctionSchema& schema,
                  const torch::jit::Stack& stack);

/// Replaces tensors on the CPU among the arguments by ones on meta of the same
/// shape, except numbers and those whose content the operator reads there, as
/// it does on a GPU (lengths of packed sequences, masks of an index).
void MoveToMeta(const c10::FunctionSchema& schema, torch::jit::Stack& stack);

}  // namespace foretell
