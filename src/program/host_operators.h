#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace foretell {

/// Most elements of one tensor that an operator may be given on the host.
inline constexpr std::int64_t kMaxHostElements = std::int64_t{1} << 24;

/// Names of ATen's operators that untrusted code may run for real on the host
/// while a trace is on meta, sorted, each for all its overloads and the one in
/// place ("add" for add_). They make tensors, arrange them and compute with
/// their elements one by one, as shape arithmetic does; each checks what it is
/// given and needs time in proportion to it.
std::span<const std::string_view> HostOperators();

/// Requires of the call on top of `stack` that it is one of HostOperators() or
/// makes no tensor, that its tensors have at most kMaxHostElements, and that it
/// does not divide the smallest integer by -1, which would end the process.
/// Throws Error(kUnsupported) that states what is not allowed.
void RequireHostOperator(const c10::FunctionSchema& schema,
                         const torch::jit::Stack& stack);

}  // namespace foretell
