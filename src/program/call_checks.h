#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>

/// Arguments that LibTorch itself would accept, all except the last on meta.
namespace foretell {

/// Throws Error(kInvalidArgument) with both element types when the tensors of a
/// matrix product differ in theirs, which every device except meta refuses:
/// LibTorch checks it in the kernels, after the shapes.
void RequireOneType(const c10::FunctionSchema& schema,
                    const torch::jit::Stack& stack);

/// Throws Error(kUnsupported) with both numbers when an operator would cut a
/// tensor into more than kMaxParts parts, each of which is a tensor object.
void RequireFewParts(const c10::FunctionSchema& schema,
                     const torch::jit::Stack& stack);
inline constexpr std::int64_t kMaxParts = 65536;

/// Requires of each element type, layout and memory format among the arguments,
/// all of them integers on a stack, that LibTorch has one of that number: it
/// reads its tables at any. Throws Error(kInvalidArgument) with both numbers.
void RequireKnownForms(const c10::FunctionSchema& schema,
                       const torch::jit::Stack& stack);

}  // namespace foretell
